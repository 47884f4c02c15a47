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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A native git that has reftables. */
public final class NewerGit {
  private static final String SCRIPT = "bin/lib/newer-git.sh";
  private static String found;

  private NewerGit() {}

  /** Returns its path. The first call on a machine may download it, which takes some seconds. */
  public static synchronized String path() throws IOException {
    if (found == null) {
      Process script =
          new ProcessBuilder(project().resolve(SCRIPT).toString())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      String said = new String(script.getInputStream().readAllBytes(), UTF_8).strip();
      assertWithMessage(SCRIPT).that(script.onExit().join().exitValue()).isEqualTo(0);
      found = said;
    }
    return found;
  }

  /** The folder of the sources. Processes of the soak work elsewhere. */
  private static Path project() {
    Path here = Path.of("").toAbsolutePath();
    if (Files.exists(here.resolve(SCRIPT))) {
      return here;
    }
    try {
      return Path.of(NewerGit.class.getProtectionDomain().getCodeSource().getLocation().toURI())
          .getParent()
          .getParent();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
