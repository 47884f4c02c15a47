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

import static com.google.common.base.Strings.lenientFormat;

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
 * The log of the start. Messages are held back until they can be read: Gerrit opens its error_log
 * only after most caches were made, and {@code gerrit.sh start} drops all output. {@link #writeNow}
 * writes messages that cannot be held back.
 *
 * <p>Safe for any thread.
 */
public final class StartLog {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The format of times in the error_log. */
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", Locale.ROOT);

  private record Message(Level level, String text) {}

  private final Queue<Message> waiting = new ConcurrentLinkedQueue<>();
  private volatile boolean readable;

  StartLog() {}

  /**
   * Writes a line to standard error, and into the error_log, which Gerrit has not opened yet: why
   * it waits or does not start, for example. In a container there may be no error_log, and
   * elsewhere standard error may be lost.
   *
   * @param level in the form that Gerrit writes
   */
  public static void writeNow(SitePaths site, String level, String message) {
    Path file = site.logs_dir.resolve("error_log");
    String line =
        lenientFormat(
            "[%s] [%s] %s %s : %s\n",
            TIME.format(ZonedDateTime.now(ZoneId.systemDefault())),
            Thread.currentThread().getName(),
            level,
            StartLog.class.getPackageName(),
            message);
    System.err.print(line);
    try {
      // Gerrit could not write to a file that another user has made. Owners are compared by their
      // ids, which need no name.
      if (Files.exists(file)
          || Files.getOwner(site.logs_dir).equals(Files.getOwner(Path.of("/proc/self")))) {
        Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      }
    } catch (IOException e) {
      // Then the message is only printed.
    }
  }

  /** Logs the messages that were held back. Later messages are logged at once. */
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

  /** Reports how a cache's file was found, unless all went well. */
  void report(String cache, StartReport report) {
    if (!report.told().isEmpty()) {
      // A copy has come here by intention.
      Level level = report.kind() == StartReport.Kind.COPY ? Level.INFO : Level.WARNING;
      tell(level, "Cache " + cache + " " + report.told());
    }
  }

  private void flush() {
    for (Message next = waiting.poll(); next != null; next = waiting.poll()) {
      logger.at(next.level).log("%s", next.text);
    }
  }
}
