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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a server may reply, and what not. */
class BoundedRepliesTest {
  private static BoundedReplies of(String replies) {
    BoundedReplies bounded =
        new BoundedReplies(new ByteArrayInputStream(replies.getBytes(ISO_8859_1)));
    bounded.begin(TimeUnit.MINUTES.toNanos(1));
    return bounded;
  }

  private static String read(InputStream in, int atOnce) throws IOException {
    StringBuilder all = new StringBuilder();
    byte[] room = new byte[atOnce];
    for (int count = in.read(room); count > 0; count = in.read(room)) {
      all.append(new String(room, 0, count, ISO_8859_1));
    }
    return all.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "+OK\r\n",
        "-ERR something is wrong\r\n",
        ":-17\r\n",
        "_\r\n#t\r\n,1.5\r\n(123456789012345678901234567890\r\n",
        "$-1\r\n*-1\r\n",
        "$0\r\n\r\n$5\r\n\r\n$9\n\r\n+OK\r\n",
        "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n",
        "*2\r\n:1\r\n*1\r\n$1\r\nx\r\n>1\r\n+push\r\n=7\r\ntxt:abc\r\n"
      })
  void repliesPassAsTheyAre(String replies) throws Exception {
    for (int atOnce : new int[] {1, 2, 3, 8192}) {
      assertThat(read(of(replies), atOnce)).isEqualTo(replies);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "$2147483647\r\n",
        "$99999999999999999999\r\n",
        "$1-99999999\r\n",
        "$--1\r\n",
        "$-2\r\n",
        "$5\n99999999\r\n",
        "$5\rx",
        "$1\r\nabc\r\n",
        "*1000000000\r\n",
        "*1-99999999\r\n",
        "%5000\r\n",
        "*4000\r\n*4000\r\n",
        "$?\r\n",
        "+OK\n+OK\r\n"
      })
  void whatIsNoReplyOrTooLargeIsRefused(String replies) {
    for (int atOnce : new int[] {1, 2, 3, 8192}) {
      assertThrows(IOException.class, () -> read(of(replies), atOnce));
    }
  }

  @Test
  void noLineIsEndless() {
    for (String type : new String[] {"+", "-", "(", ":", "?"}) {
      assertThrows(IOException.class, () -> read(of(type + "1".repeat(1 << 16)), 100));
    }
  }

  @Test
  void noReplyTakesForEver() {
    BoundedReplies bounded = of("+OK\r\n");
    bounded.begin(-1);
    assertThrows(IOException.class, () -> read(bounded, 1));
  }

  @Test
  void theCountOfElementsIsThatOfOneReply() throws Exception {
    BoundedReplies bounded = of("*4000\r\n*4000\r\n");
    byte[] room = new byte[7];
    assertWithMessage("bytes").that(bounded.read(room)).isEqualTo(7);
    bounded.begin(TimeUnit.MINUTES.toNanos(1));
    assertWithMessage("bytes").that(bounded.read(room)).isEqualTo(7);
  }

  @Test
  void whoIsNotWaitedForAnyMoreStopsReading() {
    BoundedReplies replies = of("+OK\r\n");
    Thread.currentThread().interrupt();
    try {
      assertThrows(IOException.class, replies::read);
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
  }
}
