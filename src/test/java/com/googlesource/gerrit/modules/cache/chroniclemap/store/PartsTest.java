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
import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.collect.Range;
import com.google.common.primitives.Bytes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChronicleRuntime;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.PartList;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The small parts of a store, each by itself. */
@Timeout(60)
@Tag("locale")
class PartsTest {
  @TempDir Path temp;

  // ---- Envelope

  @Test
  void anEnvelopeIsSoundUntilAnyBitOfItChanges() {
    byte[] key = StoredKey.ofValue(random(20, 1));
    byte[] payload = random(50, 2);
    byte[] record =
        Bytes.concat(
            Envelope.wrap(key, Envelope.WHOLE, 1234567890123L, payload, 10, 30).header(),
            Arrays.copyOfRange(payload, 10, 40));
    assertThat(record).hasLength(Envelope.HEADER_LENGTH + 30);
    assertThat(Envelope.isValid(key, record)).isTrue();
    for (int bit = 0; bit < record.length * 8; bit++) {
      record[bit / 8] ^= (byte) (1 << bit % 8);
      // As a reader takes it: the bit is the highest one of an int in the file's byte order.
      boolean isInvalidated =
          Envelope.isInvalidated(
              ByteBuffer.wrap(record)
                  .order(ByteOrder.LITTLE_ENDIAN)
                  .getInt(Envelope.INVALIDATED_OFFSET - 3));
      assertThat(isInvalidated).isEqualTo(bit == Envelope.INVALIDATED_OFFSET * 8 + 7);
      assertWithMessage("bit %s", bit).that(Envelope.isValid(key, record)).isEqualTo(isInvalidated);
      record[bit / 8] ^= (byte) (1 << bit % 8);
    }
    assertThat(Envelope.isValid(StoredKey.ofValue(random(20, 3)), record)).isFalse();
  }

  @Test
  void anEnvelopeWithoutAHeaderIsNotSound() {
    byte[] key = StoredKey.ofValue(new byte[0]);
    assertThat(Envelope.isValid(key, new byte[0])).isFalse();
    assertThat(Envelope.isValid(key, new byte[Envelope.HEADER_LENGTH - 1])).isFalse();
    byte[] empty = Envelope.wrap(key, Envelope.WHOLE, 0, new byte[0], 0, 0).header();
    assertThat(Envelope.isValid(key, empty)).isTrue();
  }

  // ---- StoredKey

  @Test
  void storedKeysLeadBackToTheirKey() {
    for (int length : new int[] {0, 1, 12, 13, 14, 300}) {
      byte[] key = random(length, length);
      assertThat(StoredKey.keyOf(StoredKey.ofValue(key))).isEqualTo(key);
      assertThat(StoredKey.isPart(StoredKey.ofValue(key))).isFalse();
      byte[] part = StoredKey.ofPart(key, Long.MIN_VALUE + length, 7);
      assertThat(StoredKey.isPart(part)).isTrue();
      assertThat(StoredKey.keyOf(part)).isEqualTo(key);
      assertThat(StoredKey.partId(part)).isEqualTo(Long.MIN_VALUE + length);
      assertThat(part).isNotEqualTo(StoredKey.ofPart(key, Long.MIN_VALUE + length, 8));
    }
  }

  @Test
  void aKeyThatLooksLikeAPartIsNone() {
    byte[] part = StoredKey.ofPart(random(5, 1), 2, 3);
    assertThat(StoredKey.isPart(StoredKey.ofValue(part))).isFalse();
    assertThat(StoredKey.keyOf(StoredKey.ofValue(part))).isEqualTo(part);
  }

  // ---- PartList

  @Test
  void partsAddUpToTheWhole() {
    for (int length : new int[] {1, 99, 100, 101, 200, 12345, Integer.MAX_VALUE}) {
      for (int partLength : new int[] {1 << 10, 100, 65536}) {
        PartList list = new PartList(42, length, partLength);
        assertThat(PartList.decode(list.encode())).isEqualTo(list);
        long sum = 0;
        for (int i = 0; i < list.parts(); i++) {
          assertThat(list.lengthOf(i)).isIn(Range.closed(1, partLength));
          sum += list.lengthOf(i);
        }
        assertThat(sum).isEqualTo(length);
      }
    }
  }

  @Test
  void nonsenseIsNoPartList() {
    assertThat(PartList.decode(new byte[0])).isNull();
    assertThat(PartList.decode(new byte[15])).isNull();
    assertThat(PartList.decode(new byte[17])).isNull();
    assertThat(PartList.decode(new byte[16])).isNull();
    assertThat(PartList.decode(new PartList(1, -1, 5).encode())).isNull();
    assertThat(PartList.decode(new PartList(1, 5, -1).encode())).isNull();
    assertThat(PartList.decode(new PartList(1, 5, 0).encode())).isNull();
  }

  // ---- Geometry

  @Test
  void geometriesAreSaneForAnyLimit() {
    for (long bytes = Geometry.MIN_FILE_BYTES; bytes <= 1L << 40; bytes += bytes / 7 + 1) {
      for (int bytesPerSlot : new int[] {64, 128, 1024}) {
        Geometry geometry = Geometry.forFileOf(bytes, bytesPerSlot);
        String what = bytes + " bytes: " + geometry;
        assertWithMessage(what).that(Long.bitCount(geometry.segments())).isEqualTo(1);
        assertWithMessage(what).that(geometry.chunksPerSegment()).isGreaterThan(100);
        assertWithMessage(what).that(geometry.entriesPerSegment()).isGreaterThan(0);
        assertWithMessage(what)
            .that(geometry.entriesPerSegment())
            .isAtMost(geometry.chunksPerSegment());
        assertWithMessage(what).that(geometry.dataBytes()).isLessThan(bytes);
        assertWithMessage(what).that(geometry.dataBytes()).isGreaterThan(bytes / 2);
        assertWithMessage(what).that(geometry.maxPayload()).isGreaterThan(1000);
      }
    }
    assertThrows(
        IllegalArgumentException.class, () -> Geometry.forFileOf(Geometry.MIN_FILE_BYTES - 1, 128));
  }

  @Test
  void aFileTakesNoMoreThanItMay() throws Exception {
    for (long bytes = Geometry.MIN_FILE_BYTES; bytes <= 64 << 20; bytes += bytes / 2 + 1) {
      for (int bytesPerSlot : new int[] {64, 128, 1024}) {
        Path path = temp.resolve("file " + bytesPerSlot);
        TestStores.file(path, Geometry.forFileOf(bytes, bytesPerSlot)).close();
        assertThat(Files.size(path)).isIn(Range.closed(bytes / 2, bytes));
        Files.delete(path);
      }
    }
  }

  // ---- Tickets

  private static HashedKey key(int number) {
    return new HashedKey(new byte[] {(byte) (number >> 8), (byte) number});
  }

  @Test
  void aTicketEndsWhenItsKeyChangesAndNotWithAnyOther() {
    Tickets tickets = new Tickets();
    Ticket ticket = tickets.take(key(1));
    Ticket shared = tickets.take(key(1));
    assertThat(shared).isSameInstanceAs(ticket);
    for (int i = 2; i < 30_000; i++) {
      tickets.begin(key(i)).close();
    }
    assertThat(ticket.hasEnded()).isFalse();
    assertThat(tickets.open).hasSize(1);
    shared.close();
    assertThat(ticket.hasEnded()).isFalse();
    tickets.begin(key(1)).close();
    assertThat(ticket.hasEnded()).isTrue();
    assertThat(tickets.open).isEmpty();
    ticket.close();
    assertThat(tickets.open).isEmpty();
  }

  @Test
  void noTicketIsCurrentDuringAChange() {
    Tickets tickets = new Tickets();
    Ticket first = tickets.begin(key(1));
    Ticket second = tickets.begin(key(1));
    assertThat(first.hasEnded()).isTrue();
    assertThat(second.hasEnded()).isFalse();
    second.close();
    assertThat(second.hasEnded()).isTrue();
    Ticket during = tickets.take(key(1));
    assertThat(during.hasEnded()).isTrue();
    first.close();
    assertThat(during.hasEnded()).isTrue();
    during.close();
    assertThat(tickets.open).isEmpty();
    Ticket after = tickets.take(key(1));
    assertThat(after.hasEnded()).isFalse();
    after.close();
    assertThat(after.hasEnded()).isTrue();
  }

  @Test
  void noTicketIsCurrentDuringARemovalOfAllValues() {
    Tickets tickets = new Tickets();
    Ticket before = tickets.take(key(1));
    tickets.beginRemoval();
    assertThat(before.hasEnded()).isTrue();
    Ticket during = tickets.take(key(1));
    assertThat(during.hasEnded()).isTrue();
    tickets.endAll();
    tickets.endRemoval();
    assertThat(during.hasEnded()).isTrue();
    Ticket after = tickets.take(key(1));
    assertThat(after.hasEnded()).isFalse();
    before.close();
    during.close();
    assertThat(after.hasEnded()).isFalse();
    after.close();
    assertThat(tickets.open).isEmpty();
  }

  // ---- JvmFlags

  @Test
  void noFlagOfTheTestsIsMissing() {
    assertThat(JvmFlags.missing()).isEmpty();
  }

  // ---- WarmUp

  @Test
  void theWarmUpRunsOnOneThreadAndKeepsDiskAllocatable() throws Exception {
    RecordMapBuilder.warmUp();
    StoreDirectory.warmUp();
    StoreDirectory.warmUp();
    assertThat(
            Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains("warm-up"))
                .count())
        .isAtMost(1);
    assertThat(ChronicleRuntime.allocatesDisk()).isTrue();
  }

  // ---- Disk

  /** Otherwise a call would go past a disk on which a test has it fail. */
  @Test
  void theDiskOfTestsHasEachOperation() {
    for (Method operation : Disk.class.getDeclaredMethods()) {
      // These three cannot fail.
      if (Modifier.isPublic(operation.getModifiers())
          && !List.of("free", "unmap", "setLocked").contains(operation.getName())) {
        assertWithMessage("%s", operation)
            .that(
                Arrays.stream(TestDisk.class.getDeclaredMethods())
                    .anyMatch(
                        own ->
                            own.getName().equals(operation.getName())
                                && Arrays.equals(
                                    own.getParameterTypes(), operation.getParameterTypes())))
            .isTrue();
      }
    }
  }

  // ---- RecordMap

  @Test
  void aSegmentBeyondTheLastIsRefusedRatherThanLookedForInMemory() throws Exception {
    Geometry geometry =
        Geometry.forFileOf(Geometry.MIN_FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    RecordMap file = TestStores.file(temp.resolve("file"), geometry);
    try {
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> file.scanSegment(file.geometry.segments(), (key, created, bytes) -> {}));
    } finally {
      file.close();
    }
  }
}
