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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** A daemon's {@code logs/error_log}, over all of its starts. */
final class ErrorLog {
  private static final Pattern ERROR = Pattern.compile("^\\[[^]]*\\] \\[.*?\\] (ERROR|FATAL) ");

  private final Path file;

  private ErrorLog(Path file) {
    this.file = file;
  }

  static ErrorLog of(GerritSite site) {
    return new ErrorLog(site.path().resolve("logs/error_log"));
  }

  List<String> errors() throws IOException {
    return lines(line -> ERROR.matcher(line).find());
  }

  List<String> lines(Predicate<String> wanted) throws IOException {
    return Files.exists(file)
        ? Files.readAllLines(file).stream().filter(wanted).toList()
        : List.of();
  }
}
