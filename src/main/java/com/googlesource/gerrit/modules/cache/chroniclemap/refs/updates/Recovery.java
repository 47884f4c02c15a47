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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.Journal;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.JournalOwner;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.RefLocks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * Finishes the transactions of processes that were killed, if they were decided, else undoes them;
 * and removes their locks. See {@link Journal} for what is on disk.
 *
 * <p>A ref of a decided transaction whose lock is there has not been changed by anybody since the
 * decision, and one whose lock is gone has been finished, or undone: in both cases what is done
 * here is right, and can be done again, should this process be killed too. Only one process does
 * it, and one thread: that which has the {@link JournalOwner}'s file locked.
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
    List<Dead> dead = new ArrayList<>();
    try {
      takeDead(dead);
      // Before any of them is finished: one may have to write packed-refs.
      for (Dead each : dead) {
        for (Journal.Found journal : each.journals) {
          deleteIfOwn(RefPaths.lockOf(paths.packedRefs()), journal);
        }
      }
      for (Dead each : dead) {
        finish(each);
      }
    } catch (IOException | RuntimeException e) {
      failed(paths.transactions(), e);
    } finally {
      dead.forEach(Dead::close);
    }
    return !dead.isEmpty();
  }

  private static void failed(Path what, Exception e) {
    logger.atSevere().withCause(e).atMostEvery(1, TimeUnit.MINUTES).log(
        "cannot finish what a killed process has left in %s", what);
  }

  /** A dead process's files, which this one has taken. */
  private record Dead(JournalOwner.Taken owner, List<Journal.Found> journals) {
    void close() {
      try {
        owner.close();
      } catch (IOException e) {
        failed(owner.file(), e);
      }
    }
  }

  private void takeDead(List<Dead> dead) throws IOException {
    Set<Path> owners = new TreeSet<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(paths.transactions())) {
      for (Path file : files) {
        Optional<Path> owner = JournalOwner.ofOthers(file);
        owner.ifPresent(owners::add);
      }
    } catch (NoSuchFileException | NotDirectoryException e) {
      return;
    }
    for (Path owner : owners) {
      try {
        take(owner, dead);
      } catch (IOException | RuntimeException e) {
        failed(owner, e);
      }
    }
  }

  private void take(Path file, List<Dead> dead) throws IOException {
    JournalOwner.Taken owner = JournalOwner.takeDead(file);
    if (owner == null) {
      return;
    }
    boolean isDead = false;
    try {
      List<Journal.Found> journals = new ArrayList<>();
      for (Path each : owner.files()) {
        if (Journal.isJournal(each)) {
          journals.add(Journal.read(each));
        }
      }
      isDead = isDead(journals);
      if (isDead) {
        dead.add(new Dead(owner, journals));
      } else {
        logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
            "%s: nobody here can know whether the process lives that holds locks of refs by %s; if"
                + " it does not: refs-safety, By hand, in the documentation",
            paths.packedRefs().getParent(), file);
      }
    } finally {
      if (!isDead) {
        owner.close();
      }
    }
  }

  /**
   * Whether the process that has not locked its file any more is dead, and does not run on another
   * machine, whose locks are not seen here.
   */
  private boolean isDead(List<Journal.Found> journals) throws IOException {
    if (journals.stream().anyMatch(Journal.Found::isUnknown)) {
      return false;
    }
    return journals.stream().anyMatch(Journal.Found::isOfThisBoot)
        || LOCAL.contains(Files.getFileStore(paths.transactions()).type());
  }

  private void finish(Dead dead) {
    try {
      for (Journal.Found journal : dead.journals) {
        finish(journal);
      }
      for (Path left : dead.owner.files()) {
        writer.disk().delete(left);
      }
      writer.disk().delete(dead.owner.file());
    } catch (IOException | RuntimeException e) {
      failed(dead.owner.file(), e);
    }
  }

  private void finish(Journal.Found journal) throws IOException {
    boolean durable = writer.isDurable();
    List<String> deletions = new ArrayList<>();
    List<Path> folders = new ArrayList<>();
    // Else it was over, and the journal kept for the next one.
    if (hasMoreNames(journal.file())) {
      logger.atInfo().log(
          "%s: a killed process's transaction of %d refs is %s",
          paths.packedRefs().getParent(),
          journal.entries().size(),
          journal.decided() ? "finished" : "undone");
    }
    for (int i = 0; journal.decided() && i < journal.entries().size(); i++) {
      Journal.Entry entry = journal.entries().get(i);
      Path lock = RefPaths.lockOf(paths.loose(entry.name()));
      if (!isOwn(lock, journal)) {
        continue; // it has been finished
      }
      folders.add(lock.getParent());
      if (entry.newId().equals(ObjectId.zeroId())) {
        deletions.add(entry.name());
      } else {
        write(journal, i, lock, durable);
      }
    }
    if (!deletions.isEmpty()) {
      delete(deletions);
    }
    if (durable) {
      writer.disk().syncFolders(folders.stream().distinct().toList());
    }
    for (Journal.Entry entry : journal.entries()) {
      deleteIfOwn(RefPaths.lockOf(paths.loose(entry.name())), journal);
    }
    if (hasMoreNames(journal.file())) {
      deleteUnknownLocks(journal);
    }
    writer.disk().delete(journal.file());
  }

  /**
   * Whether there are locks that the journal does not tell of: its text was lost with the machine.
   */
  private static boolean hasMoreNames(Path file) {
    try {
      return (int) Files.getAttribute(file, "unix:nlink") > 1;
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
      return false;
    }
  }

  /** Costs a look at all loose refs, but only after a crash of the machine. */
  private void deleteUnknownLocks(Journal.Found journal) throws IOException {
    List<Path> found = new ArrayList<>();
    try (Stream<Path> files = Files.walk(paths.refsFolder().toPath())) {
      files.forEach(found::add);
    }
    // Of HEAD and its like.
    for (Path folder : paths.foldersOfPseudorefs()) {
      try (Stream<Path> files = Files.list(folder)) {
        files.forEach(found::add);
      }
    }
    for (Path file : found) {
      if (file.toString().endsWith(RefPaths.LOCK)) {
        deleteIfOwn(file, journal);
      }
    }
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
      writer.disk().delete(lock);
    }
  }

  /** Writes it anew: what the dead process wrote may have been lost with the machine. */
  private void write(Journal.Found journal, int number, Path lock, boolean durable)
      throws IOException {
    Journal.Entry entry = journal.entries().get(number);
    Path value = journal.beside("again-" + number);
    writer.disk().write(value, Constants.encodeASCII(entry.newId().name() + "\n"));
    if (durable) {
      writer.disk().syncFiles(List.of(value));
    }
    if (isOwn(lock, journal)) {
      writer.disk().renameOverEmptyFolders(value, paths.loose(entry.name()));
    }
  }

  /** The refs are locked, by the dead process. */
  private void delete(List<String> names) throws IOException {
    try (RefLocks none = writer.lockNothing()) {
      writer.write(
          new PackedRefsQueue.Request() {
            @Override
            public void collect(ParsedRefs packed, PackedEdits edits) {
              names.forEach(name -> edits.remove(name, packed));
            }

            @Override
            public void finish() throws IOException {
              for (String name : names) {
                writer.deleteLoose(name);
              }
            }
          },
          new PackedRefsQueue.Terms(none, true, true));
    }
  }
}
