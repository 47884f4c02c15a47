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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.files;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles.GenerationName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;

/**
 * The factory of one store's generations: creates, opens and deletes their files, and numbers them.
 *
 * <p>{@link #first}, {@link #open} and {@link #nextName} are for one thread at a time, the others
 * for any thread.
 */
public final class GenerationFactory {
  private final StoreFiles files;
  private final FaultLog faults;
  private final ValueTable.Rules rules;
  private final LongAdder damaged;

  /** The number of the generation that was named last. */
  private int lastNumber;

  /** Tasks that unmap and delete what is not needed any more. */
  private final Queue<Runnable> leftovers = new ConcurrentLinkedQueue<>();

  /**
   * Begins without a generation.
   *
   * @param faults counts and logs the faults of the disk
   * @param damaged counts records that are found damaged when segments are repaired or copied
   */
  public GenerationFactory(
      StoreFiles files, FaultLog faults, ValueTable.Rules rules, LongAdder damaged) {
    this.files = files;
    this.faults = faults;
    this.rules = rules;
    this.damaged = damaged;
  }

  /** Creates the first generation of a store, empty and under its final name. */
  public Generation first(long bytes) throws IOException {
    lastNumber = 0;
    GenerationName name = nextName(bytes);
    return create(name, name.path());
  }

  /**
   * Opens a generation.
   *
   * @param state of its file, after {@link FileState#takeOver}
   */
  public Generation open(GenerationName name, FileState state) throws IOException {
    lastNumber = name.number();
    return generation(
        name,
        RecordMapBuilder.open(files.disk, name.path(), name.geometry(), state, damaged),
        /* installed= */ true);
  }

  /** The name and layout of the next generation. */
  public GenerationName nextName(long bytes) {
    return files.generation(++lastNumber, bytes);
  }

  /**
   * Creates a generation that is to replace another one, under a temporary name, which a start
   * after a crash ignores. Takes a while if it is large.
   */
  public Generation create(GenerationName name) throws IOException {
    // A smaller file keeps the values used most.
    rules.usage().load();
    files.disk.delete(name.growingPath());
    return create(name, name.growingPath());
  }

  private Generation create(GenerationName name, Path path) throws IOException {
    return generation(
        name,
        RecordMapBuilder.create(files.disk, path, name.statePath(), name.geometry()),
        path.equals(name.path()));
  }

  private Generation generation(GenerationName name, RecordMap map, boolean installed) {
    return new Generation(files.disk, name, new ValueTable(map, rules), damaged, installed);
  }

  /** Deletes the files of a generation that was replaced, or is about to be. */
  public void delete(Generation old) {
    try {
      files.disk.delete(old.name.path());
      files.disk.delete(old.name.statePath());
    } catch (IOException e) {
      // The newer file counts while it is there, and the next start deletes this one.
      faults.warn(e, "cannot delete a file whose values count no more:", old.name.path());
      noteReplaced(old);
    }
  }

  private void noteReplaced(Generation old) {
    try {
      old.state().noteReplaced();
    } catch (IOException | RuntimeException | InternalError e) {
      faults.warn(e, "cannot note that another file has replaced", old.name.path());
    }
  }

  /** Leaves a generation that was replaced to {@link #tidy}. */
  public void unmapLater(Generation old) {
    leftovers.add(() -> unmap(old));
  }

  /**
   * Unmaps and deletes what was left. Called without the writer lock where that is possible, as
   * large generations take a second or more.
   */
  public synchronized void tidy() {
    for (Runnable task = leftovers.poll(); task != null; task = leftovers.poll()) {
      task.run();
    }
  }

  /** Unmaps a generation that is not used any more. */
  public void unmap(Generation old) {
    try {
      old.unmap();
    } catch (RuntimeException | InternalError | LinkageError e) {
      faults.warn(e, "cannot unmap a file that is not in use any more");
    }
  }

  /** Unmaps and deletes a generation that never came into use. */
  public void discard(Generation made) {
    Disk disk = files.disk;
    try {
      disk.delete(made.name.growingPath());
      if (!made.isInstalled()) {
        disk.delete(made.name.statePath());
      }
    } catch (IOException e) {
      // A file of a temporary name is never used, and the next start deletes it.
      faults.warn(e, "cannot delete", made.name.growingPath());
    }
    // Last: only now the system frees the disk, and the names need not wait for that.
    unmap(made);
  }
}
