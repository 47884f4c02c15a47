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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Threads move sets of refs from one generation to the next, each by an atomic batch, while others
 * read in all ways there are, and refs are packed. Whoever reads sees all of a batch or nothing;
 * nothing that was acknowledged before; and nothing old again after he has seen anything new.
 */
@Timeout(300)
class TransactionVisibilityTest {
  private static final int BATCHES = 120;
  private static final int READERS = 3;
  private static final int FIXED = 300;

  /** Of each set: more than its generations. */
  private static final int VALUES = 2 * BATCHES;

  private static final String TO_WHOLE = "refs/symbolic/whole";

  @TempDir Path folder;

  private TestRefs test;
  private FileRefDatabase refs;
  private final List<Moved> sets = new ArrayList<>();
  private final AtomicInteger reads = new AtomicInteger();

  /** A set that one thread moves. */
  private final class Moved {
    final RefSet set;
    final String prefix;
    final List<String> names;
    final List<ObjectId> values;

    /** The generation that the last batch has begun, and the one that is acknowledged. */
    volatile int begun;

    volatile int acknowledged;

    Moved(int number, List<ObjectId> values) {
      this.set = new RefSet(number);
      this.prefix = set.prefix();
      this.names = IntStream.range(0, set.size()).mapToObj(set::name).toList();
      this.values = values;
    }

    ObjectId value(int generation) {
      return values.get(generation);
    }

    Map<String, ObjectId> at(int generation) {
      return set.at(generation, values);
    }

    /** Does the next batch. */
    void move() throws IOException {
      int next = acknowledged + 1;
      begun = next;
      ReceiveCommand[] commands = TestRefs.commands(at(next - 1), at(next));
      var unused = TestRefs.batch(test.repository(), refs, commands);
      for (ReceiveCommand command : commands) {
        assertWithMessage("%s %s", command, command.getMessage())
            .that(command.getResult())
            .isEqualTo(ReceiveCommand.Result.OK);
      }
      acknowledged = next;
    }
  }

  /** What one reader knows of a set while he reads. */
  private static final class View {
    private final Moved set;

    /** No generation before this one may be seen. */
    private int least;

    View(Moved set) {
      this.set = set;
      this.least = set.acknowledged;
    }

    /** What was found is of a generation that may be seen; from now on no earlier one may be. */
    void sees(String how, Object found, IntPredicate isFoundAt) {
      int last = set.begun;
      for (int generation = least; generation <= last; generation++) {
        if (isFoundAt.test(generation)) {
          least = generation;
          return;
        }
      }
      throw new AssertionError(
          String.format(
              Locale.ROOT,
              "%s of %s: generations %s to %s may be seen, not %s",
              how,
              set.prefix,
              least,
              last,
              found));
    }

    /** The refs of the set as they were at one moment. */
    void seesAll(String how, Map<String, ObjectId> found) {
      Map<String, Integer> generations = new TreeMap<>();
      found.forEach((name, id) -> generations.put(name, set.values.indexOf(id)));
      sees(how, generations, generation -> found.equals(set.at(generation)));
    }

    /** One ref of the set, null if it was not there. */
    void seesOne(String how, int number, Ref ref) {
      sees(
          how + " " + number,
          ref == null ? null : set.values.indexOf(ref.getObjectId()),
          generation ->
              set.set.has(generation, number)
                  ? ref != null && set.value(generation).equals(ref.getObjectId())
                  : ref == null);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1000, 0})
  void readersSeeAllOfABatchOrNothing(int maxLooseBatch) throws Exception {
    try (TestRefs made = TestRefs.create(folder.resolve("a.git"), null);
        PackedRefsCache cache =
            TestRefs.cache(
                new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, /* maxLoose= */ 20))) {
      test = made;
      makeSets();
      writeFirstGenerations();
      refs = test.database(cache);
      runAll();
      assertThat(cache.totals().failures()).isEqualTo(0);
      for (Moved set : sets) {
        assertThat(set.acknowledged).isEqualTo(BATCHES);
        assertThat(byPrefix(refs.getRefsByPrefix(set.prefix), set)).isEqualTo(set.at(BATCHES));
      }
    }
    assertThat(reads.get()).isGreaterThan(0);
  }

  private void makeSets() throws IOException {
    // Of all kinds that are moved by batches, with values of their own.
    int[] numbers = {0, 1, 2, 5, 4};
    List<ObjectId> values = test.manyCommits(numbers.length * VALUES);
    for (int i = 0; i < numbers.length; i++) {
      sets.add(new Moved(numbers[i], values.subList(i * VALUES, (i + 1) * VALUES)));
    }
  }

  private void writeFirstGenerations() throws IOException {
    TreeMap<String, ObjectId> all = new TreeMap<>();
    for (int i = 0; i < FIXED; i++) {
      all.put("refs/fixed/" + i, test.id(0));
    }
    sets.forEach(set -> all.putAll(set.at(0)));
    Files.write(test.folder().resolve("packed-refs"), PackedRefsText.of(all));
    Files.writeString(test.folder().resolve("HEAD"), "ref: " + head().names.get(0) + "\n");
    Path symbolic = test.folder().resolve(TO_WHOLE);
    Files.createDirectories(symbolic.getParent());
    Files.writeString(symbolic, "ref: " + whole().names.get(0) + "\n");
  }

  /** The set to a ref of which HEAD points. */
  private Moved head() {
    return sets.get(0);
  }

  /** The set to a ref of which another symbolic ref points, often to none. */
  private Moved whole() {
    return sets.get(2);
  }

  private void runAll() throws Exception {
    Random[] randoms = IntStream.range(0, READERS).mapToObj(Random::new).toArray(Random[]::new);
    Threads.meanwhile(
        READERS + 1,
        thread -> {
          if (thread == READERS) {
            test.pack(refs);
          } else {
            read(randoms[thread]);
            reads.incrementAndGet();
          }
        },
        () ->
            Threads.together(
                sets.size(),
                number -> {
                  while (sets.get(number).acknowledged < BATCHES) {
                    sets.get(number).move();
                  }
                }));
  }

  // ---- reading

  private void read(Random random) throws IOException {
    Moved set = sets.get(random.nextInt(sets.size()));
    RefDatabase asked = random.nextBoolean() ? refs : refs.forRequest();
    View view = new View(set);
    switch (random.nextInt(10)) {
      case 0 ->
          view.seesAll(
              "exactRef(names)",
              ids(asked.exactRef(set.names.toArray(String[]::new)).values(), set));
      case 1 -> readFirst(asked, view);
      case 2 -> view.seesAll("getRefsByPrefix", byPrefix(asked.getRefsByPrefix(set.prefix), set));
      case 3 -> readTwoPrefixes(asked, view, random);
      case 4 -> readLists(asked.getRefs());
      case 5 -> readTips(asked, set, random);
      case 6 -> readThrough(asked, head(), Constants.HEAD);
      case 7 -> readThrough(asked, whole(), TO_WHOLE);
      case 8 -> {
        String folder = set.prefix.substring(0, set.prefix.length() - 1);
        Set<String> found = Set.copyOf(asked.getConflictingNames(folder));
        view.sees(
            "getConflictingNames", found, generation -> found.equals(set.at(generation).keySet()));
      }
      default -> {
        // One after the other, in any order: what is seen may not become older.
        for (int i = 0; i < 2 * set.names.size(); i++) {
          int number = random.nextInt(set.names.size());
          view.seesOne("exactRef", number, asked.exactRef(set.names.get(number)));
        }
        view.seesAll(
            "getRefsByPrefix after exactRef", byPrefix(asked.getRefsByPrefix(set.prefix), set));
      }
    }
  }

  private static Map<String, ObjectId> ids(Iterable<Ref> found, Moved set) {
    Map<String, ObjectId> ids = new TreeMap<>();
    for (Ref ref : found) {
      if (ref.getName().startsWith(set.prefix)) {
        assertWithMessage("%s twice", ref).that(ids.put(ref.getName(), ref.getObjectId())).isNull();
      }
    }
    return ids;
  }

  private static Map<String, ObjectId> byPrefix(List<Ref> found, Moved set) {
    Map<String, ObjectId> ids = ids(found, set);
    assertThat(found).hasSize(ids.size());
    return ids;
  }

  /** The first one that is there, and its value, are those of one generation. */
  private static void readFirst(RefDatabase asked, View view) throws IOException {
    List<String> names = new ArrayList<>(view.set.names);
    names.add("refs/fixed/0");
    Ref first = asked.firstExactRef(names.toArray(String[]::new));
    view.sees(
        "firstExactRef",
        first,
        generation -> {
          TreeMap<String, ObjectId> all = new TreeMap<>(view.set.at(generation));
          return all.isEmpty()
              ? first.getName().equals("refs/fixed/0")
              : first.getName().equals(all.firstKey())
                  && first.getObjectId().equals(all.firstEntry().getValue());
        });
  }

  private void readTwoPrefixes(RefDatabase asked, View view, Random random) throws IOException {
    View other = new View(sets.get(random.nextInt(sets.size())));
    List<Ref> found = asked.getRefsByPrefix(view.set.prefix, other.set.prefix, "refs/fixed/1");
    view.seesAll("getRefsByPrefix of several", ids(found, view.set));
    if (other.set != view.set) {
      other.seesAll("getRefsByPrefix of several", ids(found, other.set));
    }
  }

  private void readLists(List<Ref> found) {
    // It was read before this is asked: only what was begun by now is a bound.
    for (Moved set : sets) {
      View view = new View(set);
      view.least = 0;
      view.seesAll("getRefs", ids(found, set));
      if (set == head()) {
        seesLink(found, set, Constants.HEAD);
      }
    }
  }

  private static void seesLink(Iterable<Ref> found, Moved set, String link) {
    Map<String, Ref> all = new TreeMap<>();
    found.forEach(ref -> all.put(ref.getName(), ref));
    Ref target = all.get(set.names.get(0));
    assertThat(all.get(link).getObjectId()).isEqualTo(target == null ? null : target.getObjectId());
  }

  private void readTips(RefDatabase asked, Moved set, Random random) throws IOException {
    int generation = random.nextBoolean() ? set.acknowledged : set.begun;
    Map<String, ObjectId> tips = ids(asked.getTipsWithSha1(set.value(generation)), set);
    if (!tips.isEmpty()) {
      assertThat(tips).isEqualTo(set.at(generation));
    }
  }

  /** Through a symbolic ref to the first one of a set. */
  private void readThrough(RefDatabase asked, Moved set, String link) throws IOException {
    View view = new View(set);
    List<String> names = new ArrayList<>(set.names);
    names.add(set == head() ? 1 : 0, link);
    Map<String, Ref> found = asked.exactRef(names.toArray(String[]::new));
    view.seesAll("exactRef with " + link, ids(found.values(), set));
    seesLink(found.values(), set, link);
    Ref one = asked.exactRef(link);
    view.seesOne(link, 0, one.getObjectId() == null ? null : one);
    view.seesOne("what it leads to", 0, asked.exactRef(set.names.get(0)));
  }
}
