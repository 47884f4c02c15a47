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
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;

/**
 * What a process that is about to be killed does, in a file that it maps: a SIGKILL does not lose
 * what was written to mapped memory. A record's place is taken before an operation begins and after
 * it has returned, so the places tell what was before what, over all threads.
 *
 * <p>Safe for any thread.
 */
final class CrashLog {
  /** What a record says. */
  enum Kind {
    /** The process was killed before it had written the record whose place it had taken. */
    HOLE(0),
    PUT(1),
    /** A load that will put this version if it finds nothing; it has not begun. */
    LOAD(2),
    REMOVE(3),
    /** Of all keys. */
    CLEAR(4),
    /** What the thread began last has returned. */
    RETURNED(5),
    /** The process was killed. */
    KILLED(6),
    /** What a start after a kill has found; version 0 stands for nothing. */
    FOUND(7);

    private final int code;

    Kind(int code) {
      this.code = code;
    }

    private static Kind of(int code) {
      return Arrays.stream(values()).filter(kind -> kind.code == code).findFirst().orElseThrow();
    }
  }

  /** One record. */
  record Entry(Kind kind, int thread, int key, int version) {}

  private static final int BYTES = 64 << 20;
  private static final int MAX_THROUGH = 16 << 20;
  private static final int RECORD = 4 * Integer.BYTES;
  private static final VarHandle INTS =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

  /** The number of records, where the first one would be; then the records. */
  private final ByteBuffer buffer;

  /** Where each record is written at once; empty if the buffer is mapped. */
  private final Optional<FileChannel> through;

  private CrashLog(ByteBuffer buffer, Optional<FileChannel> through) {
    this.buffer = buffer;
    this.through = through;
  }

  /**
   * Opens it for a machine that is killed, with what is mapped there: each record is written to a
   * file system of another machine.
   */
  static CrashLog openThrough(Path path) throws IOException {
    FileChannel channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    ByteBuffer buffer = ByteBuffer.allocateDirect(MAX_THROUGH).order(ByteOrder.nativeOrder());
    int bytes = 0;
    for (int read = 0; read >= 0 && bytes < MAX_THROUGH; read = channel.read(buffer, bytes)) {
      bytes += read;
    }
    buffer.clear().putInt(0, places(bytes));
    return new CrashLog(buffer, Optional.of(channel));
  }

  /** How many records a file of so many bytes has which was written through. */
  static int places(long bytes) {
    return Math.max(0, (int) (bytes / RECORD) - 1);
  }

  /** Makes it, or goes on where it ends. */
  static CrashLog open(Path path) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new CrashLog(
          channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES).order(ByteOrder.nativeOrder()),
          Optional.empty());
    }
  }

  void add(Kind kind, int thread, int key, int version) {
    int at = ((int) INTS.getAndAdd(buffer, 0, 1) + 1) * RECORD;
    buffer.putInt(at + 4, thread).putInt(at + 8, key).putInt(at + 12, version);
    // Last: until then it is a hole.
    INTS.setRelease(buffer, at, kind.code);
    if (through.isPresent()) {
      try {
        int unused = through.get().write(buffer.slice(at, RECORD), at);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  int size() {
    return (int) INTS.getVolatile(buffer, 0);
  }

  Entry get(int index) {
    int at = (index + 1) * RECORD;
    Kind kind = Kind.of((int) INTS.getAcquire(buffer, at));
    return new Entry(kind, buffer.getInt(at + 4), buffer.getInt(at + 8), buffer.getInt(at + 12));
  }
}
