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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * Has the files of a store that was killed look as after a crash of the machine: beside a store's
 * file stands in which boot of the machine it was opened, and here another one is put there. What a
 * crash would have lost of the file is all there, but the store can't know.
 */
final class OtherBoot {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
  private static final String OTHER = "00000000-0000-4000-8000-000000000000";

  /** The notes are far smaller than this, the values far larger. */
  private static final long MAX_BYTES = 4 << 20;

  private OtherBoot() {}

  /** Whether the system tells in which boot it is. */
  static boolean canBeShown() {
    return Files.isReadable(BOOT_ID);
  }

  static void show(Path folder) throws IOException {
    String now = Files.readString(BOOT_ID).trim();
    int replaced = 0;
    for (Path file : Folders.files(folder, f -> true)) {
      if (Files.size(file) <= MAX_BYTES) {
        replaced += replaceIn(file, now.getBytes(US_ASCII));
      }
    }
    if (replaced == 0) {
      throw new IOException(
          "no file in "
              + folder
              + " names the boot of the machine: stores note it otherwise by now, and OtherBoot has"
              + " to follow");
    }
  }

  private static int replaceIn(Path file, byte[] now) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    int replaced = 0;
    for (int at = 0; at + now.length <= bytes.length; at++) {
      if (Arrays.equals(bytes, at, at + now.length, now, 0, now.length)) {
        System.arraycopy(OTHER.getBytes(US_ASCII), 0, bytes, at, now.length);
        replaced++;
      }
    }
    if (replaced > 0) {
      // In place: a store knows its file by more than its name.
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        ByteBuffer all = ByteBuffer.wrap(bytes);
        while (all.hasRemaining()) {
          int unused = channel.write(all);
        }
      }
    }
    return replaced;
  }
}
