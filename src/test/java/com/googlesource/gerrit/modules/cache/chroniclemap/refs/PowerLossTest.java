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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed.ListTiers;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.Differential;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates.UpdateSettings;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The machine loses its power before each step of several changes, with {@code core.fsyncRefFiles}:
 * what of the module's own files was not synced is as it was when it last was, and nothing is on
 * disk of what comes after. Who opens the repository then must find all refs old or all new; and
 * new, once all was synced that is synced before a change is acknowledged.
 */
@Timeout(300)
class PowerLossTest {
  private static final String A = "refs/heads/a";
  private static final String B = "refs/heads/b";
  private static final String C = "refs/heads/c";
  private static final String PACKED = "refs/heads/packed";

  @TempDir Path folder;

  private TestRefs test;
  private final Snapshots disk = new Snapshots();
  private RefDatabase refs;

  /** What is on disk before a step. */
  private record Snapshot(String before, Path copy, int synced) {}

  /** Copies the repository before each step. */
  private final class Snapshots extends RefDisk {
    private final List<Snapshot> taken = new ArrayList<>();

    /** Of the module's own files, when they were last synced. */
    private final Map<String, byte[]> synced = new HashMap<>();

    private final Set<Path> beingSynced = new LinkedHashSet<>();
    private int syncs;
    private int copies;

    /** Syncs of a file with this end fail. */
    private String broken = "none";

    @Override
    protected synchronized void about(String step, Path file) throws IOException {
      for (Path done : beingSynced) {
        if (isOwn(done)) {
          synced.put(done.getFileName().toString(), Files.readAllBytes(done));
        }
      }
      beingSynced.clear();
      Path copy = folder.resolve("copy" + copies++ + ".git");
      copy(copy);
      taken.add(new Snapshot(step + " " + file.getFileName(), copy, syncs));
      if (step.equals("sync")) {
        if (file.toString().endsWith(broken)) {
          throw new IOException("broken");
        }
        if (Files.isRegularFile(file)) {
          beingSynced.add(file);
        }
        syncs++;
      }
    }

    private void copy(Path copy) throws IOException {
      try {
        Process copies =
            new ProcessBuilder("cp", "-a", test.folder().toString(), copy.toString())
                .inheritIO()
                .start();
        assertThat(copies.waitFor()).isEqualTo(0);
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      Path own = copy.resolve("cache-chroniclemap");
      if (!Files.isDirectory(own)) {
        return;
      }
      try (Stream<Path> files = Files.list(own)) {
        for (Path file : files.toList()) {
          String name = file.getFileName().toString();
          // In its place: a lock may be a link to it.
          try (RandomAccessFile lost = new RandomAccessFile(file.toFile(), "rw")) {
            byte[] content = synced.getOrDefault(name, new byte[0]);
            lost.setLength(content.length);
            lost.write(content);
          }
          // Of this process; after the loss it is a dead one's.
          Files.move(file, file.resolveSibling("0" + name));
        }
      }
    }
  }

  private static boolean isOwn(Path file) {
    return file.getParent().endsWith("cache-chroniclemap") && Files.exists(file);
  }

  @BeforeEach
  void makeRepository() throws Exception {
    test = TestRefs.create(folder.resolve("a.git"), null);
    test.repository().getConfig().setBoolean("core", null, "fsyncRefFiles", true);
    test.repository().getConfig().save();
    Files.writeString(
        test.folder().resolve("packed-refs"),
        "# pack-refs with: peeled fully-peeled sorted \n" + id(0).name() + " " + PACKED + "\n");
    refs = open(test, disk);
  }

  @AfterEach
  void close() {
    test.close();
  }

  private ObjectId id(Integer number) {
    return number == null ? ObjectId.zeroId() : test.commits().get(number);
  }

  private static RefDatabase open(TestRefs test, RefDisk disk) {
    PackedRefsFile packed =
        new PackedRefsFile(
            test.folder().resolve("packed-refs").toFile(),
            new ListTiers(Differential.KEY, new ListMemory(1 << 30), null));
    return test.database(
        packed, disk, new UpdateSettings(UpdateSettings.By.OWN, UpdateSettings.Atomic.LOOSE, 0));
  }

  private static Map<String, String> values(RefDatabase refs) throws IOException {
    Map<String, String> values = new TreeMap<>();
    for (Ref ref : refs.getRefsByPrefix("refs/")) {
      values.put(ref.getName(), ref.getObjectId().name());
    }
    return values;
  }

  private interface Change {
    void make() throws Exception;
  }

  /** Makes a change, and looks what is left if the power goes before each of its steps. */
  private void change(String what, Change change) throws Exception {
    change(what, null, change);
  }

  /**
   * The same.
   *
   * @param instead what may be found too, where it is told to have failed; null where it must not
   */
  private void change(String what, @Nullable Map<String, String> instead, Change change)
      throws Exception {
    Map<String, String> before = values(refs);
    disk.taken.clear();
    int first = disk.syncs;
    change.make();
    Map<String, String> after = values(refs);
    int last = disk.syncs;
    for (Snapshot snapshot : List.copyOf(disk.taken)) {
      String when = what + ", before " + snapshot.before + ", step of " + disk.taken.size();
      try (TestRefs left = TestRefs.open(snapshot.copy)) {
        Map<String, String> found = values(open(left, new RefDisk()));
        if (instead == null && snapshot.synced == last && last > first) {
          assertWithMessage(when).that(found).isEqualTo(after);
        } else {
          assertWithMessage(when).that(found).isAnyOf(before, after, instead);
        }
        try (Stream<Path> files = Files.walk(left.folder())) {
          assertWithMessage(when)
              .that(files.filter(file -> file.toString().endsWith(".lock")).toList())
              .isEmpty();
        }
      }
      MoreFiles.deleteRecursively(snapshot.copy, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }

  private void batch(ReceiveCommand... commands) throws IOException {
    BatchRefUpdate batch = refs.newBatchUpdate();
    batch.setAtomic(true);
    batch.setAllowNonFastForwards(true);
    batch.addCommand(commands);
    try (RevWalk walk = new RevWalk(test.repository())) {
      batch.execute(walk, NullProgressMonitor.INSTANCE);
    }
    for (ReceiveCommand command : commands) {
      assertThat(command.getResult()).isEqualTo(ReceiveCommand.Result.OK);
    }
  }

  private ReceiveCommand command(String name, Integer from, Integer to) {
    return new ReceiveCommand(id(from), id(to), name);
  }

  private void update(String name, Integer from, Integer to) throws IOException {
    RefUpdate update = refs.newUpdate(name, false);
    update.setForceUpdate(true);
    update.setExpectedOldObjectId(id(from));
    if (to == null) {
      assertThat(update.delete()).isEqualTo(RefUpdate.Result.FORCED);
      return;
    }
    update.setNewObjectId(id(to));
    assertThat(update.update()).isAnyOf(RefUpdate.Result.NEW, RefUpdate.Result.FORCED);
  }

  @Test
  void changesThatAreAcknowledgedAreThere() throws Exception {
    change("batch", () -> batch(command(A, null, 2), command(B, null, 2)));
    change("update", () -> update(A, 2, 3));
    change("batch again", () -> batch(command(A, 3, 1), command(B, 2, 1)));
    change("update again", () -> update(B, 1, 4));
    change("create", () -> update(C, null, 4));
    change(
        "all kinds",
        () ->
            batch(
                command(A, 1, 2), command(B, 4, null), command(C, 4, 0), command(PACKED, 0, null)));
    change("update after a deletion", () -> update(A, 2, 3));
    change("create what was deleted", () -> update(B, null, 3));
    change(
        "pack",
        () ->
            refs.packRefs(
                NullProgressMonitor.INSTANCE, new PackRefsCommand(test.repository()).setAll(true)));
    change("delete a packed ref", () -> update(C, 0, null));
    change("batch of packed ones", () -> batch(command(A, 3, 4), command(B, 3, 4)));
  }

  /** The decision is on disk, and then something can't be: the batch is told to have failed. */
  @Test
  void aBatchWhoseSyncFailsIsAllOldOrAllNew() throws Exception {
    change("before", () -> batch(command(A, null, 2), command(B, null, 2)));
    Map<String, String> failed = values(refs);
    failed.put(A, id(3).name());
    failed.put(B, id(3).name());
    disk.broken = ".1";
    change(
        "value can't be synced",
        failed,
        () -> {
          try {
            batch(command(A, 2, 3), command(B, 2, 3));
            throw new AssertionError("done all the same");
          } catch (IOException e) {
            assertThat(e).hasMessageThat().contains("broken");
          }
        });
    disk.broken = "cache-chroniclemap";
    Files.createDirectories(test.folder().resolve("cache-chroniclemap"));
    change(
        "folder can't be synced",
        failed,
        () -> {
          refs = open(test, disk);
          try {
            batch(command(A, 2, 3), command(B, 2, 3));
            throw new AssertionError("done all the same");
          } catch (IOException e) {
            assertThat(e).hasMessageThat().contains("broken");
          }
        });
  }
}
