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
import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileVerdict;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.Generation;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.GenerationFactory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles.GenerationName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.Evict;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;

/**
 * Opens a store's file as it was left, or replaces it with an empty one if there is evidence that
 * its content cannot be trusted; {@link FileVerdict} says how that is decided. The report says what
 * was lost. After any other failure the file is as it was, and may be opened later.
 */
final class StoreOpener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The file counts as full after so many values in a row found no room in their segments. */
  private static final int MAX_WITHOUT_ROOM = 256;

  /** An open file and how it was found. */
  record Opened(Generation file, StartReport report) {}

  private final StoreContext context;
  private final StoreFiles files;
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
    if (first && lost.isEmpty() && !context.isDiscardedKnown) {
      lost = files.markers.evidence();
    }
    if (lost.isPresent()) {
      return replace(lost.get());
    }
    Optional<GenerationName> newest = files.newest();
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
    GenerationName found = newest.get();
    if (first) {
      deleteAllBut(found);
    }
    Optional<FileState> state =
        FileState.open(files.disk, found.statePath(), found.geometry().segments());
    if (state.isEmpty() && FileState.isUnfinished(files.disk, found.statePath())) {
      // Not a fault: the process that created the file was killed before the file held anything.
      logger.atInfo().log("Cache %s: its file was never finished", context.settings.name());
      return create(StartReport.Kind.NEW, new LostContentException("it was never finished"));
    }
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

  private Opened open(GenerationName found, FileState state) throws IOException {
    FileVerdict verdict;
    boolean isCopy;
    Generation file;
    try {
      verdict = state.judge(found.path());
      isCopy = !state.isSameFile(found.path());
      if (verdict == FileVerdict.LOST) {
        boolean isDamaged = state.hasDamagedHeader(found.path());
        state.release();
        return replace(
            new LostContentException(
                isDamaged
                    ? "its header is damaged"
                    : "it may lack its last changes: the machine crashed before the file was closed"
                        + " and on disk, or the file is a copy"));
      }
      state.takeOver(found.path(), verdict);
      file = context.generations.open(found, state);
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
    } else if (verdict == FileVerdict.CLEAN) {
      kind = StartReport.Kind.CLEAN;
      detail = "";
    } else if (verdict == FileVerdict.KILLED && file.values.entries() == 0 && !state.isChanged()) {
      // As after a start that was refused.
      kind = StartReport.Kind.NEW;
      detail = "";
    } else if (verdict == FileVerdict.KILLED) {
      detail = "it was not closed";
    } else if (isCopy) {
      kind = StartReport.Kind.COPY;
      detail = "its values are checked when they are first used";
    }
    Generation fitting = fitting(file);
    return new Opened(fitting, report(kind, detail, fitting.values.entries()));
  }

  /**
   * Returns the file, or a copy of it that has the limit's size: a file never gets another one, but
   * its limit may have changed, and version 1.0.0 began with small ones, or with few slots. Its
   * cost grows with the number of values. What cannot be copied now is tried again at the next
   * start.
   */
  private Generation fitting(Generation file) throws IOException {
    boolean fits = file.bytes() == context.settings.maxBytes();
    if (fits && (file.hasDefaultSlots() || !file.values.isShortOfSlots())) {
      return file;
    }
    Generation made = null;
    try {
      made = context.generations.create(context.generations.nextName(context.settings.maxBytes()));
      copyAll(file, made);
      if (context.settings.oldValues() == OldValues.SECRET) {
        made.force(/* all= */ false);
      }
      made.install();
    } catch (IOException | RuntimeException | Error e) {
      if (made != null && made.isInstalled()) {
        // Both may have their final names, and nothing may be written to the one that counts not.
        context.generations.unmap(made);
        context.generations.unmap(file);
        throw e;
      }
      if (!context.isClosing && !context.isDiskRefused()) {
        context.faults.warn(e, "its file cannot be made anew for another limit: it stays as it is");
      }
      if (made != null) {
        context.generations.discard(made);
      }
      return file;
    }
    context.generations.delete(file);
    context.generations.unmap(file);
    return made;
  }

  private void copyAll(Generation from, Generation to) throws IOException {
    if (from.state().isChanged()) {
      to.state().noteChange();
    }
    try (SegmentReader reader = from.reader()) {
      for (int i = 0; i < from.state().counts.segments; i++) {
        from.check(i);
        List<byte[]> keys = new ArrayList<>();
        context.counts.damaged.add(
            reader.read(
                i,
                record -> {
                  if (!record.isPart()) {
                    keys.add(StoredKey.keyOf(record.storedKey()));
                  }
                }));
        for (byte[] key : keys) {
          copy(key, from, to);
        }
        reader.giveBack();
      }
    }
  }

  private void copy(byte[] key, Generation from, Generation to) throws IOException {
    try {
      StoredValue value = from.read(key);
      if (value != null
          && !value.isInvalidated()
          && !context.isTooOld(value.created())
          && !take(to, key, value)) {
        context.counts.notStored.increment();
      }
    } catch (DamagedEntryException e) {
      context.counts.damaged.increment();
    }
  }

  /** Puts a value into a file that nobody else uses yet; returns false if it is left out. */
  private boolean take(Generation made, byte[] key, StoredValue value) throws IOException {
    byte[] bytes = value.payload();
    if (made.values.isTooLarge(bytes)) {
      return false;
    }
    boolean fits = made.put(key, bytes, value.created(), Evict.NONE);
    if (context.isClosing || context.isDiskRefused()) {
      throw new IOException(context.isClosing ? "the store is being closed" : "no room for a copy");
    }
    return fits || made.put(key, bytes, value.created(), Evict.LEAST_USED);
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
    untouched = false;
    String detail = kind == StartReport.Kind.NEW ? "" : evidence.getMessage();
    Generation made =
        isFilled
            ? filled(context.seed.get())
            : context.generations.first(context.settings.maxBytes());
    return new Opened(made, report(kind, detail, made.values.entries()));
  }

  /**
   * Creates a file that begins with a seed. Until it has all of that, it has a temporary name,
   * which the next start ignores.
   */
  private Generation filled(Seed seed) throws IOException {
    throwIfClosing();
    Filling filling = new Filling(context.generations);
    // From some moment on, it has its final name, and misses what is changed until it is in use.
    untouched = true;
    try {
      fill(seed, filling);
      context.endSeed();
      filling.made.install();
      return filling.made;
    } catch (IOException | RuntimeException | Error e) {
      if (context.seed.isEmpty()) {
        // Nobody can tell later, as after a kill at this moment.
        context.faults.tell(e, "starts empty: H2's file is in taken-over, but was not imported");
      }
      context.generations.discard(filling.made);
      throw e;
    }
  }

  /** Tries again what another process uses, as long as the users of secrets wait anyway. */
  private void fill(Seed seed, Filling filling) throws IOException {
    boolean mayNotFit = seed.bytes() > context.settings.maxBytes() / 2;
    while (true) {
      try {
        seed.fill(filling, mayNotFit);
        return;
      } catch (IOException e) {
        if (!context.isSeedAwaited || System.nanoTime() - context.openDeadline >= 0) {
          throw e;
        }
      }
      throwIfClosing();
      Uninterruptibles.sleepUninterruptibly(StoreDirectory.LOOK_AGAIN);
    }
  }

  private void throwIfClosing() {
    if (context.isClosing) {
      throw new CancellationException("the store is being closed; the next opening begins again");
    }
  }

  /** A file that is being filled, and that nobody else uses yet. */
  private final class Filling implements Seed.Sink {
    final Generation made;
    private final long filling = System.nanoTime();
    private int withoutRoom;

    Filling(GenerationFactory generations) throws IOException {
      made = generations.create(generations.nextName(context.settings.maxBytes()));
    }

    @Override
    public boolean take(byte[] key, byte[] value, long created) {
      boolean isLeftOut =
          key.length > context.settings.maxKey()
              || value.length > context.settings.maxValue()
              || context.isTooOld(created);
      boolean isPut = !isLeftOut && made.put(key, value, created, Evict.NONE);
      withoutRoom = isPut || isLeftOut ? 0 : withoutRoom + 1;
      return isPut;
    }

    @Override
    public boolean goesOn() {
      throwIfClosing();
      boolean isLate =
          context.isSeedAwaited && System.nanoTime() - filling > StoreContext.FILL_NANOS;
      return withoutRoom < MAX_WITHOUT_ROOM && !isLate;
    }
  }

  private StartReport report(StartReport.Kind kind, String detail, long entries) {
    return new StartReport(kind, detail, entries, (System.nanoTime() - begun) / 1_000_000);
  }

  private void deleteAllBut(GenerationName found) {
    try {
      for (Path deleted : files.deleteAllBut(found)) {
        logger.atInfo().log(
            "Cache %s: deleted %s, which is older or of another version or size",
            context.settings.name(), deleted.getFileName());
      }
    } catch (IOException e) {
      // The newest generation counts. A clear that has to delete that one first deletes these
      // before.
      context.faults.warn(e, "cannot delete files that are not needed any more");
    }
  }
}
