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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsObjects;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;

/**
 * A repository of one contender, with many refs, all packed, and some hundred objects that they
 * point to. It can be brought back to that state.
 */
final class UpdatesRepository {
  private static final String REPOSITORY = "r.git";

  /** How many packed refs there are to delete, in all parts of the file. */
  private static final int PACKED_SAMPLES = 100;

  private static final long MAX_WAIT_NANOS = TimeUnit.MINUTES.toNanos(2);

  final Path folder;
  private final Path original;
  private final Path oldRefs;
  final Path inputFolder;
  final UpdatesInput input;
  private int restored;

  private UpdatesRepository(Path base, Path folder) throws IOException {
    this.folder = folder;
    this.original = folder.resolveSibling(folder.getFileName() + "-packed-refs");
    this.oldRefs = folder.resolveSibling(folder.getFileName() + "-old-refs");
    this.inputFolder = base;
    this.input = new UpdatesInput(base);
  }

  /** What the repositories of all contenders are copied from. */
  record Base(Path folder) {
    /** Makes it. */
    static Base make(Path folder, int refs) throws IOException {
      Path repository = folder.resolve(REPOSITORY);
      String[] names = RefsFile.names(refs);
      RefsObjects objects;
      try (FileRepository made = new FileRepository(repository.toFile())) {
        made.create(true);
        objects = RefsObjects.insert(made, refs);
      }
      int[] numbers = new Random(refs).ints(refs, 0, objects.count()).toArray();
      objects.writePackedRefs(repository.resolve(Constants.PACKED_REFS), names, i -> numbers[i]);
      List<String> ids = new ArrayList<>();
      for (int i = 0; i < objects.count(); i++) {
        ids.add(objects.of(Constants.R_HEADS, i).name());
      }
      List<String> packed = new ArrayList<>();
      for (int i = 0; i < PACKED_SAMPLES; i++) {
        packed.add(names[(int) ((long) i * refs / PACKED_SAMPLES)]);
      }
      packed.add(names[refs - 1]);
      Files.write(folder.resolve(UpdatesInput.OBJECTS), ids, UTF_8);
      Files.write(folder.resolve(UpdatesInput.PACKED), packed, UTF_8);
      return new Base(folder);
    }

    /** A copy for one contender. */
    UpdatesRepository copyTo(Path copy) throws IOException {
      Folders.copy(folder.resolve(REPOSITORY), copy);
      UpdatesRepository repository = new UpdatesRepository(folder, copy);
      Files.createLink(repository.original, repository.packedRefs());
      return repository;
    }
  }

  private Path packedRefs() {
    return folder.resolve(Constants.PACKED_REFS);
  }

  private Path packedRefsLock() {
    return folder.resolve(Constants.PACKED_REFS + ".lock");
  }

  /** Says whether refs are to be on disk, and not only in the page cache, after an update. */
  void setDurable(boolean durable) throws IOException {
    // The first is JGit's, and the second git's.
    RefsRepositories.setCore(
        folder, "fsyncRefFiles = " + durable, "fsync = " + (durable ? "reference" : "none"));
  }

  /** Puts loose refs there, as an update that is not measured. */
  void makeLoose(List<String> names) throws IOException {
    for (String name : names) {
      Path file = folder.resolve(name);
      Files.createDirectories(file.getParent());
      Files.writeString(file, input.object(name) + "\n", UTF_8);
    }
  }

  /** Brings the refs back to the first state: as they were, all packed. */
  void restore() throws IOException, InterruptedException {
    Path lock = packedRefsLock();
    long begun = System.nanoTime();
    while (true) {
      try {
        Files.createFile(lock);
        break;
      } catch (FileAlreadyExistsException e) {
        // Somebody packs in the background.
        if (System.nanoTime() - begun > MAX_WAIT_NANOS) {
          throw new IOException("packed-refs.lock does not go", e);
        }
        Thread.sleep(1);
      }
    }
    try {
      // Not deleted: ext4 takes ten times as long for a new file where many were deleted just now.
      Path refs = folder.resolve("refs");
      Files.createDirectories(oldRefs);
      Files.move(
          refs, oldRefs.resolve(Integer.toString(restored++)), StandardCopyOption.ATOMIC_MOVE);
      Files.createDirectories(refs.resolve("heads"));
      Files.createDirectories(refs.resolve("tags"));
      if (!Files.isSameFile(original, packedRefs())) {
        Path next = folder.resolve("packed-refs.new");
        Files.createLink(next, original);
        Files.move(next, packedRefs(), StandardCopyOption.ATOMIC_MOVE);
      }
    } finally {
      Files.delete(lock);
    }
  }

  /** Deletes the loose refs that it was freed of. */
  void deleteOld() throws IOException {
    Folders.delete(oldRefs);
  }
}
