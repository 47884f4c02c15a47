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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import com.google.common.base.Throwables;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.impl.PersistedChronicleHashResources;
import net.openhft.chronicle.hash.impl.util.CanonicalRandomAccessFiles;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.VanillaChronicleMap;

/**
 * The maker of a Chronicle-Map's file, which takes Chronicle-Map's own steps but allocates the disk
 * itself before the file is mapped.
 *
 * <p>Chronicle-Map would first ask Java for the file store. It creates no file where Java does not
 * find one, as in a chroot whose root is no mount point, or where less than 110 % of the file are
 * free. Whether there is room is known only by taking it. The steps are private methods of a
 * library whose version is pinned.
 */
record MapFileMaker(ChronicleMapBuilder<byte[], byte[]> builder, int maxPayload) {
  /** What is done with a file before it is mapped. */
  interface BeforeMapping {
    void run(RandomAccessFile file, FileLayout layout) throws IOException;
  }

  /**
   * Creates the file.
   *
   * @param path of an empty file
   * @param beforeMapping gets the file when it has its length, and gives it its disk
   */
  ChronicleMap<byte[], byte[]> make(Path path, BeforeMapping beforeMapping) throws IOException {
    File file = path.toFile().getCanonicalFile();
    RandomAccessFile opened = CanonicalRandomAccessFiles.acquire(file);
    PersistedChronicleHashResources resources = new PersistedChronicleHashResources(file);
    try {
      @SuppressWarnings("unchecked")
      VanillaChronicleMap<byte[], byte[], ?> map =
          (VanillaChronicleMap<byte[], byte[], ?>) call("newMap");
      ByteBuffer header = (ByteBuffer) call("writeHeader", opened.getChannel(), map);
      map.initBeforeMapping(file, opened, header.limit(), /* recover= */ false);
      opened.setLength(OS.pageAlign(map.dataStoreSize()));
      beforeMapping.run(opened, FileLayout.of(map, maxPayload));
      var unused =
          call("createWithNewFile", map, file, opened, resources, header, header.remaining());
      unused = call("prepareMapPublication", map);
      return map;
    } catch (IOException | RuntimeException | Error e) {
      resources.setChronicleHashIdentityString(file.toString());
      resources.releaseManually();
      throw e;
    }
  }

  private Object call(String name, Object... arguments) throws IOException {
    try {
      Method method =
          Arrays.stream(ChronicleMapBuilder.class.getDeclaredMethods())
              .filter(m -> m.getName().equals(name) && m.getParameterCount() == arguments.length)
              .findAny()
              .orElseThrow();
      method.setAccessible(true);
      return method.invoke(builder, arguments);
    } catch (InvocationTargetException e) {
      Throwables.throwIfInstanceOf(e.getCause(), IOException.class);
      Throwables.throwIfUnchecked(e.getCause());
      throw new IOException(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("another version of Chronicle-Map", e);
    }
  }
}
