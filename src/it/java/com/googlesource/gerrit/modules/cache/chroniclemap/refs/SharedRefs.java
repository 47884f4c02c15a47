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

import com.google.common.collect.Maps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A repository that threads use at the same time: each writer has refs of its own, and so knows
 * what must be read; all readers know which refs there must be.
 *
 * <pre>
 * refs/fixed/       never changed, packed
 * refs/moving/      always there, with changing values
 * refs/own/WRITER/  of one writer
 * refs/together/WRITER/
 *                   of one writer, who moves all of them by one atomic batch here: readers of this
 *                   process see all of it or nothing, whoever packs them
 * </pre>
 */
final class SharedRefs {
  static final int WRITERS = 2;

  private static final int FIXED = 2000;
  private static final int MOVING = 20;
  private static final int OWN = 30;
  private static final int CHANGES = 5;
  private static final int TOGETHER = 8;

  /** So many that no ref gets a value again within any packing. */
  private static final int VALUES = 2000;

  /**
   * How long an update is tried whose locks others hold: a git that has them may get no processor.
   */
  private static final long TRY_SECONDS = 20;

  private static final String HEADER = "# pack-refs with: peeled fully-peeled sorted \n";

  private final TestRefs repository;
  private final Supplier<RefDatabase> current;
  private final Supplier<RefDatabase> forRequest;
  private final ObjectId fixedId;
  private final List<ObjectId> values;

  /** The places of the values in their list. */
  private final Map<ObjectId, Integer> numbers = new HashMap<>();

  private final RefsHistory history = new RefsHistory();
  private final Object peerLock = new Object();
  private final boolean jgitMayDelete;

  /**
   * Opens a repository that was {@link #fill}ed.
   *
   * @param jgitMayDelete whether to have JGit delete single refs; see {@link JGitDeletion}
   */
  SharedRefs(TestRefs repository, PackedRefsCache cache, boolean jgitMayDelete) throws IOException {
    this.repository = repository;
    this.jgitMayDelete = jgitMayDelete;
    if (repository.repository().getRefDatabase() instanceof FileReftableDatabase jgit) {
      RefDatabase refs = cache.ofTables(repository.repository(), jgit);
      this.current = () -> refs;
      this.forRequest = current;
    } else {
      FileRefDatabase refs =
          cache.of(
              repository.repository(), (RefDirectory) repository.repository().getRefDatabase());
      this.current = () -> refs;
      this.forRequest = refs::forRequest;
    }
    this.fixedId = repository.commits().get(0);
    this.values = repository.manyCommits(VALUES);
    for (int i = 0; i < VALUES; i++) {
      numbers.put(values.get(i), i);
    }
  }

  /** Makes the refs that are always there. */
  static void fill(TestRefs repository) throws IOException {
    if (repository.isReftable()) {
      List<ReceiveCommand> commands = new ArrayList<>();
      ObjectId commit = repository.commits().get(0);
      for (int i = 0; i < FIXED; i++) {
        commands.add(new ReceiveCommand(ObjectId.zeroId(), commit, fixed(i)));
      }
      for (int i = 0; i < MOVING; i++) {
        commands.add(new ReceiveCommand(ObjectId.zeroId(), commit, moving(i)));
      }
      assertThat(
              TestRefs.batch(
                  repository.repository(),
                  repository.repository().getRefDatabase(),
                  commands.toArray(new ReceiveCommand[0])))
          .isTrue();
      return;
    }
    TreeMap<String, String> lines = new TreeMap<>();
    String id = repository.commits().get(0).name();
    for (int i = 0; i < FIXED; i++) {
      lines.put(fixed(i), id + " " + fixed(i) + "\n");
    }
    for (int i = 0; i < MOVING; i++) {
      lines.put(moving(i), id + " " + moving(i) + "\n");
    }
    Files.writeString(
        repository.folder().resolve("packed-refs"),
        HEADER + String.join("", lines.values()),
        UTF_8);
  }

  private RefDatabase peer() {
    return repository.peerRepository().getRefDatabase();
  }

  /**
   * Runs a task that uses a database. JGit 7.4 updates single refs of reftables without its own
   * lock, and breaks what its other threads use: so it does one task at a time here, like a process
   * of one thread. The module and native git go on beside it.
   */
  private <T> T using(RefDatabase database, RefsHistory.Task<T> task)
      throws IOException, InterruptedException {
    if (!repository.isReftable() || database != peer()) {
      return task.run();
    }
    synchronized (peerLock) {
      return task.run();
    }
  }

  private static String fixed(int number) {
    return String.format(Locale.ROOT, "refs/fixed/%02d/%d", number % 100, number);
  }

  private static String moving(int number) {
    return "refs/moving/" + number;
  }

  /**
   * For one question. A request sees packed refs as they were at its first question and loose ones
   * as they are, as with JGit's snapshots: so one that is packed meanwhile is not found by its next
   * questions.
   */
  private RefDatabase anyDatabase(Random random) {
    return random.nextBoolean() ? current.get() : forRequest.get();
  }

  // ---- reading

  /** Asks one question whose answer is known whatever others do; returns how many refs it got. */
  long read(Random random) throws IOException, InterruptedException {
    return history.tellOnFailure(() -> readOne(random));
  }

  private long readOne(Random random) throws IOException {
    RefDatabase asked = anyDatabase(random);
    String name = fixed(random.nextInt(FIXED));
    String movingName = moving(random.nextInt(MOVING));
    switch (random.nextInt(15)) {
      case 0 -> assertThat(asked.exactRef(name).getObjectId()).isEqualTo(fixedId);
      case 1 -> assertOneOfCommits(movingName, asked.exactRef(movingName));
      case 2 -> assertThat(asked.exactRef(name + "x")).isNull();
      case 3 -> {
        Map<String, Ref> found = asked.exactRef(name, movingName, name + "x");
        assertThat(found.keySet()).containsExactly(name, movingName);
      }
      case 4 ->
          assertThat(asked.firstExactRef(name + "x", movingName, name).getName())
              .isEqualTo(movingName);
      case 5 -> {
        List<Ref> all = asked.getRefsByPrefix("refs/moving/");
        assertWithMessage("%s", all).that(all).hasSize(MOVING);
        for (Ref ref : all) {
          assertOneOfCommits(ref.getName(), ref);
        }
        return MOVING;
      }
      case 6 -> {
        int found = 0;
        for (Ref ref : asked.getRefs()) {
          boolean isWritten =
              ref.getName().startsWith("refs/own/") || ref.getName().startsWith("refs/together/");
          found += isWritten ? 0 : 1;
        }
        assertThat(found).isEqualTo(FIXED + MOVING);
        return found;
      }
      case 7 -> {
        List<Ref> some = asked.getRefsByPrefix("refs/fixed/07/", "refs/moving/");
        assertThat(some).hasSize(FIXED / 100 + MOVING);
      }
      case 8 -> assertThat(asked.hasRefs()).isTrue();
      case 9 -> {
        assertThat(asked.isNameConflicting(movingName + "/x")).isTrue();
        assertThat(anyDatabase(random).getConflictingNames("refs/moving")).hasSize(MOVING);
      }
      case 10 -> {
        long tips =
            asked.getTipsWithSha1(fixedId).stream()
                .filter(ref -> ref.getName().startsWith("refs/fixed/"))
                .count();
        assertThat(tips).isEqualTo(FIXED);
        return FIXED;
      }
      case 11 ->
          assertThat(
                  asked.getRefsByPrefixWithExclusions(
                      "refs/", Set.of("refs/own/", "refs/fixed/", "refs/together/")))
              .hasSize(MOVING);
      case 12 -> {
        int writer = random.nextInt(WRITERS);
        String prefix = together(writer);
        assertTogether("getRefsByPrefix", writer, asked.getRefsByPrefix(prefix));
      }
      case 13 -> {
        int writer = random.nextInt(WRITERS);
        String[] names = new String[TOGETHER];
        for (int i = 0; i < TOGETHER; i++) {
          names[i] = together(writer) + i;
        }
        assertTogether("exactRef(names)", writer, asked.exactRef(names).values());
      }
      default -> {
        List<Ref> all = asked.getRefsByPrefix("refs/moving/", "refs/together/");
        for (int writer = 0; writer < WRITERS; writer++) {
          assertTogether("getRefsByPrefix of two", writer, all);
        }
      }
    }
    return 1;
  }

  private static String together(int writer) {
    return "refs/together/" + writer + "/";
  }

  /** The refs of one batch: each has them create, change and delete some. */
  private Map<String, ObjectId> together(int writer, ObjectId value) {
    Map<String, ObjectId> refs = new TreeMap<>();
    for (int i = 0; i < TOGETHER; i++) {
      if ((numbers.get(value) + i) % 3 != 0) {
        refs.put(together(writer) + i, value);
      }
    }
    return refs;
  }

  private Map<String, ObjectId> refsOfGit(String prefix) throws IOException, InterruptedException {
    return Maps.transformValues(
        Maps.filterKeys(repository.refsOfGit(), name -> name.startsWith(prefix)),
        ObjectId::fromString);
  }

  /** Before the first batch there is none; from then on all are those of one batch. */
  private void assertTogether(String how, int writer, Collection<Ref> found) {
    TreeMap<String, ObjectId> refs = new TreeMap<>();
    for (Ref ref : found) {
      if (ref.getName().startsWith(together(writer))) {
        refs.put(ref.getName(), ref.getObjectId());
      }
    }
    assertTogether(how, writer, refs);
  }

  private void assertTogether(String how, int writer, Map<String, ObjectId> refs) {
    if (!refs.isEmpty()) {
      assertWithMessage("%s: not of one batch", how)
          .that(refs)
          .isEqualTo(together(writer, refs.values().iterator().next()));
    }
  }

  private void assertOneOfCommits(String name, Ref ref) {
    assertWithMessage(name).that(ref).isNotNull();
    assertWithMessage(name).that(repository.commits()).contains(ref.getObjectId());
  }

  // ---- packing

  /** Packs refs in one of the ways there are; returns whether that was done. */
  boolean pack(Random random) throws IOException, InterruptedException {
    return switch (random.nextInt(10)) {
      case 0 -> packWithGit("gc", "--quiet", "--no-prune");
      case 1 -> packWithGit("pack-refs", "--all", "--no-prune");
      case 2 -> packWithJGit();
      default -> packWithGit("pack-refs", "--all");
    };
  }

  private boolean packWithGit(String... arguments) throws IOException, InterruptedException {
    String command = "git " + String.join(" ", arguments);
    history.add(command + " begins");
    TestRefs.Output output = repository.tryGit(arguments);
    history.add(command + " ended with " + output.status());
    return output.status() == 0;
  }

  private boolean packWithJGit() throws InterruptedException {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < MOVING; i++) {
      names.add(moving(i));
    }
    history.add("JGit begins to pack refs/moving");
    try {
      if (peer() instanceof RefDirectory directory) {
        directory.pack(names);
      } else {
        using(
            peer(),
            () -> {
              peer()
                  .packRefs(
                      NullProgressMonitor.INSTANCE,
                      new PackRefsCommand(repository.peerRepository()));
              return null;
            });
      }
      history.add("JGit packed refs/moving");
      return true;
    } catch (IOException e) {
      // Locked by native git.
      history.add("JGit did not pack refs/moving: " + e);
      return false;
    }
  }

  // ---- writing

  /** Changes refs of its own, and looks for each change at once. For one thread. */
  final class Writer {
    private final int number;
    private final String prefix;
    private final Random random;
    private int nextValue;
    private String refusalOfGit = "";

    /** What must be there. */
    private final TreeMap<String, ObjectId> expected = new TreeMap<>();

    private Map<String, ObjectId> expectedTogether = new TreeMap<>();

    Writer(int number, Random random) throws IOException, InterruptedException {
      this.number = number;
      this.prefix = "refs/own/" + number + "/";
      this.random = random;
      this.nextValue = random.nextInt(VALUES / WRITERS) * WRITERS + number;
      // Git's word, not ours: a process that was killed may or may not have written its last one.
      expected.putAll(refsOfGit(prefix));
      expectedTogether.putAll(refsOfGit(together(number)));
      assertTogether("git", number, expectedTogether);
    }

    private String anyName() {
      return prefix + random.nextInt(OWN);
    }

    /**
     * One that the ref has not had for long. Git loses a ref that is deleted and made again with
     * the same value while it packs it: {@code git pack-refs} lets the lock of packed-refs go
     * before it deletes the loose files that still have the values that it has packed.
     */
    private ObjectId newValue() {
      nextValue = (nextValue + WRITERS) % VALUES;
      return values.get(nextValue);
    }

    /** For refs that nobody deletes. */
    private ObjectId anyCommit() {
      return repository.commits().get(random.nextInt(repository.commits().size()));
    }

    void step() throws IOException, InterruptedException {
      history.tellOnFailure(
          () -> {
            stepOnce();
            return null;
          });
    }

    private void stepOnce() throws IOException, InterruptedException {
      RefDatabase by = random.nextBoolean() ? current.get() : peer();
      String what =
          switch (random.nextInt(10)) {
            case 0, 1 -> update(by, anyName(), newValue());
            case 2 -> delete(jgitMayDelete ? by : current.get(), anyName());
            case 3 -> batch(by);
            case 4 -> move(by);
            case 5 -> native1();
            case 6, 7 -> moveTogether();
            default -> nativeBatch();
          };
      history.add(prefix + " did " + what);
      for (int i = 0; i < 2; i++) {
        checkOne(anyDatabase(random), what);
        checkAll(anyDatabase(random), what);
        checkTogether(anyDatabase(random), what);
      }
    }

    private void checkOne(RefDatabase asked, String what) throws IOException, InterruptedException {
      String name = anyName();
      Ref one = asked.exactRef(name);
      if (!Objects.equals(one == null ? null : one.getObjectId(), expected.get(name))) {
        Path tables = repository.folder().resolve("reftable/tables.list");
        throw new AssertionError(
            String.format(
                Locale.ROOT,
                "%s in %s after %s: %s instead of %s; asked again: %s; git says: %s; tables: %s",
                name,
                repository.folder(),
                what,
                one,
                expected.get(name),
                asked.exactRef(name),
                repository.tryGit("for-each-ref", name).text(),
                Files.exists(tables) ? Files.readAllLines(tables) : "none"));
      }
    }

    private void checkAll(RefDatabase asked, String what) throws IOException {
      TreeMap<String, ObjectId> found = new TreeMap<>();
      for (Ref ref : asked.getRefsByPrefix(prefix)) {
        found.put(ref.getName(), ref.getObjectId());
      }
      assertWithMessage("after %s", what).that(found).isEqualTo(expected);
    }

    private void checkTogether(RefDatabase asked, String what) throws IOException {
      TreeMap<String, ObjectId> found = new TreeMap<>();
      for (Ref ref : asked.getRefsByPrefix(together(number))) {
        found.put(ref.getName(), ref.getObjectId());
      }
      assertWithMessage("after %s", what).that(found).isEqualTo(expectedTogether);
    }

    /**
     * By the module: JGit and git, which readers of this process know nothing of, do it in parts.
     */
    private String moveTogether() throws IOException, InterruptedException {
      Map<String, ObjectId> wanted = together(number, newValue());
      TreeMap<String, ObjectId> changes = new TreeMap<>(wanted);
      expectedTogether.keySet().forEach(name -> changes.putIfAbsent(name, ObjectId.zeroId()));
      untilDone(
          "moves together " + wanted,
          current.get(),
          () -> isBatchDone(current.get(), changes, expectedTogether));
      expectedTogether = wanted;
      return "move together " + wanted;
    }

    /**
     * Tries until the locks of others no longer refuse it.
     *
     * @param attempt returns whether it was done
     */
    private void untilDone(String what, RefDatabase by, RefsHistory.Task<Boolean> attempt)
        throws IOException, InterruptedException {
      Exception last = null;
      history.add(prefix + " begins " + what);
      long begun = System.nanoTime();
      while (System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(TRY_SECONDS)) {
        try {
          if (using(by, attempt)) {
            return;
          }
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
          // JGit's compaction, after an update that was made: of an empty table that git has left,
          // or of tables that git has replaced meanwhile. The next attempt finds it done.
          if (!repository.isReftable() || by != peer()) {
            throw e;
          }
          last = e;
          mendPeer();
        } catch (IOException e) {
          // Such as a folder that git has deleted because it was empty.
          last = e;
          if (by == peer()) {
            mendPeer();
          }
        }
      }
      throw new AssertionError(
          String.format(
              Locale.ROOT,
              "not done in %d s in %s: %s; git said: %s; locks: %s",
              TRY_SECONDS,
              repository.folder(),
              what,
              refusalOfGit,
              repository.lockFiles()),
          last);
    }

    /** JGit goes on to use tables that it has closed; see {@code NewestTables}. */
    private void mendPeer() throws IOException, InterruptedException {
      if (peer() instanceof FileReftableDatabase jgit) {
        try {
          using(
              jgit,
              () -> {
                jgit.compactFully();
                return null;
              });
        } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException e) {
          // It is mended after the next attempt instead.
        }
      }
    }

    private boolean isDoneByGit(String input, String... arguments)
        throws IOException, InterruptedException {
      TestRefs.Output output = repository.tryGitWith(input, arguments);
      refusalOfGit = output.text();
      return output.status() == 0;
    }

    private String by(RefDatabase database) {
      return database == peer() ? "by JGit: " : "by the module: ";
    }

    private String update(RefDatabase by, String name, ObjectId id)
        throws IOException, InterruptedException {
      untilDone(
          by(by) + "update " + name,
          by,
          () -> {
            RefUpdate update = by.newUpdate(name, false);
            update.setNewObjectId(id);
            update.setForceUpdate(true);
            return switch (update.update()) {
              case NEW, FORCED, FAST_FORWARD, NO_CHANGE -> true;
              default -> false;
            };
          });
      if (name.startsWith(prefix)) {
        expected.put(name, id);
      }
      return "update " + name;
    }

    private String delete(RefDatabase by, String name) throws IOException, InterruptedException {
      if (expected.containsKey(name)) {
        untilDone(
            by(by) + "delete " + name,
            by,
            () -> {
              RefUpdate update = by.newUpdate(name, false);
              update.setForceUpdate(true);
              return switch (update.delete()) {
                case FORCED, NEW -> !isOnDisk(name);
                default -> false;
              };
            });
        expected.remove(name);
      }
      return "delete " + name;
    }

    /**
     * Whether a deletion did nothing. JGit looks for the ref before it has its lock, packed first
     * and loose second; where it is packed in between JGit deletes nothing, and says that it did.
     */
    private boolean isOnDisk(String name) throws IOException, InterruptedException {
      if (repository.isReftable()) {
        return using(peer(), () -> peer().exactRef(name)) != null;
      }
      Path folder = repository.folder();
      Path packed = folder.resolve("packed-refs");
      return Files.exists(folder.resolve(name))
          || (Files.exists(packed) && Files.readString(packed).contains(" " + name + "\n"));
    }

    private String batch(RefDatabase by) throws IOException, InterruptedException {
      TreeMap<String, ObjectId> wanted = new TreeMap<>();
      for (int i = 0; i < CHANGES; i++) {
        wanted.put(anyName(), random.nextInt(3) == 0 ? ObjectId.zeroId() : newValue());
      }
      untilDone(by(by) + "batch " + wanted, by, () -> isBatchDone(by, wanted, expected));
      set(wanted);
      return "batch " + wanted;
    }

    private boolean isBatchDone(
        RefDatabase by, Map<String, ObjectId> wanted, Map<String, ObjectId> before)
        throws IOException, InterruptedException {
      ReceiveCommand[] commands =
          wanted.entrySet().stream()
              .filter(change -> !change.getValue().equals(old(before, change.getKey())))
              .map(
                  change ->
                      new ReceiveCommand(
                          old(before, change.getKey()), change.getValue(), change.getKey()))
              .toArray(ReceiveCommand[]::new);
      // JGit does a batch of one as if it were no batch.
      RefDatabase database = !jgitMayDelete && commands.length == 1 ? current.get() : by;
      if (TestRefs.batch(repository.repository(), database, commands)) {
        return true;
      }
      boolean isThere = repository.isReftable() && isThere(wanted);
      if (isThere && database != peer()) {
        throw new AssertionError("the module has refused what it has done: " + wanted);
      }
      return isThere;
    }

    /**
     * Whether a batch was done that JGit has refused: it adds a table, and then cannot compact it
     * with one that git is compacting, or that is empty.
     */
    private boolean isThere(Map<String, ObjectId> wanted) throws IOException, InterruptedException {
      for (Map.Entry<String, ObjectId> ref : wanted.entrySet()) {
        Ref now = using(peer(), () -> peer().exactRef(ref.getKey()));
        if (!(now == null ? ObjectId.zeroId() : now.getObjectId()).equals(ref.getValue())) {
          return false;
        }
      }
      return true;
    }

    private static ObjectId old(Map<String, ObjectId> before, String name) {
      return before.getOrDefault(name, ObjectId.zeroId());
    }

    private void set(Map<String, ObjectId> wanted) {
      wanted.forEach(
          (name, id) -> {
            if (id.equals(ObjectId.zeroId())) {
              expected.remove(name);
            } else {
              expected.put(name, id);
            }
          });
    }

    private String move(RefDatabase by) throws IOException, InterruptedException {
      return update(by, moving(random.nextInt(MOVING)), anyCommit());
    }

    private String native1() throws IOException, InterruptedException {
      String name = anyName();
      boolean deletes = random.nextInt(3) == 0;
      ObjectId id = deletes ? ObjectId.zeroId() : newValue();
      untilDone(
          "git update-ref " + name,
          null,
          () ->
              deletes
                  ? isDoneByGit("", "update-ref", "-d", name)
                  : isDoneByGit("", "update-ref", name, id.name()));
      set(Map.of(name, id));
      return "git update-ref " + name + " " + id.name();
    }

    private String nativeBatch() throws IOException, InterruptedException {
      TreeMap<String, ObjectId> wanted = new TreeMap<>();
      for (int i = 0; i < CHANGES; i++) {
        wanted.put(anyName(), random.nextInt(3) == 0 ? ObjectId.zeroId() : newValue());
      }
      StringBuilder input = new StringBuilder();
      wanted.forEach(
          (name, id) -> {
            ObjectId old = expected.getOrDefault(name, ObjectId.zeroId());
            if (!old.equals(id)) {
              // Refused if anything that was acknowledged is lost.
              input.append(
                  String.format(Locale.ROOT, "update %s %s %s\n", name, id.name(), old.name()));
            }
          });
      untilDone(
          "git update-ref --stdin",
          null,
          () -> isDoneByGit(input.toString(), "update-ref", "--stdin"));
      set(wanted);
      return "git update-ref --stdin " + wanted;
    }
  }

  // ---- at a quiet moment

  /** Compares with JGit and with native git while nobody writes. */
  void compare(String when) throws IOException, InterruptedException {
    history.tellOnFailure(
        () -> {
          compareAll(when);
          return null;
        });
  }

  private void compareAll(String when) throws IOException, InterruptedException {
    if (isReadByJGit()) {
      RefsComparison comparison = new RefsComparison(repository, peer());
      comparison.compare(when, current.get());
      comparison.compare(when + ", in a request", forRequest.get());
    }
    List<String> lines = new ArrayList<>();
    for (Ref ref : current.get().getRefs()) {
      if (ref.getName().startsWith("refs/")) {
        lines.add(ref.getObjectId().name() + " " + ref.getName());
      }
    }
    TestRefs.Output git = repository.tryGit("for-each-ref", "--format=%(objectname) %(refname)");
    assertThat(git.status()).isEqualTo(0);
    assertWithMessage(when).that(lines).isEqualTo(git.text().lines().toList());
  }

  /** Not if there is a table of logs that JGit takes for refs; see {@code TablesOfGitTest}. */
  private boolean isReadByJGit() throws IOException {
    try {
      var unused = peer().exactRef("HEAD");
      return true;
    } catch (IOException e) {
      if (JGitText.get().invalidReftableBlock.equals(e.getMessage())) {
        return false;
      }
      throw e;
    } catch (IndexOutOfBoundsException e) {
      // What JGit takes for offsets of refs may lead anywhere.
      return false;
    }
  }
}
