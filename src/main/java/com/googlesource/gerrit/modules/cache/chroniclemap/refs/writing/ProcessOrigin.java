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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The origin of a journal: where its process runs, by which recovery decides whether that is dead.
 *
 * @param boot the boot id of the running system, which all of its containers share; {@code unknown}
 *     if there is no such id, or if files can't be locked, so that nobody can know whether the
 *     process lives
 * @param machine the id and the host name of the machine, which stay the same after a boot; {@code
 *     unknown} if there is no id
 * @param isLocal whether the file system, as this process sees it, belongs to a single running
 *     system
 */
record ProcessOrigin(String boot, String machine, boolean isLocal) {
  private static final String UNKNOWN = "unknown";

  private static final Pattern TEXT =
      Pattern.compile("boot (.*)\nmachine (.*)\nfiles (local|shared)\n");

  static final int LINES = 3;

  private static final String THIS_BOOT = read("/proc/sys/kernel/random/boot_id");
  private static final String THIS_MACHINE = machine(read("/etc/machine-id"));

  /**
   * Returns the origin of this process.
   *
   * @param folder a folder on the file system in question
   * @param isLocked whether this process shows by a file lock that it lives
   */
  static ProcessOrigin ofThis(Path folder, boolean isLocked) {
    return new ProcessOrigin(isLocked ? THIS_BOOT : UNKNOWN, THIS_MACHINE, RefDisk.isLocal(folder));
  }

  private static String read(String file) {
    try {
      String text = Files.readString(Path.of(file)).trim();
      // Images of systems have this in place of an id.
      return text.isEmpty() || text.equals("uninitialized") ? UNKNOWN : text;
    } catch (IOException | RuntimeException e) {
      return UNKNOWN;
    }
  }

  /** Adds the host name, as images of containers may all have the same id. */
  private static String machine(String id) {
    return id.equals(UNKNOWN) ? id : id + " " + read("/proc/sys/kernel/hostname");
  }

  /** Whether the process ran since the system was last booted. */
  boolean isOfThisBoot() {
    return !boot.equals(UNKNOWN) && boot.equals(THIS_BOOT);
  }

  /**
   * Whether a process of this origin, which has no file lock any more, is dead.
   *
   * <p>A process of this boot is dead, as the system keeps the lock of a live process. A process of
   * an earlier boot is dead if the file system is local to both, or if it ran on this machine.
   * Nobody here can know about a process on another machine.
   *
   * @param origin null if no journal has it. Then the process is dead if the file system is local.
   *     On a shared one it has no locks, as the origin is synced before the first lock
   * @param folder the folder that both processes use
   */
  static boolean isDead(@Nullable ProcessOrigin origin, Path folder) {
    if (origin == null) {
      return RefDisk.isLocal(folder);
    }
    return !origin.boot.equals(UNKNOWN)
        && (origin.isOfThisBoot()
            || (origin.isLocal && RefDisk.isLocal(folder))
            || (!origin.machine.equals(UNKNOWN) && origin.machine.equals(THIS_MACHINE)));
  }

  String lines() {
    String kind = isLocal ? "local" : "shared";
    return "boot " + boot + "\nmachine " + machine + "\nfiles " + kind + "\n";
  }

  /** Parses what {@link #lines} wrote. Returns null if a line is missing. */
  @Nullable
  static ProcessOrigin parse(String text) {
    Matcher found = TEXT.matcher(text);
    return found.lookingAt()
        ? new ProcessOrigin(found.group(1), found.group(2), found.group(3).equals("local"))
        : null;
  }
}
