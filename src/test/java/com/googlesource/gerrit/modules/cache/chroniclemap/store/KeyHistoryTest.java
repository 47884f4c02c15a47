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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Kind;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Operation;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The judge of the concurrency tests tells right from wrong. */
class KeyHistoryTest {
  private static final int NONE = KeyHistory.NONE;

  private static Operation put(int value, int... seen) {
    return new Operation(Kind.PUT, new Answer(value, NONE, true), seen);
  }

  private static Operation remove(int... seen) {
    return new Operation(Kind.REMOVE, new Answer(NONE, NONE, true), seen);
  }

  private static Operation read(int found, int... seen) {
    return new Operation(Kind.READ, new Answer(NONE, found, true), seen);
  }

  private static Operation stored(int value, int... seen) {
    return new Operation(Kind.LOAD, new Answer(value, NONE, true), seen);
  }

  private static Operation ended(int value, int... seen) {
    return new Operation(Kind.LOAD, new Answer(value, NONE, false), seen);
  }

  private static boolean allowed(int before, List<List<Operation>> threads) {
    return new KeyHistory(threads).isAllowed(before);
  }

  private static boolean alone(int before, Operation... operations) {
    return allowed(before, List.of(List.of(operations)));
  }

  @Test
  void oneThreadReadsWhatItWrote() {
    assertThat(alone(NONE, read(NONE, 0), put(1, 1), read(1, 2))).isTrue();
    assertThat(alone(7, read(7, 0), remove(1), read(NONE, 2))).isTrue();
    assertThat(alone(NONE, stored(1, 0), read(1, 1))).isTrue();
    assertThat(alone(NONE, put(1, 0), put(2, 1), read(1, 2))).isFalse();
    assertThat(alone(NONE, put(1, 0), read(NONE, 1))).isFalse();
    assertThat(alone(7, remove(0), read(7, 1))).isFalse();
    assertThat(alone(7, stored(1, 0))).isFalse();
    assertThat(alone(NONE, stored(1, 0), read(NONE, 1))).isFalse();
  }

  @Test
  void aPutBesideARemovalMayWinOrLose() {
    List<Operation> put = List.of(put(1, 0, 0));
    assertThat(allowed(7, List.of(put, List.of(remove(0, 0), read(1, 1, 1))))).isTrue();
    assertThat(allowed(7, List.of(put, List.of(remove(0, 0), read(NONE, 1, 1))))).isTrue();
    assertThat(allowed(7, List.of(put, List.of(remove(0, 0), read(7, 1, 1))))).isFalse();
    assertThat(allowed(7, List.of(put, List.of(remove(1, 0), read(1, 1, 1))))).isFalse();
  }

  @Test
  void readersAgreeOnTheOrder() {
    List<Operation> put = List.of(put(1, 0, 0));
    assertThat(allowed(7, List.of(put, List.of(read(7, 0, 0), read(1, 0, 1))))).isTrue();
    assertThat(allowed(7, List.of(put, List.of(read(1, 0, 0), read(7, 0, 1))))).isFalse();
  }

  @Test
  void aMissIsAllowedBesideAChangeOnly() {
    List<Operation> change = List.of(put(1, 0, 0));
    assertThat(allowed(7, List.of(change, List.of(read(NONE, 0, 0))))).isTrue();
    assertThat(allowed(7, List.of(change, List.of(read(NONE, 1, 0))))).isFalse();
    List<Operation> load = List.of(stored(1, 0, 0));
    assertThat(allowed(7, List.of(load, List.of(remove(0, 0), read(1, 1, 1))))).isTrue();
    assertThat(allowed(7, List.of(load, List.of(read(7, 0, 0))))).isFalse();
  }

  @Test
  void aLoadThatBeganBeforeAChangeDoesNotStore() {
    for (Operation load : List.of(stored(1, 0, 0), ended(1, 0, 0))) {
      // In the middle of the load a value was put: the older one must not take its place.
      List<List<Operation>> wrong = List.of(List.of(load), List.of(put(2, 0, 0), read(1, 1, 1)));
      assertThat(allowed(NONE, wrong)).isFalse();
      List<List<Operation>> right = List.of(List.of(load), List.of(put(2, 0, 0), read(2, 1, 1)));
      assertThat(allowed(NONE, right)).isTrue();
    }
  }

  @Test
  void aLoadWhoseTicketEndedMayHaveStored() {
    List<Operation> load = List.of(ended(1, 0, 0));
    assertThat(allowed(NONE, List.of(load, List.of(read(1, 0, 0), remove(0, 1))))).isTrue();
    assertThat(allowed(NONE, List.of(load, List.of(remove(0, 0), read(NONE, 1, 1))))).isTrue();
  }
}
