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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FileReplacedException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.VanillaGlobalMutableState;
import net.openhft.chronicle.hash.impl.CompactOffHeapLinearHashTable;
import net.openhft.chronicle.hash.impl.PersistedChronicleHashResources;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;
import net.openhft.chronicle.hash.impl.util.CanonicalRandomAccessFiles;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.VanillaChronicleMap;

/** The builder of {@link RecordMap}s, which creates and opens their files. */
public final class RecordMapBuilder {
  private RecordMapBuilder() {}

  /**
   * Creates a file that only its owner can read. On failure no files are left that count.
   *
   * @param isComplete whether the file counts at once, or only after {@link FileState#complete}
   */
  public static RecordMap create(Disk disk, Path path, Geometry geometry, boolean isComplete)
      throws IOException {
    FileState state = null;
    RecordMap file = null;
    try {
      state = FileState.create(disk, path, geometry.segments());
      disk.create(path);
      state.noteMapping();
      disk.mapping(path);
      file = recordMap(make(geometry, path), disk, path, geometry, state, new LongAdder());
      file.expectRandomAccess();
      state.describe(file.fileBytes, file.layout);
      if (isComplete) {
        state.complete();
      }
      return file;
    } catch (IOException | RuntimeException | Error e) {
      if (file != null) {
        // A deleted file takes disk as long as it is mapped.
        file.close();
      } else if (state != null) {
        state.release();
      }
      try {
        disk.delete(path);
        // Last: a file without a state would count as a newer one that has lost it.
        disk.delete(FileState.pathOf(path));
      } catch (IOException left) {
        e.addSuppressed(left);
      }
      throw e;
    }
  }

  /**
   * Makes a map's file by Chronicle-Map's own steps, but leaves the segments without disk: only the
   * header has some.
   *
   * <p>Chronicle-Map would first ask Java for the file store. It creates no file where Java does
   * not find one, as in a chroot whose root is no mount point, or where less than 110 % of the file
   * are free. Whether there is room is known only by taking it. The steps are private methods of a
   * library whose version is pinned.
   *
   * @param path of an empty file
   */
  private static VanillaChronicleMap<byte[], byte[], ?> make(Geometry geometry, Path path)
      throws IOException {
    ChronicleMapBuilder<byte[], byte[]> builder = builder(geometry);
    File file = path.toFile().getCanonicalFile();
    RandomAccessFile opened = CanonicalRandomAccessFiles.acquire(file);
    PersistedChronicleHashResources resources = new PersistedChronicleHashResources(file);
    try {
      @SuppressWarnings("unchecked")
      VanillaChronicleMap<byte[], byte[], ?> map =
          (VanillaChronicleMap<byte[], byte[], ?>) call(builder, "newMap");
      ByteBuffer header = (ByteBuffer) call(builder, "writeHeader", opened.getChannel(), map);
      map.initBeforeMapping(file, opened, header.limit(), /* recover= */ false);
      opened.setLength(OS.pageAlign(map.dataStoreSize()));
      writeState(opened, path, map, geometry.maxPayload());
      var unused =
          call(
              builder,
              "createWithNewFile",
              map,
              file,
              opened,
              resources,
              header,
              header.remaining());
      unused = call(builder, "prepareMapPublication", map);
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
  private static void writeState(
      RandomAccessFile file, Path path, VanillaChronicleMap<?, ?, ?> map, int maxPayload)
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
    var unused = ChronicleRuntime.allocate(file, path, 0, headersOffset);
    // The lock of the whole map comes first, and zeros follow.
    ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(headersOffset - map.headerSize));
    VanillaGlobalMutableState state = map.globalMutableState();
    state.bytesStore(BytesStore.wrap(bytes), Long.BYTES, state.maxSize());
    state.setSegmentHeadersOffset(headersOffset);
    state.setDataStoreSize(map.sizeInBytesWithoutTiers());
    SegmentReader.writeFully(file.getChannel(), map.headerSize, bytes.clear());
    map.createdOrInMemory = false;
  }

  /**
   * Returns the hash tables of a map for each number of slots up to its own, a power of two, by its
   * logarithm: a segment with few values uses only the first slots. The number is a field of the
   * map only while such a table is made.
   */
  static CompactOffHeapLinearHashTable[] tables(VanillaChronicleMap<?, ?, ?> map) {
    long all = map.tierHashLookupCapacity;
    CompactOffHeapLinearHashTable[] tables =
        new CompactOffHeapLinearHashTable[Long.numberOfTrailingZeros(all) + 1];
    try {
      Constructor<? extends CompactOffHeapLinearHashTable> make =
          map.hashLookup.getClass().getDeclaredConstructor(VanillaChronicleHash.class);
      make.setAccessible(true);
      for (int i = 0; i < tables.length; i++) {
        map.tierHashLookupCapacity = 1L << i;
        tables[i] = make.newInstance(map);
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("another version of Chronicle-Map", e);
    } finally {
      map.tierHashLookupCapacity = all;
    }
    return tables;
  }

  private static Object call(ChronicleMapBuilder<?, ?> builder, String name, Object... arguments)
      throws IOException {
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

  private static RecordMap recordMap(
      VanillaChronicleMap<byte[], byte[], ?> map,
      Disk disk,
      Path path,
      Geometry geometry,
      FileState state,
      LongAdder damaged)
      throws IOException {
    FileChannel channel = null;
    try {
      // Chronicle-Map rounds the size of the mapping up to whole pages.
      long size = disk.size(path);
      if (size < map.dataStoreSize()) {
        // An access to memory beyond the end of the file would be a fault.
        throw new LostContentException("the store file was truncated to " + size + " bytes");
      }
      channel = disk.open(path, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
      state.checkInPlace();
      return new RecordMap(map, geometry, state, disk, path, channel, size, damaged);
    } catch (IOException | RuntimeException | Error e) {
      map.close();
      RecordMap.close(channel);
      throw e;
    }
  }

  /** Loads Chronicle-Map's classes, which takes longer than opening a file. */
  public static void warmUp() {
    Geometry geometry =
        Geometry.forFileOf(Geometry.MIN_FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    try (ChronicleMap<byte[], byte[]> inMemory = builder(geometry).create()) {
      inMemory.put(new byte[1], new byte[1]);
    }
  }

  /**
   * Opens a file.
   *
   * @param state the state of the file, after {@link FileState#takeOver}
   * @param damaged counts damaged records that are found in repairs
   */
  public static RecordMap open(
      Disk disk, Path path, Geometry geometry, FileState state, LongAdder damaged)
      throws IOException {
    checkReady(disk, path);
    try {
      disk.mapping(path);
      VanillaChronicleMap<byte[], byte[], ?> map =
          (VanillaChronicleMap<byte[], byte[], ?>)
              builder(geometry).createPersistedTo(path.toFile());
      return recordMap(map, disk, path, geometry, state, damaged);
    } catch (FileReplacedException e) {
      throw e;
    } catch (IOException | RuntimeException | Error e) {
      if (!state.hasHeader()) {
        throw new LostContentException("the store file's header is damaged", e);
      }
      throw e;
    }
  }

  /** Rejects an incomplete header, for which Chronicle-Map would wait a minute. */
  private static void checkReady(Disk disk, Path path) throws IOException {
    ByteBuffer word = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    try (FileChannel channel = disk.open(path, Set.of(StandardOpenOption.READ))) {
      if (!SegmentReader.readFully(channel, FileLayout.SIZE_WORD_IN_FILE, word)
          || word.getInt(0) == 0
          || (word.getInt(0) & FileLayout.NOT_READY) != 0) {
        throw new LostContentException("the store file's header was never finished");
      }
    }
  }

  private static ChronicleMapBuilder<byte[], byte[]> builder(Geometry geometry) {
    ChronicleRuntime.prepare();
    return ChronicleMapBuilder.of(byte[].class, byte[].class)
        .actualSegments(geometry.segments())
        .actualChunkSize(geometry.chunkSize())
        .actualChunksPerSegmentTier(geometry.chunksPerSegment())
        .entriesPerSegment(geometry.entriesPerSegment())
        .entries(geometry.entriesPerSegment() * geometry.segments())
        .allowSegmentTiering(false)
        .sparseFile(false)
        // Our own checksum is verified on each read, not only in a recovery.
        .checksumEntries(false)
        // The older value is not needed, and returning it would cost a copy.
        .putReturnsNull(true)
        .removeReturnsNull(true)
        // Gerrit stops the store. A shutdown hook would unmap the file while threads still read it.
        .skipCloseOnExitHook(true);
  }
}
