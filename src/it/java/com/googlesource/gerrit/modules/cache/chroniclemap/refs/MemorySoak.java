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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.MemoryLimit;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.SoakRun;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * Has a process in a container of 4 GB use more values and refs than that, as large.md advises to
 * set it; see {@code bin/soak --help}.
 */
public final class MemorySoak extends SoakRun {
  private static final long CONTAINER_BYTES = 4L << 30;

  /** A heap, all of it in use. */
  private static final List<String> FLAGS = List.of("-Xms2g", "-Xmx2g", "-XX:+AlwaysPreTouch");

  private MemorySoak(long seed, Path folder, PrintStream out) {
    super(seed, folder, out);
  }

  /** Folder, seconds, seed. */
  public static void main(String[] args) throws Exception {
    main(args, MemorySoak::new);
  }

  @Override
  public void run(long nanos) throws IOException, InterruptedException, WrongException {
    beginFolder();
    out.printf(Locale.ROOT, "memory, seed %d%n", seed);
    long most = 0;
    try (MemoryLimit container = new MemoryLimit(CONTAINER_BYTES);
        ChildJvm child =
            ChildJvm.startWithin(
                container,
                FLAGS,
                folder,
                MemorySoakMain.class,
                folder,
                seed,
                TimeUnit.NANOSECONDS.toMillis(nanos),
                CONTAINER_BYTES)) {
      for (String line = child.readLine(); line != null; line = child.readLine()) {
        out.println(line + "; " + container.report());
        most = Math.max(most, container.anonymous());
      }
      OptionalInt status = child.awaitEnd(SPARE_MILLIS);
      if (container.kills() > 0) {
        throw new WrongException("WRONG: killed by the kernel for want of memory");
      }
      if (!status.equals(OptionalInt.of(0)) || child.saidError()) {
        throw new WrongException("WRONG: a process ended with " + status + "\n" + child.errors());
      }
      out.printf(
          Locale.ROOT,
          "%nIn a container of %,d MB, no process was killed, no answer was wrong.%n"
              + "%s at the end; most anon %,d MB%n",
          CONTAINER_BYTES >> 20,
          container.report(),
          most >> 20);
    }
    deleteFolder();
  }
}
