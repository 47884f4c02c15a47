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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefKillsMain.RefSet;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * Changes refs on a small disk that it has for itself, which is full most of the time, and then one
 * that can't be written to: what {@link RefFaultsIT} starts. After each change its refs must be all
 * old or all new, and new if it was said to have happened.
 */
final class RefFaultsMain {
  private static final String HEADER = "# pack-refs with: peeled fully-peeled sorted \n";
  private static final int FIXED = 2000;
  private static final int PAGE = 4096;
  private static final int MAX_FREE_PAGES = 60;
  private static final int PACKS_ONE_IN = 15;
  private static final int CHECKS_ONE_IN = 25;

  private final Path disk;
  private final Random random;
  private final TestRefs test;
  private final UpdateSettings.Atomic atomic;
  private final List<ObjectId> values;
  private final List<RefSet> sets;
  private final int[] generations;
  private PackedRefsCache cache;
  private RefDatabase refs;
  private RefKillsMain writer;
  private int done;
  private int refused;
  private int failed;

  private RefFaultsMain(Path disk, long seed, UpdateSettings.Atomic atomic) throws IOException {
    this.disk = disk;
    this.random = new Random(seed);
    test = TestRefs.create(disk.resolve("r.git"), null);
    test.repository().getConfig().setBoolean("core", null, "fsyncRefFiles", true);
    test.repository().getConfig().save();
    values = List.copyOf(test.manyCommits(RefKillsMain.VALUES));
    sets = RefSet.all().stream().filter(set -> set.repository().equals("first")).toList();
    generations = new int[sets.size()];
    Map<String, ObjectId> all = new TreeMap<>(fixed());
    sets.forEach(set -> all.putAll(set.at(0, values)));
    Files.writeString(
        test.folder().resolve("packed-refs"),
        all.entrySet().stream()
            .map(entry -> entry.getValue().name() + " " + entry.getKey() + "\n")
            .collect(Collectors.joining("", HEADER, "")),
        UTF_8);
    this.atomic = atomic;
    open();
  }

  private void open() {
    cache =
        new PackedRefsCache(
            new RefsSettings(64 << 20, 0, Optional.empty()),
            new UpdateSettings(UpdateSettings.By.OWN, atomic, 0));
    refs = database();
    writer = new RefKillsMain(test.repository(), refs, values);
  }

  private RefDatabase database() {
    return cache.of(test.repository(), (RefDirectory) test.repository().getRefDatabase());
  }

  private Map<String, ObjectId> fixed() {
    Map<String, ObjectId> fixed = new TreeMap<>();
    for (int i = 0; i < FIXED; i++) {
      fixed.put(String.format(Locale.ROOT, "refs/fixed/%02d/%d", i % 100, i), values.get(0));
    }
    return fixed;
  }

  /** Folder of the disk, seed, loose or rewrite, number of changes. */
  public static void main(String[] args) throws Exception {
    RefFaultsMain main =
        new RefFaultsMain(
            Path.of(args[0]), Long.parseLong(args[1]), UpdateSettings.Atomic.valueOf(args[2]));
    main.onAFullDisk(Integer.parseInt(args[3]));
    main.onAReadOnlyDisk();
    System.out.printf(
        Locale.ROOT, "done=%d refused=%d failed=%d%n", main.done, main.refused, main.failed);
    System.exit(0);
  }

  // ---- full

  private void onAFullDisk(int changes) throws Exception {
    for (int i = 0; i < changes; i++) {
      fill(random.nextInt(MAX_FREE_PAGES));
      change(random.nextInt(sets.size()));
      if (random.nextInt(PACKS_ONE_IN) == 0) {
        pack();
      }
      if (random.nextInt(CHECKS_ONE_IN) == 0) {
        checkAll();
      }
    }
    checkAll();
  }

  /** Fills the disk but for so many pages. */
  private void fill(int freePages) throws IOException {
    File filler = disk.resolve("filler").toFile();
    try (FileOutputStream out = new FileOutputStream(filler)) {
      long size = disk.toFile().getUsableSpace() - (long) freePages * PAGE;
      byte[] page = new byte[PAGE];
      for (long written = 0; written < size; written += PAGE) {
        out.write(page);
      }
    }
  }

  private void free() throws IOException {
    Files.deleteIfExists(disk.resolve("filler"));
  }

  private void change(int number) throws IOException {
    RefSet set = sets.get(number);
    Map<String, ObjectId> before = set.at(generations[number], values);
    Map<String, ObjectId> after = set.at(generations[number] + 1, values);
    boolean hasHappened = false;
    boolean hasFailed = false;
    try {
      hasHappened = writer.change(set, before, after);
    } catch (IOException e) {
      hasFailed = true;
    }
    Map<String, ObjectId> found = RefKillsMain.read(refs, set.prefix());
    if (found.equals(after)) {
      generations[number]++;
      require(hasHappened || hasFailed || before.equals(after), set + " was refused and is new");
      done++;
    } else {
      require(found.equals(before), set + " is " + found + ", not " + before + " nor " + after);
      require(!hasHappened, set + " was acknowledged and is old");
      if (hasFailed) {
        failed++;
      } else {
        refused++;
      }
    }
  }

  private void pack() {
    try {
      refs.packRefs(
          NullProgressMonitor.INSTANCE, new PackRefsCommand(test.repository()).setAll(true));
    } catch (IOException e) {
      failed++;
    }
  }

  // ---- read-only

  private void onAReadOnlyDisk() throws Exception {
    // The system makes none read-only that has files open for writing, such as journals.
    cache.close();
    remount("ro");
    open();
    int before = done;
    for (int i = 0; i < sets.size(); i++) {
      change(i);
    }
    pack();
    require(done == before, "something was written to a disk that can't be");
    remount("rw");
    checkAll();
    for (int i = 0; i < sets.size(); i++) {
      change(i);
    }
    require(done == before + sets.size(), "not all was done on a disk that can be written again");
    checkAll();
  }

  private void remount(String how) throws Exception {
    Process mount =
        new ProcessBuilder("mount", "-o", "remount," + how, disk.toString()).inheritIO().start();
    require(mount.waitFor() == 0, "mount -o remount," + how);
  }

  // ---- checks

  /** With room on the disk, as git for its part needs some. */
  private void checkAll() throws Exception {
    free();
    Map<String, ObjectId> expected = new TreeMap<>(fixed());
    for (int i = 0; i < sets.size(); i++) {
      expected.putAll(sets.get(i).at(generations[i], values));
    }
    require(RefKillsMain.read(refs, "refs/").equals(expected), "refs are not what they must be");
    require(
        RefKillsMain.read(database(), "refs/").equals(expected), "another instance sees others");
    TestRefs.Output git = test.tryGit("for-each-ref", "--format=%(objectname) %(refname)");
    List<String> lines = new ArrayList<>();
    expected.forEach((name, id) -> lines.add(id.name() + " " + name));
    require(git.status() == 0 && git.text().lines().toList().equals(lines), "git: " + git.text());
    TestRefs.Output fsck = test.tryGit("fsck", "--no-dangling");
    require(fsck.status() == 0, "git fsck: " + fsck.text());
    try (Stream<Path> files = Files.walk(test.folder())) {
      List<Path> locks = files.filter(file -> file.toString().endsWith(".lock")).toList();
      require(locks.isEmpty(), "left: " + locks);
    }
  }

  private void require(boolean isSo, String otherwise) {
    if (!isSo) {
      throw new AssertionError(
          String.format(
              Locale.ROOT, "%s; done=%d refused=%d failed=%d", otherwise, done, refused, failed));
    }
  }
}
