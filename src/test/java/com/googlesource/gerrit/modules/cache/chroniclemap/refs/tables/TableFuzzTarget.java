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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What Jazzer calls ({@link TableFuzzTest}): an input is a table, whose footer gets the right
 * checksum, as nothing is read of a table without one, and whose blocks are not aligned. It is read
 * alone.
 */
public final class TableFuzzTarget {
  private static final List<String> NAMES = names();

  private TableFuzzTarget() {}

  private static List<String> names() {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      names.add(String.format(Locale.ROOT, "refs/changes/%02d/%d", i, i + 3));
    }
    return names;
  }

  /** Called with each input; throws if the answers differ. */
  public static void fuzzerTestOneInput(byte[] input) {
    if (input.length < TableFormat.HEADER_BYTES + TableFormat.FOOTER_BYTES) {
      return;
    }
    byte[] table = input.clone();
    // JGit finds fewer blocks than there are if the block size is wrong, and does not notice.
    ByteBuffer.wrap(table).putInt(TableFormat.VERSION_AND_BLOCK_SIZE, TableFormat.VERSION << 24);
    // The footer repeats the header, which random changes would not.
    System.arraycopy(
        table, 0, table, table.length - TableFormat.FOOTER_BYTES, TableFormat.HEADER_BYTES);
    TableFuzzTest.seal(table);
    var unused = TableDifferential.check(List.of(table), NAMES);
  }
}
