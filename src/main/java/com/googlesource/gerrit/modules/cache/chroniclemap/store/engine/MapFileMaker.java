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
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.VanillaGlobalMutableState;
import net.openhft.chronicle.hash.impl.PersistedChronicleHashResources;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;
import net.openhft.chronicle.hash.impl.util.CanonicalRandomAccessFiles;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.VanillaChronicleMap;

/**
 * The maker of a Chronicle-Map's file, which takes Chronicle-Map's own steps but leaves the
 * segments without disk.
 *
 * <p>Chronicle-Map would first ask Java for the file store. It creates no file where Java does not
 * find one, as in a chroot whose root is no mount point, or where less than 110 % of the file are
 * free. Whether there is room is known only by taking it. The steps are private methods of a
 * library whose version is pinned.
 */
record MapFileMaker(ChronicleMapBuilder<byte[], byte[]> builder, int maxPayload) {
  /**
   * Creates the file. Only its header has disk.
   *
   * @param path of an empty file
   */
  ChronicleMap<byte[], byte[]> make(Path path) throws IOException {
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
      writeState(opened, path, map);
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

  /**
   * Writes the global state, so that the file is mapped like one that was there before.
   * Chronicle-Map would write zeros to each segment, where this file has none but holes.
   */
  private void writeState(RandomAccessFile file, Path path, VanillaChronicleMap<?, ?, ?> map)
      throws IOException {
    FileLayout layout = new FileLayout(map, maxPayload);
    int headerBytes;
    try {
      Field field = VanillaChronicleHash.class.getDeclaredField("segmentHeaderSize");
      field.setAccessible(true);
      headerBytes = field.getInt(map);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("another version of Chronicle-Map", e);
    }
    long headersOffset = layout.segmentsOffset - (long) layout.segments * headerBytes;
    var unused = Holes.allocateAgain(file, path, 0, headersOffset);
    // The lock of the whole map comes first, and zeros follow.
    ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(headersOffset - map.headerSize));
    VanillaGlobalMutableState state = map.globalMutableState();
    state.bytesStore(BytesStore.wrap(bytes), Long.BYTES, state.maxSize());
    state.setSegmentHeadersOffset(headersOffset);
    state.setDataStoreSize(map.sizeInBytesWithoutTiers());
    SegmentReader.writeFully(file.getChannel(), map.headerSize, bytes.clear());
    map.createdOrInMemory = false;
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
