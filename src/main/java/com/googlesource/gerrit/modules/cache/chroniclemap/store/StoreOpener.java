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

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Opens a store's file, whatever state it is in: as it was left, recovered, or begun anew. Each
 * step that fails leads to the next; what is lost is said once in the log.
 */
final class StoreOpener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** An open file and how it was found. */
  record Opened(ValueFile values, StartReport report) {}

  private final StoreSettings settings;
  private final Geometry geometry;
  private final StoreFiles files;
  private final long begun = System.nanoTime();

  StoreOpener(StoreSettings settings, Geometry geometry, StoreFiles files) {
    this.settings = settings;
    this.geometry = geometry;
    this.files = files;
  }

  /**
   * Opens the file.
   *
   * @throws IOException if there is no file and none can be made
   */
  Opened open() throws IOException {
    deleteOutdated();
    Path store = files.store();
    if (Files.exists(files.discardMarker())) {
      return replace("it may hold entries that were invalidated just before a crash");
    }
    if (!Files.exists(store)) {
      files.deleteAll();
      return create(StartReport.Kind.NEW, "");
    }
    Optional<CleanMarker> marker = CleanMarker.take(store);
    try {
      return marker.isPresent() ? openClean(marker.get()) : recover();
    } catch (IOException | RuntimeException | InternalError e) {
      return replace(reasonOf(e));
    }
  }

  private Opened openClean(CleanMarker marker) throws IOException {
    ChronicleFile file = ChronicleFile.open(files.store(), geometry);
    ValueFile values = values(file, marker.entries(), marker.liveBytes());
    return new Opened(values, report(StartReport.Kind.CLEAN, "", values.entries(), 0));
  }

  private Opened recover() throws IOException {
    ChronicleFile file = ChronicleFile.recover(files.store(), geometry);
    ValueFile values = values(file, 0, 0);
    ValueFile.Sweep sweep;
    try {
      sweep = values.sweep();
    } catch (RuntimeException | InternalError e) {
      file.close();
      throw e;
    }
    String detail = "the last process that used it did not close it";
    logger.atWarning().log(
        "Cache %s was recovered, because %s: %d entries kept, %d damaged ones dropped",
        settings.name(), detail, sweep.kept(), sweep.damaged());
    return new Opened(
        values, report(StartReport.Kind.RECOVERED, detail, sweep.kept(), sweep.damaged()));
  }

  private Opened replace(String reason) throws IOException {
    logger.atWarning().log("Cache %s starts empty: %s", settings.name(), reason);
    files.deleteAll();
    return create(StartReport.Kind.REPLACED, reason);
  }

  private Opened create(StartReport.Kind kind, String detail) throws IOException {
    ChronicleFile file = ChronicleFile.create(files.store(), geometry);
    return new Opened(values(file, 0, 0), report(kind, detail, 0, 0));
  }

  private ValueFile values(ChronicleFile file, long entries, long liveBytes) {
    // One value may take half of the store; more would leave no room to replace it.
    long maxValue = geometry.segments() * geometry.segmentDataBytes() / 2;
    return new ValueFile(file, maxValue, entries, liveBytes);
  }

  private StartReport report(StartReport.Kind kind, String detail, long entries, long damaged) {
    return new StartReport(kind, detail, entries, damaged, (System.nanoTime() - begun) / 1_000_000);
  }

  /** Files of older versions are of no use to anyone and would take disk for ever. */
  private void deleteOutdated() throws IOException {
    for (Path outdated : files.outdated()) {
      Files.deleteIfExists(outdated);
      if (outdated.getFileName().toString().endsWith(".chm")) {
        logger.atInfo().log(
            "Cache %s: deleted %s, which is of another version or size",
            settings.name(), outdated.getFileName());
      }
    }
  }

  static String reasonOf(Throwable e) {
    return e.getMessage() != null ? e.getMessage() : e.toString();
  }
}
