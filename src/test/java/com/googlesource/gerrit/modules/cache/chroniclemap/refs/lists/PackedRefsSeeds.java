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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Random;

/** Files to begin with, and such that were changed at random. */
final class PackedRefsSeeds {
  /** What a fuzzer would take long to find. */
  static final String[] TOKENS = {
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

  private PackedRefsSeeds() {}

  static byte[] start(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> PackedRefsText.text(PackedRefsText.gerrit(random, 400));
      case 1 -> PackedRefsText.oddNames(random, 300, true);
      case 2 -> PackedRefsText.oddNames(random, 3, false);
      default -> PackedRefsText.oddNames(random, random.nextInt(12), random.nextBoolean());
    };
  }

  /** Changes a place or two: a byte, a token, a run of bytes or lines that moves, goes or comes. */
  static byte[] change(byte[] text, Random random) {
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
}
