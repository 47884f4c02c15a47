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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Values that tell who wrote them, of sizes that differ, some so large that they are split. */
final class TestValues {
  /** Each of so many is split. */
  private static final int SPLIT_EVERY = 16;

  private TestValues() {}

  /** The value of a number; positive. */
  static byte[] of(int number) {
    int length =
        number % SPLIT_EVERY == 0 ? 70_000 + number % 50_000 : 4 + (number & 0xFFFF) * 31 % 6000;
    byte[] out = new byte[length];
    fill(out, number);
    return out;
  }

  private static void fill(byte[] out, int number) {
    ByteBuffer buffer = ByteBuffer.wrap(out);
    int next = number;
    while (buffer.remaining() >= Integer.BYTES) {
      buffer.putInt(next);
      next = next * 1_664_525 + 1_013_904_223;
    }
  }

  /** The number of a value, or {@link KeyHistory#NONE}; fails if it is no whole value. */
  static int numberOf(Value value) {
    if (value == null) {
      return KeyHistory.NONE;
    }
    int number = ByteBuffer.wrap(value.bytes()).getInt();
    if (!Arrays.equals(value.bytes(), of(number))) {
      throw new AssertionError("a value that was never put: number=" + number);
    }
    return number;
  }
}
