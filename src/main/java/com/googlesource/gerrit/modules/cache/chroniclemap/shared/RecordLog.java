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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import java.io.IOException;
import java.util.List;

/**
 * A log on a server, to which all servers of a site append and which all of them read. It drops its
 * oldest records when it has reached its size. One object is one connection, for one thread at a
 * time; only {@link #close} may be called by any thread.
 *
 * <p>Every method throws an {@link IOException} if the server cannot be reached, does not answer
 * within seconds, or refuses. The connection is of no use then and should be closed. The message
 * says what is wrong, for people.
 */
interface RecordLog extends AutoCloseable {
  /** Connects to a log. */
  interface Opener {
    RecordLog open() throws IOException;
  }

  /** A record with its place. */
  record Entry(StreamId position, byte[] bytes) {}

  /**
   * The state of the log.
   *
   * @param last the place of the newest record ever appended; {@link StreamId#START} if none
   * @param records the number of records in the log
   * @param appended the number of records that were ever appended; below 0 if the server does not
   *     tell
   * @param bytes of memory or disk that it takes on the server
   */
  record State(StreamId last, long records, long appended, long bytes) {
    /** Whether the server tells how many records were appended. */
    boolean isCounted() {
      return appended >= 0;
    }

    /** The number of records that were dropped because of their age. */
    long dropped() {
      return appended - records;
    }
  }

  /** The server refuses a record because it is full. Later ones may be accepted. */
  final class FullException extends IOException {
    private static final long serialVersionUID = 1L;

    FullException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** Records could not be brought here, though the server answers: they may be too large. */
  final class TooLargeException extends IOException {
    private static final long serialVersionUID = 1L;

    TooLargeException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * Appends a record.
   *
   * @throws FullException if the server is full
   */
  void append(byte[] record) throws IOException;

  /**
   * Reads records, the oldest first. If there is none, it waits for a moment, but for less than a
   * stop does.
   *
   * @param after the place before the first one to read
   * @param most the number of records to read at most
   * @throws TooLargeException if the answer did not come in time, or does not fit in memory
   */
  List<Entry> read(StreamId after, int most) throws IOException;

  State state() throws IOException;

  /** Describes the server for an administrator: a line each of what works, and of what does not. */
  void check(CheckReport report) throws IOException;

  /**
   * Ends the connection. If another thread is in a call, it ends when that call returns. Never
   * throws.
   */
  @Override
  void close();
}
