// Copyright (C) 2026 The cache-chroniclemap authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.JGitPackedRefs;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

/** Holds each answer of a database against that of JGit's on the same repository. */
public final class RefsComparison {
  private static final String CANNOT_NAME = "throws: can't name the file";

  public static final ImmutableList<String> NAMES =
      ImmutableList.of(
          "HEAD",
          "refs/heads/a",
          "refs/heads/a/b",
          "refs/heads/a/b/c",
          "refs/heads/a-b",
          "refs/heads/master",
          "refs/heads/\u00e9",
          "refs/heads/\uff5e",
          JGitPackedRefs.TRUSTS_SORTED ? "refs/heads/\u4e2d" : "refs/heads/\ud83d\ude00",
          "refs/tags/t1",
          "refs/tags/t2",
          "refs/tags/t",
          "refs/changes/01/1/meta",
          "refs/changes/01/1/1",
          "refs/changes/01/1/2",
          "refs/meta/config",
          "refs/sym/one",
          "refs/sym/two",
          "ORIG_HEAD",
          "refs/x");

  private static final String[] PREFIXES = {
    "",
    "/",
    "r",
    "refs/",
    "refs/h",
    "refs/heads",
    "refs/heads/",
    "refs/heads/a",
    "refs/heads/a/",
    "refs/tags/t",
    "refs/changes/01/",
    "refs/changes/01/1/",
    "refs/sym/",
    "refs",
    "HE",
    "HEAD",
    "HEAD/",
    "main",
    "nothing/",
    "refs/heads/\ud83d\ude00",
    "refs/none/"
  };

  private final TestRefs repository;
  private final RefDatabase peer;

  RefsComparison(TestRefs repository) {
    this(repository, repository.peer());
  }

  /** Takes JGit's database of the repository, too. */
  public RefsComparison(TestRefs repository, RefDatabase peer) {
    this.repository = repository;
    this.peer = peer;
  }

  /**
   * Of a file that can't be named JGit says less than ours, and under after_open in another way.
   */
  static String shown(Exception e) {
    return e instanceof InvalidPathException || e.getCause() instanceof InvalidPathException
        ? CANNOT_NAME
        : "throws " + e.getClass().getName() + ": " + e.getMessage();
  }

  private static Object show(@Nullable Object answer) {
    if (answer instanceof Ref ref) {
      boolean isPacked = ref.getStorage() == Ref.Storage.PACKED && !ref.isSymbolic();
      return ref.getName()
          + "="
          + (ref.isSymbolic() ? "->" + show(ref.getTarget()) : ref.getObjectId())
          + " "
          + ref.getStorage()
          // Of loose refs JGit may remember what it peeled.
          + (isPacked ? " " + ref.isPeeled() + " " + ref.getPeeledObjectId() : "");
    }
    if (answer instanceof Map<?, ?> map) {
      Map<Object, Object> shown = new TreeMap<>();
      map.forEach((key, value) -> shown.put(key, show(value)));
      return shown;
    }
    if (answer instanceof Set<?> set) {
      return set.stream().map(one -> show(one).toString()).sorted().toList();
    }
    if (answer instanceof Collection<?> list) {
      List<Object> shown = new ArrayList<>();
      list.forEach(one -> shown.add(show(one)));
      return shown;
    }
    return answer;
  }

  /** A question that both answer. */
  private interface Question {
    @Nullable
    Object of(RefDatabase refs) throws IOException;
  }

  /** Compares at a moment when nobody changes refs. */
  @SuppressWarnings("deprecation")
  public void compare(String after, RefDatabase refs) {
    // What it keeps of its own writing is not always what it wrote: a ref that it has not peeled
    // gets into a file that says all are. So with the one that answers where a file is not parsed.
    peer.refresh();
    repository.repository().getRefDatabase().refresh();
    for (String name : NAMES) {
      String when = after + "; " + name;
      same(when, refs, of -> of.exactRef(name));
      same(when, refs, of -> of.isNameConflicting(name));
      same(when, refs, of -> of.getConflictingNames(name));
      same(when, refs, of -> of.getConflictingNames(name + "/x"));
      same(when, refs, of -> of.findRef(name.substring(name.lastIndexOf('/') + 1)));
      same(when, refs, of -> peel(of, name));
    }
    for (String prefix : PREFIXES) {
      String when = after + "; prefix " + prefix;
      same(when, refs, of -> of.getRefsByPrefix(prefix));
      if (prefix.isEmpty() || (prefix.startsWith("refs/") && prefix.endsWith("/"))) {
        same(when, refs, of -> of.getRefs(prefix));
        Set<String> excluded = Set.of("refs/heads/a", "refs/changes/01/1/m");
        same(when, refs, of -> of.getRefsByPrefixWithExclusions(prefix, excluded));
      }
    }
    same(after, refs, RefDatabase::getRefs);
    same(after, refs, of -> of == refs ? elements(of.getRefs()) : of.getRefs());
    same(after, refs, of -> of.getRefsByPrefix("refs/tags/", "refs/heads/a", "refs/heads/", "HE"));
    same(after, refs, of -> of.getRefsByPrefix("refs/sym/", "refs/heads/"));
    same(
        after,
        refs,
        of -> of.getRefsByPrefix("refs/heads/a", "HEAD", "refs/heads/a/b", "refs/tags/"));
    same(after, refs, of -> of.getRefsByPrefix(new String[0]));
    same(after, refs, of -> of.exactRef(NAMES.toArray(String[]::new)));
    same(after, refs, of -> of.firstExactRef("refs/none", "refs/x", "refs/tags/t", "HEAD"));
    same(after, refs, RefDatabase::hasRefs);
    same(after, refs, RefDatabase::getAdditionalRefs);
    // Both find loose tags by what they have peeled before: all of them.
    same(after, refs, of -> peel(of, of.getRefs()));
    for (ObjectId id :
        List.of(repository.id(0), repository.tags().get(0), RefObjects.A, RefObjects.TAG)) {
      same(after, refs, of -> of.getTipsWithSha1(id));
    }
  }

  private void same(String when, RefDatabase refs, Question question) {
    Object expected = answer(question, peer);
    Object actual = answer(question, refs);
    // In a locale that lacks a name, some answers of JGit take its file for none.
    if (RefPaths.limitsOfNames().isEmpty() || !CANNOT_NAME.equals(actual)) {
      assertWithMessage("%s", when).that(actual).isEqualTo(expected);
    }
  }

  private static Object answer(Question question, RefDatabase refs) {
    try {
      return show(question.of(refs));
    } catch (IOException | InvalidPathException e) {
      return shown(e);
    }
  }

  private static Object peel(RefDatabase database, List<Ref> all) throws IOException {
    List<Ref> peeled = new ArrayList<>();
    for (Ref ref : all) {
      peeled.add(database.peel(ref));
    }
    return peeled;
  }

  @Nullable
  private static Object peel(RefDatabase database, String name) throws IOException {
    Ref ref = database.exactRef(name);
    return ref == null ? null : database.peel(ref).getPeeledObjectId();
  }

  private static List<Ref> elements(List<Ref> list) {
    List<Ref> elements = new ArrayList<>();
    for (int i = 0; i < list.size(); i++) {
      elements.add(list.get(i));
    }
    return elements;
  }
}
