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

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Makes the disk that a loss of power leaves if the disk may lose writes that were not flushed; run
 * by bin/lib/soak-power.sh. The writes come from Linux's dm-log-writes, which logs a write when a
 * flush has completed that covers it, so all writes before a flush are on the disk, and any of
 * those between two flushes may be. Writes that are durable by themselves (FUA) are all on the
 * disk.
 *
 * <p>Marks in the log have the sizes of other logs, which say what was done before. Printed are
 * those of the last mark before the end of the disk's time, and those of the second mark after it:
 * the sizes of the first may have been read before that time.
 */
final class UnflushedWritesMain {
  private static final int FLUSH = 1;
  private static final int FUA = 2;
  private static final int DISCARD = 4;
  private static final int MARK = 8;

  private static final int SECTOR = 512;
  private static final int ENTRY_HEADER = 4 * Long.BYTES;

  /** One entry; its bytes follow it in the log. */
  private record Entry(long sector, long sectors, long flags, long at, String mark) {
    boolean is(int flag) {
      return (flags & flag) != 0;
    }
  }

  /** The log, the disk as it was before its first write (which is changed), and a seed. */
  public static void main(String[] args) throws IOException {
    Random random = new Random(Long.parseLong(args[2]));
    try (FileChannel log = FileChannel.open(Path.of(args[0]));
        FileChannel disk = FileChannel.open(Path.of(args[1]), StandardOpenOption.WRITE)) {
      List<Entry> entries = read(log);
      List<Integer> flushes = new ArrayList<>();
      List<Integer> marks = new ArrayList<>();
      for (int i = 0; i < entries.size(); i++) {
        if (entries.get(i).is(MARK)) {
          marks.add(i);
        } else if (entries.get(i).is(FLUSH) && !marks.isEmpty()) {
          flushes.add(i);
        }
      }
      // The flush that did not complete, and the one before.
      flushes.removeIf(flush -> flush > marks.get(marks.size() - 2));
      int chosen = 1 + random.nextInt(flushes.size() - 1);
      int last = flushes.get(chosen - 1);
      int end = flushes.get(chosen);
      int lost = 0;
      int kept = 0;
      for (int i = 0; i < end; i++) {
        Entry entry = entries.get(i);
        if (entry.is(MARK) || entry.is(DISCARD)) {
          continue;
        }
        if (i <= last || entry.is(FUA) || random.nextBoolean()) {
          write(log, entry, disk);
          kept += i > last ? 1 : 0;
        } else {
          lost++;
        }
      }
      int next = (int) marks.stream().filter(mark -> mark < end).count();
      System.out.printf(
          Locale.ROOT,
          "%s %s unflushedKept=%d unflushedLost=%d entry=%d of=%d%n",
          entries.get(marks.get(next - 1)).mark(),
          entries.get(marks.get(next + 1)).mark(),
          kept,
          lost,
          end,
          entries.size());
    }
  }

  /** The format is that of Linux's drivers/md/dm-log-writes.c: the entries begin after a sector. */
  private static List<Entry> read(FileChannel log) throws IOException {
    List<Entry> entries = new ArrayList<>();
    long at = SECTOR;
    while (true) {
      ByteBuffer sector = read(log, at, SECTOR);
      Entry entry =
          new Entry(
              sector.getLong(),
              sector.getLong(),
              sector.getLong(),
              at + SECTOR,
              text(sector, (int) sector.getLong()));
      if (entry.flags() == 0 && entry.sectors() == 0) {
        return entries;
      }
      entries.add(entry);
      at += SECTOR + (entry.is(DISCARD) ? 0 : entry.sectors() * SECTOR);
    }
  }

  private static String text(ByteBuffer sector, int length) {
    String text = US_ASCII.decode(sector.slice(ENTRY_HEADER, length)).toString();
    return Splitter.on('\0').split(text).iterator().next();
  }

  private static ByteBuffer read(FileChannel from, long at, int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining() && from.read(buffer, at + buffer.position()) >= 0) {}
    return buffer.clear();
  }

  private static void write(FileChannel log, Entry entry, FileChannel disk) throws IOException {
    ByteBuffer data = read(log, entry.at(), (int) entry.sectors() * SECTOR);
    while (data.hasRemaining()) {
      int unused = disk.write(data, entry.sector() * SECTOR + data.position());
    }
  }
}
