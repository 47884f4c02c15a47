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

  private void check(Random random, boolean isWhole) throws IOException {
    List<byte[]> tables = new ArrayList<>();
    int index = 1;
    for (int i = random.nextInt(4); i >= 0; i--) {
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
    String ours = answers(() -> ours(tables, names));
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
    if (random.nextInt(8) != 0 && changed.length >= 92) {
      CRC32 crc = new CRC32();
      crc.update(changed, changed.length - 68, 64);
      ByteBuffer.wrap(changed).putInt(changed.length - 4, (int) crc.getValue());
    }
    return changed;
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

  private static String ours(List<byte[]> tables, List<String> names) throws IOException {
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
