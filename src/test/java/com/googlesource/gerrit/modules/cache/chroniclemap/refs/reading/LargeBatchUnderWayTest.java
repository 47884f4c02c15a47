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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What readers see while large batches are under way, and how much work that is. */
class LargeBatchUnderWayTest {
  private static final int MANY = 20_000;

  @TempDir Path folder;
  @AutoClose private FileRepository repository;
  private final Transactions transactions = new Transactions();
  private final ListMemory memory = new ListMemory(1 << 30);

  @BeforeEach
  void create() throws IOException {
    repository = TestRefs.create(folder.resolve("r.git"), null).repository();
  }

  private RefReader reader(ParsedRefs packed) {
    Path git = repository.getDirectory().toPath();
    return new RefReader(
        new LooseRefs(
            repository,
            new RefPaths(repository, git.resolve("packed-refs").toFile()),
            TrustStat.ALWAYS,
            TestRefs.packedRefs(git)),
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

  private ParsedRefs packed(Map<String, ObjectId> refs) {
    StringBuilder text = new StringBuilder("# pack-refs with: peeled fully-peeled sorted \n");
    new TreeMap<>(refs).forEach((name, id) -> text.append(id.name()).append(" " + name + "\n"));
    return new Lists().parse(memory, text.toString().getBytes(UTF_8), null);
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

  /** Old values that count the comparisons that searches in them make, and the walks. */
  private static final class Counted extends TreeMap<String, Ref> {
    private static final long serialVersionUID = 1;

    private final transient AtomicLong comparisons;
    private transient int walks;

    Counted() {
      this(new AtomicLong());
    }

    private Counted(AtomicLong comparisons) {
      super(
          (a, b) -> {
            comparisons.incrementAndGet();
            return a.compareTo(b);
          });
      this.comparisons = comparisons;
    }

    @Override
    public Set<Map.Entry<String, Ref>> entrySet() {
      walks++;
      return super.entrySet();
    }

    @Override
    public NavigableMap<String, Ref> tailMap(String from, boolean inclusive) {
      walks++;
      return super.tailMap(from, inclusive);
    }
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
    assertThat(refs).isInstanceOf(MergedRefs.class);
    assertThat(((MergedRefs) refs).under).isNotInstanceOf(MergedRefs.class);
    assertThat(refs).hasSize(MANY);
    all.keySet().removeAll(made.keySet());
    assertThat(ids(refs)).isEqualTo(all);
    transactions.end(link);
    assertThat(reader.refs("refs/changes/")).hasSize(2 * MANY);
  }

  @Test
  void aLookupSearchesABatchAndCopiesNothing() throws Exception {
    Counted made = new Counted();
    for (int i = 0; i < MANY; i++) {
      made.put(name(i), null);
    }
    RefReader reader = reader(packed(Map.of(name(0), id(0), "refs/heads/a", id(1))));
    transactions.begin(made);
    made.comparisons.set(0);
    assertThat(reader.exactRef(RefName.of(name(0)))).isNull();
    assertThat(reader.exactRef(RefName.of("refs/heads/a")).getObjectId()).isEqualTo(id(1));
    assertThat(reader.firstExactRef(RefName.of(name(0)), RefName.of("refs/heads/a")).getObjectId())
        .isEqualTo(id(1));
    // At most log2(20,000) for each of four names, twice for a name that is there.
    assertThat(made.comparisons.get()).isAtMost(8 * 16L);
    assertThat(made.walks).isEqualTo(0);
    // A list searches for its own part.
    made.comparisons.set(0);
    assertThat(reader.refs("refs/heads/")).hasSize(1);
    assertThat(made.comparisons.get()).isAtMost(2 * 16L);
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
      int names = 1 + random.nextInt(60);
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
      int at = 0;
      for (String name : then.keySet()) {
        assertThat(refs.get(at++).getName()).isEqualTo(name);
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

  /** The search for the first ref stops at one that has come since, with a transaction. */
  @Test
  void theFirstRefIsNotOneOfABatchUnderWay() throws Exception {
    write("refs/heads/a", 1);
    write("refs/heads/b", 2);
    RefReader reader = reader(packed(Map.of("refs/heads/c", id(3))));
    NavigableMap<String, Ref> made = new TreeMap<>();
    made.put("refs/heads/a", null);
    Transactions.Link link = transactions.begin(made);
    RefName[] names =
        Stream.of("refs/heads/a", "refs/heads/b", "refs/heads/c")
            .map(RefName::of)
            .toArray(RefName[]::new);
    assertThat(reader.firstExactRef(names).getName()).isEqualTo("refs/heads/b");
    transactions.end(link);
    assertThat(reader.firstExactRef(names).getName()).isEqualTo("refs/heads/a");
  }

  private void write(String name, int i) throws IOException {
    Path file = repository.getDirectory().toPath().resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, id(i).name() + "\n");
  }
}
