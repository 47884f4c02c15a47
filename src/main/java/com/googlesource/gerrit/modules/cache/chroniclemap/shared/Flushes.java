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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.AtomicFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * When caches were flushed, also by earlier processes. It is kept in a file of lines with the name
 * of a cache and milliseconds since the epoch. If that cannot be read, all caches count as flushed
 * at this start. Any thread may call.
 */
final class Flushes {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Stands for all caches. */
  private static final String ALL = "*";

  private final Path file;
  private final Map<String, Long> times = new ConcurrentHashMap<>();

  Flushes(Path file) {
    this.file = file;
    try {
      for (String line : Files.readAllLines(file, UTF_8)) {
        List<String> words = Splitter.on(' ').splitToList(line);
        times.put(words.get(0), Long.parseLong(words.get(1)));
      }
    } catch (NoSuchFileException e) {
      // Nothing was ever flushed.
    } catch (IOException | RuntimeException e) {
      // Any cache may have been flushed.
      times.put(ALL, System.currentTimeMillis());
      logger.atWarning().withCause(e).log(
          "Cannot read %s, so nothing is taken in that other servers have computed until now",
          file);
    }
  }

  /** Notes a flush; on return, it is on disk. */
  synchronized void add(String cache) {
    times.put(cache, System.currentTimeMillis());
    String text =
        times.entrySet().stream()
            .map(each -> each.getKey() + " " + each.getValue() + "\n")
            .collect(Collectors.joining());
    try {
      AtomicFile.replace(file, text.getBytes(UTF_8));
    } catch (IOException e) {
      logger.atWarning().withCause(e).log(
          "Cannot note in %s that cache %s was flushed: after a restart, its values may come back"
              + " from other servers",
          file, cache);
    }
  }

  /** Whether a value was made before its cache was flushed here. */
  boolean covers(SharedValue value) {
    return covers(ALL, value) || covers(value.cache(), value);
  }

  private boolean covers(String cache, SharedValue value) {
    Long flushed = times.get(cache);
    if (flushed == null) {
      return false;
    }
    long now = System.currentTimeMillis();
    if (flushed > now) {
      // The clock was ahead at that time; without this, nothing would be taken in until then.
      times.replace(cache, flushed, now);
      return value.created() <= now;
    }
    return value.created() <= flushed;
  }
}
