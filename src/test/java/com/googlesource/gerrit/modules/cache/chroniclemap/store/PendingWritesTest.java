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

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.PendingWrites.PendingWrite;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What queued writes take of the heap is bound for all stores together. */
class PendingWritesTest {
  private static final HashedKey KEY = new HashedKey("key".getBytes(UTF_8));
  private static final HashedKey OTHER_KEY = new HashedKey("other key".getBytes(UTF_8));

  @AutoClose private final PendingWrites greedy = new PendingWrites();
  @AutoClose private final PendingWrites modest = new PendingWrites();

  /** More would count as nothing, as its caller writes it at once. */
  private static final int NEARLY_ALL = (16 << 20) - 1;

  private static void queue(PendingWrites writes, HashedKey key, int bytes) {
    writes.change(key, (k, before) -> PendingWrite.put(new byte[bytes], 1));
  }

  @Test
  void aStoreThatHasAllTheRoomLeavesSomeToTheOthers() {
    queue(greedy, KEY, NEARLY_ALL);
    assertThat(greedy.hasRoom(0)).isFalse();
    assertThat(modest.hasRoom(0)).isTrue();
    queue(modest, KEY, 256 << 10);
    assertThat(modest.hasRoom(0)).isFalse();
    greedy.clear();
    assertThat(modest.hasRoom(0)).isTrue();
  }

  @Test
  void aValueThatWouldTakeAllTheRoomIsNotQueued() {
    assertThat(greedy.hasRoom(16 << 20)).isFalse();
    assertThat(greedy.hasRoom(15 << 20)).isTrue();
    queue(greedy, KEY, 17 << 20);
    assertThat(modest.hasRoom(1 << 20)).isTrue();
  }

  @Test
  void thereIsMoreRoomForRemovals() {
    queue(greedy, KEY, NEARLY_ALL);
    assertThat(greedy.hasRoomToRemove()).isTrue();
    queue(greedy, OTHER_KEY, NEARLY_ALL);
    assertThat(greedy.hasRoomToRemove()).isFalse();
  }

  @Test
  void aStoreThatWasClosedTakesNoRoom() {
    queue(greedy, KEY, NEARLY_ALL);
    queue(modest, KEY, 256 << 10);
    greedy.close();
    assertThat(modest.hasRoom(0)).isTrue();
    queue(greedy, KEY, NEARLY_ALL);
    assertThat(greedy.isEmpty()).isTrue();
    assertThat(modest.hasRoom(0)).isTrue();
  }

  /** In the middle of a change its key can't be seen by whoever closes the store. */
  @Test
  void aChangeDuringTheCloseTakesNoRoomEither() {
    queue(modest, KEY, 256 << 10);
    greedy.change(
        OTHER_KEY,
        (key, before) -> {
          Thread closing = Thread.ofPlatform().start(greedy::close);
          try {
            closing.join();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
          return PendingWrite.put(new byte[16 << 20], 1);
        });
    assertThat(greedy.isEmpty()).isTrue();
    assertThat(modest.hasRoom(0)).isTrue();
  }
}
