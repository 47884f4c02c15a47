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

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import net.openhft.posix.MAdviseFlag;
import net.openhft.posix.PosixAPI;
import net.openhft.posix.internal.PosixAPIHolder;

/**
 * Settings of the Chronicle libraries that are read once, when their classes load. Whoever touches
 * a Chronicle class calls {@link #prepare} first.
 */
public final class ChronicleRuntime {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

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

  /** What is to be done by this thread between taking the disk of a file and mapping it. */
  private static final ThreadLocal<Step> BEFORE_MAPPING = new ThreadLocal<>();

  /** A step of making a file. */
  interface Step {
    void run() throws IOException;
  }

  /** Makes a file. */
  interface Maker<T> {
    T make() throws IOException;
  }

  private ChronicleRuntime() {}

  /**
   * Loads what takes disk when a file is made; to be called before one is. Takes longer than to
   * open a file, the first time.
   *
   * @return whether it is there. It is native code, which can't be loaded from a temporary folder
   *     that forbids executing; Chronicle then makes sparse files without a word.
   */
  public static synchronized boolean allocatesDisk() {
    if (!nativeLoaded) {
      PosixAPIHolder.POSIX_API = null;
      PosixAPIHolder.loadPosixApi();
      if (isLoaded()) {
        PosixAPIHolder.POSIX_API = watched(PosixAPI.posix());
      }
      nativeLoaded = true;
    }
    return isLoaded();
  }

  private static boolean isLoaded() {
    return !PosixAPI.posix().getClass().getSimpleName().startsWith("NoOp");
  }

  /**
   * Makes a file, and does something in between.
   *
   * @param beforeMapping done when the file has its length and its disk; if it fails, the file is
   *     made even so
   */
  static <T> T making(Step beforeMapping, Maker<T> maker) throws IOException {
    BEFORE_MAPPING.set(beforeMapping);
    try {
      return maker.make();
    } finally {
      BEFORE_MAPPING.remove();
    }
  }

  /** Chronicle-Map lets nobody in between, but asks for the disk of a file by way of this. */
  private static PosixAPI watched(PosixAPI real) {
    return (PosixAPI)
        Proxy.newProxyInstance(
            PosixAPI.class.getClassLoader(),
            new Class<?>[] {PosixAPI.class},
            (proxy, method, arguments) -> {
              Object result;
              try {
                result = method.invoke(real, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
              if (method.getName().equals("fallocate")) {
                runBeforeMapping();
              }
              return result;
            });
  }

  private static void runBeforeMapping() {
    Step step = BEFORE_MAPPING.get();
    if (step != null) {
      try {
        step.run();
      } catch (IOException e) {
        logger.atFine().withCause(e).log("a file is made the slow way");
      }
    }
  }

  /**
   * Tells the system that mapped memory is read and written here and there. Or else it reads what
   * lies around each place that is touched first, and takes all of it for changed where one byte
   * is: up to {@code read_ahead_kb} of the disk, which may be megabytes. Does nothing where that
   * can't be told.
   */
  static void expectRandomAccess(long address, long bytes) {
    if (allocatesDisk()) {
      int unused = PosixAPI.posix().madvise(address, bytes, MAdviseFlag.MADV_RANDOM);
    }
  }

  /** Makes sure that the settings are in place. */
  static void prepare() {}
}
