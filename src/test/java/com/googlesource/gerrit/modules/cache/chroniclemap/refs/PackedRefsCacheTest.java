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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.io.MoreFiles;
import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListTiers;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** All repositories of a process, through its restarts. */
class PackedRefsCacheTest {
  private static final int REFS = 3000;

  @TempDir Path folder;
  @AutoClose private PackedRefsCache cache;

  private PackedRefsCache open(long memoryLimit, long diskLimit) {
    return new PackedRefsCache(
        new RefsSettings(memoryLimit, diskLimit, Optional.of(folder.resolve("stores"))),
        UpdateSettings.DEFAULT);
  }

  @BeforeEach
  void open() {
    cache = open(64 << 20, 16 << 20);
  }

  private void reopen(long memoryLimit, long diskLimit) {
    cache.close();
    cache = open(memoryLimit, diskLimit);
  }

  private FileRepository create(String name, byte[] packedRefs) throws IOException {
    FileRepository repository = new FileRepository(folder.resolve(name).toFile());
    repository.create(true);
    write(repository, packedRefs);
    return repository;
  }

  private static void write(FileRepository repository, byte[] packedRefs) throws IOException {
    Path file = repository.getDirectory().toPath().resolve("packed-refs");
    Path next = file.resolveSibling("packed-refs.lock");
    Files.write(next, packedRefs);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
  }

  private RefDatabase refs(FileRepository repository) {
    return cache.of(repository, (RefDirectory) repository.getRefDatabase());
  }

  private static void assertSame(RefDatabase refs, FileRepository repository) throws IOException {
    List<String> names = refs.getRefs().stream().map(ref -> ref.getName()).toList();
    assertThat(names)
        .isEqualTo(
            repository.getRefDatabase().getRefs().stream().map(ref -> ref.getName()).toList());
    assertThat(names).isNotEmpty();
  }

  /** As when a project is deleted. Whoever has it still can use it. */
  @Test
  void whatIsForgottenAndUsedIsKnownAgain() throws Exception {
    FileRepository repository = create("a.git", Lists.text(1, REFS));
    RefDatabase refs = refs(repository);
    assertSame(refs, repository);
    long lookups = cache.totals().counts().lookups.sum();
    cache.forget(folder.resolve("b.git").toFile());
    assertThat(cache.reports()).hasSize(1);
    cache.forget(repository.getDirectory());
    assertThat(cache.reports()).isEmpty();
    assertThat(cache.totals().lists().size()).isEqualTo(0);
    assertThat(cache.totals().counts().lookups.sum()).isEqualTo(lookups); // the count stays
    write(repository, Lists.textWith(1, REFS, "refs/heads/new"));
    assertThat(refs.exactRef("refs/heads/new")).isNotNull();
    assertThat(cache.reports()).hasSize(1);
    assertThat(cache.totals().lists().size()).isEqualTo(1);
    assertThat(cache.totals().counts().lookups.sum()).isEqualTo(lookups + 1);
    repository.close();
  }

  @Test
  void anIrregularFileIsLeftToJGit() throws Exception {
    // The last one is not in order. The file must not say otherwise: JGit 7.7 believes it.
    String sorted = new String(Lists.text(1, REFS), UTF_8).replaceFirst(" sorted", "");
    byte[] text = (sorted + "1".repeat(40) + " refs/a\n").getBytes(UTF_8);
    FileRepository repository = create("a.git", text);
    assertSame(refs(repository), repository);
    assertThat(cache.totals().counts().notParsable.sum()).isEqualTo(1);
    assertThat(cache.reports().get(0).leftReason().orElseThrow())
        .contains("not written as git does");
    write(repository, Lists.text(1, REFS));
    assertSame(refs(repository), repository);
    assertThat(cache.reports().get(0).leftReason()).isEqualTo(Optional.empty());
    repository.close();
  }

  /** A look at what is in use may still go on when the server stops. */
  @Test
  void whatIsKeptAfterTheCloseDoesNotSpoilTheFile() throws Exception {
    FileRepository repository = create("a.git", Lists.text(1, REFS));
    assertSame(refs(repository), repository);
    ListTiers tiers = cache.open();
    ParsedRefs list = tiers.memory.lists().get(0);
    cache.close();
    tiers.keep(list);
    cache = open(64 << 20, 16 << 20);
    assertSame(refs(repository), repository);
    assertThat(cache.totals().counts().parses.sum()).isEqualTo(0);
    repository.close();
  }

  @Test
  @Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
  void packingsThatHangKeepNoOtherRepositoryFromBeingPackedOrClosed() throws Exception {
    CountDownLatch goesOn = new CountDownLatch(1);
    for (int i = 0; i < 3; i++) {
      cache.packing.execute(() -> Uninterruptibles.awaitUninterruptibly(goesOn));
      cache.packOthers(); // as each minute
    }
    for (int i = 0; i < 2; i++) {
      CountDownLatch isPacked = new CountDownLatch(1);
      cache.packing.execute(isPacked::countDown);
      cache.packOthers();
      cache.packOthers();
      assertThat(isPacked.await(20, TimeUnit.SECONDS)).isTrue();
      cache.packOthers();
      assertThat(cache.packing.getCorePoolSize()).isEqualTo(1);
      while (cache.packing.getPoolSize() > 3) {
        Thread.onSpinWait();
      }
    }
    try (TestRefs test = TestRefs.create(folder.resolve("a.git"), null)) {
      TestRefs.force(refs(test.repository()), "refs/heads/a", test.id(0));
      Path journals = test.folder().resolve("cache-chroniclemap");
      assertThat(MoreFiles.listFiles(journals)).isNotEmpty();
      cache.close();
      assertThat(MoreFiles.listFiles(journals)).isEmpty();
    } finally {
      goesOn.countDown();
    }
  }

  /** Or nobody could open it until the process ends. */
  @Test
  void aCloseThatCanStartNoThreadClosesTheStore() {
    cache.start();
    cache.packing.setThreadFactory(
        task -> {
          throw new Error("unable to create native thread (a test)");
        });
    reopen(64 << 20, 16 << 20);
    cache.start();
    assertThat(cache.totals().memoryOnlyReason()).isEmpty();
  }

  @Test
  void nothingIsOpenedBeforeItIsNeeded() {
    assertThat(Files.exists(folder.resolve("stores"))).isFalse();
    assertThat(cache.totals().counts().lookups.sum()).isEqualTo(0);
    assertThat(cache.totals().memoryOnlyReason()).isPresent();
    cache.close();
    assertThat(Files.exists(folder.resolve("stores"))).isFalse();
  }

  @Test
  void aRestartParsesNothing() throws Exception {
    FileRepository repository = create("a.git", Lists.text(1, REFS));
    assertSame(refs(repository), repository);
    assertThat(cache.totals().counts().parses.sum()).isEqualTo(1);
    for (int i = 0; i < 3; i++) {
      reopen(64 << 20, 16 << 20);
      cache.start();
      assertSame(refs(repository), repository);
      RefsTotals totals = cache.totals();
      assertThat(totals.counts().parses.sum()).isEqualTo(0);
      assertThat(totals.loads()).isEqualTo(1);
      assertThat(totals.memoryOnlyReason()).isEmpty();
      assertThat(cache.reports().get(0).counts().found.sum()).isEqualTo(1);
    }
  }

  @Test
  void oneFileForAllInstancesOfARepository() throws Exception {
    FileRepository repository = create("a.git", Lists.text(1, REFS));
    FileRepository other = new FileRepository(folder.resolve("./a.git").toFile());
    Path link = Files.createSymbolicLink(folder.resolve("link.git"), folder.resolve("a.git"));
    FileRepository linked = new FileRepository(link.toFile());
    assertSame(refs(repository), repository);
    assertSame(refs(other), repository);
    assertSame(refs(linked), repository);
    assertThat(cache.reports()).hasSize(1);
    assertThat(cache.totals().counts().parses.sum()).isEqualTo(1);
    assertThat(cache.totals().counts().readings.sum()).isEqualTo(1);
  }

  @Test
  void aLinkInTheFilesPlaceMayBecomeAFile() throws Exception {
    FileRepository a = create("a.git", Lists.text(1, REFS));
    FileRepository b = create("b.git", Lists.text(2, REFS));
    Path file = b.getDirectory().toPath().resolve("packed-refs");
    Files.delete(file);
    Files.createSymbolicLink(file, a.getDirectory().toPath().resolve("packed-refs"));
    RefDatabase refs = refs(b);
    assertSame(refs, a);
    write(b, Lists.text(3, REFS));
    assertSame(refs, b);
    write(a, Lists.text(4, REFS));
    assertSame(refs(a), a);
    assertSame(refs, b);
  }

  @Test
  void forksAreParsedOnce() throws Exception {
    FileRepository a = create("a.git", Lists.text(1, REFS));
    FileRepository b = create("b.git", Lists.text(1, REFS));
    assertSame(refs(a), a);
    assertSame(refs(b), b);
    RefsTotals totals = cache.totals();
    assertThat(totals.counts().parses.sum()).isEqualTo(1);
    assertThat(totals.lists().size()).isEqualTo(1);
    assertThat(totals.reports().size()).isEqualTo(2);
  }

  @Test
  void whatLeftTheMemoryIsLoadedFromDisk() throws Exception {
    reopen(150_000, 16 << 20);
    FileRepository a = create("a.git", Lists.text(1, REFS));
    FileRepository b = create("b.git", Lists.text(2, REFS));
    RefDatabase refsOfA = refs(a);
    RefDatabase refsOfB = refs(b);
    assertSame(refsOfA, a);
    cache.open().upkeep(); // as each second
    assertSame(refsOfB, b);
    cache.close();
    assertSame(refsOfA, a);
    cache = open(150_000, 16 << 20);
    assertSame(refs(a), a);
    assertSame(refs(b), b);
    assertSame(refs(a), a);
    assertThat(cache.totals().counts().parses.sum()).isEqualTo(0);
    assertThat(cache.totals().loads()).isEqualTo(3);
    assertThat(cache.totals().lists().size()).isEqualTo(1);
  }

  /** As at the default limit with one repository of ten million refs. */
  @Test
  void aListLargerThanTheLimitMakesNobodyParseAgain() throws Exception {
    reopen(200_000, 0);
    try (Warnings warnings = new Warnings("current.PackedRefsFile")) {
      List<FileRepository> all = new ArrayList<>();
      all.add(create("large.git", Lists.text(0, 10 * REFS)));
      for (int i = 1; i < 5; i++) {
        all.add(create(i + ".git", Lists.text(i, 100)));
      }
      for (int round = 0; round < 20; round++) {
        for (FileRepository each : all) {
          assertSame(refs(each), each);
        }
      }
      assertThat(cache.totals().counts().parses.sum()).isEqualTo(all.size());
      assertThat(cache.totals().memory().evictions()).isEqualTo(0);
      assertThat(cache.totals().counts().noMemory.sum()).isEqualTo(0);
      // Another content of it is no news.
      write(all.get(0), Lists.textWith(0, 10 * REFS, "refs/heads/x"));
      for (FileRepository each : all) {
        assertSame(refs(each), each);
      }
      assertThat(cache.totals().counts().parses.sum()).isEqualTo(all.size() + 1);
      // A second one is left to JGit, without a parse at each look.
      FileRepository second = create("second.git", Lists.text(7, 10 * REFS));
      for (int round = 0; round < 5; round++) {
        assertSame(refs(second), second);
      }
      assertThat(cache.totals().counts().parses.sum()).isEqualTo(all.size() + 2);
      assertThat(cache.totals().counts().noMemory.sum()).isEqualTo(1);
      all.forEach(FileRepository::close);
      second.close();
      assertThat(warnings.texts).hasSize(2);
      assertThat(warnings.texts.get(0))
          .contains(folder.resolve("large.git/packed-refs").toString());
      assertThat(warnings.texts.get(0)).contains("cache.packed_refs.memoryLimit");
      assertThat(warnings.texts.get(1))
          .contains(folder.resolve("second.git/packed-refs").toString());
    }
  }

  @Test
  void whatNobodyAsksForIsForgotten() throws Exception {
    FileRepository a = create("a.git", Lists.text(1, REFS));
    FileRepository b = create("b.git", Lists.text(2, REFS));
    RefDatabase refsOfA = refs(a);
    assertSame(refsOfA, a);
    assertSame(refs(b), b);
    for (int i = 0; i < 30; i++) {
      write(a, Lists.textWith(1, REFS, "refs/heads/new" + i));
      assertThat(refsOfA.exactRef("refs/heads/new" + i)).isNotNull();
      cache.keep();
    }
    assertThat(cache.reports()).hasSize(1);
    assertThat(cache.reports().get(0).folder().getName()).isEqualTo("a.git");
    assertThat(cache.totals().lists().size()).isEqualTo(1);
  }

  @Test
  void aFolderThatCannotBeMadeMeansMemoryOnly() throws Exception {
    Files.writeString(folder.resolve("stores"), "a file");
    FileRepository a = create("a.git", Lists.text(1, REFS));
    cache.start();
    assertSame(refs(a), a);
    assertThat(cache.totals().memoryOnlyReason()).isPresent();
  }

  @Test
  void noDiskIfTheLimitSaysSo() throws Exception {
    reopen(64 << 20, 0);
    FileRepository a = create("a.git", Lists.text(1, REFS));
    cache.start();
    assertSame(refs(a), a);
    assertThat(cache.totals().memoryOnlyReason().get()).contains("diskLimit is 0");
    assertThat(Files.exists(folder.resolve("stores"))).isFalse();
  }

  @Test
  void anotherSecretMeansThatAllIsParsedAgain() throws Exception {
    FileRepository a = create("a.git", Lists.text(1, REFS));
    assertSame(refs(a), a);
    cache.close();
    Files.delete(folder.resolve("stores/secret"));
    cache = open(64 << 20, 16 << 20);
    assertSame(refs(a), a);
    assertThat(cache.totals().counts().parses.sum()).isEqualTo(1);
  }

  @Test
  void aClosedOneAnswers() throws Exception {
    FileRepository a = create("a.git", Lists.text(1, REFS));
    RefDatabase refs = refs(a);
    cache.close();
    assertSame(refs, a);
    write(a, Lists.text(2, REFS));
    assertSame(refs, a);
    reopen(64 << 20, 16 << 20);
    cache.close();
    assertSame(refs(a), a);
  }

  /**
   * What wrote on after that would end with the process, and leave its locks to be found by the
   * next.
   */
  @Test
  @Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
  void aCloseWaitsForThePackingThatRuns() throws Exception {
    cache.close();
    cache = TestRefs.cache(new UpdateSettings(UpdateSettings.By.OWN, 1000, 20));
    try (TestRefs test = TestRefs.create(folder.resolve("a.git"), null)) {
      BatchRefUpdate batch = refs(test.repository()).newBatchUpdate();
      for (int i = 0; i < 1000; i++) {
        batch.addCommand(new ReceiveCommand(ObjectId.zeroId(), test.id(0), "refs/changes/" + i));
      }
      TestRefs.execute(test.repository(), batch);
      assertThat(refs(test.repository()).getRefsByPrefix("refs/changes/")).hasSize(1000);
      while (!isPacking() && !Files.exists(test.folder().resolve("packed-refs"))) {
        Thread.onSpinWait();
      }
      cache.close();
      assertThat(isPacking()).isFalse();
      assertThat(refs(test.repository()).getRefsByPrefix("refs/changes/")).hasSize(1000);
    }
  }

  private static boolean isPacking() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .anyMatch(frame -> frame.getClassName().endsWith(".RefPacker"));
  }
}
