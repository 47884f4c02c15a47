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

import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an interrupt does to a thread that reads a file. */
class FileTextTest {
  private static final int SIZE = 1000;

  @TempDir Path folder;
  private Path path;

  @BeforeEach
  void write() throws Exception {
    path = Files.write(folder.resolve("packed-refs"), new byte[SIZE]);
  }

  @Test
  void aThreadThatIsInterruptedWhileItReadsBeginsAnew() throws Exception {
    List<Long> lengths = new ArrayList<>();
    try {
      FileText.read(
          text -> {
            ByteBuffer part = ByteBuffer.allocateDirect(100);
            long length = 0;
            for (int n = text.read(part); n > 0; n = text.read(part.clear())) {
              length += n;
              if (lengths.isEmpty()) {
                lengths.add(length);
                Thread.currentThread().interrupt();
              }
            }
            lengths.add(length);
            return null;
          },
          path.toFile());
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
    assertThat(lengths).containsExactly(100L, (long) SIZE).inOrder();
  }

  /** One that was meant for what the thread did before: its status may be gone already. */
  @Test
  void aChannelThatALateInterruptClosesIsNotMissed() throws Exception {
    List<Thread> threads = new ArrayList<>();
    FileText.read(
        text -> {
          threads.add(Thread.currentThread());
          if (threads.size() == 1) {
            throw new ClosedByInterruptException();
          }
          return null;
        },
        path.toFile());
    assertThat(threads).hasSize(2);
    assertThat(threads).containsNoDuplicates();
  }
}
