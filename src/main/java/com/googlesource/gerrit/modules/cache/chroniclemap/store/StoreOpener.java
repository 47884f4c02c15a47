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

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Holes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk.GenerationName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.Generation;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.GenerationMaker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Opens a store's file as it was left, or replaces it with an empty one if its content cannot be
 * trusted; {@link FileState.Verdict} says how that is decided. The report says what was lost.
 */
final class StoreOpener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** An open file and how it was found. */
  record Opened(FileInUse file, StartReport report) {}

  private final StoreContext context;
  private final StoreSettings settings;
  private final FilesOnDisk files;
  private final GenerationMaker maker;
  private final long begun = System.nanoTime();

  StoreOpener(StoreContext context) {
    this.context = context;
    this.settings = context.settings;
    this.files = context.files;
    StoreContext.Counters counters = context.counters;
    this.maker =
        new GenerationMaker(
            settings.name(),
            settings.maxBytes(),
            context.faults,
            files,
            context.usage,
            settings.maxValue(),
            settings.oldValues() == OldValues.VALID,
            counters.evictions,
            counters.damaged);
  }

  /**
   * Opens the file, or creates one. However large the file is, only its header is read. A copy of a
   * closed file is read once more, to compare its checksum if one was noted.
   *
   * @throws IOException if there is no file and none can be created
   */
  Opened open() throws IOException {
    Opened opened = openOrReplace();
    StartReport.Kind kind = opened.report().kind();
    try {
      files.noteUse(
          opened.file().current().name,
          kind == StartReport.Kind.NEW || kind == StartReport.Kind.REPLACED,
          context.clock.getAsLong());
    } catch (IOException e) {
      context.faults.warn(e, "cannot note which of its versions is in use");
    }
    try {
      context.importGuard.opened(kind == StartReport.Kind.NEW, opened.file().wasChanged());
    } catch (IOException e) {
      context.faults.warn(e, "cannot mark its file; nothing is imported into it");
    }
    return opened;
  }

  private Opened openOrReplace() throws IOException {
    if (context.discarded) {
      return replace(
          "it may hold entries that were invalidated just before a crash or a stop of the machine");
    }
    Optional<GenerationName> newest = files.newest();
    if (newest.isEmpty()) {
      files.deleteAll();
      return create(StartReport.Kind.NEW, "");
    }
    GenerationName found = newest.get();
    deleteAllBut(found);
    try {
      Optional<FileState> state =
          FileState.open(files.disk, found.statePath(), found.geometry().segments());
      if (state.isEmpty() && FileState.isUnfinished(files.disk, found.statePath())) {
        // Not a fault: the process that created the file was killed before the file held anything.
        logger.atInfo().log("Cache %s: its file was never finished", settings.name());
        files.deleteAll();
        return create(StartReport.Kind.NEW, "");
      }
      if (state.isEmpty()) {
        return replace("nothing is known of it: there is no " + found.statePath().getFileName());
      }
      return open(found, state.get());
    } catch (IOException | RuntimeException | InternalError e) {
      context.faults.count(e);
      return replace(reasonOf(e));
    }
  }

  private Opened open(GenerationName found, FileState state) throws IOException {
    FileState.Verdict verdict;
    Generation generation;
    try {
      verdict = state.judge(found.path());
      if (verdict == FileState.Verdict.LOST) {
        state.release();
        return replace(
            "it may lack its last changes: the machine stopped before it was closed and on disk, or"
                + " it is a copy");
      }
      if (!state.isSameFile(found.path())) {
        Holes.fill(files.disk, found.path());
      }
      state.takeOver(found.path(), verdict);
      generation = maker.open(found, state);
    } catch (IOException | RuntimeException | Error e) {
      state.release();
      throw e;
    }
    FileInUse file = new FileInUse(maker, generation);
    if (settings.oldValues() == OldValues.DANGEROUS) {
      try {
        // If the disk does not take what the last process wrote, that must show now and not later.
        file.forceCurrent();
      } catch (IOException | RuntimeException | Error e) {
        file.unmap();
        throw e;
      }
    }
    long entries = file.values().entries();
    if (settings.maxBytes() < found.bytes()) {
      return new Opened(
          file,
          report(
              StartReport.Kind.SHRUNK,
              lenientFormat("cache.%s.diskLimit is less than it was", settings.name()),
              entries));
    }
    return new Opened(
        file,
        switch (verdict) {
          case CLEAN -> report(StartReport.Kind.CLEAN, "", entries);
          case KILLED -> report(StartReport.Kind.RECOVERED, "it was not closed", entries);
          case UNSURE ->
              report(
                  StartReport.Kind.RECOVERED,
                  "it was not closed before the machine stopped, or it is a copy: what is in it is"
                      + " checked when it is first used",
                  entries);
          case LOST -> throw new AssertionError();
        });
  }

  /**
   * Creates an empty file in place of one that failed.
   *
   * @throws IOException if none can be created
   */
  Opened openEmpty(String reason) throws IOException {
    files.deleteThisVersion();
    return create(StartReport.Kind.REPLACED, reason);
  }

  private Opened replace(String reason) throws IOException {
    files.deleteAll();
    return create(StartReport.Kind.REPLACED, reason);
  }

  private Opened create(StartReport.Kind kind, String detail) throws IOException {
    long bytes = new GrowthPlan(settings.maxBytes()).first(context.free());
    Generation first;
    try {
      first = maker.first(bytes);
    } catch (IOException | RuntimeException e) {
      if (!context.makeRoom()) {
        throw e;
      }
      files.deleteThisVersion();
      first = maker.first(bytes);
    }
    return new Opened(new FileInUse(maker, first), report(kind, detail, 0));
  }

  private StartReport report(StartReport.Kind kind, String detail, long entries) {
    return new StartReport(kind, detail, entries, (System.nanoTime() - begun) / 1_000_000);
  }

  private void deleteAllBut(GenerationName found) {
    try {
      for (Path deleted : files.deleteAllBut(found)) {
        logger.atInfo().log(
            "Cache %s: deleted %s, which is older or of another version or size",
            settings.name(), deleted.getFileName());
      }
    } catch (IOException e) {
      // They are never used: the newest generation of this version counts.
      context.faults.warn(e, "cannot delete files that are not needed any more");
    }
  }

  static String reasonOf(Throwable e) {
    return e.getMessage() != null ? e.getMessage() : e.toString();
  }
}
