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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState.Verdict;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles.FileName;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Opens a store's file as it was left, or replaces it with an empty one if there is evidence that
 * its content cannot be trusted; {@link Verdict} says how that is decided. The report says what was
 * lost. After any other failure the file is as it was, and may be opened later.
 */
final class StoreOpener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** An open file and how it was found. */
  record Opened(StoreFile file, StartReport report) {}

  private final StoreContext context;
  private final StoreFiles files;
  private final FileMaker maker;
  private final long begun = System.nanoTime();
  private final boolean first;
  private final Optional<LostContentException> known;
  private Optional<LostContentException> lost = Optional.empty();
  private boolean untouched = true;

  /**
   * Prepares an opening.
   *
   * @param known evidence against the file that was found earlier
   * @param first whether the store has not been open yet, so that files of other versions may be
   *     there: later, another version of the cache may be open
   */
  StoreOpener(StoreContext context, Optional<LostContentException> known, boolean first) {
    this.context = context;
    this.known = known;
    this.first = first;
    this.files = context.files;
    this.maker = new FileMaker(context);
  }

  /**
   * Opens the file, or creates one. However large the file is, only its header is read. A copy of a
   * closed file is read once more, to compare its checksum if one was noted.
   *
   * @throws IOException if the file cannot be opened now, or none can be created
   */
  Opened open() throws IOException {
    context.folder.openIfDue();
    context.seed = context.seed.filter(Seed::isThere);
    lost = known;
    Opened opened = openOrReplace();
    try {
      context.endSeed();
    } catch (IOException | RuntimeException | Error e) {
      opened.file().unmap();
      throw e;
    }
    return opened;
  }

  /** The evidence against the file that was there; empty if there is none. */
  Optional<LostContentException> lost() {
    return lost;
  }

  /** Whether a file or a seed may be there that misses what is changed from now on. */
  boolean isUntouched() {
    return untouched || context.seed.isPresent();
  }

  private Opened openOrReplace() throws IOException {
    if (first && lost.isEmpty()) {
      lost = files.markers.evidenceOfOthers();
    }
    if (lost.isPresent()) {
      return replace(lost.get());
    }
    Optional<FileName> newest = files.newest();
    if (context.seed.isPresent() && context.settings.oldValues() != OldValues.PURE) {
      // What was in use elsewhere was changed there.
      boolean isNewer =
          newest.isEmpty() || context.seed.get().changed() > files.changed(newest.get());
      return create(
          isNewer ? StartReport.Kind.NEW : StartReport.Kind.REPLACED,
          new LostContentException("its values may have been changed elsewhere since"));
    }
    if (newest.isEmpty()) {
      return create(
          StartReport.Kind.NEW,
          new LostContentException("there is none of this version and layout"));
    }
    FileName found = newest.get();
    if (first) {
      deleteAllBut(found);
    }
    Optional<FileState> state =
        FileState.open(files.disk, found.path(), found.geometry().segments());
    if (state.isEmpty()) {
      return replace(
          new LostContentException(
              "nothing is known of it: there is no " + found.statePath().getFileName()));
    }
    try {
      return open(found, state.get());
    } catch (IOException | RuntimeException | Error e) {
      Optional<LostContentException> evidence = LostContentException.in(e);
      if (evidence.isEmpty()) {
        throw e;
      }
      context.faults.count(e);
      return replace(evidence.get());
    }
  }

  private Opened open(FileName found, FileState state) throws IOException {
    Verdict verdict;
    boolean isCopy;
    StoreFile file;
    try {
      verdict = state.judge();
      isCopy = !state.isSameFile();
      if (verdict == Verdict.LOST) {
        boolean isDamaged = state.hasDamagedHeader();
        state.release();
        return replace(
            new LostContentException(
                isDamaged
                    ? "its header is damaged"
                    : "it may lack its last changes: the machine crashed before the file was closed"
                        + " and on disk, or the file is a copy"));
      }
      state.takeOver(verdict);
      file = maker.open(found, state);
    } catch (IOException | RuntimeException | Error e) {
      state.release();
      throw e;
    }
    try {
      if (context.settings.oldValues() == OldValues.SECRET) {
        // If the disk does not take what the last process wrote, that must show now and not later.
        file.force(/* all= */ false);
      }
    } catch (IOException | RuntimeException | Error e) {
      file.unmap();
      throw e;
    }
    StartReport.Kind kind = StartReport.Kind.RECOVERED;
    String detail =
        "the machine crashed before the file was closed and on disk, or the file was changed since;"
            + " its values are checked when they are first used";
    if (context.settings.maxBytes() < found.bytes()) {
      kind = StartReport.Kind.SHRUNK;
      detail = lenientFormat("cache.%s.diskLimit is less than it was", context.settings.name());
    } else if (verdict == Verdict.CLEAN) {
      kind = StartReport.Kind.CLEAN;
      detail = "";
    } else if (verdict == Verdict.KILLED && file.values.entries() == 0 && !state.isChanged()) {
      // As after a start that was refused.
      kind = StartReport.Kind.NEW;
      detail = "";
    } else if (verdict == Verdict.KILLED) {
      detail = "it was not closed";
    } else if (isCopy) {
      kind = StartReport.Kind.COPY;
      detail = "its values are checked when they are first used";
    }
    StoreFile fitting = maker.fitting(file);
    return new Opened(fitting, report(kind, detail, fitting.values.entries()));
  }

  private Opened replace(LostContentException evidence) throws IOException {
    lost = Optional.of(evidence);
    return create(StartReport.Kind.REPLACED, evidence);
  }

  private Opened create(StartReport.Kind kind, LostContentException evidence) throws IOException {
    boolean isFilled = kind == StartReport.Kind.NEW && context.seed.isPresent();
    if (isFilled) {
      // Changes that are queued until the file is in use, which the seed misses, keep their marker.
      files.delete(first, evidence);
    } else {
      files.forget(first, evidence, context::endSeed);
    }
    // A file that is filled counts from some moment on, and misses what is changed until it is in
    // use.
    untouched = isFilled;
    String detail = kind == StartReport.Kind.NEW ? "" : evidence.getMessage();
    StoreFile made = isFilled ? maker.filled(context.seed.get()) : maker.empty();
    return new Opened(made, report(kind, detail, made.values.entries()));
  }

  private StartReport report(StartReport.Kind kind, String detail, long entries) {
    return new StartReport(kind, detail, entries, (System.nanoTime() - begun) / 1_000_000);
  }

  private void deleteAllBut(FileName found) {
    try {
      for (Path deleted : files.deleteAllBut(found)) {
        logger.atInfo().log(
            "Cache %s: deleted %s, which is older or of another version or size",
            context.settings.name(), deleted.getFileName());
      }
    } catch (IOException e) {
      // The newest file counts.
      context.faults.warn(e, "cannot delete files that are not needed any more");
    }
  }
}
