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
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whether a file still has a content, told by several threads. */
@Timeout(60)
class SharedCheckTest {
  private static final int REFS = 60_000;

  @TempDir Path folder;
  private final ReaderPool readers = new ReaderPool(Differential.KEY, 4);
  private Path file;
  private byte[] text;
  private ParsedRefs list;

  @BeforeEach
  void write() throws Exception {
    file = folder.resolve("packed-refs");
    write(REFS);
  }

  private void write(int refs) throws Exception {
    RefsFile.write(file, RefsFile.names(refs), 0);
    text = Files.readAllBytes(file);
    list = readers.take().read(new Lists.Text(text), Differential.builder(), null).list();
  }

  private boolean matches() throws IOException {
    try (FileText open = new FileText(file.toFile())) {
      return SharedCheck.matches(open, list, readers);
    }
  }

  @Test
  void theSameTextIsTheSame() throws Exception {
    for (int i = 0; i < 50; i++) {
      assertThat(matches()).isTrue();
    }
  }

  @Test
  void oneBitIsSeenWhereverItIs() throws Exception {
    int step = text.length / 37;
    for (int at = 0; at < text.length; at += step) {
      assertChangeIsSeen(at);
    }
    assertChangeIsSeen(text.length - 1);
  }

  private void assertChangeIsSeen(int at) throws IOException {
    byte[] changed = text.clone();
    changed[at] ^= 1;
    Files.write(file, changed);
    assertWithMessage("byte %s", at).that(matches()).isFalse();
  }

  @Test
  void lessOrMoreTextIsSeen() throws Exception {
    Files.write(file, Arrays.copyOf(text, text.length + 1));
    assertThat(matches()).isFalse();
    for (int length : new int[] {text.length - 1, text.length / 2, 1, 0}) {
      Files.write(file, Arrays.copyOf(text, length));
      assertWithMessage("%s bytes", length).that(matches()).isFalse();
    }
    Files.write(file, text);
    assertThat(matches()).isTrue();
  }

  @Test
  void aSmallFileIsOnePiece() throws Exception {
    for (int refs : new int[] {0, 1, 1000}) {
      write(refs);
      assertThat(matches()).isTrue();
      assertChangeIsSeen(text.length / 2);
    }
  }
}
