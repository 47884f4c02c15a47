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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The file that keeps a follower's place in the log over restarts. It is lines of text: the name of
 * the log, the place, how many records were appended up to there, and for each cache that has what
 * was in the log up to there the time of its last flush. If it cannot be read, the log is read from
 * its start.
 *
 * <p>For one thread at a time.
 */
final class Bookmark {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /**
   * A place in the log.
   *
   * @param index how many records were appended up to there; below 0 if that is not known
   * @param caches those that have what was in the log up to there, each with the time of its last
   *     flush in milliseconds since the epoch; 0 if it was never flushed
   */
  record Place(Position position, long index, Map<String, Long> caches) {
    static final Place START = new Place(Position.START, -1, Map.of());
  }

  private final Path file;
  private final String log;

  /**
   * Makes one of a file that need not exist.
   *
   * @param log names the log and the secret by which its records are opened
   */
  Bookmark(Path file, String log) {
    this.file = file;
    this.log = log;
  }

  /** Reads the place; that of another log is the start. */
  Place load() {
    try {
      List<String> lines = Files.readAllLines(file, UTF_8);
      Map<String, Long> caches = new HashMap<>();
      for (String line : lines.subList(3, lines.size())) {
        List<String> words = Splitter.on(' ').splitToList(line);
        caches.put(words.get(0), Long.parseLong(words.get(1)));
      }
      // A flush counts for values from any log.
      return lines.get(0).equals(log)
          ? new Place(Position.parse(lines.get(1)), Long.parseLong(lines.get(2)), caches)
          : new Place(Position.START, -1, caches);
    } catch (NoSuchFileException e) {
      return Place.START;
    } catch (IOException | RuntimeException e) {
      logger.atInfo().withCause(e).log(
          "Cannot read %s: the log of shared values is read from its start", file);
      return Place.START;
    }
  }

  /** Saves a place. A failure costs the next start a longer read only. */
  void save(Place place) {
    List<String> lines =
        new ArrayList<>(List.of(log, place.position().toString(), Long.toString(place.index())));
    place.caches().forEach((cache, millis) -> lines.add(cache + " " + millis));
    Path next = file.resolveSibling(file.getFileName() + ".next");
    try {
      Files.write(next, lines, UTF_8);
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      logger.atFine().withCause(e).log("Cannot write %s", file);
    }
  }
}
