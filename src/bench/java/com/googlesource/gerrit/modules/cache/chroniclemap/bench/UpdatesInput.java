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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The refs that the runs of an operation make or delete: the same for whoever asks, by the number
 * of the run. Read from a folder, so that the processes of all peers have the same.
 */
final class UpdatesInput {
  static final String OBJECTS = "objects.txt";
  static final String PACKED = "packed.txt";

  /** Above the numbers of all changes that there are. */
  private static final int FIRST_CHANGE = 10_000_000;

  private final List<String> objects;
  private final List<String> packed;

  UpdatesInput(Path folder) throws IOException {
    objects = Files.readAllLines(folder.resolve(OBJECTS));
    packed = Files.readAllLines(folder.resolve(PACKED));
  }

  /** Names of the new refs of a run. */
  List<String> names(UpdatesOperation operation, int run) {
    List<String> names = new ArrayList<>(operation.refs);
    if (operation == UpdatesOperation.SINGLE) {
      names.add("refs/heads/new-" + run);
      return names;
    }
    int changes = operation.refs / 2;
    for (int i = 0; i < changes; i++) {
      int change = FIRST_CHANGE + run * changes + i;
      String folder = String.format(Locale.ROOT, "refs/changes/%02d/%d/", change % 100, change);
      names.add(folder + "1");
      names.add(folder + "meta");
    }
    return names;
  }

  /** A name that can't be given: a packed ref is in its way. The last one in order of all. */
  String conflicting() {
    return packed.getLast() + "/x";
  }

  /** A packed ref, one of some. */
  String packed(int number) {
    return packed.get(number);
  }

  /** Where a new ref points to, in hexadecimal digits. */
  String object(String name) {
    return objects.get(Math.floorMod(name.hashCode(), objects.size()));
  }
}
