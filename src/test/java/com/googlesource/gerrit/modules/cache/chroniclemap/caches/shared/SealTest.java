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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.Random;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Only what a node with the same secret has sealed for a key is opened for it. */
class SealTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);

  private static Seal seal(boolean encrypts, String secret, String cache, int version) {
    Config config = new Config();
    config.setString("cache-chroniclemap", null, "sharedUrl", "redis://host");
    config.setString("cache-chroniclemap", null, "sharedSecret", secret.repeat(32));
    config.setBoolean("cache-chroniclemap", null, "sharedEncrypt", encrypts);
    return new Seal(SharedSettings.read(config, unused -> null), cache, version);
  }

  private static byte[] value(int size) {
    byte[] value = new byte[size];
    new Random(size).nextBytes(value);
    // Half of it can be compressed.
    Arrays.fill(value, 0, size / 2, (byte) 'x');
    return value;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatWasSealedIsOpened(boolean encrypts) {
    Seal seal = seal(encrypts, "s", "cache", 1);
    byte[] name = seal.nameOf(KEY);
    for (int size : new int[] {0, 1, 15, 16, 17, 4095, 4096, 4097, 100_000, 3 << 20}) {
      byte[] value = value(size);
      SharedValue opened = seal.open(name, seal.seal(name, value, 12345, 67_000_000));
      assertWithMessage("%s bytes", size).that(opened.bytes()).isEqualTo(value);
      assertThat(opened.created()).isEqualTo(12345);
      assertThat(opened.loadNanos()).isEqualTo(67_000_000);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noBitMayBeAnotherOne(boolean encrypts) {
    Seal seal = seal(encrypts, "s", "cache", 1);
    byte[] name = seal.nameOf(KEY);
    byte[] sealed = seal.seal(name, value(64), 1, 1);
    for (int bit = 0; bit < sealed.length * 8; bit++) {
      byte[] changed = sealed.clone();
      changed[bit / 8] ^= (byte) (1 << (bit % 8));
      assertThat(seal.open(name, changed)).isNull();
    }
    for (int size = 0; size < sealed.length; size++) {
      assertThat(seal.open(name, Arrays.copyOf(sealed, size))).isNull();
    }
    assertThat(seal.open(name, Arrays.copyOf(sealed, sealed.length + 1))).isNull();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingOfAnotherKeyCacheVersionSecretOrModeIsOpened(boolean encrypts) {
    Seal seal = seal(encrypts, "s", "cache", 1);
    byte[] name = seal.nameOf(KEY);
    byte[] sealed = seal.seal(name, value(5000), 1, 1);
    for (Seal other :
        new Seal[] {
          seal(encrypts, "t", "cache", 1),
          seal(encrypts, "s", "other", 1),
          seal(encrypts, "s", "cache", 2),
          seal(!encrypts, "s", "cache", 1)
        }) {
      assertThat(other.nameOf(KEY)).isNotEqualTo(name);
      assertThat(other.open(name, sealed)).isNull();
    }
    byte[] otherName = seal.nameOf("other".getBytes(UTF_8));
    assertThat(otherName).isNotEqualTo(name);
    assertThat(seal.open(otherName, sealed)).isNull();
  }
}
