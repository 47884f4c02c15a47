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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What Jazzer calls ({@link PackedRefsFuzzTest}): an input is a {@code packed-refs} file, or
 * several, each a rewrite of the one before, with {@link #REWRITE} between them. All are parsed
 * here and by JGit.
 */
public final class PackedRefsFuzzTarget {
  /** Stands in no file, but in one that is broken anyway. */
  static final byte[] REWRITE = {'\n', 0, '\n'};

  private static Differential differential;

  private PackedRefsFuzzTarget() {}

  /** Called once. */
  public static void fuzzerInitialize() throws IOException {
    Path folder = Files.createTempDirectory("fuzz");
    folder.toFile().deleteOnExit();
    differential = new Differential(folder);
  }

  /** Called with each input; throws if the answers differ. */
  public static void fuzzerTestOneInput(byte[] input) throws IOException {
    check(differential, input);
  }

  static void check(Differential differential, byte[] input) throws IOException {
    ParsedRefs list = null;
    for (byte[] text : rewrites(input)) {
      ParsedRefs next = differential.check(text, list);
      list = next == null ? list : next;
    }
  }

  private static List<byte[]> rewrites(byte[] input) {
    List<byte[]> texts = new ArrayList<>();
    int start = 0;
    for (int i = 0; i + REWRITE.length <= input.length; i++) {
      if (Arrays.equals(input, i, i + REWRITE.length, REWRITE, 0, REWRITE.length)) {
        // The line feed before may belong to the text.
        texts.add(Arrays.copyOfRange(input, start, i + 1));
        start = i + REWRITE.length;
        i = start - 1;
      }
    }
    texts.add(Arrays.copyOfRange(input, start, input.length));
    return texts;
  }
}
