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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import static com.google.common.truth.Truth.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.io.BlockSource;
import org.eclipse.jgit.internal.storage.reftable.MergedReftable;
import org.eclipse.jgit.internal.storage.reftable.RefCursor;
import org.eclipse.jgit.internal.storage.reftable.Reftable;
import org.eclipse.jgit.internal.storage.reftable.ReftableReader;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;

/** Reads stacks of tables, which may be broken, here and by JGit. */
final class TableDifferential {
  static final String PREFIX = "refs/changes/1";

  private TableDifferential() {}

  /**
   * What a reader answers.
   *
   * @param found by each name that was looked up, the ref; null if there is none. All listed ones
   *     are
   * @param all refs, in order
   * @param some refs, in order: those whose names start with {@link #PREFIX}
   */
  private record Answers(Map<String, Ref> found, List<Ref> all, List<Ref> some) {
    /** Whether searches find what is listed. They may not if names are out of order. */
    boolean isConsistent() {
      Map<String, Ref> listed = new LinkedHashMap<>();
      all.forEach(ref -> listed.put(ref.getName(), ref));
      boolean isFound =
          found.entrySet().stream()
              .filter(entry -> entry.getValue() == null || entry.getValue().getObjectId() != null)
              .allMatch(entry -> show(entry.getValue()).equals(show(listed.get(entry.getKey()))));
      return isFound
          && show(some)
              .equals(show(all.stream().filter(ref -> ref.getName().startsWith(PREFIX)).toList()));
    }

    List<List<String>> shown() {
      return List.of(show(new ArrayList<>(found.values())), show(all), show(some));
    }
  }

  /** What a table was found to be. */
  enum Outcome {
    /** Both readers said the same. */
    SAME,
    /** One whose names are out of order, so that a search may or may not find what is listed. */
    OUT_OF_ORDER,
    /** A broken one, which JGit is asked to read then. */
    BROKEN,
    /** A broken one for JGit only. */
    BROKEN_FOR_JGIT
  }

  /**
   * Reads a stack by both readers.
   *
   * @param names to look up besides those that are listed
   * @throws AssertionError if this one is wrong
   */
  static Outcome check(List<byte[]> tables, List<String> names) {
    Answers ours;
    try {
      ours = ours(tables, names);
    } catch (IOException | IndexOutOfBoundsException e) {
      return Outcome.BROKEN;
    }
    Answers jgits;
    try {
      jgits = jgits(tables, names);
    } catch (IOException
        | IndexOutOfBoundsException
        | IllegalArgumentException
        | NegativeArraySizeException
        | IllegalStateException
        | NullPointerException
        | OutOfMemoryError e) {
      return Outcome.BROKEN_FOR_JGIT;
    }
    if (ours.shown().equals(jgits.shown())) {
      return Outcome.SAME;
    }
    if (ours.isConsistent() && jgits.isConsistent()) {
      assertThat(show(ours.all())).isEqualTo(show(jgits.all()));
    }
    return Outcome.OUT_OF_ORDER;
  }

  private static Answers ours(List<byte[]> tables, List<String> names) throws IOException {
    Map<String, Table> byName = new LinkedHashMap<>();
    for (byte[] table : tables) {
      if (table.length < TableFormat.HEADER_BYTES + TableFormat.FOOTER_BYTES) {
        throw new IOException("too short");
      }
      String name = "table " + byName.size();
      byName.put(name, new Table(name, ByteBuffer.wrap(table)));
    }
    TableStack stack = new TableStack(byName);
    List<Ref> all = stack.refs("");
    Map<String, Ref> found = new LinkedHashMap<>();
    for (String name : plusListed(names, all)) {
      found.put(name, stack.exactRef(name));
    }
    // These must end, too. They are held against JGit's in TableRefDatabaseTest.
    var unused = stack.contains(PREFIX) || stack.hasFastTips() || stack.hasRefs("refs/c");
    List<Ref> some = stack.refs("", Set.of("refs/changes/03", PREFIX));
    Set<Ref> tips = stack.tips(some.isEmpty() ? ObjectId.zeroId() : some.get(0).getObjectId());
    tips.forEach(tip -> assertThat(tip.getObjectId()).isNotNull());
    return new Answers(found, all, stack.refs(PREFIX));
  }

  private static Answers jgits(List<byte[]> tables, List<String> names) throws IOException {
    List<ReftableReader> readers = new ArrayList<>();
    for (byte[] table : tables) {
      readers.add(new ReftableReader(BlockSource.from(table)));
    }
    Reftable stack = new MergedReftable(readers);
    List<Ref> all = listed(stack.allRefs(), stack);
    Map<String, Ref> found = new LinkedHashMap<>();
    for (String name : plusListed(names, all)) {
      Ref ref = stack.exactRef(name);
      found.put(name, ref == null ? null : stack.resolve(ref));
    }
    return new Answers(found, all, listed(stack.seekRefsWithPrefix(PREFIX), stack));
  }

  private static List<String> plusListed(List<String> names, List<Ref> all) {
    List<String> more = new ArrayList<>(names);
    all.forEach(ref -> more.add(ref.getName()));
    return more;
  }

  private static List<Ref> listed(RefCursor cursor, Reftable stack) throws IOException {
    List<Ref> refs = new ArrayList<>();
    while (cursor.next()) {
      Ref ref = stack.resolve(cursor.getRef());
      if (ref != null && ref.getObjectId() != null) {
        refs.add(ref);
      }
    }
    return refs;
  }

  private static List<String> show(List<Ref> refs) {
    return refs.stream().map(TableDifferential::show).toList();
  }

  static String show(@Nullable Ref ref) {
    return ref == null ? "none" : ref + " " + ref.getUpdateIndex() + " " + ref.getPeeledObjectId();
  }
}
