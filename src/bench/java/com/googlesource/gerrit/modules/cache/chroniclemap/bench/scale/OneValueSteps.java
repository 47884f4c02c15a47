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

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What is measured of a cache with one large value, as {@code changes_by_project} and {@code
 * git_tags} have for each project, of which a little changes with each put.
 */
final class OneValueSteps {
  private static final List<Integer> MEGABYTES = List.of(30, 300);

  /** Of the cache: room for three of the largest values, as a peer may need. */
  private static final long MAX_BYTES = 1L << 30;

  /** Of the disk, as a peer may keep each version. */
  static final double ROOM_GIGABYTES = 3;

  private static final int PUTS = 5;

  private final CachePeer peer;
  private final Path folder;
  private final ScaleResults results;

  OneValueSteps(CachePeer peer, Path folder, ScaleResults results) {
    this.peer = peer;
    this.folder = folder;
    this.results = results;
  }

  List<ScaleSteps.Step> steps() {
    return MEGABYTES.stream().map(this::step).toList();
  }

  private ScaleSteps.Step step(int megabytes) {
    String title = String.format(Locale.ROOT, "one value of %d MB", megabytes);
    return new ScaleSteps.Step(
        peer.title() + ", " + title, /* always= */ false, () -> measure(megabytes, title));
  }

  private void measure(int megabytes, String title) throws IOException {
    try {
      String last = "";
      try (Child child = child()) {
        var unused = child.ask("open");
        last = put(child, "first " + megabytes, title + ", first put");
        for (int i = 0; i < PUTS; i++) {
          last = put(child, "next", title + ", put with 28 more bytes");
        }
        unused = child.ask("close");
      }
      try (Child child = child()) {
        var unused = child.ask("open");
        Answer read = child.ask("readOne " + last);
        results.more(peer, title + ", found after a restart", "%", read.figure("found"));
        if (read.figure("found") > 0) {
          results.less(peer, title + ", read after a restart", "ms", read.figure("took"));
        }
      }
    } finally {
      Folders.delete(folder);
    }
  }

  /** Returns by what the value is to be known again. */
  private String put(Child child, String request, String name) throws IOException {
    Answer put = child.ask(request);
    results.less(peer, name, "ms", put.figure("took"));
    if (put.figure("written") >= 0) {
      results.less(peer, name + ", written", "MB", Memory.megabytes(put.figure("written")));
    }
    return put.word("hash");
  }

  private Child child() throws IOException {
    return new Child(peer, folder, MAX_BYTES, 1, Optional.empty());
  }
}
