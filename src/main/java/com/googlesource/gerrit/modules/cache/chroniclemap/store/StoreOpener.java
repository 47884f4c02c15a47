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
import java.nio.file.StandardCopyOption;
import java.util.Optional;

/**
 * Opens a store's file, whatever state it is in: as it was left, recovered, or begun anew. Each
 * step that fails leads to the next; what was lost is in the report.
 */
final class StoreOpener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** An open file and how it was found. */
  record Opened(Generation generation, StartReport report) {}

  private final StoreSettings settings;
  private final StoreFiles files;
  private final boolean sameBoot;
  private final boolean discarded;
  private final long begun = System.nanoTime();

  /**
   * Prepares to open.
   *
   * @param sameBoot whether the machine has run on since the files were last used
   * @param discarded whether the files must not be used
   */
  StoreOpener(StoreSettings settings, StoreFiles files, boolean sameBoot, boolean discarded) {
    this.settings = settings;
    this.files = files;
    this.sameBoot = sameBoot;
    this.discarded = discarded;
  }

  /**
   * Bytes above which a value is not stored: half of a full-grown file, so that it can be replaced.
   */
  static long maxValue(StoreSettings settings) {
    return Geometry.forFileOf(settings.maxBytes(), Geometry.DEFAULT_BYTES_PER_SLOT).dataBytes() / 2;
  }

  /**
   * Opens the file.
   *
   * @throws IOException if there is no file and none can be made
   */
  Opened open() throws IOException {
    if (discarded) {
      return replace(
          "it may hold entries that were invalidated just before a crash or a stop of the machine");
    }
    Optional<StoreFiles.Generation> newest = files.newest(settings.maxBytes());
    if (newest.isEmpty()) {
      files.deleteAll();
      return create(StartReport.Kind.NEW, "");
    }
    StoreFiles.Generation found = newest.get();
    deleteAllBut(found);
    Optional<CleanMarker> marker = CleanMarker.take(found.path());
    if (marker.isEmpty() && !sameBoot) {
      return replace("it was not closed before the machine stopped, and may lack its last changes");
    }
    try {
      return marker.isPresent() ? openClean(found, marker.get()) : recover(found);
    } catch (IOException | RuntimeException | InternalError e) {
      return replace(reasonOf(e));
    }
  }

  private Opened openClean(StoreFiles.Generation found, CleanMarker marker) throws IOException {
    ChronicleFile file = ChronicleFile.open(found.path(), found.geometry());
    Generation generation = generation(found, file, marker.entries(), marker.liveBytes());
    return new Opened(generation, report(StartReport.Kind.CLEAN, "", marker.entries(), 0));
  }

  /**
   * Copies what is valid into a new file. The old one is not mapped and stays until that is done,
   * so that a crash meanwhile loses nothing.
   */
  private Opened recover(StoreFiles.Generation found) throws IOException {
    StoreFiles.Generation fresh =
        files.generation(found.number() + 1, found.bytes(), found.bytesPerSlot());
    Files.deleteIfExists(fresh.growingPath());
    ChronicleFile file = ChronicleFile.create(fresh.growingPath(), fresh.geometry());
    Generation generation = generation(fresh, file, 0, 0);
    try {
      long damaged = Salvage.read(found.path(), file.layout(), file::put);
      ValueFile.Sweep sweep = generation.values().sweep();
      Files.move(fresh.growingPath(), fresh.path(), StandardCopyOption.ATOMIC_MOVE);
      Files.deleteIfExists(found.path());
      return new Opened(
          generation,
          report(
              StartReport.Kind.RECOVERED,
              "it was not closed properly, or changed since",
              sweep.kept(),
              damaged + sweep.damaged()));
    } catch (IOException | RuntimeException | InternalError e) {
      Generations.discard(generation);
      throw e;
    }
  }

  private Opened replace(String reason) throws IOException {
    files.deleteAll();
    return create(StartReport.Kind.REPLACED, reason);
  }

  private Opened create(StartReport.Kind kind, String detail) throws IOException {
    long bytes = new GrowthPlan(settings.maxBytes()).first();
    StoreFiles.Generation first = files.generation(1, bytes, Geometry.DEFAULT_BYTES_PER_SLOT);
    ChronicleFile file = ChronicleFile.create(first.path(), first.geometry());
    return new Opened(generation(first, file, 0, 0), report(kind, detail, 0, 0));
  }

  private Generation generation(
      StoreFiles.Generation name, ChronicleFile file, long entries, long liveBytes) {
    return new Generation(name, new ValueFile(file, maxValue(settings), entries, liveBytes));
  }

  private StartReport report(StartReport.Kind kind, String detail, long entries, long damaged) {
    return new StartReport(kind, detail, entries, damaged, (System.nanoTime() - begun) / 1_000_000);
  }

  /** Files of older versions are of no use to anyone and would take disk for ever. */
  private void deleteAllBut(StoreFiles.Generation found) throws IOException {
    for (Path deleted : files.deleteAllBut(found)) {
      logger.atInfo().log(
          "Cache %s: deleted %s, which is of another version or size",
          settings.name(), deleted.getFileName());
    }
  }

  static String reasonOf(Throwable e) {
    return e.getMessage() != null ? e.getMessage() : e.toString();
  }
}
