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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.Jazzer;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables.TableDifferential.Outcome;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.eclipse.jgit.internal.storage.reftable.ReftableConfig;
import org.eclipse.jgit.internal.storage.reftable.ReftableWriter;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.SymbolicRef;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Stacks of tables that JGit has written, changed at random, read here and by JGit's reader. What
 * both can read is the same; what is broken is an error that has JGit answer, and nothing hangs.
 *
 * <p>Some thousand in a normal run; {@code -Drefs.fuzz.rounds=N} for more, {@code
 * -Drefs.fuzz.seed=N} for others.
 */
class TableFuzzTest {
  private static final int ROUNDS = Integer.getInteger("refs.fuzz.rounds", 4000);
  private static final int MAX_BYTES = 32 << 10;
  private static final long SEED = Long.getLong("refs.fuzz.seed", 1);

  private final Map<Outcome, Integer> counts = new TreeMap<>();

  @Test
  void changedAtRandom() {
    for (int round = 0; round < ROUNDS; round++) {
      long seed = SEED * 1_000_003 + round;
      try {
        check(new Random(seed), round % 4 == 0);
      } catch (AssertionError | RuntimeException | IOException e) {
        throw new AssertionError("seed " + seed, e);
      }
    }
    System.out.println(counts);
    assertThat(counts.get(Outcome.SAME)).isGreaterThan(ROUNDS / 3);
    assertThat(counts.get(Outcome.BROKEN)).isGreaterThan(ROUNDS / 10);
    assertThat(counts.getOrDefault(Outcome.OUT_OF_ORDER, 0)).isLessThan(ROUNDS / 100);
  }

  @Test
  void jazzerFindsNoDifference(@TempDir Path seeds) throws Exception {
    for (int i = 0; i < 120; i++) {
      byte[] table = write(new Random(i), 1);
      if (ByteBuffer.wrap(table).getInt(TableFormat.VERSION_AND_BLOCK_SIZE) << 8 == 0) {
        Files.write(seeds.resolve("seed-" + i), table);
      }
    }
    Jazzer.run(
        TableTarget.class,
        Table.class.getPackageName() + ".*:org.eclipse.jgit.internal.storage.reftable.*",
        List.of("-max_len=" + MAX_BYTES),
        seeds);
  }

  /** Latin-1, which native git allows in names, has a character that no UTF-8 has as a byte. */
  @Test
  void aNameBehindAllUtf8IsExcluded() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ReftableWriter writer = new ReftableWriter(new ReftableConfig(), out);
    writer.setMinUpdateIndex(1).setMaxUpdateIndex(1).begin();
    writer.writeRef(
        new ObjectIdRef.PeeledNonTag(Ref.Storage.PACKED, "refs/x/~", id(new Random(1))));
    writer.finish();
    byte[] table = out.toByteArray();
    int at = 0;
    while (table[at] != '~') {
      at++;
    }
    table[at] = (byte) 0xff;
    TableStack stack = new TableStack(Map.of("table", new Table("table", ByteBuffer.wrap(table))));
    assertThat(stack.refs("refs/")).hasSize(1);
    assertThat(stack.refs("refs/", Set.of("refs/x/"))).isEmpty();
  }

  private void check(Random random, boolean isWhole) throws IOException {
    List<byte[]> tables = new ArrayList<>();
    int index = 1;
    for (int i = random.nextInt(random.nextInt(50) == 0 ? 100 : 4); i >= 0; i--) {
      tables.add(write(random, index++));
    }
    if (!isWhole) {
      int which = random.nextInt(tables.size());
      tables.set(which, change(tables.get(which), random));
    }
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      names.add(name(random));
    }
    Outcome outcome = TableDifferential.check(tables, names);
    if (isWhole) {
      assertThat(outcome).isEqualTo(Outcome.SAME);
    }
    counts.merge(outcome, 1, Integer::sum);
  }

  // ---- tables

  static String name(Random random) {
    return String.format(
        Locale.ROOT, "refs/changes/%02d/%d", random.nextInt(20), random.nextInt(40));
  }

  static byte[] write(Random random, int updateIndex) throws IOException {
    Map<String, Ref> refs = new TreeMap<>();
    int count = random.nextInt(random.nextInt(10) == 0 ? 600 : 30);
    for (int i = 0; i < count; i++) {
      String name = name(random);
      refs.put(name, ref(name, random));
    }
    ReftableConfig config = new ReftableConfig();
    config.setRefBlockSize(random.nextBoolean() ? 256 : 4096);
    config.setAlignBlocks(random.nextBoolean());
    config.setIndexObjects(random.nextBoolean());
    config.setRestartInterval(2 + random.nextInt(20));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ReftableWriter writer = new ReftableWriter(config, out);
    writer.setMinUpdateIndex(updateIndex).setMaxUpdateIndex(updateIndex).begin();
    writer.sortAndWriteRefs(refs.values());
    writer.finish();
    return out.toByteArray();
  }

  private static Ref ref(String name, Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null);
      case 1 -> new ObjectIdRef.PeeledTag(Ref.Storage.PACKED, name, id(random), id(random));
      case 2 ->
          new SymbolicRef(name, new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name(random), null));
      default -> new ObjectIdRef.PeeledNonTag(Ref.Storage.PACKED, name, id(random));
    };
  }

  private static ObjectId id(Random random) {
    byte[] id = new byte[20];
    random.nextBytes(id);
    return ObjectId.fromRaw(id);
  }

  /** Changes some bytes, or cuts some out. The footer's checksum is right most of the time. */
  private static byte[] change(byte[] table, Random random) {
    byte[] changed = table.clone();
    if (random.nextInt(5) == 0) {
      int from = random.nextInt(changed.length);
      int to = from + random.nextInt(changed.length - from);
      byte[] rest = Arrays.copyOf(changed, changed.length - (to - from));
      System.arraycopy(changed, to, rest, from, changed.length - to);
      changed = rest;
    } else {
      for (int i = random.nextInt(3); i >= 0; i--) {
        int at = random.nextInt(changed.length);
        changed[at] = (byte) (random.nextBoolean() ? random.nextInt(256) : changed[at] + 1);
      }
    }
    if (random.nextInt(8) != 0
        && changed.length >= TableFormat.HEADER_BYTES + TableFormat.FOOTER_BYTES) {
      seal(changed);
    }
    return changed;
  }

  /** Makes the footer's checksum right. */
  static void seal(byte[] table) {
    int footer = table.length - TableFormat.FOOTER_BYTES;
    CRC32 crc = new CRC32();
    crc.update(table, footer, TableFormat.FOOTER_CRC);
    ByteBuffer.wrap(table).putInt(footer + TableFormat.FOOTER_CRC, (int) crc.getValue());
  }

  /**
   * What Jazzer calls: an input is a table, whose footer gets the right checksum, as nothing is
   * read of a table without one, and whose blocks are not aligned. It is read alone.
   */
  public static final class TableTarget {
    private static final List<String> NAMES = names();

    private TableTarget() {}

    private static List<String> names() {
      List<String> names = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        names.add(String.format(Locale.ROOT, "refs/changes/%02d/%d", i, i + 3));
      }
      return names;
    }

    /** Called with each input; throws if the answers differ. */
    public static void fuzzerTestOneInput(byte[] input) {
      if (input.length < TableFormat.HEADER_BYTES + TableFormat.FOOTER_BYTES) {
        return;
      }
      byte[] table = input.clone();
      // JGit finds fewer blocks than there are if the block size is wrong, and does not notice.
      ByteBuffer.wrap(table).putInt(TableFormat.VERSION_AND_BLOCK_SIZE, TableFormat.VERSION << 24);
      // The footer repeats the header, which random changes would not.
      System.arraycopy(
          table, 0, table, table.length - TableFormat.FOOTER_BYTES, TableFormat.HEADER_BYTES);
      seal(table);
      var unused = TableDifferential.check(List.of(table), NAMES);
    }
  }
}
