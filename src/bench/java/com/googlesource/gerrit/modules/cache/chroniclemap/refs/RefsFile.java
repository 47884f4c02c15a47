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

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Random;
import java.util.TreeSet;

/**
 * A packed-refs file as a busy Gerrit project has it: 95 % refs of changes, 2 % branches, 3 %
 * annotated tags with their peeled line.
 */
public final class RefsFile {
  private static final String HEADER = "# pack-refs with: peeled fully-peeled sorted \n";
  private static final HexFormat HEX = HexFormat.of();

  private RefsFile() {}

  /** Names in order. */
  public static String[] names(int count) {
    TreeSet<String> names = new TreeSet<>();
    for (int change = 1; names.size() < count * 95L / 100; change++) {
      String folder = String.format(Locale.ROOT, "refs/changes/%02d/%d/", change % 100, change);
      names.add(folder + "1");
      names.add(folder + "2");
      names.add(folder + "meta");
    }
    for (int i = 0; i < count / 50; i++) {
      names.add("refs/heads/team-" + i % 50 + "/feature-" + i);
    }
    for (int i = 0; names.size() < count; i++) {
      names.add("refs/tags/v" + i / 100 + "." + i % 100);
    }
    return names.toArray(String[]::new);
  }

  /** Writes the file; ids depend on the seed, and one more line on the edition. */
  public static void write(Path file, String[] names, int edition) throws IOException {
    Random random = new Random(names.length);
    byte[] id = new byte[20];
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file))) {
      out.write(HEADER.getBytes(US_ASCII));
      for (int i = 0; i < names.length; i++) {
        random.nextBytes(id);
        if (i == names.length / 2) {
          id[0] = (byte) edition;
        }
        out.write((HEX.formatHex(id) + " " + names[i] + "\n").getBytes(US_ASCII));
        if (names[i].startsWith("refs/tags/")) {
          random.nextBytes(id);
          out.write(("^" + HEX.formatHex(id) + "\n").getBytes(US_ASCII));
        }
      }
    }
  }
}
