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
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.io.BlockSource;
import org.eclipse.jgit.internal.storage.reftable.MergedReftable;
import org.eclipse.jgit.internal.storage.reftable.RefCursor;
import org.eclipse.jgit.internal.storage.reftable.Reftable;
import org.eclipse.jgit.internal.storage.reftable.ReftableConfig;
import org.eclipse.jgit.internal.storage.reftable.ReftableReader;
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

  private static final String PREFIX = "refs/changes/1";

  private final Map<Outcome, Integer> counts = new TreeMap<>();

  @Test
  void changedAtRandom() {
    for (int round = 0; round < ROUNDS; round++) {
      long seed = SEED * 1_000_003 + round;
      try {
        checkSome(new Random(seed), round % 4 == 0);
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

  private void checkSome(Random random, boolean isWhole) throws IOException {
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
    Outcome outcome = check(tables, names);
    if (isWhole) {
      assertThat(outcome).isEqualTo(Outcome.SAME);
    }
    counts.merge(outcome, 1, Integer::sum);
  }

  // ---- what this module and JGit read

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
  private enum Outcome {
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
  private static Outcome check(List<byte[]> tables, List<String> names) {
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
    return refs.stream().map(TableFuzzTest::show).toList();
  }

  private static String show(@Nullable Ref ref) {
    return ref == null ? "none" : ref + " " + ref.getUpdateIndex() + " " + ref.getPeeledObjectId();
  }

  // ---- tables

  private static String name(Random random) {
    return String.format(
        Locale.ROOT, "refs/changes/%02d/%d", random.nextInt(20), random.nextInt(40));
  }

  private static byte[] write(Random random, int updateIndex) throws IOException {
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
  private static void seal(byte[] table) {
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
    private static final List<String> NAMES =
        IntStream.range(0, 20)
            .mapToObj(i -> String.format(Locale.ROOT, "refs/changes/%02d/%d", i, i + 3))
            .toList();

    private TableTarget() {}

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
      var unused = check(List.of(table), NAMES);
    }
  }
}
