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
import static com.google.common.truth.Truth.assertWithMessage;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.zip.CRC32;
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

/**
 * Stacks of tables that JGit has written, changed at random, read here and by JGit's reader. What
 * both can read is the same; what is broken is an error that has JGit answer, and nothing hangs.
 *
 * <p>Some thousand in a normal run; {@code -Drefs.fuzz.rounds=N} for more, {@code
 * -Drefs.fuzz.seed=N} for others.
 */
class TableFuzzTest {
  private static final int ROUNDS = Integer.getInteger("refs.fuzz.rounds", 4000);
  private static final long SEED = Long.getLong("refs.fuzz.seed", 1);

  private final Map<String, Integer> counts = new TreeMap<>();

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
    assertThat(counts.get("same")).isGreaterThan(ROUNDS / 3);
    assertThat(counts.get("broken")).isGreaterThan(ROUNDS / 10);
  }

  /** Native git leaves up to three blocks at the top of an index, where JGit makes one. */
  @Test
  void anIndexOfSeveralBlocks() throws Exception {
    Map<String, Ref> refs = new TreeMap<>();
    Random random = new Random(1);
    for (int i = 0; i < 900; i++) {
      String name = "refs/heads/%04d".formatted(i);
      refs.put(name, new ObjectIdRef.PeeledNonTag(Ref.Storage.PACKED, name, id(random)));
    }
    ReftableConfig config = new ReftableConfig();
    config.setRefBlockSize(256);
    config.setMaxIndexLevels(10);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ReftableWriter writer = new ReftableWriter(config, out);
    writer.setMinUpdateIndex(1).setMaxUpdateIndex(1).begin();
    writer.sortAndWriteRefs(refs.values());
    writer.finish();
    byte[] table = out.toByteArray();
    ByteBuffer bytes = ByteBuffer.wrap(table);
    int footer = table.length - TableFormat.FOOTER_BYTES;
    // The first index block there is, which is on the lowest level.
    int first = 0;
    while (table[first] != TableFormat.INDEX) {
      first += 256;
    }
    assertThat(bytes.getLong(footer + TableFormat.REF_INDEX)).isGreaterThan(first + 256L);
    bytes.putLong(footer + TableFormat.REF_INDEX, first);
    seal(table);
    TableStack stack = new TableStack(Map.of("table", Table.of("table", bytes)));
    for (String name : refs.keySet()) {
      assertThat(show(stack.exactRef(name))).isEqualTo(show(stack.refs(name).get(0)));
    }
    assertThat(stack.refs("refs/heads/0899")).hasSize(1);
    assertThat(stack.exactRef("refs/heads/0900")).isNull();
    assertThat(stack.refs("")).hasSize(900);
    for (Ref ref : refs.values()) {
      assertThat(stack.tips(ref.getObjectId())).hasSize(1);
    }
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
    TableStack stack = new TableStack(Map.of("table", Table.of("table", ByteBuffer.wrap(table))));
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
    String ours;
    try {
      ours = ours(tables, names, isWhole);
    } catch (IOException | IndexOutOfBoundsException e) {
      ours = "broken: " + e;
    }
    String jgits = answers(() -> jgits(tables, names));
    boolean isBroken = ours.startsWith("broken");
    assertWithMessage("whole tables").that(isWhole && isBroken).isFalse();
    if (!isBroken && !jgits.startsWith("broken")) {
      assertThat(ours).isEqualTo(jgits);
    }
    counts.merge(
        isBroken ? "broken" : jgits.startsWith("broken") ? "only JGit's" : "same", 1, Integer::sum);
  }

  // ---- tables

  private static String name(Random random) {
    return "refs/changes/%02d/%d".formatted(random.nextInt(20), random.nextInt(40));
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

  private static void seal(byte[] table) {
    int footer = table.length - TableFormat.FOOTER_BYTES;
    CRC32 crc = new CRC32();
    crc.update(table, footer, TableFormat.FOOTER_CRC);
    ByteBuffer.wrap(table).putInt(footer + TableFormat.FOOTER_CRC, (int) crc.getValue());
  }

  // ---- answers

  private interface Answers {
    String get() throws IOException;
  }

  private static String answers(Answers answers) {
    try {
      return answers.get();
    } catch (IOException
        | IndexOutOfBoundsException
        | IllegalArgumentException
        | NegativeArraySizeException
        | IllegalStateException
        | NullPointerException
        | OutOfMemoryError e) {
      return "broken: " + e;
    }
  }

  private static String ours(List<byte[]> tables, List<String> names, boolean isWhole)
      throws IOException {
    Map<String, Table> byName = new LinkedHashMap<>();
    for (byte[] table : tables) {
      if (table.length < TableFormat.HEADER_BYTES + TableFormat.FOOTER_BYTES) {
        throw new IOException("too short");
      }
      String name = "table " + byName.size();
      byName.put(name, Table.of(name, ByteBuffer.wrap(table)));
    }
    TableStack stack = new TableStack(byName);
    StringBuilder all = new StringBuilder();
    for (String name : names) {
      all.append(show(stack.exactRef(name))).append('\n');
    }
    stack.refs("").forEach(ref -> all.append(show(ref)).append('\n'));
    // These must end, too. They are held against JGit's in TableRefDatabaseTest.
    boolean unusedToo = stack.contains(names.get(0));
    boolean unused = stack.hasFastTips() && stack.hasRefs("refs/c");
    List<Ref> some = stack.refs("", Set.of(names.get(0), "refs/changes/1"));
    Set<Ref> tips = stack.tips(some.isEmpty() ? ObjectId.zeroId() : some.get(0).getObjectId());
    assertThat(isWhole && tips.isEmpty() && !some.isEmpty()).isFalse();
    stack.refs(names.get(0).substring(0, 16)).forEach(ref -> all.append(show(ref)).append('\n'));
    return all.toString();
  }

  private static String jgits(List<byte[]> tables, List<String> names) throws IOException {
    List<ReftableReader> readers = new ArrayList<>();
    for (byte[] table : tables) {
      readers.add(new ReftableReader(BlockSource.from(table)));
    }
    Reftable stack = new MergedReftable(readers);
    StringBuilder all = new StringBuilder();
    for (String name : names) {
      Ref ref = stack.exactRef(name);
      all.append(show(ref == null ? null : stack.resolve(ref))).append('\n');
    }
    append(stack.allRefs(), stack, all);
    append(stack.seekRefsWithPrefix(names.get(0).substring(0, 16)), stack, all);
    return all.toString();
  }

  private static void append(RefCursor cursor, Reftable stack, StringBuilder all)
      throws IOException {
    while (cursor.next()) {
      Ref ref = stack.resolve(cursor.getRef());
      if (ref != null && ref.getObjectId() != null) {
        all.append(show(ref)).append('\n');
      }
    }
  }

  private static String show(Ref ref) {
    return ref == null ? "none" : ref + " " + ref.getUpdateIndex() + " " + ref.getPeeledObjectId();
  }
}
