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

import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.StoredConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/**
 * Does the same to two repositories that are alike, one through the database under test and one
 * through JGit's own, and holds all that can be seen of one against the other: what callers are
 * told, the refs, what native git says of them, reflogs, and files that are left behind.
 *
 * <p>With {@code -Drefs.parity=jgit} both are JGit's: what fails then is the test's fault.
 */
public abstract class RefsParity {
  /** Whether JGit is the newest one, which no Gerrit has yet: see bin/lib/other-jgit.sh. */
  public static final boolean IS_NEWEST_JGIT = Boolean.getBoolean("jgit.newest");

  private static final boolean JGIT_TWICE = "jgit".equals(System.getProperty("refs.parity"));

  /** Holds the objects of all repositories of a class, since they are not what is tested. */
  @TempDir(factory = InMemory.class)
  static Path shared;

  @TempDir(factory = InMemory.class)
  Path folder;

  /** Null before {@link #open}. */
  private RefsSide ours;

  private RefsSide jgit;
  private PackedRefsCache cache;
  private RefsComparison comparison;

  /** What is done to each; {@link RefsScript} for those that can be told in few words. */
  @FunctionalInterface
  interface Scenario {
    void on(RefsSide side) throws Exception;
  }

  @BeforeAll
  static void insertObjects() throws IOException {
    Path git = shared.resolve("objects.git");
    try (TestRefs objects = TestRefs.create(git, null)) {
      RefObjects.insert(objects.repository());
    }
  }

  /** Two bare repositories; each test may begin with another kind. */
  void openBare() throws IOException {
    open(true, null);
  }

  /** Makes the two repositories, in place of others that a test has made before. */
  void open(boolean bare, @Nullable String trust) throws IOException {
    close();
    cache = TestRefs.cache(UpdateSettings.DEFAULT);
    ours = side("ours", bare, trust);
    jgit = side("jgit", bare, trust);
    comparison = new RefsComparison(ours.testRefs());
  }

  private RefsSide side(String name, boolean bare, @Nullable String trust) throws IOException {
    Path git = folder.resolve(bare ? name + ".git" : name + "/.git");
    try (FileRepository repository = new FileRepository(git.toFile())) {
      repository.create(bare);
      StoredConfig config = repository.getConfig();
      if (trust != null) {
        config.setString("core", null, "trustStat", trust);
      }
      // Else it is who runs the test.
      config.setString("user", null, "name", "u");
      config.setString("user", null, "email", "u@example.com");
      config.save();
    }
    Path alternates = Files.createDirectories(git.resolve("objects/info")).resolve("alternates");
    Files.writeString(alternates, shared.resolve("objects.git/objects") + "\n", UTF_8);
    TestRefs made = TestRefs.open(git);
    dontWaitForLocks((RefDirectory) made.repository().getRefDatabase());
    RefDatabase jgits = made.repository().getRefDatabase();
    RefsSide side =
        new RefsSide(made, name.equals("ours") && !JGIT_TWICE ? ours(made.repository()) : jgits);
    side.countEvents();
    return side;
  }

  private RefDatabase ours(FileRepository repository) {
    return cache.of(repository, (RefDirectory) repository.getRefDatabase());
  }

  /** JGit tries six times for 3.1 seconds, and it has no setting for that. */
  private static void dontWaitForLocks(RefDirectory refs) {
    try {
      Field sleeps = RefDirectory.class.getDeclaredField("retrySleepMs");
      sleeps.setAccessible(true);
      sleeps.set(refs, List.of(0));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("not the JGit that this test knows", e);
    }
  }

  @AfterEach
  void close() {
    if (ours != null) {
      ours.testRefs().close();
      jgit.testRefs().close();
      cache.close();
      ours = null;
    }
  }

  RefsSide ours() {
    return ours;
  }

  RefsSide jgit() {
    return jgit;
  }

  /** One scenario in words. */
  static RefsScript script(String steps) {
    return new RefsScript("", steps, RefsScript.Stored.LOOSE, /* atomic= */ true);
  }

  /** Of what JGit has wrong: nothing to compare with. */
  void betterThanJGit(Scenario scenario) throws Exception {
    if (JGIT_TWICE) {
      return;
    }
    if (ours == null) {
      openBare();
    }
    scenario.on(ours);
    comparison.compare("at the end", ours.refs());
  }

  /** Does it to both, and compares what was seen and what is left. */
  void both(Scenario scenario) throws Exception {
    alike(scenario);
    compareState("at the end");
  }

  /** Does it to both, and compares what was seen. */
  void alike(Scenario scenario) throws Exception {
    if (ours == null) {
      openBare();
    }
    scenario.on(jgit);
    scenario.on(ours);
    assertWithMessage("what is seen").that(ours.takeSeen()).isEqualTo(jgit.takeSeen());
  }

  void compareState(String when) throws IOException, InterruptedException {
    compareState(when, true);
  }

  void compareState(String when, boolean fsck) throws IOException, InterruptedException {
    assertWithMessage("%s", when).that(ours.state(fsck)).isEqualTo(jgit.state(fsck));
    comparison.compare(when, ours.refs());
    compareEmptyFolders(when);
  }

  /**
   * None that JGit does not leave. Not the same ones: a deletion of a packed ref leaves the folders
   * of its lock where JGit does it, of a loose one it leaves none, and where a batch puts new refs
   * is our own affair. JGit 7.8 leaves fewer than any JGit before it.
   */
  private void compareEmptyFolders(String when) throws IOException {
    if (IS_NEWEST_JGIT) {
      return;
    }
    Set<String> more = ours.emptyFolders();
    more.removeAll(jgit.emptyFolders());
    // These two stay, empty or not.
    more.removeAll(Set.of("refs/heads", "refs/tags"));
    assertWithMessage("%s: empty folders that JGit does not leave", when).that(more).isEmpty();
  }
}
