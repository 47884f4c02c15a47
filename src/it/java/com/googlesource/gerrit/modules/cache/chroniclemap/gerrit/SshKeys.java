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
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import org.apache.sshd.common.config.keys.PublicKeyEntry;
import org.apache.sshd.common.config.keys.writer.openssh.OpenSSHKeyPairResourceWriter;

/** SSH key pairs, and the files that {@code ssh} and Gerrit's init read them from. */
final class SshKeys {
  private SshKeys() {}

  static KeyPair generate() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
      generator.initialize(2048);
      return generator.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The line that {@code authorized_keys} and Gerrit's REST API take. */
  static String publicLine(KeyPair pair) {
    return PublicKeyEntry.toString(pair.getPublic());
  }

  /** Writes {@code id_rsa} and {@code id_rsa.pub}: init gives the admin the key of that name. */
  static void write(KeyPair pair, Path sshFolder) throws IOException {
    Files.createDirectories(sshFolder);
    Path secret = sshFolder.resolve("id_rsa");
    Files.createFile(
        secret, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    try (OutputStream out = Files.newOutputStream(secret)) {
      OpenSSHKeyPairResourceWriter.INSTANCE.writePrivateKey(pair, "admin", null, out);
    } catch (GeneralSecurityException e) {
      throw new IOException("cannot write key: file=" + secret, e);
    }
    Files.writeString(sshFolder.resolve("id_rsa.pub"), publicLine(pair) + " admin\n");
  }
}
