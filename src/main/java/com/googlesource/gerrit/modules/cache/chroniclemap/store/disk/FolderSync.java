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

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells a file system that does not offer the sync of a folder from a disk that fails. On the
 * former (CIFS, some volumes of Ceph and of containers), the call answers EINVAL, ENOTSUP or
 * EOPNOTSUPP each time, and the entries of folders are as durable as the file system makes them. On
 * the latter (EIO, ENOSPC), what was not synced may be lost.
 *
 * <p>Java gives the error's text alone, in the language of the process. So the texts are taken from
 * calls that the file system of {@code /proc} answers with these errors. Any thread may call.
 */
final class FolderSync {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final Path PROC = Path.of("/proc");

  /** A file of the process's own: of others, the answer would be that it may not write. */
  private static final Path OWN = Path.of("/proc/self/comm");

  /** The folders of which that was said. */
  private static final Set<Path> TOLD = ConcurrentHashMap.newKeySet();

  /** In English, and in the language of this process. */
  private static final Set<String> NOT_OFFERED =
      Set.copyOf(
          List.of(
              "Invalid argument",
              "Operation not supported",
              failure(FolderSync::syncOfProc, "Invalid argument"),
              failure(FolderSync::attributeOfProc, "Operation not supported")));

  private FolderSync() {}

  /**
   * Throws a failure to sync a folder, unless the folder's file system does not offer that, which
   * is logged once for the folder.
   */
  static void unlessNotOffered(Path folder, IOException failure) throws IOException {
    String why = String.valueOf(failure.getMessage());
    if (NOT_OFFERED.stream().noneMatch(why::endsWith)) {
      throw failure;
    }
    if (TOLD.size() < 1000 && TOLD.add(folder)) {
      logger.atInfo().log(
          "%s: its file system does not offer to sync folders (%s). After a crash of the machine,"
              + " files that were made or deleted just before may be as they were",
          folder, why);
    }
  }

  private static void syncOfProc() throws IOException {
    try (FileChannel folder = FileChannel.open(PROC)) {
      folder.force(true);
    }
  }

  private static void attributeOfProc() throws IOException {
    Files.setAttribute(OWN, "user:a", ByteBuffer.allocate(1));
  }

  /** Returns the end of a failure's text, which is the system's. */
  private static String failure(Disk.Step call, String otherwise) {
    try {
      call.run();
    } catch (AccessDeniedException | NoSuchFileException e) {
      return otherwise; // this says nothing of what is offered
    } catch (IOException | RuntimeException e) {
      String text = String.valueOf(e.getMessage());
      String end = text.substring(text.lastIndexOf(": ") + 1).trim();
      // Each text ends with an empty one.
      return end.isEmpty() || end.equals("null") ? otherwise : end;
    }
    return otherwise;
  }
}
