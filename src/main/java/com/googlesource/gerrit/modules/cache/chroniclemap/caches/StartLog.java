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
import com.google.gerrit.server.config.SitePaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Level;

/**
 * What the log has to say of the start, held back until it can be read: Gerrit opens its error_log
 * only after most caches were made, and {@code gerrit.sh start} drops what is printed. {@link
 * #writeNow} is for what can't be held back.
 *
 * <p>Safe for any thread.
 */
public final class StartLog {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** As Gerrit writes it. */
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", Locale.ROOT);

  private record Message(Level level, String text) {}

  private final Queue<Message> waiting = new ConcurrentLinkedQueue<>();
  private volatile boolean readable;

  StartLog() {}

  /**
   * Writes a line into the error_log that Gerrit has not opened yet: why it does not start, say.
   *
   * @param level as Gerrit writes it
   */
  public static void writeNow(SitePaths site, String level, String message) {
    Path file = site.logs_dir.resolve("error_log");
    String line =
        "[%s] [%s] %s %s : %s%n"
            .formatted(
                TIME.format(ZonedDateTime.now(ZoneId.systemDefault())),
                Thread.currentThread().getName(),
                level,
                StartLog.class.getPackageName(),
                message);
    try {
      // Not a new one as another user than Gerrit's, who could not write to it then.
      if (Files.exists(file) || isOwner(site.logs_dir)) {
        Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      }
    } catch (IOException e) {
      // It is printed as well.
      System.err.print(line);
    }
  }

  private static boolean isOwner(Path folder) throws IOException {
    return Files.getOwner(folder).getName().equals(System.getProperty("user.name"));
  }

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
