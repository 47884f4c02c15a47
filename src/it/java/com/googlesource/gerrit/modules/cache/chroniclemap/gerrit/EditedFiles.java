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

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Files of a project, of 800 lines each, which changes edit in about forty places. */
final class EditedFiles {
  private static final int FILES = 60;
  private static final int LINES = 800;

  private EditedFiles() {}

  /** All files, as no change has edited them yet. */
  static List<GitUser.Content> unedited() {
    List<GitUser.Content> files = new ArrayList<>();
    for (int file = 0; file < FILES; file++) {
      files.add(new GitUser.Content(name(file), text(file, -1, 0)));
    }
    return files;
  }

  /** The files that a change edits, as a patch set has them. */
  static List<GitUser.Content> of(int change, int patchSet) {
    List<GitUser.Content> files = new ArrayList<>();
    for (int i = 0; i < Workload.FILES; i++) {
      int file = number(change, i);
      files.add(new GitUser.Content(name(file), text(file, change, patchSet)));
    }
    return files;
  }

  /**
   * The name of a file that a change edits.
   *
   * @param i less than {@link Workload#FILES}
   */
  static String name(int change, int i) {
    return name(number(change, i));
  }

  private static int number(int change, int i) {
    return (change * Workload.FILES + i) % FILES;
  }

  private static String name(int file) {
    return "src/main/part" + file % 7 + "/File" + file + ".txt";
  }

  private static String text(int file, int change, int patchSet) {
    Random words = new Random(file);
    Random edits = new Random(31L * change + file);
    StringBuilder text = new StringBuilder();
    for (int line = 0; line < LINES; line++) {
      text.append("  ".repeat(words.nextInt(5)));
      text.append(Long.toString(words.nextLong(1L << 40), 36)).append(" = ");
      text.append(Long.toString(words.nextLong(1L << 50), 36)).append(';');
      boolean isEdited = edits.nextInt(20) == 0;
      if (change >= 0 && isEdited) {
        text.append(" // change ").append(change).append(", ").append(patchSet);
      }
      text.append('\n');
    }
    return text.toString();
  }
}
