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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import static com.google.common.base.Preconditions.checkState;

import com.google.common.math.IntMath;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the disk of a folder of stores is used for, as their files tell while they are in use. */
public final class FileParts {
  /** With the numbers that fix the geometry. */
  private static final Pattern STORE = Pattern.compile(".+-g\\d+-(\\d+)-(\\d+)-[0-9a-f]{8}\\.chm");

  /** What bytes are for. */
  public enum Part {
    VALUES("values"),
    KEYS("their keys, times and checksums"),
    ROUNDING("the ends of their last chunks of 64 bytes"),
    INVALIDATED("values that were replaced or removed"),
    FREE("free chunks, as disk is taken by steps"),
    SLOTS("hash slots"),
    TABLES("headers, bit sets of chunks"),
    PAGES("parts of pages of 4 KB"),
    OTHER("state and other files");

    public final String title;

    Part(String title) {
      this.title = title;
    }
  }

  private final Map<Part, Long> bytes = new EnumMap<>(Part.class);

  private FileParts() {}

  /**
   * Reads a folder.
   *
   * @param onDisk bytes of disk that it takes in all
   */
  public static Map<Part, Long> of(Path folder, long onDisk) throws IOException {
    FileParts parts = new FileParts();
    for (Path file : Folders.files(folder, any -> true)) {
      Matcher name = STORE.matcher(file.getFileName().toString());
      if (name.matches()) {
        long limit = Long.parseLong(name.group(1));
        parts.addStore(file, Geometry.forFileOf(limit, Integer.parseInt(name.group(2))));
      } else {
        parts.add(Part.OTHER, Files.size(file));
      }
    }
    long known = parts.bytes.values().stream().mapToLong(Long::longValue).sum();
    parts.add(Part.PAGES, onDisk - known);
    return parts.bytes;
  }

  private void add(Part part, long more) {
    bytes.merge(part, more, Long::sum);
  }

  private void addStore(Path file, Geometry geometry) throws IOException {
    FileLayout layout = layout(geometry);
    ByteBuffer state = ByteBuffer.wrap(Files.readAllBytes(FileState.pathOf(file)));
    SegmentCounts counts = new SegmentCounts(state.order(ByteOrder.LITTLE_ENDIAN), layout.segments);
    add(Part.TABLES, layout.headersOffset);
    try (FileChannel channel = FileChannel.open(file)) {
      for (int i = 0; i < layout.segments; i++) {
        if (counts.room(i) > 0) {
          byte[] segment = new byte[layout.segmentBytes];
          ByteBuffer used = ByteBuffer.wrap(segment, 0, counts.room(i));
          checkState(SegmentReader.readFully(channel, layout.offsetOf(i), used), file);
          addSegment(layout, segment, counts.room(i));
        }
      }
    }
  }

  /** Only a map tells its layout, so one of the same geometry is made. */
  private static FileLayout layout(Geometry geometry) throws IOException {
    Path folder = Files.createTempDirectory("file-parts");
    try {
      Path file = folder.resolve("empty.chm");
      RecordMap empty = RecordMapBuilder.create(new KeylessDisk(), file, geometry, true);
      empty.close();
      return empty.layout;
    } finally {
      Folders.delete(folder);
    }
  }

  /** Knows no files apart: in a folder as new as a file, its creation time may not be known yet. */
  private static final class KeylessDisk extends Disk {
    @Override
    public String fileKey(Path file) {
      return "";
    }
  }

  private void addSegment(FileLayout layout, byte[] content, int room) {
    ByteBuffer segment = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
    long free = (long) layout.chunksIn(room) * layout.chunkBytes;
    RecordView record = new RecordView();
    for (int i = 0; i < layout.slotsIn(room); i++) {
      long slot = layout.slot(segment, i * layout.slotBytes);
      if (slot == 0 || !record.parse(layout, content, slot)) {
        continue;
      }
      int entry = record.end() - layout.startOf(layout.chunkOf(slot));
      int chunks = IntMath.divide(entry, layout.chunkBytes, RoundingMode.UP) * layout.chunkBytes;
      if (record.isInvalidated()) {
        add(Part.INVALIDATED, chunks);
      } else {
        int value = record.length() - record.keyLength - Envelope.HEADER_LENGTH;
        add(Part.VALUES, value);
        add(Part.KEYS, entry - value);
        add(Part.ROUNDING, chunks - entry);
      }
      free -= chunks;
    }
    add(Part.FREE, free);
    add(Part.SLOTS, layout.slotsEnd(room));
    add(Part.TABLES, layout.chunksOffset - layout.countersOffset);
  }
}
