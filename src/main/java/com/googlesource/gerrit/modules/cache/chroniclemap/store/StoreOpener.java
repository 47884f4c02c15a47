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
import java.nio.file.Path;
import java.util.Optional;

/**
 * Opens a store's file, whatever state it is in: as it was left, recovered, or begun anew. Each
 * step that fails leads to the next; what was lost is in the report.
 */
final class StoreOpener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** An open file and how it was found. */
  record Opened(Generations generations, StartReport report) {}

  private final StoreSettings settings;
  private final StoreFiles files;
  private final Disk disk;
  private final Usage usage;
  private final StoreCounters counters;
  private final FaultLog faults;
  private final DiskBudget budget;
  private final DiskBudget.Owner owner;
  private final boolean sameBoot;
  private final boolean discarded;
  private final long begun = System.nanoTime();

  /**
   * Prepares to open.
   *
   * @param sameBoot whether the machine has run on since the files were last used
   * @param discarded whether the files must not be used
   */
  StoreOpener(
      StoreSettings settings,
      StoreFiles files,
      Usage usage,
      StoreCounters counters,
      FaultLog faults,
      DiskBudget budget,
      DiskBudget.Owner owner,
      boolean sameBoot,
      boolean discarded) {
    this.settings = settings;
    this.files = files;
    this.disk = files.disk();
    this.usage = usage;
    this.counters = counters;
    this.faults = faults;
    this.budget = budget;
    this.owner = owner;
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
   * Bytes above which a key is not stored. Each part of a value has the whole key beside it, and a
   * record that no segment can hold would have all others leave the one it should go to.
   */
  static int maxKey(StoreSettings settings) {
    return Geometry.forFileOf(settings.maxBytes(), Geometry.DEFAULT_BYTES_PER_SLOT).maxPayload();
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
    Optional<StoreFiles.GenerationFile> newest = files.newest();
    if (newest.isEmpty()) {
      files.deleteAll();
      return create(StartReport.Kind.NEW, "");
    }
    StoreFiles.GenerationFile found = newest.get();
    deleteAllBut(found);
    try {
      Optional<CleanMarker> marker = CleanMarker.take(disk, found.path(), faults);
      if (marker.isEmpty() && !sameBoot) {
        return replace(
            "it was not closed before the machine stopped, and may lack its last changes; or it is"
                + " a copy of a large one that has no checksum");
      }
      long bytes = take(Math.min(found.bytes(), settings.maxBytes()));
      if (bytes < found.bytes()) {
        return recover(
            bytes,
            found,
            headerOf(found),
            StartReport.Kind.SHRUNK,
            "cache.%s.diskLimit or cache.diskLimitTotal is less than it was"
                .formatted(settings.name()));
      }
      return marker.isPresent() ? openClean(found, marker.get()) : openUnclean(bytes, found);
    } catch (IOException | RuntimeException | InternalError e) {
      faults.count(e);
      return replace(reasonOf(e));
    }
  }

  /**
   * Makes an empty file in place of one that failed.
   *
   * @throws IOException if none can be made
   */
  Opened openEmpty(String reason) throws IOException {
    files.deleteThisVersion();
    return create(StartReport.Kind.REPLACED, reason);
  }

  private Opened openClean(StoreFiles.GenerationFile found, CleanMarker marker) throws IOException {
    if (!marker.isUntouched(disk, found.path(), faults)) {
      Holes.fill(disk, found.path());
    }
    ChronicleFile file = ChronicleFile.open(disk, found.path(), found.geometry());
    Generation generation = generation(found, file, marker.entries(), marker.liveBytes());
    return opened(generation, report(StartReport.Kind.CLEAN, "", marker.entries(), 0));
  }

  private Opened openUnclean(long bytes, StoreFiles.GenerationFile found) throws IOException {
    String detail = "it was not closed properly, or changed since";
    Optional<FileHeader> header = headerOf(found);
    if (header.isPresent()) {
      try {
        return repair(found, header.get(), detail);
      } catch (IOException | RuntimeException | InternalError e) {
        faults.warn(e, "its file can't be put in order where it is; what is valid is copied");
      }
    }
    return recover(bytes, found, header, StartReport.Kind.RECOVERED, detail);
  }

  /** Puts a file in order whose last user died, and opens it. */
  private Opened repair(StoreFiles.GenerationFile found, FileHeader header, String detail)
      throws IOException {
    if (disk.size(found.path()) > found.bytes()) {
      throw new IOException("the file is longer than it was made");
    }
    Census census = new Census();
    Holes.fill(disk, found.path());
    long damaged = FileRepair.repair(disk, found.path(), header, census);
    ChronicleFile file = ChronicleFile.open(disk, found.path(), found.geometry());
    try {
      if (!file.layout().equals(header.layout())) {
        throw new IOException("the file is laid out in another way than its header says");
      }
      Generation generation = generation(found, file, 0, 0);
      ValueFile.Sweep sweep = generation.values().settle(census, damaged);
      return opened(
          generation, report(StartReport.Kind.RECOVERED, detail, sweep.kept(), sweep.damaged()));
    } catch (IOException | RuntimeException | Error e) {
      file.close();
      throw e;
    }
  }

  /**
   * Copies what is valid into a new file. The old one is not mapped and stays until that is done,
   * so that a crash meanwhile loses nothing. Where the disk has no room for a file of the same
   * size, a smaller one takes the values of most use.
   */
  private Opened recover(
      long granted,
      StoreFiles.GenerationFile found,
      Optional<FileHeader> header,
      StartReport.Kind kind,
      String detail)
      throws IOException {
    GrowthPlan plan = new GrowthPlan(settings.maxBytes());
    long bytes = granted;
    while (true) {
      StoreFiles.GenerationFile fresh =
          files.generation(found.number() + 1, bytes, found.bytesPerSlot());
      disk.delete(fresh.growingPath());
      ChronicleFile file;
      try {
        file = ChronicleFile.create(disk, fresh.growingPath(), fresh.geometry());
      } catch (IOException e) {
        if (bytes / 2 < plan.first()) {
          throw e;
        }
        faults.warn(e, "cannot be recovered into a file of its size: a smaller one is tried");
        bytes = take(bytes / 2);
        continue;
      }
      return copyInto(generation(fresh, file, 0, 0), found, header, kind, detail);
    }
  }

  private Opened copyInto(
      Generation fresh,
      StoreFiles.GenerationFile found,
      Optional<FileHeader> header,
      StartReport.Kind kind,
      String detail)
      throws IOException {
    try {
      FileLayout layout =
          found.geometry().equals(fresh.name().geometry())
              ? fresh.values().file().layout()
              : layoutOf(found, header);
      long damaged =
          SegmentReader.readAll(disk, found.path(), layout, fresh.values()::putUncounted);
      ValueFile.Sweep sweep = fresh.values().sweep();
      Generations.install(disk, fresh);
      deleteAllBut(fresh.name());
      return opened(fresh, report(kind, detail, sweep.kept(), damaged + sweep.damaged()));
    } catch (IOException | RuntimeException | Error e) {
      Generations.discard(disk, fresh, faults);
      throw e;
    }
  }

  /** Where things are in a file: its header says so, or else a file made like it in memory. */
  private FileLayout layoutOf(StoreFiles.GenerationFile found, Optional<FileHeader> header)
      throws IOException {
    if (header.isPresent()) {
      return header.get().layout();
    }
    try {
      return ChronicleFile.layoutOf(found.geometry());
    } catch (OutOfMemoryError e) {
      throw new IOException("no memory to learn how a file of its size is laid out", e);
    }
  }

  /** The header of a file; none if it can't be read, or there is no finished one. */
  private Optional<FileHeader> headerOf(StoreFiles.GenerationFile found) {
    try {
      if (FileHeader.isReady(disk, found.path())) {
        return Optional.of(FileHeader.read(disk, found.path(), found.geometry()));
      }
      // No fault: whoever made it was killed before it held anything.
      logger.atInfo().log("Cache %s: its file was never finished", settings.name());
    } catch (IOException | RuntimeException | InternalError e) {
      faults.warn(e, "its header can't be read; its values are looked for where they should be");
    }
    return Optional.empty();
  }

  private Opened replace(String reason) throws IOException {
    files.deleteAll();
    return create(StartReport.Kind.REPLACED, reason);
  }

  private Opened create(StartReport.Kind kind, String detail) throws IOException {
    long bytes = take(budget.first(new GrowthPlan(settings.maxBytes()).first()));
    StoreFiles.GenerationFile first = files.generation(1, bytes, Geometry.DEFAULT_BYTES_PER_SLOT);
    ChronicleFile file = ChronicleFile.create(disk, first.path(), first.geometry());
    return opened(generation(first, file, 0, 0), report(kind, detail, 0, 0));
  }

  /** Takes a share of the disk of all stores: this much, or what there is. */
  private long take(long bytes) throws IOException {
    long taken = budget.take(owner, bytes, Geometry.MIN_FILE_BYTES);
    if (taken == 0) {
      throw new IOException("the other caches take all that cache.diskLimitTotal allows");
    }
    return taken;
  }

  private Generation generation(
      StoreFiles.GenerationFile name, ChronicleFile file, long entries, long liveBytes) {
    return new Generation(
        disk, name, new ValueFile(file, maxValue(settings), usage, counters, entries, liveBytes));
  }

  private Opened opened(Generation generation, StartReport report) {
    return new Opened(
        new Generations(settings, files, usage, counters, faults, generation), report);
  }

  private StartReport report(StartReport.Kind kind, String detail, long entries, long damaged) {
    return new StartReport(kind, detail, entries, damaged, (System.nanoTime() - begun) / 1_000_000);
  }

  /** Files of older versions are of no use to anyone and would take disk for ever. */
  private void deleteAllBut(StoreFiles.GenerationFile found) {
    try {
      for (Path deleted : files.deleteAllBut(found)) {
        logger.atInfo().log(
            "Cache %s: deleted %s, which is older or of another version or size",
            settings.name(), deleted.getFileName());
      }
    } catch (IOException e) {
      // They mean nothing to anyone, whatever they are: the newest of this version counts.
      faults.warn(e, "cannot delete files that are not needed any more");
    }
  }

  static String reasonOf(Throwable e) {
    return e.getMessage() != null ? e.getMessage() : e.toString();
  }
}
