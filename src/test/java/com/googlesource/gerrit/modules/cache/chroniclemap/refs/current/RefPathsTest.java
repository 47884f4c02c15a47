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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import java.io.File;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("locale")
class RefPathsTest {
  private static final String NAME = "refs/heads/\u00e9";

  @TempDir Path folder;

  // ---- names that the locale can't express: bin/test runs this in the POSIX locale as well

  @Test
  void whatCantBeNamedIsAnErrorThatSaysWhatToSet() throws IOException {
    try (TestRefs refs = TestRefs.create(folder.resolve("r.git"), null)) {
      File packed = refs.folder().resolve("packed-refs").toFile();
      RefPaths paths = new RefPaths(refs.repository(), packed);
      assertThat(paths.loose("refs/heads/a").getName()).isEqualTo("a");
      if (Charset.forName(System.getProperty("sun.jnu.encoding")).equals(UTF_8)) {
        assertThat(paths.loose(NAME).getName()).isEqualTo("\u00e9");
        assertThat(RefPaths.limitsOfNames()).isEmpty();
      } else {
        IOException error = assertThrows(IOException.class, () -> paths.loose(NAME));
        assertThat(error).hasMessageThat().startsWith(folder.toString());
        assertThat(error).hasMessageThat().contains("LC_ALL=C.UTF-8");
        assertThat(RefPaths.limitsOfNames().orElseThrow()).contains("LC_ALL=C.UTF-8");
      }
    }
  }
}
