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

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import net.openhft.chronicle.algo.hashing.LongHashFunction;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.VanillaGlobalMutableState;
import net.openhft.chronicle.hash.impl.HashSplitting;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;
import net.openhft.chronicle.values.Values;
import net.openhft.chronicle.wire.TextWire;

/**
 * The header of a Chronicle-Map file that nobody maps: what it says of the file, checked as far as
 * it can be without the rest.
 *
 * <p>The file begins with a checksum (8 bytes), a word that says how long the header is and whether
 * it was finished (4), and the header, a text. Behind it, at the next multiple of 64, stands the
 * global state: a lock (8) and five numbers. That never changes in a file whose segments do not
 * grow, but for the lock. Source: ChronicleMapBuilder and VanillaChronicleHash of Chronicle-Map
 * 2026.1.
 *
 * @param layout where things are in the file
 * @param stateOffset where the global state begins
 * @param places where Chronicle-Map keeps a key
 */
record FileHeader(FileLayout layout, long stateOffset, SegmentRepair.KeyPlace places) {
  private static final int SIZE_WORD_AT = 8;
  private static final int TEXT_AT = 12;
  private static final int NOT_COMPLETE_BIT = 0x8000_0000;
  private static final int SIZE_MASK = 0x3FFF_FFFF;
  private static final int MAX_TEXT_BYTES = 1 << 20;
  private static final int LINE_BYTES = 64;
  private static final int RESERVED_STATE_BYTES = 1024;

  /** Bytes of the lock at the start of the global state. */
  static final int LOCK_BYTES = 8;

  /**
   * Refuses what Chronicle-Map would wait a minute for: a header that its writer never finished.
   */
  static void checkReady(Disk disk, Path path) throws IOException {
    try (FileChannel channel = disk.open(path, Set.of(StandardOpenOption.READ))) {
      int unused = textBytes(channel);
    }
  }

  /** Whether the header was finished; not if its writer died in the middle of making the file. */
  static boolean isReady(Disk disk, Path path) throws IOException {
    if (disk.size(path) < TEXT_AT) {
      return false;
    }
    try (FileChannel channel = disk.open(path, Set.of(StandardOpenOption.READ))) {
      return isReady(sizeWord(channel));
    }
  }

  private static boolean isReady(int sizeWord) {
    return sizeWord != 0 && (sizeWord & NOT_COMPLETE_BIT) == 0;
  }

  private static int sizeWord(FileChannel channel) throws IOException {
    return read(channel, SIZE_WORD_AT, Integer.BYTES).getInt(0);
  }

  private static int textBytes(FileChannel channel) throws IOException {
    int sizeWord = sizeWord(channel);
    if (!isReady(sizeWord)) {
      throw new IOException("the header of the file was never finished");
    }
    return sizeWord & SIZE_MASK;
  }

  /**
   * Reads the header of a file.
   *
   * @param geometry of the file, as its name says
   * @throws IOException if the file can't be of that geometry
   */
  static FileHeader read(Disk disk, Path path, Geometry geometry) throws IOException {
    try (FileChannel channel = disk.open(path, Set.of(StandardOpenOption.READ))) {
      int textBytes = textBytes(channel);
      if (textBytes > MAX_TEXT_BYTES) {
        throw new IOException("a header of " + textBytes + " bytes");
      }
      ByteBuffer header = read(channel, 0, TEXT_AT + textBytes);
      LongHashFunction hash = LongHashFunction.xx_r39();
      if (hash.hashBytes(header, SIZE_WORD_AT, Integer.BYTES + textBytes) != header.getLong(0)) {
        throw new IOException("the checksum of the header differs");
      }
      VanillaChronicleHash<?, ?, ?, ?> map = parse(header);
      long stateOffset = align(TEXT_AT + textBytes, LINE_BYTES);
      FileLayout layout =
          layout(map, geometry, stateOffset, state(channel, stateOffset), disk.size(path));
      return new FileHeader(layout, stateOffset, new Places(hash, map.hashSplitting));
    } catch (IllegalStateException | IllegalArgumentException | ClassCastException e) {
      throw new IOException("the header can't be read", e);
    }
  }

  private static VanillaChronicleHash<?, ?, ?, ?> parse(ByteBuffer header) {
    Bytes<ByteBuffer> bytes = Bytes.wrapForRead(header);
    bytes.readPosition(TEXT_AT);
    return new TextWire(bytes).getValueIn().typedMarshallable();
  }

  private static VanillaGlobalMutableState state(FileChannel channel, long offset)
      throws IOException {
    VanillaGlobalMutableState state = Values.newNativeReference(VanillaGlobalMutableState.class);
    ByteBuffer bytes = read(channel, offset + LOCK_BYTES, Math.toIntExact(state.maxSize()));
    state.bytesStore(BytesStore.wrap(bytes), 0, state.maxSize());
    return state;
  }

  private static FileLayout layout(
      VanillaChronicleHash<?, ?, ?, ?> map,
      Geometry geometry,
      long stateOffset,
      VanillaGlobalMutableState state,
      long fileBytes)
      throws IOException {
    long headersOffset = align(stateOffset + RESERVED_STATE_BYTES, OS.pageSize());
    long segmentsBytes = map.actualSegments * map.tierSize;
    long segmentsOffset = state.getDataStoreSize() - segmentsBytes;
    long headerBytes = (segmentsOffset - headersOffset) / map.actualSegments;
    if (map.actualSegments != geometry.segments()
        || map.chunkSize != geometry.chunkSize()
        || map.actualChunksPerSegmentTier != geometry.chunksPerSegment()
        || state.getAllocatedExtraTierBulks() != 0
        || state.getExtraTiersInUse() != 0
        || state.getFirstFreeTierIndex() != 0
        || state.getSegmentHeadersOffset() != headersOffset
        || state.getDataStoreSize() > fileBytes
        || headerBytes != segmentHeaderBytes(map.actualSegments)
        || headersOffset + headerBytes * map.actualSegments != segmentsOffset) {
      throw new IOException("the header does not fit the file");
    }
    return FileLayout.of(map, headersOffset, segmentsOffset, geometry.maxPayload());
  }

  /** Where there are few segments, their headers stand apart. */
  private static int segmentHeaderBytes(int segments) {
    if (segments * 3 * LINE_BYTES < 2 * OS.pageSize()) {
      return 3 * LINE_BYTES;
    }
    return segments * 2 * LINE_BYTES < 3 * OS.pageSize() ? 2 * LINE_BYTES : LINE_BYTES;
  }

  private static long align(long offset, int to) {
    return (offset + to - 1) / to * to;
  }

  private static ByteBuffer read(FileChannel channel, long offset, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    if (!SegmentReader.readFully(channel, offset, buffer)) {
      throw new IOException("the file is too short: " + channel.size() + " bytes");
    }
    return buffer.flip();
  }

  private record Places(LongHashFunction function, HashSplitting splitting)
      implements SegmentRepair.KeyPlace {
    @Override
    public int segment(byte[] bytes, int offset, int length) {
      return splitting.segmentIndex(function.hashBytes(bytes, offset, length));
    }

    @Override
    public long segmentHash(byte[] bytes, int offset, int length) {
      return splitting.segmentHash(function.hashBytes(bytes, offset, length));
    }
  }
}
