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

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A client that hangs up interrupts the thread that reads refs for it, before or while it reads. It
 * is no fault of the files: the answer is right, and nothing is counted or logged as a failure.
 */
class InterruptedReadersTest {
  private static final String NAME = "refs/heads/a";
  private static final int ROUNDS = 300;

  @TempDir Path folder;

  private static void read(RefDatabase refs, ObjectId id) throws Exception {
    assertThat(refs.exactRef(NAME).getObjectId()).isEqualTo(id);
    assertThat(refs.getRefsByPrefix("refs/heads/")).isNotEmpty();
    assertThat(refs.getTipsWithSha1(id).stream().map(Ref::getName).toList()).contains(NAME);
    assertThat(refs.isNameConflicting(NAME + "/b")).isTrue();
  }

  /** Has another thread interrupt this one again and again while it opens and reads files. */
  private static void interrupt(Callable<RefDatabase> opening, ObjectId id, JGitFallbacks failures)
      throws Exception {
    AtomicBoolean isOver = new AtomicBoolean();
    AtomicInteger done = new AtomicInteger();
    Thread reader = Thread.currentThread();
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!isOver.get()) {
                    reader.interrupt();
                    for (int i = done.get() % 100; i > 0; i--) {
                      Thread.onSpinWait(); // so that it meets another step each time
                    }
                  }
                });
    try {
      for (int i = 0; i < ROUNDS; i++) {
        read(opening.call(), id);
        done.incrementAndGet();
        boolean unused = Thread.interrupted();
      }
    } finally {
      isOver.set(true);
      Uninterruptibles.joinUninterruptibly(other); // it may have interrupted this thread
      boolean unused = Thread.interrupted();
    }
    assertWithMessage("failures").that(failures.count.sum()).isEqualTo(0);
  }

  /** Small tables are read, others are mapped. */
  @ParameterizedTest
  @ValueSource(ints = {1, 1000})
  void ofTables(int count) throws Exception {
    try (TestRefs refs = TestRefs.createReftable(folder.resolve("r.git"), Map.of())) {
      ObjectId id = refs.id(0);
      JGitFallbacks failures = new JGitFallbacks();
      Callable<RefDatabase> opening = () -> refs.tables(failures);
      ReceiveCommand[] make = new ReceiveCommand[count];
      for (int i = 0; i < count; i++) {
        make[i] = new ReceiveCommand(ObjectId.zeroId(), id, i == 0 ? NAME : "refs/tags/" + i);
      }
      assertThat(TestRefs.batch(refs.repository(), opening.call(), make)).isTrue();
      interrupt(opening, id, failures);
    }
  }

  @Test
  void ofFiles() throws Exception {
    try (TestRefs refs = TestRefs.create(folder.resolve("r.git"), "always")) {
      ObjectId id = refs.id(0);
      Path file = folder.resolve("r.git/packed-refs");
      // So many that it takes several steps to read them.
      SortedMap<String, String> lines = PackedRefsText.gerrit(new Random(1), 5_000);
      lines.put(NAME, id.name() + ' ' + NAME + '\n');
      Files.write(file, PackedRefsText.text(lines));
      JGitFallbacks failures = new JGitFallbacks();
      FileRefDatabase files = refs.database(failures);
      AtomicInteger time = new AtomicInteger(1_700_000_000);
      interrupt(
          () -> {
            long now = 1000L * time.incrementAndGet();
            Files.setLastModifiedTime(file, FileTime.fromMillis(now)); // so it is read again
            return files;
          },
          id,
          failures);
      assertThat(files.common.packedFile.counts.parses.sum()).isEqualTo(1);
    }
  }
}
