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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import java.io.IOException;
import java.nio.file.Path;

/**
 * The disk as the stores of one folder use it. Once the folder is given back nothing in it is
 * deleted or given another name: a thread that has not ended by then, because it makes a large
 * file, would do that to the files of whoever has the folder next.
 *
 * <p>Safe for any thread.
 */
public final class FolderDisk extends ForwardingDisk {
  /** Guarded by this. */
  private boolean given;

  public FolderDisk(Disk disk) {
    super(disk);
  }

  /** The folder may be another one's from now on. */
  public synchronized void giveBack() {
    given = true;
  }

  /** Does nothing once the folder was given back: whoever has it next does that. */
  @Override
  public synchronized void delete(Path file) throws IOException {
    if (!given) {
      super.delete(file);
    }
  }

  @Override
  public synchronized void move(Path from, Path to) throws IOException {
    if (given) {
      throw new IOException("the folder was given back: " + from);
    }
    super.move(from, to);
  }
}
