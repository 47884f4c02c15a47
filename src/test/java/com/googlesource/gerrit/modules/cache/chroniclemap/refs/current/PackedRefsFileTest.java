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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListTiers;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which list a file has now. */
class PackedRefsFileTest {
  private static final String ID = "a".repeat(40);

  @TempDir Path folder;
  private Path path;
  private final ListTiers tiers = Lists.tiers(new ListMemory(1 << 30));
  private PackedRefsFile file;

  @BeforeEach
  void open() {
    path = folder.resolve("packed-refs");
    file = file(NfsRevalidation.OF_SYSTEM);
  }

  private PackedRefsFile file(NfsRevalidation revalidation) {
    return new PackedRefsFile(path.toFile(), tiers, used -> {}, revalidation);
  }

  /** As git does: a new file in the place of the old one. */
  private void write(byte[] text) throws IOException {
    Path next = folder.resolve("packed-refs.lock");
    Files.write(next, text);
    Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
  }

  private void write(String text) throws IOException {
    write(text.getBytes(UTF_8));
  }

  /** Makes the file's time one that no clock's precision puts in doubt. */
  private void age() throws IOException {
    Files.setLastModifiedTime(path, FileTime.from(Instant.parse("2020-01-01T00:00:00Z")));
  }

  private List<String> names(TrustStat trust) throws IOException {
    return file.current(trust).refs().stream().map(Ref::getName).toList();
  }

  /**
   * As NFS has it where somebody holds the old file open: what another client has put in its place
   * is seen when the folder is opened, not when the file is.
   */
  @ParameterizedTest
  @EnumSource(names = {"AFTER_OPEN", "NEVER"})
  void seesAFileThatIsNotSeenBeforeTheFolderIsOpened(TrustStat trust) throws Exception {
    Path unseen = folder.resolve("unseen");
    file =
        file(
            opened -> {
              if (opened.equals(folder) && Files.exists(unseen)) {
                Files.move(unseen, path, StandardCopyOption.ATOMIC_MOVE);
              }
            });
    write(ID + " refs/heads/0\n");
    age();
    assertThat(names(trust)).containsExactly("refs/heads/0");
    for (int i = 1; i < 4; i++) {
      Files.writeString(unseen, ID + " refs/heads/" + i + "\n");
      assertThat(names(trust)).containsExactly("refs/heads/" + i);
    }
    // So it does for a request, which reads the content once.
    Files.writeString(unseen, ID + " refs/heads/x\n");
    assertThat(file.current(TrustStat.NEVER).exactRef("refs/heads/x")).isNotNull();
  }

  @Test
  void aFolderThatCannotBeOpenedHidesNothing() throws Exception {
    file =
        file(
            opened -> {
              if (opened.equals(folder)) {
                throw new AccessDeniedException(opened.toString());
              }
            });
    write(ID + " refs/heads/a\n");
    assertThat(names(TrustStat.AFTER_OPEN)).containsExactly("refs/heads/a");
    assertThat(names(TrustStat.NEVER)).containsExactly("refs/heads/a");
  }

  @ParameterizedTest
  @EnumSource(names = {"ALWAYS", "AFTER_OPEN"})
  void attributesThatAreTrustedSaveTheReading(TrustStat trust) throws Exception {
    write(ID + " refs/heads/a\n");
    age();
    ParsedRefs list = file.current(trust);
    for (int i = 0; i < 5; i++) {
      assertThat(file.current(trust)).isSameInstanceAs(list);
    }
    assertThat(file.counts.readings.sum()).isEqualTo(1);
    assertThat(file.counts.parses.sum()).isEqualTo(1);
  }

  @Test
  void neverTrustsAttributes() throws Exception {
    write(ID + " refs/heads/a\n");
    age();
    ParsedRefs list = file.current(TrustStat.NEVER);
    Object key = Files.getAttribute(path, "unix:ino");
    assertThat(file.current(TrustStat.NEVER)).isSameInstanceAs(list);
    // The same file, length and time, with another content.
    Files.writeString(path, ID + " refs/heads/b\n");
    age();
    assertThat(Files.getAttribute(path, "unix:ino")).isEqualTo(key);
    assertThat(names(TrustStat.NEVER)).containsExactly("refs/heads/b");
    assertThat(file.counts.readings.sum()).isEqualTo(3);
    assertThat(file.counts.parses.sum()).isEqualTo(2);
  }

  @Test
  void contentThatJGitMustAnswerForIsParsedOnce() throws Exception {
    write(ID + " refs/heads/a\nbroken\n");
    for (int i = 0; i < 5; i++) {
      assertThat(file.current(TrustStat.NEVER)).isNull();
    }
    assertThat(file.counts.notParsable.sum()).isEqualTo(1);
    write(ID + " refs/heads/a\n");
    assertThat(names(TrustStat.NEVER)).containsExactly("refs/heads/a");
    assertThat(file.counts.parses.sum()).isEqualTo(1);
  }

  /** No direct memory, and time that passes when told to. */
  private final class NoMemory {
    final Lists.Direct direct = new Lists.Direct();
    final AtomicLong now = new AtomicLong(-7);
    final PackedRefsFile file =
        new PackedRefsFile(
            path.toFile(), Lists.tiers(direct, now::get), used -> {}, NfsRevalidation.OF_SYSTEM);

    NoMemory() {
      direct.left.set(0);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"ALWAYS", "AFTER_OPEN", "NEVER"})
  void withoutMemoryJGitAnswersForAWhile(TrustStat trust) throws Exception {
    write(ID + " refs/heads/a\n");
    NoMemory memory = new NoMemory();
    for (int tries = 1; tries <= 10; tries++) {
      for (int i = 0; i < 5; i++) {
        assertThat(memory.file.current(trust)).isNull();
        assertThat(memory.file.current(TrustStat.NEVER)).isNull();
      }
      assertThat(memory.direct.tries.get()).isEqualTo(tries);
      assertThat(memory.file.leftReason()).isPresent();
      memory.now.addAndGet(PackedRefsFile.PAUSE_NANOS - 1);
      assertThat(memory.file.current(trust)).isNull();
      assertThat(memory.direct.tries.get()).isEqualTo(tries);
      memory.now.incrementAndGet();
      assertThat(memory.file.leftReason()).isEmpty();
    }
    assertThat(memory.file.counts.noMemory.sum()).isEqualTo(10);
    memory.direct.left.set(1 << 20);
    assertThat(memory.file.current(trust).size()).isEqualTo(1);
    memory.direct.left.set(0);
    write(ID + " refs/heads/b\n");
    assertThat(memory.file.current(TrustStat.NEVER)).isNull();
    memory.now.addAndGet(PackedRefsFile.PAUSE_NANOS);
    assertThat(memory.file.leftReason()).isEmpty();
  }

  @Test
  void ofManyThreadsOneFindsThatThereIsNoMemory() throws Exception {
    write(PackedRefsText.text(PackedRefsText.gerrit(new Random(1), 5_000)));
    NoMemory memory = new NoMemory();
    Threads.together(16, thread -> assertThat(memory.file.current(TrustStat.NEVER)).isNull());
    assertThat(memory.direct.tries.get()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(names = {"ALWAYS", "AFTER_OPEN", "NEVER"})
  void aListThatLeftTheMemoryIsMadeAgain(TrustStat trust) throws Exception {
    write(ID + " refs/heads/a\n");
    age();
    ParsedRefs list = file.current(trust);
    file.forgotten();
    assertThat(list.exactRef("refs/heads/a")).isNotNull();
    assertThat(file.lastList()).isNull();
    ParsedRefs again = file.current(trust);
    assertThat(again).isNotSameInstanceAs(list);
    assertThat(again.exactRef("refs/heads/a")).isNotNull();
    assertThat(file.version()).isEqualTo(1);
    file.onEvicted(list); // not the one in use any more
    assertThat(file.lastList()).isSameInstanceAs(again);
  }

  @Test
  void aFailureIsThrownAndTriedAgain() throws Exception {
    Files.createDirectory(path);
    for (TrustStat trust : List.of(TrustStat.ALWAYS, TrustStat.AFTER_OPEN, TrustStat.NEVER)) {
      IOException e = assertThrows(IOException.class, () -> names(trust));
      assertThat(e).hasMessageThat().contains("packed-refs: is not a regular file");
    }
    Files.delete(path);
    write(ID + " refs/heads/a\n");
    assertThat(names(TrustStat.NEVER)).containsExactly("refs/heads/a");
  }

  @Test
  void manyThreadsShareOneParse() throws Exception {
    SortedMap<String, String> lines = PackedRefsText.gerrit(new Random(1), 20_000);
    write(PackedRefsText.text(lines));
    age();
    List<TrustStat> any = List.of(TrustStat.ALWAYS, TrustStat.AFTER_OPEN, TrustStat.NEVER);
    Threads.together(
        32, thread -> assertThat(file.current(any.get(thread % 3)).size()).isEqualTo(lines.size()));
    assertThat(file.counts.parses.sum()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(names = {"ALWAYS", "AFTER_OPEN", "NEVER"})
  void nobodyGetsAnAnswerOlderThanTheQuestion(TrustStat trust) throws Exception {
    AtomicLong written = new AtomicLong();
    write(ID + " refs/heads/0\n");
    Threads.meanwhile(
        4,
        thread -> {
          long before = written.get();
          String name = file.current(trust).refs().get(0).getName();
          assertThat(Long.parseLong(name.substring("refs/heads/".length()))).isAtLeast(before);
        },
        () -> {
          for (int i = 1; i <= 300; i++) {
            write(ID + " refs/heads/" + i + "\n");
            written.set(i);
          }
        });
  }
}
