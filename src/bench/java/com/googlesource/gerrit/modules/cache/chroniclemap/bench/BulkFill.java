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

import com.google.common.cache.Cache;
import com.google.gerrit.entities.Project;
import com.google.gerrit.extensions.client.DiffPreferencesInfo.Whitespace;
import com.google.gerrit.lifecycle.LifecycleManager;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesKeyProto;
import com.google.gerrit.server.patch.filediff.FileDiffCacheKey;
import com.google.gerrit.server.patch.gitfilediff.GitFileDiffCacheImpl.DiffAlgorithm;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.protobuf.ByteString;
import java.nio.file.Path;
import java.util.Random;
import org.eclipse.jgit.lib.ObjectId;

/**
 * Fills two caches of a Gerrit site that does not run, through Gerrit's own interface: {@code
 * change_notes} and {@code gerrit_file_diff}.
 *
 * <p>Keys are such as Gerrit 3.13 makes, because H2 reads all of them when it starts. Values are
 * random bytes of a usual length: nobody asks for these keys.
 */
public enum BulkFill {
  CHANGE_NOTES("change_notes", 11) {
    @Override
    byte[] key(int number, byte[] random) {
      return ChangeNotesKeyProto.newBuilder()
          .setProject(PROJECT)
          .setChangeId(1_000_000 + number)
          .setId(ByteString.copyFrom(random))
          .build()
          .toByteArray();
    }
  },

  GERRIT_FILE_DIFF("gerrit_file_diff", 10) {
    @Override
    byte[] key(int number, byte[] random) {
      return FileDiffCacheKey.Serializer.INSTANCE.serialize(
          FileDiffCacheKey.builder()
              .project(Project.nameKey(PROJECT))
              .oldCommit(ObjectId.zeroId())
              .newCommit(ObjectId.fromRaw(random))
              .newFilePath("src/main/java/com/example/File" + number + ".java")
              .renameScore(60)
              .diffAlgorithm(DiffAlgorithm.HISTOGRAM_WITH_FALLBACK_MYERS)
              .whitespace(Whitespace.IGNORE_NONE)
              .useTimeout(true)
              .build());
    }
  };

  /** Bytes of a value. */
  public static final int VALUE_BYTES = 8 << 10;

  private static final String PROJECT = "a/project/that/is/not/there";
  private static final int ID_BYTES = 20;

  /** Puts after which it waits: less than what a cache may keep in a queue. */
  private static final int BATCH = 256;

  private final String cacheName;
  private final int version;

  BulkFill(String cacheName, int version) {
    this.cacheName = cacheName;
    this.version = version;
  }

  public String cacheName() {
    return cacheName;
  }

  /** A key in its stored form. */
  abstract byte[] key(int number, byte[] random);

  /**
   * Puts entries and returns when they are on disk.
   *
   * @param site whose folder {@code cache} it is; no daemon may run in it
   * @param diskLimit as in the site's {@code gerrit.config}, bytes
   */
  public void fill(CachePeer peer, Path site, int entries, long diskLimit) {
    GerritEnvironment.configureLog();
    Injector injector = Guice.createInjector(new GerritEnvironment(site), peer.module());
    Cache<byte[], byte[]> cache =
        injector
            .getInstance(PersistentCacheFactory.class)
            .build(DiskCacheDef.withStoredKeys(cacheName, version, diskLimit));
    LifecycleManager lifecycle = new LifecycleManager();
    lifecycle.add(injector);
    lifecycle.start();
    try {
      peer.awaitOpen(injector, cache);
      Random random = new Random(version);
      byte[] id = new byte[ID_BYTES];
      for (int i = 0; i < entries; i++) {
        random.nextBytes(id);
        byte[] value = new byte[VALUE_BYTES];
        random.nextBytes(value);
        cache.put(key(i, id), value);
        if (i % BATCH == 0) {
          peer.drain(injector, cache);
        }
      }
      peer.drain(injector, cache);
    } finally {
      lifecycle.stop();
    }
  }
}
