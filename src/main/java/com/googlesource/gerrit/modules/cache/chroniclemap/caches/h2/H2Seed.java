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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2;

import static com.google.common.base.Strings.lenientFormat;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Seed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.logging.Level;

/**
 * The values in the file of one of Gerrit's H2 caches. Of a damaged file, those before the damage.
 */
final class H2Seed implements Seed {
  private final String cache;
  private final int version;
  private final CacheSerializer<Object> keySerializer;
  private final Path file;
  private final boolean isWanted;
  private final BiConsumer<Level, String> log;

  /**
   * Makes the seed of a cache.
   *
   * @param isWanted whether the values are imported; if not, the file is moved aside all the same
   * @param log gets messages for people, with their level
   */
  @SuppressWarnings("unchecked")
  H2Seed(PersistentCacheDef<?, ?> def, Path file, boolean isWanted, BiConsumer<Level, String> log) {
    this.cache = def.name();
    this.version = def.version();
    this.keySerializer = (CacheSerializer<Object>) def.keySerializer();
    this.file = file;
    this.isWanted = isWanted;
    this.log = log;
  }

  @Override
  public boolean isThere() {
    return !Files.notExists(file);
  }

  @Override
  public long changed() throws IOException {
    return Files.getLastModifiedTime(file).toMillis();
  }

  @Override
  public long bytes() throws IOException {
    return isWanted ? Files.size(file) : 0;
  }

  @Override
  public void fill(Sink sink, boolean mayNotFit) throws IOException {
    if (!isWanted) {
      return;
    }
    long begun = System.nanoTime();
    long imported = 0;
    String left = "";
    try (H2File h2 = H2File.open(file)) {
      h2.read(/* byUse= */ mayNotFit);
      boolean goesOn = true;
      for (H2File.Row row = h2.next(); row != null && goesOn; row = h2.next()) {
        byte[] key = keyOf(row);
        if (key != null && sink.take(key, row.value(), row.created())) {
          imported++;
        }
        goesOn = sink.goesOn();
      }
      left = goesOn ? "" : lenientFormat(". The rest of %s has no room, or took too long", file);
    } catch (H2File.InUseException e) {
      throw e;
    } catch (IOException e) {
      left = lenientFormat(". Not all of %s could be read: %s", file, e.getMessage());
    }
    if (imported > 0 || !left.isEmpty()) {
      log.accept(
          left.isEmpty() ? Level.INFO : Level.WARNING,
          lenientFormat(
              "Cache %s: imported %s values from H2 in %s ms%s",
              cache, imported, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun), left));
    }
  }

  /** The key as the store has it; null if there can be none. */
  @Nullable
  private byte[] keyOf(H2File.Row row) {
    if (row.version() != version || row.key() instanceof byte[]) {
      return row.version() == version ? (byte[]) row.key() : null;
    }
    try {
      return keySerializer.serialize(row.key());
    } catch (RuntimeException e) {
      return null;
    }
  }

  @Override
  public void moveAside(Next next) throws IOException {
    H2Takeover.moveAside(file, next);
  }
}
