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
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Utf8;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Names as bytes against what Java says of the same strings. */
class NamesTest {
  private final Random random = new Random(2);

  @Test
  void theOrdersOfTwoNamesAreKnownByTheirFirstDifferentBytes() {
    for (int i = 0; i < 20_000; i++) {
      String one = PackedRefsText.oddName(random);
      String other = PackedRefsText.oddName(random);
      byte[] a = one.getBytes(UTF_8);
      byte[] b = other.getBytes(UTF_8);
      int at = Arrays.mismatch(a, b);
      if (at >= 0 && at < a.length && at < b.length) {
        boolean bytes = Arrays.compareUnsigned(a, b) < 0;
        boolean utf16 = one.compareTo(other) < 0;
        assertThat(Names.order(a[at], b[at]))
            .isEqualTo(!bytes ? Names.NO_ORDER : utf16 ? 0 : BlockFormat.BYTES_ONLY);
      }
    }
  }

  @Test
  void encodesAsJavaDoes() {
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      String name = Character.toString(c) + "/";
      byte[] bytes = name.getBytes(UTF_8);
      Target target = Target.of(name);
      if (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE) {
        assertThat(target).isNull();
      } else if (!Arrays.equals(bytes, 0, bytes.length, target.bytes(), 0, target.length())) {
        assertThat(Arrays.copyOf(target.bytes(), target.length())).isEqualTo(bytes);
      }
    }
    assertThat(Target.of("a\ud83d")).isNull();
    assertThat(Target.of("\ud83da")).isNull();
  }

  @Test
  void knowsUtf8() {
    byte[][] starts = {
      {}, {'a'}, {(byte) 0xC3, (byte) 0xA9}, {(byte) 0xF0, (byte) 0x9F, (byte) 0x98, (byte) 0x80}
    };
    int[] edges = {
      0, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC,
      0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF
    };
    for (int a : edges) {
      for (int b : edges) {
        for (int c : edges) {
          for (int d : edges) {
            byte[] bytes = {(byte) a, (byte) b, (byte) c, (byte) d};
            byte[] start = starts[(a + b + c + d) % starts.length];
            byte[] all = Arrays.copyOf(start, start.length + 4);
            System.arraycopy(bytes, 0, all, start.length, 4);
            boolean expected = Arrays.equals(new String(all, UTF_8).getBytes(UTF_8), all);
            if (Utf8.isWellFormed(all) != expected) {
              assertWithMessage(Arrays.toString(all)).fail();
            }
          }
        }
      }
    }
  }
}
