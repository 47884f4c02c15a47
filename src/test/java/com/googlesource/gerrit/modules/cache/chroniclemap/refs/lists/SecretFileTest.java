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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("locale")
class SecretFileTest {
  @TempDir Path folder;

  @Test
  void staysAndIsForItsOwnerOnly() throws Exception {
    byte[] secret = SecretFile.readOrMake(folder);
    assertThat(secret).hasLength(SiteKey.SECRET_BYTES);
    assertThat(SecretFile.readOrMake(folder)).isEqualTo(secret);
    assertThat(
            PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("secret"))))
        .isEqualTo("rw-------");
    try (var files = Files.list(folder)) {
      assertThat(files.toList()).containsExactly(folder.resolve("secret"));
    }
  }

  @Test
  void oneThatIsLostOrCutIsMadeAnew() throws Exception {
    byte[] first = SecretFile.readOrMake(folder);
    Files.delete(folder.resolve("secret"));
    byte[] second = SecretFile.readOrMake(folder);
    assertThat(second).isNotEqualTo(first);
    Files.write(folder.resolve("secret"), new byte[5]);
    byte[] third = SecretFile.readOrMake(folder);
    assertThat(third).isNotEqualTo(second);
    assertThat(SecretFile.readOrMake(folder)).isEqualTo(third);
  }

  @Test
  void whatACrashLeftIsNoHindrance() throws Exception {
    Files.write(folder.resolve("secret.next"), new byte[3]);
    byte[] secret = SecretFile.readOrMake(folder);
    assertThat(SecretFile.readOrMake(folder)).isEqualTo(secret);
  }

  @Test
  void whereNoneCanBeMadeTheCallerIsTold() throws Exception {
    Files.createDirectory(folder.resolve("secret"));
    assertThrows(IOException.class, () -> SecretFile.readOrMake(folder));
  }
}
