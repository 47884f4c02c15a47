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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import java.io.IOException;
import java.nio.file.Path;

/** A disk of which one step fails, or on which nothing is done from one step on. */
public final class BrokenDisk extends RefDisk {
  private final int step;
  private final boolean killed;
  private int steps;
  private String failed = "nothing";

  private BrokenDisk(int step, boolean killed) {
    this.step = step;
    this.killed = killed;
  }

  /** A disk whose step of that number fails; 0 for none. */
  static BrokenDisk failingAt(int step) {
    return new BrokenDisk(step, false);
  }

  /** A disk on which that step and all that follow are not done, as if the process was killed. */
  public static BrokenDisk killedAt(int step) {
    return new BrokenDisk(step, true);
  }

  @Override
  public synchronized void about(String what, Path file) throws IOException {
    steps++;
    if (steps == step || (killed && steps > step)) {
      if (steps == step) {
        failed = what + " " + file.getFileName();
      }
      throw new IOException("broken at step " + steps + ": " + what + " " + file);
    }
  }

  synchronized int steps() {
    return steps;
  }

  /** What failed first. */
  synchronized String failed() {
    return failed;
  }
}
