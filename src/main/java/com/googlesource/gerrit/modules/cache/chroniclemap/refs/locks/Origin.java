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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;

/**
 * Where a process runs, as far as others need it to know whether it is dead.
 *
 * @param boot the running system, which all of its containers share; {@link #UNKNOWN} if nobody can
 *     know whether the process lives, since files can't be locked there
 * @param machine the id and the host name of the machine, which are the same after it has booted
 *     again; {@link #UNKNOWN} if it has no id
 * @param isLocal whether the file system is one that, as this process sees it, belongs to a single
 *     running system
 */
public record Origin(String boot, String machine, boolean isLocal) {
  private static final String UNKNOWN = "unknown";

  private static final String BOOT = "boot ";
  private static final String MACHINE = "machine ";
  private static final String FILE_SYSTEM = "files ";
  private static final String LOCAL = "local";
  private static final String SHARED = "shared";

  static final int LINES = 3;

  private static final String THIS_BOOT = read("/proc/sys/kernel/random/boot_id");
  private static final String THIS_MACHINE = machine(read("/etc/machine-id"));

  /** File systems that one kernel at a time has mounted. */
  private static final Set<String> LOCAL_TYPES =
      Set.of(
          "ext2",
          "ext3",
          "ext4",
          "xfs",
          "btrfs",
          "zfs",
          "tmpfs",
          "overlay",
          "f2fs",
          "jfs",
          "reiserfs",
          "bcachefs");

  /**
   * Returns the origin of this process.
   *
   * @param folder whose file system counts
   * @param isLocked whether this process can show by a file lock that it lives
   */
  static Origin ofThis(Path folder, boolean isLocked) {
    return new Origin(isLocked ? THIS_BOOT : UNKNOWN, THIS_MACHINE, isLocal(folder));
  }

  private static boolean isLocal(Path folder) {
    try {
      return LOCAL_TYPES.contains(Files.getFileStore(folder).type());
    } catch (IOException e) {
      return false;
    }
  }

  private static String read(String file) {
    try {
      String text = Files.readString(Path.of(file)).trim();
      // What images of systems have in place of an id.
      return text.isEmpty() || text.equals("uninitialized") ? UNKNOWN : text;
    } catch (IOException | RuntimeException e) {
      return UNKNOWN;
    }
  }

  /** With the host name, as images of containers may bring their id along. */
  private static String machine(String id) {
    return id.equals(UNKNOWN) ? id : id + " " + read("/proc/sys/kernel/hostname");
  }

  boolean isOfThisBoot() {
    return !boot.equals(UNKNOWN) && boot.equals(THIS_BOOT);
  }

  /**
   * Whether a process of this origin, which has no file lock any more, is dead.
   *
   * <p>On this running system it is, as the system keeps the lock for as long as the process lives.
   * After a crash it is if the file system is local for both, or if the machine is this one. About
   * a process on another machine nobody here can know.
   *
   * @param origin null if it can't be read: on a shared file system it is synced before there are
   *     locks
   * @param folder that both have
   */
  public static boolean isDead(@Nullable Origin origin, Path folder) {
    if (origin == null) {
      return isLocal(folder);
    }
    return !origin.boot.equals(UNKNOWN)
        && (origin.isOfThisBoot()
            || (origin.isLocal && isLocal(folder))
            || (!origin.machine.equals(UNKNOWN) && origin.machine.equals(THIS_MACHINE)));
  }

  String lines() {
    return BOOT
        + boot
        + "\n"
        + MACHINE
        + machine
        + "\n"
        + FILE_SYSTEM
        + (isLocal ? LOCAL : SHARED)
        + "\n";
  }

  /** Reads what {@link #lines} wrote; null if something is missing. */
  @Nullable
  static Origin parse(String text) {
    List<String> lines = text.lines().limit(LINES).toList();
    return lines.size() == LINES
            && lines.get(0).startsWith(BOOT)
            && lines.get(1).startsWith(MACHINE)
            && lines.get(2).startsWith(FILE_SYSTEM)
        ? new Origin(
            lines.get(0).substring(BOOT.length()),
            lines.get(1).substring(MACHINE.length()),
            lines.get(2).equals(FILE_SYSTEM + LOCAL))
        : null;
  }
}
