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

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.core.pool.ClassAliasPool;
import net.openhft.chronicle.hash.impl.HashSplitting;
import net.openhft.chronicle.hash.impl.util.jna.PosixFallocate;
import net.openhft.chronicle.hash.serialization.impl.ByteArrayDataAccess;
import net.openhft.chronicle.hash.serialization.impl.ByteArraySizedReader;
import net.openhft.chronicle.hash.serialization.impl.StopBitSizeMarshaller;
import net.openhft.chronicle.map.VanillaChronicleMap;
import net.openhft.posix.MAdviseFlag;
import net.openhft.posix.PosixAPI;
import net.openhft.posix.internal.PosixAPIHolder;

/**
 * The settings of the Chronicle libraries, which they read only once, when their classes load, and
 * their native code. {@link #prepare} has to be called before any Chronicle class is used.
 */
public final class ChronicleRuntime {
  /**
   * Bytes requested at a time. Linux reads no more than {@code read_ahead_kb}, or the largest
   * request of the disk, for each call (force_page_cache_ra in mm/readahead.c).
   */
  private static final int READ_BYTES = 128 << 10;

  static {
    // No analytics. The jar that would send them is not included, but another plugin may bring it.
    System.setProperty("chronicle.analytics.disable", "true");
    // Otherwise Chronicle prints an announcement to the console.
    System.setProperty("chronicle.announcer.disable", "true");
    // Chronicle would load its native code now, which takes longer than the rest of a start. The
    // code is only needed to create files.
    PosixAPI.useNoOpPosixApi();
    // The header of a file names these classes. The jar holds them under other names than
    // Chronicle's own, but a file is the same whichever of them wrote it.
    for (Class<?> type :
        List.of(
            VanillaChronicleMap.class,
            StopBitSizeMarshaller.class,
            ByteArraySizedReader.class,
            ByteArrayDataAccess.class,
            HashSplitting.ForPowerOf2Segments.class,
            HashSplitting.ForSingleSegment.class)) {
      ClassAliasPool.CLASS_ALIASES.addAlias(type, ownName(type));
    }
  }

  private static boolean nativeLoaded;

  private ChronicleRuntime() {}

  /**
   * Loads the native code that allocates disk; to be called before a file is created. The first
   * call takes longer than opening a file.
   *
   * @return false if the code cannot be loaded, for example from a temporary folder that forbids
   *     execution. Chronicle then creates sparse files and does not report that
   */
  public static synchronized boolean allocatesDisk() {
    if (!nativeLoaded) {
      PosixAPIHolder.POSIX_API = null;
      PosixAPIHolder.loadPosixApi();
      nativeLoaded = true;
    }
    return !PosixAPI.posix().getClass().getSimpleName().startsWith("NoOp");
  }

  /**
   * Allocates disk for what lacks it of a part of a file, and leaves the content as it is. The rest
   * of the first and the last page get disk, too: the system writes whole pages, which may be
   * larger than the blocks of the file system.
   *
   * @return false without native code: then the content has to be written
   */
  static boolean allocate(RandomAccessFile file, Path path, long from, long end)
      throws IOException {
    if (!OS.isLinux() || !allocatesDisk()) {
      return false;
    }
    long first = from - from % OS.pageSize();
    long length = Math.min(OS.pageAlign(end), file.length()) - first;
    try {
      PosixFallocate.fallocate(file.getFD(), first, length);
      return true;
    } catch (IOException e) {
      File folder = path.toAbsolutePath().getParent().toFile();
      throw new IOException(
          String.format(
              Locale.ROOT,
              "cannot allocate %d bytes on the volume of %s, which has %d bytes free",
              length,
              folder,
              folder.getUsableSpace()),
          e);
    }
  }

  /** The name that Chronicle has given to one of its classes, wherever the jar holds it. */
  static String ownName(Class<?> type) {
    // Without the package's name as a constant, which would be moved as well.
    return "net." + type.getName().substring(type.getName().indexOf("openhft."));
  }

  /**
   * Advises the system that mapped memory is accessed at random, if the native code is available.
   * Otherwise the system reads up to {@code read_ahead_kb}, possibly megabytes, around the first
   * access to a page, and writes all of that back when one byte has changed.
   */
  static void expectRandomAccess(long address, long bytes) {
    if (allocatesDisk()) {
      int unused = PosixAPI.posix().madvise(address, bytes, MAdviseFlag.MADV_RANDOM);
    }
  }

  /**
   * Has the system read mapped memory that is about to be read, in few large reads. Does nothing
   * without the native code.
   */
  static void expectRead(long address, long bytes) {
    if (!allocatesDisk()) {
      return;
    }
    long end = address + bytes;
    for (long at = address - address % OS.pageSize(); at < end; at += READ_BYTES) {
      long length = Math.min(READ_BYTES, end - at);
      int unused = PosixAPI.posix().madvise(at, length, MAdviseFlag.MADV_WILLNEED);
    }
  }

  /** Applies the settings, by loading this class. */
  static void prepare() {}
}
