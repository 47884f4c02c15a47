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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.RefDatabase;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * On a disk that is full, or can't be written to, refs stay all old or all new, no lock is left,
 * and all goes on when there is room again. More changes: {@code -Drefs.faults=20000}.
 */
class RefFaultsIT {
  private static final int CHANGES = Integer.getInteger("refs.faults", 400);
  private static final Pattern COUNTS = Pattern.compile("done=(\\d+) refused=(\\d+) failed=(\\d+)");

  @TempDir Path temp;

  @ParameterizedTest
  @ValueSource(ints = {1000, 0})
  void aDiskThatIsFullOrReadOnlyLeavesAllOrNothing(int maxLooseBatch) throws Exception {
    try (ChildJvm child =
        ChildJvm.startOnSmallDisk(
            temp,
            "3m",
            Child.class,
            temp.resolve("disk"),
            Long.getLong("refs.seed", 1),
            maxLooseBatch,
            CHANGES)) {
      List<String> lines = child.finish();
      System.out.println("RefFaultsIT: " + maxLooseBatch + " " + lines);
      Matcher counts = COUNTS.matcher(lines.getLast());
      assertThat(counts.matches()).isTrue();
      assertThat(Integer.parseInt(counts.group(1))).isGreaterThan(CHANGES / 20);
      assertThat(Integer.parseInt(counts.group(3))).isGreaterThan(CHANGES / 20);
    }
  }

  /**
   * A {@link RefsWriter} on a small disk that it has for itself, which is full most of the time,
   * and then on one that can't be written to. After each change its refs must be all old or all
   * new, and what it was said to be.
   */
  static final class Child {
    private static final String REPOSITORY = "durable";
    private static final int PAGE = 4096;
    private static final int MAX_FREE_PAGES = 60;
    private static final int PACKS_ONE_IN = 15;
    private static final int CHECKS_ONE_IN = 25;

    private final Path disk;
    private final Random random;
    private final int maxLooseBatch;
    private final RefsModel model;
    private final TestRefs test;
    private PackedRefsCache cache;
    private RefsWriter writer;

    /** By an exception, which the model counts as refused. */
    private int failed;

    private int notPacked;

    private Child(Path disk, long seed, int maxLooseBatch) throws IOException {
      this.disk = disk;
      this.random = new Random(seed);
      this.maxLooseBatch = maxLooseBatch;
      model = RefsModel.make(disk, List.of(REPOSITORY));
      test = model.open(REPOSITORY);
      open();
    }

    private void open() throws IOException {
      cache = TestRefs.cache(new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, 0));
      RefDatabase refs = test.database(cache);
      writer = new RefsWriter(test, refs, model, model.sets(REPOSITORY), random, model::heed);
      writer.find();
    }

    /** Folder of the disk, seed, most loose refs of a batch, number of changes. */
    public static void main(String[] args) throws Exception {
      Child main = new Child(Path.of(args[0]), Long.parseLong(args[1]), Integer.parseInt(args[2]));
      main.onAFullDisk(Integer.parseInt(args[3]));
      main.onAReadOnlyDisk();
      System.out.printf(
          Locale.ROOT,
          "done=%d refused=%d failed=%d%n",
          main.model.done(),
          main.model.refused() - main.failed,
          main.failed + main.notPacked);
      System.exit(0);
    }

    // ---- full

    private void onAFullDisk(int changes) throws Exception {
      for (int i = 0; i < changes; i++) {
        fill(random.nextInt(MAX_FREE_PAGES));
        change(writer.any());
        if (random.nextInt(PACKS_ONE_IN) == 0) {
          pack();
        }
        if (random.nextInt(CHECKS_ONE_IN) == 0) {
          check();
        }
      }
      check();
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

    private void change(RefSet set) throws Exception {
      try {
        writer.ended(set, writer.move(set, RefsWriter.By.MODULE));
      } catch (IOException e) {
        failed += writer.settle(set) ? 0 : 1;
      }
      assertWithMessage("%s", set)
          .that(RefsModel.read(writer.database(RefsWriter.By.MODULE), set.prefix()))
          .isEqualTo(writer.now(set));
    }

    private void pack() throws InterruptedException {
      try {
        var unused = writer.pack(RefsWriter.By.MODULE);
      } catch (IOException e) {
        notPacked++;
      }
    }

    // ---- read-only

    private void onAReadOnlyDisk() throws Exception {
      // The system makes none read-only that has files open for writing, such as journals.
      cache.close();
      remount("ro");
      open();
      int before = model.done();
      for (RefSet set : model.sets(REPOSITORY)) {
        change(set);
      }
      pack();
      assertWithMessage("done on a disk that can't be written to")
          .that(model.done())
          .isEqualTo(before);
      remount("rw");
      check();
      for (RefSet set : model.sets(REPOSITORY)) {
        change(set);
      }
      assertWithMessage("done on a disk that can be written to again")
          .that(model.done())
          .isEqualTo(before + RefSet.COUNT);
      check();
    }

    private void remount(String how) throws Exception {
      Process mount =
          new ProcessBuilder("mount", "-o", "remount," + how, disk.toString()).inheritIO().start();
      assertThat(mount.waitFor()).isEqualTo(0);
    }

    /** With room on the disk, as git for its part needs some. */
    private void check() throws Exception {
      Files.deleteIfExists(disk.resolve("filler"));
      var unused = model.checkSets("here", REPOSITORY, writer.database(RefsWriter.By.MODULE));
      model.check("elsewhere");
    }
  }
}
