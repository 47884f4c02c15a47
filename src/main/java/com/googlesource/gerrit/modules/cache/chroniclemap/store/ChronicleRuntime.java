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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import net.openhft.posix.PosixAPI;
import net.openhft.posix.internal.PosixAPIHolder;

/**
 * Settings of the Chronicle libraries that are read once, when their classes load. Whoever touches
 * a Chronicle class calls {@link #prepare} first.
 */
final class ChronicleRuntime {
  static {
    // No call home. The jar that would do it is left out; this keeps it so if another one brings
    // it.
    System.setProperty("chronicle.analytics.disable", "true");
    // Chronicle announces itself on the console otherwise.
    System.setProperty("chronicle.announcer.disable", "true");
    // Chronicle would load its native code at once, which takes longer than all else at a start;
    // only files that are made need it.
    PosixAPI.useNoOpPosixApi();
  }

  private static boolean nativeLoaded;

  private ChronicleRuntime() {}

  /**
   * Loads what takes disk when a file is made; to be called before one is.
   *
   * @return whether it is there. It is native code, which can't be loaded from a temporary folder
   *     that forbids executing; Chronicle then makes sparse files without a word.
   */
  static synchronized boolean allocatesDisk() {
    if (!nativeLoaded) {
      PosixAPIHolder.POSIX_API = null;
      PosixAPIHolder.loadPosixApi();
      nativeLoaded = true;
    }
    return !PosixAPI.posix().getClass().getSimpleName().startsWith("NoOp");
  }

  /** Makes sure that the settings are in place. */
  static void prepare() {}
}
