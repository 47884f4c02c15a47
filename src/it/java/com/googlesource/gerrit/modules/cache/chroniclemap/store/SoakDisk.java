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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** What the files of the stores take of the disk. */
final class SoakDisk {
  /** For one store that has to give another one its share. */
  private static final long REST_SECONDS = 20;

  private static final int LOOK_AGAIN_MILLIS = 20;

  private final Path folder;
  private final SoakPlan plan;

  SoakDisk(Path folder, SoakPlan plan) {
    this.folder = folder;
    this.plan = plan;
  }

  /** Fails if the files are not within their bounds after a while. */
  void checkAtRest(List<Store> stores) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(REST_SECONDS);
    String wrong = wrong();
    while (!wrong.isEmpty()) {
      if (System.nanoTime() - deadline > 0) {
        SoakMain.fail(
            "on disk at rest: " + wrong + " " + stores.stream().map(Store::stats).toList());
      }
      Thread.sleep(LOOK_AGAIN_MILLIS);
      wrong = wrong();
    }
  }

  /** What is wrong; empty if nothing is. */
  private String wrong() throws Exception {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < plan.stores(); i++) {
      String prefix = "soak" + i + "-v";
      List<Path> files =
          TestStores.filesIn(folder).stream()
              .filter(file -> file.getFileName().toString().startsWith(prefix))
              .toList();
      long bytes = 0;
      for (Path file : files) {
        bytes += TestStores.blocks(file);
      }
      if (bytes > plan.limits().get(i)
          || files.stream().filter(file -> file.toString().endsWith(".chm")).count() > 1) {
        out.append(String.format(Locale.ROOT, "store %d takes %d bytes in %s; ", i, bytes, files));
      }
    }
    return out.toString();
  }
}
