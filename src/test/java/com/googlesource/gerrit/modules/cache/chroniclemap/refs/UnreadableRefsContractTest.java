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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What can't be read is not missing: each read method fails and names the file, at once. A symbolic
 * link to itself can be read by no user, not even by root, to whom modes do not apply.
 */
class UnreadableRefsContractTest {
  private static final String A = "refs/heads/a";
  private static final String TEAM = "refs/heads/team/b";

  @TempDir Path folder;
  @AutoClose private TestRefs test;
  private FileRefDatabase refs;
  private ObjectId older;
  private ObjectId newer;

  /** A way to read refs, which meets all of {@link #A} and {@link #TEAM}. */
  interface Reading {
    Object read(RefDatabase refs, ObjectId newer) throws IOException;
  }

  /** A read method by name. */
  record Method(String name, Reading reading) {
    @Override
    public String toString() {
      return name;
    }
  }

  @SuppressWarnings("deprecation")
  static List<Method> methods() {
    return List.of(
        new Method("exactRef", (refs, id) -> List.of(refs.exactRef(A), refs.exactRef(TEAM))),
        new Method("exactRef of many", (refs, id) -> refs.exactRef(A, TEAM)),
        new Method(
            "firstExactRef",
            (refs, id) ->
                List.of(refs.firstExactRef("refs/x", A), refs.firstExactRef("refs/x", TEAM))),
        new Method("findRef", (refs, id) -> List.of(refs.findRef("a"), refs.findRef("team/b"))),
        new Method("getRefs", (refs, id) -> refs.getRefs()),
        new Method("getRefs by prefix", (refs, id) -> refs.getRefs("refs/heads/")),
        new Method("getRefsByPrefix, all", (refs, id) -> refs.getRefsByPrefix("")),
        new Method("getRefsByPrefix, refs", (refs, id) -> refs.getRefsByPrefix("refs/")),
        new Method("getRefsByPrefix, heads", (refs, id) -> refs.getRefsByPrefix("refs/heads/")),
        new Method(
            "getRefsByPrefix of many", (refs, id) -> refs.getRefsByPrefix("refs/heads/", "HEAD")),
        new Method(
            "getRefsByPrefixWithExclusions",
            (refs, id) -> refs.getRefsByPrefixWithExclusions("refs/", Set.of("refs/t"))),
        new Method("hasRefs", (refs, id) -> refs.hasRefs()),
        new Method("getTipsWithSha1", (refs, id) -> refs.getTipsWithSha1(id)),
        new Method(
            "isNameConflicting",
            (refs, id) ->
                refs.isNameConflicting(A + "/x") && refs.isNameConflicting("refs/heads/team")),
        new Method(
            "getConflictingNames",
            (refs, id) ->
                List.of(
                    refs.getConflictingNames(A + "/x"),
                    refs.getConflictingNames("refs/heads/team"))));
  }

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
    older = test.id(0);
    newer = test.id(1);
    test.writePacked(older, A, TEAM);
    test.write(A, newer.name() + "\n");
    test.write(TEAM, newer.name() + "\n");
    refs = test.database(new JGitFallbacks());
  }

  /** Puts a link to itself in the place of a file or folder. */
  private void loop(String name) throws IOException {
    Files.move(test.file(name), folder.resolve("away"));
    Files.createSymbolicLink(test.file(name), test.file(name));
  }

  private void assertFails(Method method, String file) {
    long begun = waitedMillis();
    for (RefDatabase each : List.of(refs, refs.forRequest())) {
      FileSystemException e =
          assertThrows(
              FileSystemException.class, () -> method.reading.read(each, newer), method.name);
      assertWithMessage(method.name).that(e).hasMessageThat().contains(file);
    }
    // JGit tries again for a second and a half, in each of the two.
    assertWithMessage(method.name).that(waitedMillis() - begun).isLessThan(1000);
  }

  /** How long this thread has slept or waited, which does not grow with the load of the machine. */
  private static long waitedMillis() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    threads.setThreadContentionMonitoringEnabled(true);
    return threads.getThreadInfo(Thread.currentThread().threadId()).getWaitedTime();
  }

  @ParameterizedTest
  @MethodSource("methods")
  void aFileOrFolderThatCantBeRead(Method method) throws Exception {
    for (String name : List.of(A, "refs/heads/team", "refs/heads")) {
      loop(name);
      assertFails(method, name);
      Files.delete(test.file(name));
      Files.move(folder.resolve("away"), test.file(name));
      assertWithMessage(method.name)
          .that(String.valueOf(method.reading.read(refs, newer)))
          .doesNotContain(older.name());
    }
  }

  @ParameterizedTest
  @MethodSource("methods")
  void aListThatCantBeRead(Method method) throws Exception {
    Files.delete(test.file(A));
    Files.delete(test.file(TEAM));
    refs.getRefs();
    loop("packed-refs");
    assertFails(method, "packed-refs");
    Files.delete(test.file("packed-refs"));
    Files.createDirectory(test.file("packed-refs"));
    assertFails(method, "packed-refs");
  }

  @Test
  void writersFailToo() throws Exception {
    loop(A);
    assertThrows(FileSystemException.class, () -> TestRefs.force(refs, A, newer));
    for (String name : List.of(A, A + "/x", "refs/heads")) {
      ReceiveCommand one = new ReceiveCommand(older, newer, name);
      ReceiveCommand two = new ReceiveCommand(ObjectId.zeroId(), newer, "refs/tags/b");
      assertThrows(IOException.class, () -> TestRefs.batch(test.repository(), refs, one, two));
    }
    assertThat(test.lockFiles()).isEmpty();
    // Others are not in its way, and the file stays as it is.
    assertThat(TestRefs.force(refs, TEAM, older)).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(Files.isSymbolicLink(test.file(A))).isTrue();
    // A list of which the disk does not tell whether it is there is not missing.
    Files.delete(test.file(A));
    Files.delete(test.file("packed-refs"));
    Files.createSymbolicLink(test.file("packed-refs"), Path.of("packed-refs"));
    assertThrows(IOException.class, () -> TestRefs.force(refs, A, newer));
    assertThat(TestRefs.batch(test.repository(), refs, test.command(A, null, 1))).isFalse();
    assertThat(test.lockFiles()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void aFileThatIsGoneIsGone(String trust) throws Exception {
    test.repository().getConfig().setString("core", null, "trustStat", trust);
    refs = test.database(new JGitFallbacks());
    assertThat(refs.getRefs()).hasSize(2);
    Files.delete(test.file(TEAM));
    Files.delete(test.file("refs/heads/team"));
    assertThat(refs.exactRef(TEAM).getObjectId()).isEqualTo(older);
    assertThat(refs.getRefsByPrefix("refs/heads/team/")).hasSize(1);
    Files.writeString(test.file("refs/heads/team"), newer.name() + "\n");
    Files.delete(test.file("packed-refs"));
    assertThat(refs.exactRef(TEAM)).isNull();
    assertThat(refs.getRefsByPrefix("refs/heads/team/")).isEmpty();
    assertThat(refs.getRefsByPrefix("refs/heads/" + "x".repeat(300) + "/")).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("methods")
  void aReftableThatCantBeRead(Method method) throws Exception {
    try (TestRefs tables = TestRefs.createReftable(folder.resolve("t.git"), Map.of())) {
      RefDatabase ours = tables.tables(new JGitFallbacks());
      assertThat(TestRefs.update(ours, A, newer)).isEqualTo(RefUpdate.Result.NEW);
      assertThat(TestRefs.update(ours, TEAM, newer)).isEqualTo(RefUpdate.Result.NEW);
      String before = NoHandlesMain.show(method.reading.read(ours, newer));
      Path list = tables.folder().resolve("reftable/tables.list");
      Files.move(list, folder.resolve("away"));
      Files.createSymbolicLink(list, list);
      ours.refresh();
      FileSystemException e =
          assertThrows(FileSystemException.class, () -> method.reading.read(ours, newer));
      assertThat(e).hasMessageThat().contains("tables.list");
      Files.delete(list);
      Files.move(folder.resolve("away"), list);
      assertThat(NoHandlesMain.show(method.reading.read(ours, newer))).isEqualTo(before);
    }
  }

  /** A process without a free file handle; {@link NoHandlesMain} has the questions. */
  @Test
  void noFreeHandle() throws Exception {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process child =
        new ProcessBuilder(
                "sh",
                "-c",
                "ulimit -n 300; exec \"$0\" \"$@\"",
                java,
                "-Xmx128m",
                "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                NoHandlesMain.class.getName(),
                test.folder().toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(child.getInputStream().readAllBytes(), UTF_8);
    assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertWithMessage(said).that(child.exitValue()).isEqualTo(0);
    assertThat(said).contains("asked " + methods().size() + " questions");
  }

  /** Asks each question with and without free file handles. */
  static final class NoHandlesMain {
    private NoHandlesMain() {}

    public static void main(String[] arguments) throws Exception {
      try (TestRefs test = TestRefs.open(Path.of(arguments[0]))) {
        RefDatabase refs = test.database(new JGitFallbacks());
        ObjectId newer = test.id(1);
        // All classes are loaded before, also those of failures.
        ask(refs, newer);
        Files.move(test.folder().resolve(A), test.folder().resolve("away"));
        Files.createSymbolicLink(test.folder().resolve(A), test.folder().resolve(A));
        assertThat(failures(refs, newer)).isNotEmpty();
        Files.move(
            test.folder().resolve("away"),
            test.folder().resolve(A),
            StandardCopyOption.REPLACE_EXISTING);
        List<String> before = ask(refs, newer);
        PackedRefsFile packed = test.packedRefs();
        RefDatabase other = test.database(packed, new RefDisk(), UpdateSettings.DEFAULT);
        List<Closeable> taken = new ArrayList<>();
        List<String> failed;
        try {
          takeAll(taken);
          failed = failures(other, newer);
        } finally {
          for (Closeable each : taken) {
            each.close();
          }
        }
        assertThat(failed).hasSize(methods().size());
        assertThat(packed.badRefs()).isEmpty();
        for (String each : failed) {
          assertThat(each).contains(test.folder().toString());
        }
        assertThat(ask(other, newer)).isEqualTo(before);
        System.out.println("asked " + before.size() + " questions");
      }
    }

    private static void takeAll(List<Closeable> taken) {
      while (true) {
        try {
          taken.add(new FileInputStream(new File("/dev/null")));
        } catch (IOException e) {
          return;
        }
      }
    }

    private static List<String> ask(RefDatabase refs, ObjectId newer) throws IOException {
      List<String> answers = new ArrayList<>();
      for (Method method : methods()) {
        answers.add(show(method.reading.read(refs, newer)));
      }
      return answers;
    }

    private static String show(Object answer) {
      if (answer instanceof Map<?, ?> map) {
        return show(map.values());
      }
      return answer instanceof Collection<?> many
          ? many.stream().map(NoHandlesMain::show).sorted().toList().toString()
          : answer instanceof Ref ref
              ? ref.getName() + "=" + ref.getObjectId().name()
              : answer.toString();
    }

    private static List<String> failures(RefDatabase refs, ObjectId newer) {
      List<String> failures = new ArrayList<>();
      for (Method method : methods()) {
        try {
          Object unused = method.reading.read(refs, newer);
        } catch (FileSystemException e) {
          failures.add(e.getMessage());
        } catch (IOException e) {
          throw new AssertionError(method.name, e);
        }
      }
      return failures;
    }
  }
}
