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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What readers see of merged lists, as beside large batches, and how much work that is. */
class LargeBatchUnderWayTest {
  private static final int MANY = 20_000;

  @TempDir Path folder;
  @AutoClose private TestRefs test;
  private final Transactions transactions = new Transactions();

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
  }

  private RefReader reader(ParsedRefs packed) {
    PackedRefsFile file = test.packedRefs();
    RefPaths paths = new RefPaths(test.repository(), file.file);
    return new RefReader(
        new LooseRefs(test.repository(), paths, TrustStat.ALWAYS, file),
        () -> packed,
        transactions,
        count -> {});
  }

  private static String name(int i) {
    return String.format(Locale.ROOT, "refs/changes/%02d/%06d/1", i % 100, i);
  }

  private static ObjectId id(int i) {
    return ObjectId.fromString(String.format(Locale.ROOT, "%040x", i + 1));
  }

  private static Ref ref(String name, int i) {
    return new ObjectIdRef.PeeledNonTag(Ref.Storage.PACKED, name, id(i));
  }

  private static ParsedRefs packed(Map<String, ObjectId> refs) {
    return Lists.of(new TreeMap<>(refs));
  }

  private static Map<String, ObjectId> ids(Iterable<Ref> refs) {
    Map<String, ObjectId> ids = new TreeMap<>();
    String last = "";
    for (Ref ref : refs) {
      assertThat(ref.getName().compareTo(last)).isGreaterThan(0);
      last = ref.getName();
      ids.put(last, ref.getObjectId());
    }
    return ids;
  }

  @Test
  void oneLayerHidesWhatABatchHasMade() throws Exception {
    Map<String, ObjectId> all = new TreeMap<>();
    NavigableMap<String, Ref> made = new TreeMap<>();
    for (int i = 0; i < 2 * MANY; i++) {
      all.put(name(i), id(i));
      if (i % 2 == 0) {
        made.put(name(i), null);
      }
    }
    RefReader reader = reader(packed(all));
    Transactions.Link link = transactions.begin(made);
    List<Ref> refs = reader.refs("refs/changes/");
    // Each layer would be one more step to each ref.
    for (List<Ref> part : ((MergedRefs) refs).parts) {
      assertThat(part).isNotInstanceOf(MergedRefs.class);
    }
    assertThat(refs).hasSize(MANY);
    all.keySet().removeAll(made.keySet());
    assertThat(ids(refs)).isEqualTo(all);
    transactions.end(link);
    assertThat(reader.refs("refs/changes/")).hasSize(2 * MANY);
  }

  /** The heap of a copy would show: a lookup allocates as much as without the batch. */
  @Test
  void aLookupSearchesABatchAndCopiesNothing() throws Exception {
    NavigableMap<String, Ref> made = new TreeMap<>();
    for (int i = 0; i < MANY; i++) {
      made.put(name(i), null);
    }
    RefReader reader = reader(packed(Map.of(name(0), id(0), "refs/heads/a", id(1))));
    transactions.begin(made);
    Threads.Act lookup =
        () -> {
          RefName hidden = RefName.of(name(0));
          RefName there = RefName.of("refs/heads/a");
          assertThat(reader.exactRef(hidden)).isNull();
          assertThat(reader.exactRef(there).getObjectId()).isEqualTo(id(1));
          assertThat(reader.firstExactRef(hidden, there).getObjectId()).isEqualTo(id(1));
          assertThat(reader.refs("refs/heads/")).hasSize(1);
        };
    lookup.run(); // classes are loaded
    long allocated = Threads.allocated(lookup);
    assertThat(allocated).isLessThan(4L * MANY);
  }

  /** Random layers, one of them from a transaction that begins while somebody reads. */
  @Test
  void listsAreThoseOfTheMomentInWhichTheReaderBegan() throws Exception {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      Map<String, ObjectId> now = new TreeMap<>();
      Map<String, ObjectId> then = new TreeMap<>();
      List<NavigableMap<String, Ref>> batches =
          List.of(new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
      int names = 1 + random.nextInt(seed % 20 == 0 ? 1500 : 60); // of many blocks, too
      for (int i = 0; i < names; i++) {
        if (random.nextInt(4) > 0) {
          now.put(name(i), id(i));
        }
        then.compute(name(i), (name, none) -> now.get(name));
        int which = random.nextInt(6);
        if (which < batches.size()) {
          Ref old = random.nextBoolean() ? null : ref(name(i), 1000 + i);
          batches.get(which).put(name(i), old);
          then.remove(name(i));
          if (old != null) {
            then.put(name(i), old.getObjectId());
          }
          if (which < 2 && random.nextBoolean()) {
            // Later ones know a value that the reader must not see.
            batches.get(2).put(name(i), random.nextBoolean() ? null : ref(name(i), 2000 + i));
          }
        }
      }
      ParsedRefs packed = packed(now);
      Transactions.Link first = transactions.begin(batches.get(0));
      Transactions.Link second = transactions.begin(batches.get(1));
      List<Transactions.Link> later = new ArrayList<>();
      RefReader reader =
          reader(packed)
              .with(
                  () -> {
                    // While it reads.
                    later.add(transactions.begin(batches.get(2)));
                    return packed;
                  });
      List<Ref> refs = reader.refs("refs/changes/");
      assertWithMessage("seed %s", seed).that(ids(refs)).isEqualTo(then);
      assertThat(refs).hasSize(then.size());
      for (int round = 0; round < 5; round++) {
        int from = random.nextInt(then.size() + 1);
        int to = from + random.nextInt(then.size() - from + 1);
        List<Ref> part = refs.subList(from, to);
        assertThat(part.stream().map(Ref::getName).toList())
            .isEqualTo(List.copyOf(then.keySet()).subList(from, to));
        for (int i = 0; i < part.size(); i++) {
          assertThat(refs.get(from + i).getName()).isEqualTo(part.get(i).getName());
        }
      }
      transactions.end(later.remove(0));
      Map<String, ObjectId> few = ids(reader.refs("refs/changes/0", "refs/changes/1"));
      assertThat(few.size()).isAtMost(then.size());
      few.forEach((name, id) -> assertThat(then).containsEntry(name, id));
      transactions.end(later.remove(0));
      for (int i = 0; i < names; i++) {
        Ref one = reader.exactRef(RefName.of(name(i)));
        assertThat(one == null ? null : one.getObjectId()).isEqualTo(then.get(name(i)));
        transactions.end(later.remove(0));
      }
      transactions.end(first);
      transactions.end(second);
    }
  }
}
