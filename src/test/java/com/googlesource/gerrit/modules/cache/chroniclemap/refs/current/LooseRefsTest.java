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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.base.Ticker;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * When the file of a loose ref is read again, and what is remembered of it. That a file is not read
 * is seen where it has another content and the same attributes.
 */
@Tag("locale")
class LooseRefsTest {
  private static final Instant OLD = Instant.parse("2020-01-01T00:00:00Z");
  private static final String A = "refs/heads/a";
  private static final String CHANGE = "refs/changes/01/1/meta";

  @TempDir Path folder;
  @AutoClose private TestRefs testRefs;
  private LooseMemory memory;
  private long nanos;
  private LooseRefs loose;
  private ObjectId one;
  private ObjectId two;
  private ObjectId tag;

  @BeforeEach
  void create() throws IOException {
    testRefs = TestRefs.create(folder.resolve("r.git"), null);
    one = testRefs.id(0);
    two = testRefs.id(1);
    tag = testRefs.tags().get(0);
    memory = memory(LooseMemory.MAX_REFS);
    trust(TrustStat.ALWAYS);
  }

  private void trust(TrustStat trust) {
    trust(trust, NfsRevalidation.OF_SYSTEM);
  }

  private void trust(TrustStat trust, NfsRevalidation revalidation) {
    loose =
        new LooseRefs(
            testRefs.repository(),
            new RefPaths(testRefs.repository(), testRefs.file("packed-refs").toFile()),
            trust,
            memory,
            revalidation);
  }

  /** Writes into the file itself. */
  private void write(String name, String text, Instant time) throws IOException {
    Files.createDirectories(testRefs.file(name).getParent());
    Files.writeString(testRefs.file(name), text + "\n");
    Files.setLastModifiedTime(testRefs.file(name), FileTime.from(time));
  }

  private void write(String name, ObjectId id) throws IOException {
    write(name, id.name(), OLD);
  }

  /** Puts another file in its place, as all writers of refs do. */
  private void replace(String name, ObjectId id) throws IOException {
    write(name + ".lock", id);
    Files.move(testRefs.file(name + ".lock"), testRefs.file(name), StandardCopyOption.ATOMIC_MOVE);
  }

  private LooseMemory memory(int most) {
    return new LooseMemory(
        testRefs.file("refs").toFile(),
        most,
        new Ticker() {
          @Override
          public long read() {
            return nanos;
          }
        });
  }

  @Nullable
  private Ref read(String name) throws IOException {
    return BadRef.check(loose.find(RefName.of(name)));
  }

  @Nullable
  private ObjectId id(String name) throws IOException {
    Ref ref = read(name);
    return ref == null ? null : ref.getObjectId();
  }

  private List<ObjectId> scanned(String prefix) throws IOException {
    return loose.scan(prefix).stream().map(Ref::getObjectId).collect(Collectors.toList());
  }

  /**
   * As NFS has it of a name that was missing: it is missing until its folder is opened, and a new
   * folder until the one above is.
   */
  @ParameterizedTest
  @EnumSource(names = {"AFTER_OPEN", "NEVER"})
  void seesARefThatIsNotSeenBeforeItsFoldersAreOpened(TrustStat trust) throws Exception {
    // Files that are called hidden-NAME until their folder is opened.
    List<Path> unseen = new ArrayList<>();
    trust(
        trust,
        opened -> {
          for (Path hidden : List.copyOf(unseen)) {
            Path place = hidden.resolveSibling(hidden.getFileName().toString().substring(7));
            if (place.getParent().equals(opened)) {
              Files.move(hidden, place, StandardCopyOption.ATOMIC_MOVE);
              unseen.remove(hidden);
            }
          }
        });
    assertThat(id(A)).isNull();
    assertThat(id(CHANGE)).isNull();
    write("refs/heads/hidden-a", one);
    unseen.add(testRefs.file("refs/heads/hidden-a"));
    write("refs/hidden-changes/01/1/meta", two);
    unseen.add(testRefs.file("refs/hidden-changes"));
    assertThat(id(A)).isEqualTo(one);
    assertThat(loose.readFile(CHANGE).getObjectId()).isEqualTo(two);
    assertThat(unseen).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(names = {"ALWAYS", "NEVER"})
  void aFileWithTheSameAttributesIsNotReadAgainAsByJGit(TrustStat trust) throws Exception {
    trust(trust);
    RefDirectory jgit = testRefs.peer();
    write(A, one);
    write(CHANGE, one);
    assertThat(id(A)).isEqualTo(one);
    assertThat(scanned("refs/")).containsExactly(one, one);
    assertThat(jgit.getRefsByPrefix("refs/")).hasSize(2);
    write(A, two);
    write(CHANGE, two);
    assertThat(id(A)).isEqualTo(one);
    assertThat(id(CHANGE)).isEqualTo(one);
    assertThat(scanned("refs/")).containsExactly(one, one);
    assertThat(scanned("refs/changes/01/1/")).containsExactly(one);
    assertThat(jgit.exactRef(A).getObjectId()).isEqualTo(one);
    loose.refresh();
    assertThat(id(A)).isEqualTo(two);
    assertThat(scanned("refs/")).containsExactly(two, two);
  }

  @Test
  void afterOpenReadsAgain() throws Exception {
    trust(TrustStat.AFTER_OPEN);
    write(A, one);
    assertThat(id(A)).isEqualTo(one);
    assertThat(scanned("refs/")).containsExactly(one);
    write(A, two);
    assertThat(id(A)).isEqualTo(two);
    write(A, one);
    assertThat(scanned("refs/")).containsExactly(one);
  }

  @Test
  void aFileThatWasReplacedIsReadAgain() throws Exception {
    write(A, one);
    assertThat(id(A)).isEqualTo(one);
    replace(A, two);
    assertThat(id(A)).isEqualTo(two);
    replace(A, one);
    assertThat(scanned("refs/")).containsExactly(one);
    write(A, two.name(), OLD.plusNanos(1));
    assertThat(id(A)).isEqualTo(two);
    // Of another size.
    write(A, one.name() + "\n", OLD.plusNanos(1));
    assertThat(scanned("refs/heads/")).containsExactly(one);
  }

  /** Its clock may not have moved between the reading and another writing. */
  @Test
  void aFileThatIsNewIsReadAgain() throws Exception {
    Instant ahead = Instant.now().plusSeconds(3600);
    write(A, one.name(), ahead);
    assertThat(id(A)).isEqualTo(one);
    assertThat(scanned("refs/")).containsExactly(one);
    write(A, two.name(), ahead);
    assertThat(id(A)).isEqualTo(two);
    write(A, one.name(), ahead);
    assertThat(scanned("refs/")).containsExactly(one);
  }

  @ParameterizedTest
  @EnumSource(names = {"ALWAYS", "AFTER_OPEN", "NEVER"})
  void oneThatIsGoneIsForgotten(TrustStat trust) throws Exception {
    trust(trust);
    write(A, one);
    write(CHANGE, one);
    assertThat(scanned("refs/")).containsExactly(one, one);
    assertThat(memory.size()).isEqualTo(2);
    Files.delete(testRefs.file(A));
    assertThat(read(A)).isNull();
    assertThat(memory.size()).isEqualTo(1);
    Files.delete(testRefs.file(CHANGE));
    Files.delete(testRefs.file("refs/changes/01/1"));
    assertThat(scanned("refs/")).isEmpty();
    // Of another time, as the new file may have the inode of the old one.
    write(CHANGE, two.name(), OLD.plusNanos(1));
    assertThat(id(CHANGE)).isEqualTo(two);
    Files.delete(testRefs.file(CHANGE));
    Files.delete(testRefs.file("refs/changes/01/1"));
    assertThat(read(CHANGE)).isNull();
    assertThat(memory.size()).isEqualTo(0);
  }

  @Test
  void whatBecomesBrokenIsNotServedFromMemory() throws Exception {
    write(A, one);
    assertThat(id(A)).isEqualTo(one);
    write(A, "", OLD.plusSeconds(1));
    assertThrows(IOException.class, () -> read(A));
    assertThat(scanned("refs/")).containsExactly((ObjectId) null);
    Files.delete(testRefs.file(A));
    assertThat(read(A)).isNull();
    assertThat(scanned("refs/")).isEmpty();
    assertThat(memory.size()).isEqualTo(0);
  }

  /** The attributes of a link say nothing of what it leads to. */
  @Test
  void whatALinkLeadsToIsReadAgain() throws Exception {
    Path target = folder.resolve("target");
    Files.writeString(target, one.name() + "\n");
    Files.createSymbolicLink(
        Files.createDirectories(testRefs.file("refs/heads")).resolve("a"), target);
    assertThat(id(A)).isEqualTo(one);
    assertThat(scanned("refs/")).containsExactly(one);
    Files.writeString(target, two.name() + "\n");
    assertThat(id(A)).isEqualTo(two);
    assertThat(scanned("refs/")).containsExactly(two);
    Files.createDirectory(folder.resolve("others"));
    Files.writeString(folder.resolve("others/b"), one.name() + "\n");
    Files.createSymbolicLink(testRefs.file("refs/heads/link"), folder.resolve("others"));
    assertThat(scanned("refs/")).containsExactly(two, one);
  }

  @Test
  void additionalRefsAreNotRemembered() throws Exception {
    write("HEAD", "ref: " + A, OLD);
    write("FETCH_HEAD", one.name(), OLD);
    assertThat(read("HEAD").getTarget().getName()).isEqualTo(A);
    assertThat(id("FETCH_HEAD")).isEqualTo(one);
    write("HEAD", "ref: refs/heads/b", OLD);
    write("FETCH_HEAD", two.name(), OLD);
    assertThat(read("HEAD").getTarget().getName()).isEqualTo("refs/heads/b");
    assertThat(loose.scan("").get(0).getTarget().getName()).isEqualTo("refs/heads/b");
    assertThat(id("FETCH_HEAD")).isEqualTo(two);
    // What HEAD was peeled to.
    assertThat(memory.size()).isEqualTo(1);
    assertThat(memory.get("HEAD")).isNotNull();
  }

  // ---- peeled

  private static void assertPeeled(Ref ref, @Nullable ObjectId peeled) {
    assertThat(ref.isPeeled()).isTrue();
    assertThat(ref.getPeeledObjectId()).isEqualTo(peeled);
    assertThat(ref.getStorage()).isEqualTo(Ref.Storage.LOOSE);
  }

  @ParameterizedTest
  @EnumSource(names = {"ALWAYS", "AFTER_OPEN", "NEVER"})
  void whatARefWasPeeledToIsRemembered(TrustStat trust) throws Exception {
    trust(trust);
    write("refs/tags/t", tag);
    write(A, one);
    assertThat(read("refs/tags/t").isPeeled()).isFalse();
    assertPeeled(loose.peel(read("refs/tags/t")), one);
    assertPeeled(loose.peel(read(A)), null);
    assertPeeled(read("refs/tags/t"), one);
    assertPeeled(read(A), null);
    assertThat(scanned("refs/")).hasSize(2);
    loose.scan("refs/").forEach(ref -> assertThat(ref.isPeeled()).isTrue());
    // Read again, with the same id.
    Files.setLastModifiedTime(testRefs.file("refs/tags/t"), FileTime.from(OLD.plusSeconds(1)));
    assertPeeled(read("refs/tags/t"), one);
    replace("refs/tags/t", testRefs.tags().get(1));
    assertThat(read("refs/tags/t").isPeeled()).isFalse();
    assertPeeled(loose.peel(read("refs/tags/t")), two);
  }

  @Test
  void anotherRefIsNotTakenForThePeeledOne() throws Exception {
    write("refs/tags/t", tag);
    Ref old = read("refs/tags/t");
    replace("refs/tags/t", testRefs.tags().get(1));
    assertThat(read("refs/tags/t").isPeeled()).isFalse();
    assertPeeled(loose.peel(old), one);
    assertThat(read("refs/tags/t").getObjectId()).isEqualTo(testRefs.tags().get(1));
    assertThat(read("refs/tags/t").isPeeled()).isFalse();
    loose.refresh();
    assertPeeled(loose.peel(old), one);
    assertThat(memory.size()).isEqualTo(0);
  }

  // ---- bounds

  @Test
  void noMoreThanSoManyAreRemembered() throws Exception {
    memory = memory(10);
    trust(TrustStat.ALWAYS);
    List<String> names = new ArrayList<>();
    for (int i = 10; i < 40; i++) {
      names.add("refs/heads/" + i);
      write(names.get(names.size() - 1), one);
    }
    assertThat(scanned("refs/")).hasSize(30);
    assertThat(memory.size()).isEqualTo(10);
    for (String name : names) {
      replace(name, two);
      assertThat(id(name)).isEqualTo(two);
    }
    assertThat(memory.size()).isEqualTo(10);
    // There is room again for those that are read now.
    nanos += TimeUnit.HOURS.toNanos(1);
    assertThat(names.stream().filter(name -> memory.get(name) != null).count()).isEqualTo(0);
    for (int i = 0; i < 3000; i++) {
      assertThat(id(names.get(i % 30))).isEqualTo(two);
    }
    assertThat(names.stream().filter(name -> memory.get(name) != null).count()).isEqualTo(10);
  }

  /** As where each change is looked at once, and packed some time later. */
  @Test
  void thoseThatAreGoneDoNotStay() throws Exception {
    Path file = testRefs.file("refs/heads/x");
    for (int i = 0; i < 5000; i++) {
      write("refs/heads/x", one);
      Path other = testRefs.file("refs/heads/" + i);
      Files.move(file, other);
      assertThat(id("refs/heads/" + i)).isEqualTo(one);
      Files.delete(other);
      nanos += TimeUnit.SECONDS.toNanos(5);
      assertThat(memory.size()).isAtMost(1024);
    }
  }

  /** A reader that was late does not put an old value in the place of a newer one. */
  @Test
  void nobodySeesAnOldValueAfterANewOne() throws Exception {
    List<ObjectId> ids = testRefs.manyCommits(400);
    replace(A, ids.get(0));
    int[] last = new int[3];
    Threads.meanwhile(
        3,
        thread -> {
          int now = ids.indexOf(thread == 0 ? scanned("refs/heads/").get(0) : id(A));
          assertThat(now).isAtLeast(last[thread]);
          last[thread] = now;
        },
        () -> {
          for (ObjectId id : ids) {
            Files.writeString(testRefs.file("next"), id.name() + "\n");
            Files.move(testRefs.file("next"), testRefs.file(A), StandardCopyOption.ATOMIC_MOVE);
            assertThat(id(A)).isEqualTo(id);
          }
        });
  }

  /** Another thread may have made it again by now. */
  @Test
  void aFolderThatWasMissingIsNoFailure(@TempDir Path madeAgain) throws Exception {
    NfsRevalidation nfs =
        path -> {
          throw new NoSuchFileException(path.toString());
        };
    nfs.openFolder(madeAgain);
  }
}
