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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** A home folder for processes that are measured: no setting of the caller gets to them. */
record UpdatesHome(Path folder, File log) {
  static UpdatesHome make(Path folder) throws IOException {
    return new UpdatesHome(
        Files.createDirectories(folder), new File(System.getProperty("bench.log")));
  }

  /** Takes all settings of the caller away from a process. */
  ProcessBuilder hermetic(ProcessBuilder process) {
    Map<String, String> environment = process.environment();
    environment.keySet().removeIf(name -> name.startsWith("GIT_"));
    environment.put("HOME", folder.toString());
    environment.put("XDG_CONFIG_HOME", folder.toString());
    environment.put("GIT_CONFIG_NOSYSTEM", "1");
    return process;
  }

  /** Starts one whose input and output are pipes; its errors go to the log. */
  Process start(ProcessBuilder process) throws IOException {
    return hermetic(process).redirectError(ProcessBuilder.Redirect.appendTo(log)).start();
  }
}
