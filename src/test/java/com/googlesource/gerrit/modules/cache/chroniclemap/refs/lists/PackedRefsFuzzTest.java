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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.Jazzer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files that were changed at random, or made by {@link Jazzer}, parsed here and by JGit. Some
 * thousand in a normal run; {@code -Drefs.fuzz.rounds=N} for more, {@code -Drefs.fuzz.seed=N} for
 * others. What Jazzer finds belongs in {@code src/test/resources/packed-refs-fuzz}: all there are
 * tried in each run.
 */
class PackedRefsFuzzTest {
  private static final int ROUNDS = Integer.getInteger("refs.fuzz.rounds", 4000);
  private static final long SEED = Long.getLong("refs.fuzz.seed", 1);

  private static final int SEEDS = 100;
  private static final int MAX_BYTES = 128 << 10;
  private static final Path KNOWN = Path.of("src", "test", "resources", "packed-refs-fuzz");

  /** What a fuzzer would take long to find. */
  private static final String[] TOKENS = {
    "\n",
    "\r",
    "\r\n",
    " ",
    "^",
    "#",
    "# pack-refs with:",
    " peeled",
    " sorted",
    "\0",
    "\t",
    "\u000b",
    "\u000e",
    "refs/heads/",
    "\ud83d\ude00",
    "\uffff",
    "\ue000",
    "\u00e9",
    "A",
    "g",
    "0123456789abcdef0123456789abcdef01234567",
    "^0123456789abcdef0123456789abcdef01234567\n",
    "0123456789abcdef0123456789abcdef01234567 refs/heads/x\n"
  };

  @TempDir Path folder;

  @Test
  void changedAtRandom() throws Exception {
    try (Differential differential = new Differential(folder)) {
      int accepted = 0;
      for (int round = 0; round < ROUNDS; round++) {
        long seed = SEED * 1_000_003 + round;
        Random random = new Random(seed);
        try {
          byte[] text = start(random);
          ParsedRefs list = null;
          for (int step = random.nextInt(4); step >= 0; step--) {
            ParsedRefs next = differential.check(text, list);
            if (next != null) {
              list = next;
              accepted++;
            }
            text = change(text, random);
          }
        } catch (AssertionError | RuntimeException e) {
          throw new AssertionError("seed " + seed, e);
        }
      }
      // Else this would test hardly anything.
      assertThat(accepted).isGreaterThan(ROUNDS / 2);
    }
  }

  @Test
  void knownInputs() throws Exception {
    int count = 0;
    try (Differential differential = new Differential(folder);
        Stream<Path> inputs = Files.list(KNOWN)) {
      for (Path input : inputs.sorted().toList()) {
        try {
          PackedRefsTarget.check(differential, Files.readAllBytes(input));
        } catch (AssertionError | RuntimeException e) {
          throw new AssertionError(input.toString(), e);
        }
        count++;
      }
    }
    assertThat(count).isGreaterThan(0);
  }

  @Test
  void jazzerFindsNoDifference() throws Exception {
    Path seeds = Files.createDirectory(folder.resolve("seeds"));
    writeSeeds(seeds);
    Path dictionary = folder.resolve("dictionary");
    writeDictionary(dictionary);
    Jazzer.run(
        PackedRefsTarget.class,
        PackedRefsReader.class.getPackageName()
            + ".*:org.eclipse.jgit.internal.storage.file.RefDirectory*",
        List.of("-dict=" + dictionary, "-max_len=" + MAX_BYTES),
        seeds,
        KNOWN);
  }

  // ---- files to begin with, and such that were changed at random

  private static byte[] start(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> PackedRefsText.text(PackedRefsText.gerrit(random, 400));
      case 1 -> PackedRefsText.oddNames(random, 300, true);
      case 2 -> PackedRefsText.oddNames(random, 3, false);
      default -> PackedRefsText.oddNames(random, random.nextInt(12), random.nextBoolean());
    };
  }

  /** Changes a place or two: a byte, a token, a run of bytes or lines that moves, goes or comes. */
  private static byte[] change(byte[] text, Random random) {
    byte[] changed = text;
    for (int i = random.nextInt(3); i >= 0; i--) {
      int at = place(changed, random);
      int to = Math.min(changed.length, at + random.nextInt(random.nextInt(4) == 0 ? 200 : 4));
      if (random.nextInt(3) == 0) {
        at = lineStart(changed, at);
        to = lineStart(changed, to);
      }
      byte[] middle =
          switch (random.nextInt(6)) {
            case 0 -> new byte[0];
            case 1 -> TOKENS[random.nextInt(TOKENS.length)].getBytes(UTF_8);
            case 2 -> new byte[] {(byte) random.nextInt(256)};
            case 3 -> Arrays.copyOfRange(changed, at, to); // twice
            case 4 -> {
              int from = lineStart(changed, place(changed, random));
              int end = lineStart(changed, place(changed, random));
              yield from < end ? Arrays.copyOfRange(changed, from, end) : new byte[0];
            }
            default -> PackedRefsText.line(random, PackedRefsText.oddName(random)).getBytes(UTF_8);
          };
      ByteArrayOutputStream out = new ByteArrayOutputStream(changed.length + middle.length);
      out.write(changed, 0, random.nextBoolean() ? to : at);
      out.writeBytes(middle);
      out.write(changed, to, changed.length - to);
      changed = out.toByteArray();
    }
    return changed;
  }

  private static int place(byte[] text, Random random) {
    return text.length == 0 ? 0 : random.nextInt(text.length);
  }

  private static int lineStart(byte[] text, int at) {
    int p = at;
    while (p > 0 && text[p - 1] != '\n') {
      p--;
    }
    return p;
  }

  private static void writeSeeds(Path seeds) throws IOException {
    for (int i = 0; i < SEEDS; i++) {
      Random random = new Random(i);
      ByteArrayOutputStream input = new ByteArrayOutputStream();
      byte[] text = start(random);
      input.writeBytes(text);
      for (int step = random.nextInt(3); step > 0; step--) {
        text = change(text, random);
        input.writeBytes(PackedRefsTarget.REWRITE);
        input.writeBytes(text);
      }
      Files.write(seeds.resolve("seed-" + i), input.toByteArray());
    }
  }

  private static void writeDictionary(Path file) throws IOException {
    StringBuilder lines = new StringBuilder();
    List<byte[]> words = new ArrayList<>(List.of(PackedRefsTarget.REWRITE));
    for (String token : TOKENS) {
      words.add(token.getBytes(UTF_8));
    }
    for (byte[] word : words) {
      lines.append('"');
      for (byte b : word) {
        lines.append(String.format(Locale.ROOT, "\\x%02X", b));
      }
      lines.append("\"\n");
    }
    Files.writeString(file, lines.toString());
  }

  /**
   * What Jazzer calls: an input is a {@code packed-refs} file, or several, each a rewrite of the
   * one before, with {@link #REWRITE} between them. All are parsed here and by JGit.
   */
  public static final class PackedRefsTarget {
    /** Stands in no file, but in one that is broken anyway. */
    static final byte[] REWRITE = {'\n', 0, '\n'};

    private static Differential differential;

    private PackedRefsTarget() {}

    public static void fuzzerInitialize() throws IOException {
      Path folder = Files.createTempDirectory("fuzz");
      folder.toFile().deleteOnExit();
      differential = new Differential(folder);
    }

    /** Called with each input; throws if the answers differ. */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
      check(differential, input);
    }

    static void check(Differential differential, byte[] input) throws IOException {
      ParsedRefs list = null;
      for (byte[] text : rewrites(input)) {
        ParsedRefs next = differential.check(text, list);
        list = next == null ? list : next;
      }
    }

    private static List<byte[]> rewrites(byte[] input) {
      List<byte[]> texts = new ArrayList<>();
      int start = 0;
      for (int i = 0; i + REWRITE.length <= input.length; i++) {
        if (Arrays.equals(input, i, i + REWRITE.length, REWRITE, 0, REWRITE.length)) {
          // The line feed before may belong to the text.
          texts.add(Arrays.copyOfRange(input, start, i + 1));
          start = i + REWRITE.length;
          i = start - 1;
        }
      }
      texts.add(Arrays.copyOfRange(input, start, input.length));
      return texts;
    }
  }
}
