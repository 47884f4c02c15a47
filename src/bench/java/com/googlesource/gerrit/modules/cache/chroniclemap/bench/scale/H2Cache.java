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

import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.OpenCache;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;

/** Gerrit's own cache, as its daemon makes, starts and stops it, with nothing kept on the heap. */
final class H2Cache implements ScaledCache {
  private final Path site;
  private final OpenCache cache;

  /** Opens it; returns when its filter of known keys is built: until then it finds nothing. */
  H2Cache(Path site, long maxBytes) {
    this.site = site;
    cache = new OpenCache(CachePeer.H2, site, maxBytes);
  }

  @Override
  public long begun() {
    return cache.begun();
  }

  @Override
  @Nullable
  public byte[] read(int number) {
    try {
      return cache.get(Values.key(number));
    } catch (ExecutionException | UncheckedExecutionException notOnDisk) {
      // There is no source to compute it from.
      return null;
    }
  }

  @Override
  public void put(int number, byte[] value) {
    cache.put(Values.key(number), value);
  }

  @Override
  public void remove(int number) {
    cache.remove(Values.key(number));
  }

  /** It does the same for both. */
  @Override
  public void store(int number, byte[] value) {
    put(number, value);
  }

  @Override
  public void drain() {
    cache.drain();
  }

  @Override
  public boolean queuesWithoutBound() {
    return true;
  }

  @Override
  public long entries() {
    return cache.entriesOnDisk();
  }

  @Override
  public long diskBytes() throws IOException {
    return DiskUse.bytes(site);
  }

  /** It keeps all that it cannot write yet on the heap. */
  @Override
  public long lost() {
    return 0;
  }

  @Override
  public String found() {
    return "OPEN";
  }

  @Override
  public void close() {
    cache.close();
  }
}
