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
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * Names of a store's files: {@code NAME-vVERSION-FINGERPRINT.chm} and, beside it, {@code .clean}
 * and {@code .discard}.
 *
 * <p>The fingerprint is 8 hexadecimal digits over all that decides how the bytes of the file are
 * read. Chronicle-Map lets the settings within a file win over those it is opened with, so a file
 * of other settings must never be opened at all.
 */
final class StoreFiles {
  /** Counts up when the layout of keys, envelopes or parts changes. */
  private static final int FORMAT = 1;

  private final Path directory;
  private final String prefix;
  private final String fileName;

  StoreFiles(Path directory, StoreSettings settings, Geometry geometry) {
    this.directory = directory;
    this.prefix = escape(settings.name());
    this.fileName =
        "%s-v%d-%08x.chm"
            .formatted(prefix, settings.version(), fingerprint(settings.version(), geometry));
  }

  private static int fingerprint(int version, Geometry geometry) {
    CRC32C crc = new CRC32C();
    crc.update(
        "format=%d version=%d %s"
            .formatted(FORMAT, version, geometry)
            .getBytes(StandardCharsets.UTF_8));
    return (int) crc.getValue();
  }

  /** Plugins choose the names of their caches; a file name must not lead out of the folder. */
  private static String escape(String name) {
    StringBuilder out = new StringBuilder();
    for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
      char c = (char) (b & 0xff);
      boolean plain =
          (c >= 'a' && c <= 'z')
              || (c >= 'A' && c <= 'Z')
              || (c >= '0' && c <= '9')
              || c == '_'
              || c == '-'
              || (c == '.' && out.length() > 0);
      if (plain) {
        out.append(c);
      } else {
        out.append('%').append(String.format(Locale.ROOT, "%02x", (int) c));
      }
    }
    return out.toString();
  }

  Path store() {
    return directory.resolve(fileName);
  }

  /**
   * The file whose presence says: what the store holds must not be used, because something that had
   * to be removed from it may still be there.
   */
  Path discardMarker() {
    return directory.resolve(fileName + ".discard");
  }

  /** Files of the same cache with another version or fingerprint. */
  List<Path> outdated() throws IOException {
    Pattern ours = Pattern.compile(Pattern.quote(prefix) + "-v-?\\d+-[0-9a-f]{8}\\.chm(\\.\\w+)*");
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        if (ours.matcher(name).matches() && !name.startsWith(fileName)) {
          found.add(file);
        }
      }
    }
    return found;
  }

  /** Deletes the store and all that stands beside it. */
  void deleteAll() throws IOException {
    // The store goes first: a marker without a store says nothing, a store without one is
    // recovered.
    Files.deleteIfExists(store());
    Files.deleteIfExists(CleanMarker.pathOf(store()));
    Files.deleteIfExists(discardMarker());
  }
}
