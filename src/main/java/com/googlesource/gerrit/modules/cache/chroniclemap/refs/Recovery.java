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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * Finishes the transactions of processes that were killed, if they were decided, else undoes them;
 * and removes their locks. See {@link Journal} for what is on disk.
 *
 * <p>All of a dead transaction's locks are there until its last ref has changed, so nobody has
 * changed its refs since, and what is done here can be done again, should this process be killed
 * too. Only the process that has the journal locked does it.
 *
 * <p>Costs a look into one folder where nothing was left.
 */
final class Recovery {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /**
   * Only one kernel can have such a file system at a time: a process of an earlier boot is dead.
   */
  private static final Set<String> LOCAL =
      Set.of(
          "ext2",
          "ext3",
          "ext4",
          "xfs",
          "btrfs",
          "zfs",
          "tmpfs",
          "overlay",
          "f2fs",
          "jfs",
          "reiserfs",
          "bcachefs");

  private final RefWriter writer;
  private final RefPaths paths;

  Recovery(RefWriter writer) {
    this.writer = writer;
    this.paths = writer.paths();
  }

  /**
   * Does it for all that are found.
   *
   * @return whether there was anything to do
   */
  boolean run() {
    boolean any = false;
    try {
      List<Path> left = journals();
      for (Path journal : left) {
        any |= run(journal);
      }
    } catch (IOException | RuntimeException e) {
      logger.atSevere().withCause(e).log(
          "cannot finish what a killed process has left in %s", paths.transactions());
    }
    return any;
  }

  private List<Path> journals() throws IOException {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(paths.transactions(), Journal::isOthers)) {
      files.forEach(found::add);
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    }
    return found;
  }

  private boolean run(Path file) throws IOException {
    boolean isLocal = LOCAL.contains(Files.getFileStore(paths.transactions()).type());
    try (Journal.Found found = Journal.readDead(file, isLocal)) {
      if (found == null) {
        return false;
      }
      finish(found);
      logger.atInfo().log(
          "%s: a killed process's transaction of %d refs was %s",
          paths.packedRefs().getParent(),
          found.entries().size(),
          found.decided() ? "finished" : "undone");
      return true;
    }
  }

  private void finish(Journal.Found found) throws IOException {
    deleteIfOwn(RefPaths.lockOf(paths.packedRefs()), found);
    List<Journal.Entry> locked =
        found.entries().stream()
            .filter(entry -> isOwn(RefPaths.lockOf(paths.loose(entry.name())), found))
            .toList();
    if (found.decided()) {
      List<String> deletions = new ArrayList<>();
      for (Journal.Entry entry : locked) {
        if (entry.newId().equals(ObjectId.zeroId())) {
          deletions.add(entry.name());
        } else {
          write(found, entry);
        }
      }
      if (!deletions.isEmpty()) {
        delete(deletions);
      }
    }
    for (Journal.Entry entry : locked) {
      deleteIfOwn(RefPaths.lockOf(paths.loose(entry.name())), found);
    }
    deleteBeside(found);
    paths.disk().delete(found.file());
  }

  private static boolean isOwn(Path lock, Journal.Found found) {
    try {
      return Files.isSameFile(lock, found.file());
    } catch (IOException e) {
      return false;
    }
  }

  private void deleteIfOwn(Path lock, Journal.Found found) throws IOException {
    if (isOwn(lock, found)) {
      paths.disk().delete(lock);
    }
  }

  /** Writes it anew: what the dead process wrote may have been lost with the machine. */
  private void write(Journal.Found found, Journal.Entry entry) throws IOException {
    Path value = found.beside("again");
    paths.disk().write(value, Constants.encodeASCII(entry.newId().name() + "\n"));
    paths.disk().renameOverEmptyFolders(value, paths.loose(entry.name()));
  }

  /** The refs are locked, by the dead process. */
  private void delete(List<String> names) throws IOException {
    try (RefLocks none = writer.lockNothing()) {
      writer.write(new Deletions(none, names));
    }
  }

  private final class Deletions implements PackedRefsQueue.Request {
    private final RefLocks locks;
    private final List<String> names;

    Deletions(RefLocks locks, List<String> names) {
      this.locks = locks;
      this.names = names;
    }

    @Override
    public RefLocks locks() {
      return locks;
    }

    @Override
    public void collect(ParsedRefs packed, PackedEdits edits) {
      names.forEach(name -> edits.remove(name, packed));
    }

    @Override
    public boolean changesRefs() {
      return true;
    }

    @Override
    public boolean isDurable() {
      return true;
    }

    @Override
    public void finish() throws IOException {
      for (String name : names) {
        writer.deleteLoose(name);
      }
    }
  }

  private void deleteBeside(Journal.Found found) throws IOException {
    Path prefix = found.beside("");
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(
            paths.transactions(),
            file -> file.getFileName().toString().startsWith(prefix.getFileName().toString()))) {
      for (Path file : files) {
        if (!file.equals(found.file())) {
          paths.disk().delete(file);
        }
      }
    }
  }
}
