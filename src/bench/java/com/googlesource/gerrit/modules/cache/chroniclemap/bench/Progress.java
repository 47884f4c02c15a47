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

import java.time.Duration;
import java.util.Locale;

/** Says how far a run is, in a line for each step. */
public final class Progress {
  private final int steps;
  private final long start = System.nanoTime();
  private int done;

  public Progress(int steps) {
    this.steps = steps;
  }

  /** Says what is done from here on. */
  public void begin(String step) {
    long took = System.nanoTime() - start;
    String left = done == 0 ? "" : ", about " + show(took / done * (steps - done)) + " left";
    done++;
    System.out.printf(Locale.ROOT, "%3d/%d  %s  (%s%s)%n", done, steps, step, show(took), left);
  }

  private static String show(long nanos) {
    Duration duration = Duration.ofNanos(nanos);
    return duration.toMinutes() == 0
        ? duration.toSecondsPart() + " s"
        : String.format(
            Locale.ROOT, "%d min %02d s", duration.toMinutes(), duration.toSecondsPart());
  }
}
