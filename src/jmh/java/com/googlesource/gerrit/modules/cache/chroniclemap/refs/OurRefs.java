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

import java.io.File;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * This module's refs for a benchmark: all that it knows of how they are made.
 *
 * <p>The lists are in direct memory here, which stands for the store also where a benchmark has the
 * server restarted: a list is then found by its digest, but not read from disk.
 */
public final class OurRefs {
  private static final int SLAB_BYTES = 1 << 20;
  private static final int READERS = 2;

  private final SiteKey key = new SiteKey(new byte[SiteKey.SECRET_BYTES]);
  private final ReaderPool readers = new ReaderPool(key, READERS);
  private DirectBlockStore store = new DirectBlockStore(SLAB_BYTES);
  private PackedRefsFile file;

  /** The refs of a repository of which this process knows nothing yet. */
  public RefDatabase open(FileRepository repository) {
    file = new PackedRefsFile(packedRefs(repository), store, readers);
    return new OffHeapRefDatabase(repository, (RefDirectory) repository.getRefDatabase(), file);
  }

  private static File packedRefs(FileRepository repository) {
    return new File(repository.getCommonDirectory(), Constants.PACKED_REFS);
  }

  /** Forgets all that was stored. */
  public void forgetAll() {
    file = null;
    store = new DirectBlockStore(SLAB_BYTES);
  }

  /** How often the repository opened last was parsed. */
  public long parses() {
    return file.parses();
  }
}
