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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.Range;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Rewrites of {@code packed-refs} within one second, of which native git must see each: it compares
 * the inode, the size and the seconds.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class RewritesInOneSecondTest {
  private static final String DELETED = "refs/heads/s0000";

  /** A file system gives the inode back after a few rewrites, if ever. */
  private static final int REWRITES = 40;

  /** How often the machine may be too slow for two rewrites in one second. */
  private static final int ATTEMPTS = 10;

  @TempDir Path folder;

  @AutoClose private TestRefs test;
  private RefDatabase refs;
  private int count;

  /** What native git compares. */
  private record Seen(Object inode, Object size, long modified, long changed) {
    boolean isOfSecond(Seen other) {
      return changed == other.changed;
    }
  }

  @BeforeEach
  void create() throws Exception {
    test = TestRefs.create(folder.resolve("test.git"), null);
    refs = test.database(new RefDisk(), 0, 0);
  }

  private Path packedRefs() {
    return test.folder().resolve("packed-refs");
  }

  private Seen seen() throws IOException {
    Map<String, Object> of =
        Files.readAttributes(packedRefs(), "unix:ino,size,lastModifiedTime,ctime");
    return new Seen(
        of.get("ino"),
        of.get("size"),
        ((FileTime) of.get("lastModifiedTime")).to(TimeUnit.SECONDS),
        ((FileTime) of.get("ctime")).to(TimeUnit.SECONDS));
  }

  private static String name(int number) {
    return "refs/heads/a" + (1000 + number);
  }

  /** Replaces a line by one of equal length. */
  private void rewrite(String deleted) throws IOException {
    ReceiveCommand delete = test.command(deleted, 0, null);
    ReceiveCommand create = test.command(name(++count), null, 0);
    assertThat(TestRefs.batch(test.repository(), refs, delete, create)).isTrue();
  }

  private void rewriteLast() throws IOException {
    rewrite(name(count));
  }

  /** Waits for the first third of a second. */
  private static void awaitSecond() {
    while (System.currentTimeMillis() % 1000 > 300) {
      LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
    }
  }

  /** No file of this process in one second has the time of another one, whoever writes between. */
  @Test
  void filesOfOneSecondHaveTimesOfTheirOwnAlsoBesideAnotherWriter() throws Exception {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      awaitSecond();
      count = 0;
      List<Seen> all = new ArrayList<>();
      do {
        test.writePacked(test.id(0), name(count));
        all.add(seen());
        rewriteLast();
        all.add(seen());
      } while (all.size() < 12);
      List<Long> own = IntStream.range(0, 6).mapToObj(i -> all.get(2 * i + 1).modified).toList();
      List<Long> others = IntStream.range(0, 6).mapToObj(i -> all.get(2 * i).modified).toList();
      if (all.getFirst().changed == all.getLast().changed) {
        assertThat(own).containsNoDuplicates();
        assertThat(own).containsNoneIn(others);
        return;
      }
    }
    throw new AssertionError("no twelve rewrites in one second");
  }

  /** The times are those of the disk, so that no clock of this process matters. */
  @ParameterizedTest
  @ValueSource(longs = {-3600, -2, 0, 2, 3600})
  void aFileOfAnyTimeIsReplacedAtOnceByOneOfTheLastSeconds(long secondsAhead) throws Exception {
    test.writePacked(test.id(0), name(0));
    Files.setLastModifiedTime(packedRefs(), FileTime.from(Instant.now().plusSeconds(secondsAhead)));
    long before = seen().modified;
    for (int i = 0; i < 3; i++) {
      rewriteLast();
      Seen now = seen();
      assertThat(now.modified).isNotEqualTo(before);
      assertThat(now.changed - now.modified).isIn(Range.closed(2L, 20L));
      before = now.modified;
    }
    // Nothing is kept open: the inode of each file is free once the file was replaced.
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      assertThat(open.map(RewritesInOneSecondTest::target).filter(this::isPackedRefs).toList())
          .isEmpty();
    }
  }

  private static String target(Path handle) {
    try {
      return Files.readSymbolicLink(handle).toString();
    } catch (IOException e) {
      return ""; // it was closed meanwhile
    }
  }

  private boolean isPackedRefs(String target) {
    return target.startsWith(packedRefs().toString());
  }

  /** Where times can't be set, refs are changed all the same. */
  @Test
  void aDiskThatSetsNoTimesStopsNothing() throws Exception {
    RefDisk disk =
        TestRefs.disk(
            (step, file) -> {
              if (step.equals("set time")) {
                throw new FileSystemException(file.toString(), null, "Operation not supported");
              }
            });
    refs = test.database(disk, 0, 0);
    test.writePacked(test.id(0), name(0));
    rewriteLast();
    assertThat(test.refsOfGit()).containsKey(name(1));
  }

  /** Git has read the list, and has not locked the ref yet, when the ref is deleted. */
  @Test
  void gitRefusesToUpdateWhatWasDeletedAfterItRead() throws Exception {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      awaitSecond();
      count = 0;
      test.writePacked(test.id(0), name(0), DELETED);
      rewriteLast();
      Seen before = seen();
      ProcessBuilder command =
          new ProcessBuilder("git", "--git-dir=.", "update-ref", "--stdin")
              .directory(test.folder().toFile())
              .redirectErrorStream(true);
      command.environment().put("GIT_TRACE_REFS", "1");
      Process git = command.start();
      Writer in = git.outputWriter(UTF_8);
      try (BufferedReader said = git.inputReader(UTF_8)) {
        String old = test.id(0).name();
        in.write("start\nupdate " + DELETED + " " + test.id(1).name() + " " + old);
        in.write("\n");
        in.flush();
        // Git looks for a ref that has the id for its name, so it reads packed-refs here.
        String line = "";
        while (!line.contains("refs/remotes/" + old + "/HEAD")) {
          line = said.readLine();
          assertThat(line).isNotNull();
        }
        rewrite(DELETED);
        boolean isInTime = seen().isOfSecond(before);
        for (int i = 0; i < REWRITES && seen().isOfSecond(before); i++) {
          if (seen().equals(before)) {
            break;
          }
          rewriteLast();
        }
        in.write("prepare\ncommit\n");
        in.close();
        String rest = String.join("\n", said.lines().toList());
        assertWithMessage(rest).that(git.waitFor()).isNotEqualTo(0);
        assertThat(test.refsOfGit()).doesNotContainKey(DELETED);
        if (isInTime) {
          return;
        }
      } finally {
        git.destroyForcibly();
      }
    }
    throw new AssertionError("no two rewrites in one second");
  }
}
