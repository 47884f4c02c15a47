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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Level;

/**
 * What the log has to say of the start, held back until it can be read: Gerrit opens its error_log
 * only after most caches were made, and {@code gerrit.sh start} drops what is printed.
 *
 * <p>Safe for any thread.
 */
final class StartLog {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private record Message(Level level, String text) {}

  private final Queue<Message> waiting = new ConcurrentLinkedQueue<>();
  private volatile boolean readable;

  /** From here on messages are logged at once. */
  void open() {
    readable = true;
    flush();
  }

  void warn(String message) {
    tell(Level.WARNING, message);
  }

  void tell(Level level, String message) {
    waiting.add(new Message(level, message));
    if (readable) {
      flush();
    }
  }

  /** Says how a cache's file was found, if that is worth a word. */
  void report(String cache, long diskLimit, StartReport report) {
    switch (report.kind()) {
      case RECOVERED ->
          warn(
              "Cache %s was recovered, because %s: %d entries kept"
                  .formatted(cache, report.detail(), report.entries()));
      case SHRUNK ->
          warn(
              "Cache %s is being made smaller, because %s: it had %d entries"
                  .formatted(cache, report.detail(), report.entries()));
      case REPLACED -> warn("Cache %s starts empty: %s".formatted(cache, report.detail()));
      case NONE ->
          warn(
              """
              Cache %s is kept in memory only, because no file could be made for it: %s. Free disk \
              or mend the rights of the folder: it is tried again now and then, and at a restart. Or \
              lower cache.%s.diskLimit (%d bytes)\
              """
                  .formatted(cache, report.detail(), cache, diskLimit));
      case PENDING, NEW, CLEAN -> {}
    }
  }

  private void flush() {
    for (Message next = waiting.poll(); next != null; next = waiting.poll()) {
      logger.at(next.level).log("%s", next.text);
    }
  }
}
