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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.BrokenDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.FileRefDatabase;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.Warnings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The files that updates make in a repository: whose they are, and what if they can't be made. */
@Timeout(120)
class RefFilesTest {
  private static final String A = "refs/heads/a";
  private static final String B = "refs/heads/b";
  private static final String CHANGE = "refs/changes/01/1/1";
  private static final String META = "refs/changes/01/1/meta";

  @TempDir Path folder;

  private TestRefs test;
  private RepositoryWriter writes;
  private FileRefDatabase refs;
  private int maxLooseBatch = 1000;

  @BeforeEach
  void make() throws IOException {
    test = TestRefs.create(folder.resolve("a.git"), null);
    open(new RefDisk());
  }

  private void configure(String... config) throws IOException {
    for (int i = 0; i < config.length; i += 2) {
      test.repository().getConfig().setString("core", null, config[i], config[i + 1]);
    }
    test.repository().getConfig().save();
  }

  private void open(TestRefs.BeforeStep before) {
    open(TestRefs.disk(before));
  }

  /** As another process would: nothing is shared with an earlier one. */
  private void open(RefDisk disk) {
    open(disk, maxLooseBatch);
  }

  private void open(RefDisk disk, int maxLooseBatch) {
    PackedRefsFile packed = test.packedRefs();
    writes = TestRefs.writes(packed, disk);
    refs =
        test.database(packed, writes, new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, 0));
  }

  @AfterEach
  void close() {
    writes.locks.close();
    test.close();
  }

  private ObjectId id(Integer number) {
    return test.id(number);
  }

  private ReceiveCommand command(String name, Integer from, Integer to) {
    return test.command(name, from, to);
  }

  private void batch(ReceiveCommand... commands) throws IOException {
    assertThat(tryBatch(commands)).isTrue();
  }

  private boolean tryBatch(ReceiveCommand... commands) throws IOException {
    return TestRefs.batch(test.repository(), refs, commands);
  }

  private void loggedBatch(ReceiveCommand... commands) throws IOException {
    BatchRefUpdate batch = refs.newBatchUpdate().setAtomic(true).setRefLogMessage("made", false);
    TestRefs.execute(test.repository(), batch.addCommand(commands));
  }

  private RefUpdate.Result update(String name, Integer to) throws IOException {
    return to == null ? TestRefs.delete(refs, name) : TestRefs.force(refs, name, id(to));
  }

  private void pack() throws IOException {
    test.pack(refs);
  }

  /** As native git has them. */
  private Map<String, String> values() throws Exception {
    Map<String, String> seen = test.refsOfGit();
    assertThat(TestRefs.values(refs)).isEqualTo(seen);
    return seen;
  }

  private List<String> files(String... ends) throws IOException {
    try (Stream<Path> files = Files.walk(test.folder())) {
      return files
          .map(file -> test.folder().relativize(file).toString())
          .filter(file -> Stream.of(ends).anyMatch(file::endsWith))
          .toList();
    }
  }

  // ---- core.sharedRepository

  private static final class Modes extends RefDisk {
    final Map<String, Integer> journals = new TreeMap<>();

    /** Of the module's own files, which are gone afterwards. */
    @Override
    protected void about(String step, Path file) throws IOException {
      Path own = file.resolveSibling("../cache-chroniclemap").normalize();
      if (step.equals("delete") && Files.isDirectory(own)) {
        journals.put(".", mode(own));
        try (Stream<Path> files = Files.list(own)) {
          for (Path each : files.toList()) {
            journals.put(each.toString().replaceFirst(".*\\.", "."), mode(each));
          }
        }
      }
    }
  }

  private static int mode(Path file) throws IOException {
    return (int) Files.getAttribute(file, "unix:mode") & 07777;
  }

  /** Of what changes of refs have made in a repository. */
  private static Map<String, String> modes(Path repository) throws IOException {
    Map<String, String> modes = new TreeMap<>();
    try (Stream<Path> files = Files.walk(repository)) {
      for (Path file : files.toList()) {
        String name = repository.relativize(file).toString();
        if (name.matches("refs/changes.*|packed-refs|logs.*")) {
          modes.put(name, Integer.toOctalString(mode(file)));
        }
      }
    }
    return modes;
  }

  @ParameterizedTest
  @ValueSource(strings = {"group", "all", "true", "0640", "0664", "2", "umask", "false"})
  void whatIsMadeIsSharedAsByGit(String sharing) throws Exception {
    Modes disk = new Modes();
    configure("sharedRepository", sharing, "logAllRefUpdates", "always");
    open(disk);
    update("refs/changes/02/2/1", 1);
    pack();
    loggedBatch(command(CHANGE, null, 1), command(META, null, 2));
    update("refs/changes/02/3", 1);
    Map<String, String> ours = modes(test.folder());

    try (TestRefs git =
        TestRefs.createWith(
            folder.resolve("git.git"),
            Map.of("core.sharedRepository", sharing, "core.logAllRefUpdates", "always"))) {
      for (String[] command :
          new String[][] {
            {"update-ref", "refs/changes/02/2/1", id(1).name()},
            {"pack-refs", "--all"},
            {"update-ref", CHANGE, id(1).name()},
            {"update-ref", META, id(2).name()},
            {"update-ref", "refs/changes/02/3", id(1).name()},
          }) {
        assertThat(git.tryGit(command).status()).isEqualTo(0);
      }
      assertThat(ours).isEqualTo(modes(git.folder()));
    }
    assertThat(disk.journals.keySet()).containsAtLeast(".", ".alive", ".decided");
    if (sharing.equals("group")) {
      assertThat(disk.journals.get(".") & 02070).isEqualTo(02070);
      assertThat(disk.journals.get(".alive") & 060).isEqualTo(060);
      assertThat(disk.journals.get(".decided") & 060).isEqualTo(060);
    }
  }

  /** Logs of a batch are written after its locks are gone. */
  @Test
  void aLogThatAnotherWriterMakesMeanwhileIsAppendedTo() throws Exception {
    configure("sharedRepository", "group", "logAllRefUpdates", "always");
    open(
        (step, file) -> {
          if (step.equals("create") && file.endsWith("logs/" + A)) {
            Files.writeString(file, "");
          }
        });
    RefUpdate update = refs.newUpdate(A, false);
    update.setNewObjectId(id(1));
    update.setRefLogMessage("made", false);
    assertThat(update.update()).isEqualTo(RefUpdate.Result.NEW);
    assertThat(Files.readAllLines(test.folder().resolve("logs/" + A))).hasSize(1);
  }

  // ---- packed-refs that is rewritten in place

  /** As by {@code rsync --inplace --times}: its size, time and inode are those of before. */
  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void anUpdateFromAValueThatWasReplacedInPlaceIsRefused(String trust) throws Exception {
    configure("trustStat", trust);
    open(new RefDisk());
    update(A, 1);
    pack();
    assertThat(refs.exactRef(A).getObjectId()).isEqualTo(id(1));
    Path packed = test.folder().resolve("packed-refs");
    FileTime time = Files.getLastModifiedTime(packed);
    Object changed = Files.getAttribute(packed, "unix:ctime");
    do { // until the clock of the file system has ticked
      Files.writeString(packed, Files.readString(packed).replace(id(1).name(), id(2).name()));
      Files.setLastModifiedTime(packed, time);
    } while (Files.getAttribute(packed, "unix:ctime").equals(changed));
    assertThat(tryBatch(command(A, 1, 3))).isFalse();
    assertThat(values()).containsExactly(A, id(2).name());
  }

  // ---- no journal, no links

  /** Each kind of change, none of which may leave anything behind. */
  private void makeChanges() throws Exception {
    try (Warnings warnings = new Warnings("writing.JournalFolder")) {
      assertThat(update(A, 1)).isEqualTo(RefUpdate.Result.NEW);
      batch(command(A, 1, 2), command(B, null, 2), command(CHANGE, null, 3));
      assertThat(update(A, 3)).isEqualTo(RefUpdate.Result.FORCED);
      assertThat(values()).containsExactly(A, id(3).name(), B, id(2).name(), CHANGE, id(3).name());
      pack();
      batch(command(A, 3, 4), command(CHANGE, 3, null));
      assertThat(update(B, null)).isEqualTo(RefUpdate.Result.FORCED);
      assertThat(values()).containsExactly(A, id(4).name());
      assertThat(files(".lock")).isEmpty();
      assertThat(warnings.texts).hasSize(1);
      assertThat(warnings.texts.get(0)).contains("JGit updates the refs there");
    }
  }

  @Test
  void whereTheJournalCantBeWrittenRefsAreUpdatedAllTheSame() throws Exception {
    Files.writeString(test.folder().resolve("cache-chroniclemap"), "no folder");
    makeChanges();
  }

  @Test
  void whereRefsAreOnAnotherFileSystemTheyAreUpdatedAllTheSame() throws Exception {
    Path other = elsewhere();
    Path heads = test.folder().resolve("refs/heads");
    Files.delete(heads);
    Files.createSymbolicLink(heads, other);
    try {
      makeChanges();
    } finally {
      MoreFiles.deleteRecursively(other, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }

  /** As on CIFS with {@code noserverino}: nobody could tell whose a lock is. */
  @Test
  void whereALinkHasAnInodeOfItsOwnRefsAreUpdatedAllTheSame() throws Exception {
    Path first = folder.resolve("first");
    open(
        (step, file) -> {
          if (step.equals("link")) {
            Path journal = test.folder().resolve(files(".transaction").get(0));
            Path copy = Files.copy(journal, folder.resolve("copy"));
            if (!Files.exists(first)) {
              Files.createLink(first, journal); // or another file may get its inode
            }
            Files.move(copy, journal, StandardCopyOption.ATOMIC_MOVE);
          }
        });
    makeChanges();
  }

  /** A disk that was read-only for a moment must not leave a repository to JGit for good. */
  @Test
  void updatesAreLeftToJGitForSomeMinutesOnly() throws Exception {
    JournalFolder journals = writes.locks;
    assertThat(journals.isLeftToJGit(System.nanoTime())).isFalse();
    Exception unused = journals.leaveToJGit("in a test", new IOException("refused by a test"));
    assertThat(journals.isLeftToJGit(System.nanoTime())).isTrue();
    assertThat(journals.isLeftToJGit(System.nanoTime() + TimeUnit.MINUTES.toNanos(11))).isFalse();
  }

  /** The file system of /proc answers EINVAL to the sync of a folder. */
  @Test
  void refsAreChangedWhereFoldersAreNotSynced() throws Exception {
    Path file = Files.writeString(folder.resolve("ref"), "text");
    FileSync.sync(List.of(file), List.of(folder, Path.of("/proc/self")));
  }

  /** They are more than there are threads for all of them. */
  @Test
  void nobodyWaitsForTheSyncsOfADiskThatHangs() throws Exception {
    Path pipe = folder.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isEqualTo(0);
    int most = FileSync.MAX_FURTHER + 10;
    ExecutorService others = Executors.newFixedThreadPool(10);
    Callable<Void> sync =
        () -> {
          FileSync.sync(Collections.nCopies(40, pipe), List.of());
          return null;
        };
    List<Future<Void>> hanging = IntStream.range(0, 10).mapToObj(i -> others.submit(sync)).toList();
    others.shutdown();
    while (runningSyncs() < most) {
      Thread.onSpinWait();
    }
    try {
      assertTimeoutPreemptively(
          Duration.ofSeconds(20), () -> FileSync.sync(List.of(), List.of(folder)));
      assertThat(runningSyncs()).isEqualTo(most);
    } finally {
      RandomAccessFile goOn = new RandomAccessFile(pipe.toFile(), "rw");
      for (Future<Void> each : hanging) {
        assertThrows(ExecutionException.class, each::get);
      }
      goOn.close();
    }
  }

  private static long runningSyncs() {
    return Thread.getAllStackTraces().values().stream()
        .filter(frames -> Arrays.toString(frames).contains("FileSync.file("))
        .count();
  }

  /** Others are tended meanwhile, and this one by the first thread alone. */
  @Test
  void anUpkeepThatHangsKeepsNoFurtherThread() throws Exception {
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    open(
        (step, file) -> {
          if (step.equals("delete") && file.toString().endsWith(".alive")) {
            hangs.countDown();
            goesOn.await();
          }
        });
    update(A, 1);
    writes.upkeep();
    Thread first = Thread.ofPlatform().daemon().start(writes::upkeep);
    hangs.await();
    try {
      assertTimeoutPreemptively(Duration.ofSeconds(20), writes::upkeep);
      assertTimeoutPreemptively(Duration.ofSeconds(20), writes.closing()::run);
    } finally {
      goesOn.countDown();
    }
    first.join();
    assertThat(files(".alive")).isEmpty();
  }

  private Path elsewhere() throws IOException {
    FileStore here = Files.getFileStore(folder);
    for (String each : List.of("/dev/shm", "/run", "/tmp", System.getProperty("user.dir"))) {
      Path place = Path.of(each);
      if (Files.isWritable(place) && !Files.getFileStore(place).equals(here)) {
        return Files.createTempDirectory(place, "refs-of-a-test");
      }
    }
    throw new AssertionError("this test needs a second file system, such as /dev/shm");
  }

  // ---- locks that somebody deletes, and processes that live

  /** Has somebody take a lock away, just before a step; once. */
  private RefDisk thief(String before, String place, String name) {
    boolean[] isOver = new boolean[1];
    return TestRefs.disk(
        (step, file) -> {
          Path lock = test.folder().resolve(name + ".lock");
          if (!isOver[0] && step.equals(before) && file.endsWith(place) && Files.exists(lock)) {
            isOver[0] = true;
            replace(lock);
          }
        });
  }

  /** Puts another's lock in the place of one: made before, as it must not get the inode of that. */
  private void replace(Path lock) throws IOException {
    Path other = Files.createFile(test.folder().resolve("other"));
    Files.move(other, lock, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Both refs are packed, the first one is loose too. */
  private void makePackedAndLoose() throws Exception {
    batch(command(A, null, 1), command(B, null, 1));
    pack();
    update(A, 2);
    writes.locks.close();
  }

  @ParameterizedTest
  @CsvSource({
    // One ref is left alone, and the other one with it.
    "rename, refs/heads/a, 1000, 3",
    // A ref that can't be deleted gets its line back.
    "rename, packed-refs, 1000,",
    // A rewrite needs the lock as well.
    "link, packed-refs.lock, 0, 3",
  })
  void aBatchWithALockThatIsAnotherOnesChangesNothing(
      String before, String place, int maxLooseBatch, Integer next) throws Exception {
    makePackedAndLoose();
    open(thief(before, place, B), maxLooseBatch);
    IOException failure =
        assertThrows(IOException.class, () -> batch(command(A, 2, 3), command(B, 1, next)));
    assertThat(failure).hasMessageThat().contains(B);
    assertThat(values()).containsExactly(A, id(2).name(), B, id(1).name());
    assertThat(files(".lock")).containsExactly(B + ".lock");
  }

  @Test
  void theFileOfADeletedRefWhoseLockIsAnotherOnesStays() throws Exception {
    makePackedAndLoose();
    open(thief("rename", "packed-refs", A));
    assertThrows(IOException.class, () -> update(A, null));
    assertThat(values()).containsExactly(A, id(2).name(), B, id(1).name());
  }

  /** As on a soft NFS mount. */
  @Test
  void aLockThatIsMadeThoughItsAnswerIsAnErrorIsOneOfOurs() throws Exception {
    boolean[] isOver = new boolean[1];
    open(
        (step, file) -> {
          if (step.equals("link") && !isOver[0]) {
            isOver[0] = true;
            Files.createLink(file, test.folder().resolve(files(".transaction").get(0)));
            throw new FileSystemException(file.toString(), null, "Input/output error (a test)");
          }
        });
    assertThat(update(A, 1)).isEqualTo(RefUpdate.Result.NEW);
    assertThat(update(A, 2)).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(files(".lock")).isEmpty();
  }

  /** Until then, only its journal tells whose it is. */
  @Test
  void aLockThatCouldNotBeAskedForIsDeletedLater() throws Exception {
    boolean[] isBroken = {true};
    open(
        (step, file) -> {
          if (isBroken[0] && step.equals("link") && !Files.isSymbolicLink(file)) {
            hide(file);
          }
        });
    assertThrows(IOException.class, () -> update(A, 1));
    isBroken[0] = false;
    Path lock = test.folder().resolve(A + ".lock");
    Files.delete(lock);
    Files.createLink(lock, test.folder().resolve(files(".transaction").get(0)));
    writes.locks.upkeep();
    assertThat(files(".lock", ".transaction")).isEmpty();
    assertThat(update(A, 1)).isEqualTo(RefUpdate.Result.NEW);
  }

  @Test
  void aDeadProcessesDeletionStopsWhereTheLockIsAnotherOnes() throws Exception {
    makePackedAndLoose();
    kill("1-1", "packed-refs", command(A, 2, null), command(B, 1, null));
    open(thief("rename", "packed-refs", A));
    assertThat(values()).containsExactly(A, id(2).name());
  }

  /** What is wrong with one ref keeps no other from its new value. */
  @ParameterizedTest
  @CsvSource({
    // Before the first rename.
    "refs/heads/a, 3, sync, .0",
    // When the lines are gone.
    "packed-refs, , rename, packed-refs",
  })
  void aDeadProcessesOtherRefsAreCompleted(
      String killedAt, Integer next, String before, String place) throws Exception {
    makePackedAndLoose();
    update(B, 2);
    kill("1-1", killedAt, command(A, 2, next), command(B, 2, next));
    Path lock = test.folder().resolve(A + ".lock");
    open(
        (step, file) -> {
          if (step.equals(before) && file.toString().endsWith(place) && Files.exists(lock)) {
            Files.delete(lock);
          }
        });
    assertThat(values().get(A)).isEqualTo(id(2).name());
    assertThat(values().get(B)).isEqualTo(next == null ? null : id(next).name());
    assertThat(files(".lock", ".decided")).isEmpty();
  }

  // ---- one ref

  /** Neither a text nor a second file, and no step to unlock it. */
  @Test
  void oneUpdateTakesFourSteps() throws Exception {
    List<String> steps = new ArrayList<>();
    open(
        (step, file) ->
            steps.add(step + " " + file.getFileName().toString().replaceFirst(".*-[0-9]+\\.", "")));
    update(A, 1);
    steps.clear();
    update(A, 2);
    assertThat(steps)
        .containsExactly(
            "write refs~heads~a.transaction",
            "link a.lock",
            "rename a",
            "delete refs~heads~a.transaction")
        .inOrder();
  }

  /** Also where the disk says that the rename has failed, as on a soft NFS mount. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLockThatAnotherProcessTakesAfterTheRenameStays(boolean isFailure) throws Exception {
    open(
        (step, file) -> {
          Path lock = test.folder().resolve(A + ".lock");
          if (isFailure && step.equals("rename") && file.endsWith(A)) {
            Files.move(lock, file, StandardCopyOption.ATOMIC_MOVE);
            Files.createFile(lock);
            throw new FileSystemException(file.toString(), null, "Input/output error (a test)");
          } else if (step.equals("delete")
              && file.toString().endsWith("~a.transaction")
              && !Files.exists(lock)) {
            Files.createFile(lock);
          }
        });
    assertThat(update(A, 1)).isEqualTo(RefUpdate.Result.NEW);
    assertThat(files(".lock")).containsExactly(A + ".lock");
    assertThat(files(".transaction")).isEmpty();
    assertThat(values()).containsExactly(A, id(1).name());
    assertThat(update(A, 2)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
  }

  @Test
  void aKilledUpdateLeavesNoLockWhateverTheNameIs() throws Exception {
    for (String name :
        List.of(
            A,
            "refs/heads/a-1.x.transaction",
            "refs/heads/" + "l".repeat(Journal.MAX_NAMED),
            "refs/heads/" + "l".repeat(200))) {
      kill("1-1", name, () -> update(name, 1));
      assertThat(files(".lock")).containsExactly(name + ".lock");
      open(new RefDisk());
      assertThat(values()).isEmpty();
      assertThat(files(".lock", ".transaction", ".alive")).isEmpty();
    }
    String refused = "refs/heads/a~b";
    test.writePacked(id(1), refused);
    open(new RefDisk());
    kill("1-1", "packed-refs", () -> update(refused, null));
    assertThat(files(".lock")).containsExactly("packed-refs.lock", refused + ".lock");
    open(new RefDisk());
    assertThat(refs.exactRef(A)).isNull();
    assertThat(files(".lock", ".transaction", ".alive")).isEmpty();
  }

  /** As on eCryptfs, where a file's name has 143 bytes at most. */
  @Test
  void aRefOfALongNameIsUpdatedWhereNamesOfFilesAreShort() throws Exception {
    open(
        (step, file) -> {
          if (file.getFileName().toString().length() > 143) {
            throw new FileSystemException(file.toString(), null, "File name too long");
          }
        });
    String folder = "refs/heads/" + "f".repeat(40) + "/";
    for (int length = 1; length <= 138; length++) {
      assertThat(update(folder + "n".repeat(length), 1)).isEqualTo(RefUpdate.Result.NEW);
    }
  }

  /** Its journals have no text that tells where it ran. */
  @Test
  void whereAProcessRanIsInItsOwnFile() throws Exception {
    kill("1-1", A, () -> update(A, 1));
    Path alive = test.folder().resolve(files(".alive").get(0));
    String here = Files.readString(alive);
    Files.writeString(alive, "boot another\nmachine another\nfiles shared\n");
    open(new RefDisk());
    assertThat(update(A, 1)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    writes.locks.close();
    Files.writeString(alive, here);
    open(new RefDisk());
    assertThat(update(A, 1)).isEqualTo(RefUpdate.Result.NEW);
  }

  /** The log names the command, which the next update needs no restart to follow. */
  @Test
  void aProcessOfAnotherMachineIsDeadIfAnAdministratorSaysSo() throws Exception {
    kill("1-1", B, command(A, null, 1), command(B, null, 1));
    Path alive = test.folder().resolve(files(".alive").get(0));
    Files.writeString(alive, "boot another\nmachine another\nfiles shared\n");
    Path decided = test.folder().resolve(files(".decided").get(0));
    Files.move(decided, Path.of(decided.toString().replace(".decided", ".durable")));
    try (Warnings warnings = new Warnings("writing.Recovery")) {
      open(new RefDisk());
      assertThat(update(B, 2)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
      assertThat(values()).containsExactly(A, id(1).name());
      String said = warnings.texts.get(0);
      String command = said.substring(said.indexOf("echo dead >> "));
      ProcessBuilder shell = new ProcessBuilder("sh", "-c", command);
      assertThat(shell.directory(test.folder().toFile()).start().waitFor()).isEqualTo(0);
    }
    try (RandomAccessFile living = new RandomAccessFile(alive.toFile(), "rw")) {
      living.getChannel().lock();
      assertThat(update(B, 2)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    }
    assertThat(update(B, 2)).isEqualTo(RefUpdate.Result.FORCED); // from what the batch has set
    assertThat(values()).containsExactly(A, id(1).name(), B, id(2).name());
    assertThat(files(".lock", ".durable")).isEmpty();
    assertThat(Files.exists(alive)).isFalse();
  }

  @Test
  void aChangeOfTheConfigCountsFromTheNextUpdate() throws Exception {
    List<Path> synced = new ArrayList<>();
    open(
        (step, file) -> {
          if (step.equals("sync")) {
            synced.add(file);
          }
        });
    update(A, 1);
    assertThat(synced).isEmpty();
    assertThat(test.tryGit("config", "core.fsyncRefFiles", "true").status()).isEqualTo(0);
    update(A, 2);
    assertThat(synced).isNotEmpty();
  }

  /** Whoever is told that it failed takes the refs for unchanged. */
  @ParameterizedTest
  @ValueSource(strings = {"false", "always"})
  void aConfigThatIsBrokenMeanwhileFailsNoBatchThatIsDone(String logged) throws Exception {
    Path config = folder.resolve("a.git/config");
    configure("logAllRefUpdates", logged);
    open(
        (step, file) -> {
          if (step.equals("rename") && file.endsWith(B)) {
            Files.writeString(config, "[core", StandardOpenOption.APPEND);
          }
        });
    ReceiveCommand first = command(A, null, 1);
    loggedBatch(first, command(B, null, 1));
    assertThat(Files.readString(config)).endsWith("[core");
    assertThat(first.getResult()).isEqualTo(ReceiveCommand.Result.OK);
  }

  // ---- undo

  /** Or another process, which locks {@code packed-refs} from then on, would keep its lines. */
  @Test
  void aRewriteIsUndoneBeforeItsLockIsFree() throws Exception {
    update(B, 1);
    Path above = test.folder().resolve("refs/heads/x.lock");
    String[] left = new String[1];
    RefDisk disk =
        TestRefs.disk(
            (step, file) -> {
              Path packed = test.folder().resolve("packed-refs");
              if (step.equals("rename") && file.equals(packed) && !Files.exists(above)) {
                Files.createFile(above); // which is looked for when the new lines are in place
              } else if (step.equals("delete") && file.endsWith("packed-refs.lock")) {
                left[0] = Files.exists(packed) ? Files.readString(packed) : "";
              }
            });
    open(disk, 0);
    assertThat(tryBatch(command("refs/heads/x/y", null, 1), command(A, null, 1))).isFalse();
    assertThat(Files.exists(above)).isTrue();
    assertThat(left[0]).doesNotContain(A);
    assertThat(values()).containsExactly(B, id(1).name());
  }

  @Test
  void anErrorInAnUndoLeavesTheRestToBeUndone() throws Exception {
    boolean[] fails = new boolean[2];
    String c = "refs/heads/c";
    open(
        (step, file) -> {
          if (fails[0] && step.equals("rename")) {
            if (file.endsWith(c)) {
              fails[1] = true;
              throw new IOException("as the test wants it");
            }
            if (fails[1] && file.endsWith(A)) {
              throw new OutOfMemoryError("as the test wants it");
            }
          }
        });
    batch(command(A, null, 1), command(B, null, 1), command(c, null, 1));
    fails[0] = true;
    assertThrows(
        IOException.class, () -> batch(command(A, 1, 2), command(B, 1, 2), command(c, 1, 2)));
    assertThat(values()).containsExactly(A, id(2).name(), B, id(1).name(), c, id(1).name());
    assertThat(files(".lock", ".decided")).isEmpty();
  }

  /** As on NFS: the server has renamed the file, and the client asks again. */
  @Test
  void aRenameWhoseAnswerIsLostHasHappened() throws Exception {
    open(
        (step, file) -> {
          if (step.equals("rename") && !file.toString().contains("cache-chroniclemap")) {
            String end = file.endsWith(A) ? ".0" : file.endsWith(B) ? ".1" : ".packed";
            List<String> values = files(end);
            for (String value : values.isEmpty() ? files("heads/a.lock") : values) {
              Files.move(test.folder().resolve(value), file, StandardCopyOption.REPLACE_EXISTING);
            }
          }
        });
    assertThat(update(A, 1)).isEqualTo(RefUpdate.Result.NEW);
    batch(command(A, 1, 2), command(B, null, 2));
    pack();
    assertThat(update(B, null)).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(values()).containsExactly(A, id(2).name());
  }

  // ---- locks above a new ref

  private static final String BELOW = "refs/heads/b/below";

  @Test
  void aDeadProcessesLockAboveIsDeleted() throws Exception {
    FileRefDatabase living = refs;
    assertThat(values()).isEmpty();
    kill("1-1", ".decided", command(A, null, 1), command(B, null, 1));
    refs = living;
    assertThat(files(".lock")).hasSize(2);
    assertThat(update(BELOW, 1)).isEqualTo(RefUpdate.Result.NEW);
    assertThat(values()).containsExactly(BELOW, id(1).name());
  }

  // ---- what the disk does not tell of is not missing

  /** A name of which the disk tells neither that it is there nor that it is not. */
  private static void hide(Path name) throws IOException {
    Files.createSymbolicLink(name, name.getFileName());
    assertThat(Files.exists(name)).isFalse();
    assertThat(Files.notExists(name)).isFalse();
  }

  @Test
  void aRefWhoseLockCantBeAskedForIsNotPacked() throws Exception {
    update(A, 1);
    update(B, 1);
    Path lock = test.folder().resolve(A + ".lock");
    hide(lock);
    pack();
    String packed = Files.readString(test.folder().resolve("packed-refs"));
    assertThat(packed).contains(B);
    assertThat(files(B)).isEmpty();
    assertThat(packed).doesNotContain(A);
    Files.delete(lock);
    pack();
    assertThat(Files.readString(test.folder().resolve("packed-refs"))).contains(A);
  }

  /** Or a later recovery would complete what has failed. */
  @Test
  void aDecisionThatCantBeAskedForIsTakenBack() throws Exception {
    open(
        (step, file) -> {
          if (step.equals("rename") && file.toString().endsWith(".decided")) {
            hide(file);
            throw new IOException("broken");
          }
        });
    assertThrows(IOException.class, () -> batch(command(A, null, 1), command(B, null, 1)));
    assertThat(files(".decided", ".lock")).isEmpty();
    assertThat(values()).isEmpty();
  }

  @Test
  void aDeletionWhoseFolderCantBeSyncedFails() throws Exception {
    boolean[] isHidden = new boolean[1];
    Path moved = folder.resolve("moved");
    configure("fsyncRefFiles", "true");
    open(
        (step, file) -> {
          Path refs = test.folder().resolve(CHANGE).getParent();
          if (isHidden[0] && step.equals("sync") && file.equals(refs)) {
            Files.move(refs, moved);
            hide(refs);
            isHidden[0] = false;
          }
        });
    update(META, 1);
    update(CHANGE, 1);
    isHidden[0] = true;
    IOException e = assertThrows(IOException.class, () -> update(CHANGE, null));
    assertThat(e.getSuppressed()[0]).hasMessageThat().contains("could not be rolled back");
    Path refs = test.folder().resolve(CHANGE).getParent();
    Files.delete(refs);
    Files.move(moved, refs);
    writes.locks.upkeep();
    assertThat(values()).containsExactly(META, id(1).name());
    assertThat(files(".lock")).isEmpty();
  }

  @Test
  void aLogThatCantBeAskedForIsNamed() throws Exception {
    update(META, 1);
    Path logs = Files.createDirectories(test.folder().resolve("logs/refs"));
    hide(logs.resolve("changes"));
    try (Warnings warnings = new Warnings("writing.UpdateContext")) {
      assertThat(update(META, null)).isEqualTo(RefUpdate.Result.FORCED);
      assertThat(warnings.texts).hasSize(1);
      assertThat(warnings.texts.get(0))
          .contains(META + " was deleted, but its reflog could not be");
    }
  }

  // ---- processes that are dead, or live

  /**
   * A change whose process is killed just before a file is put into its place, and whose files then
   * have another owner.
   */
  private void kill(String owner, String place, ReceiveCommand... commands) throws Exception {
    kill(owner, place, () -> batch(commands));
  }

  private void kill(String owner, String place, Executable change) throws Exception {
    BrokenDisk[] disk = new BrokenDisk[1];
    open(
        (step, file) -> {
          if (disk[0] == null && step.equals("rename") && file.toString().endsWith(place)) {
            disk[0] = BrokenDisk.killedAt(1);
          }
          if (disk[0] != null) {
            disk[0].about(step, file);
          }
        });
    assertThrows(IOException.class, change);
    writes.locks.close();
    try (Stream<Path> files = Files.list(test.folder().resolve("cache-chroniclemap"))) {
      for (Path file : files.toList()) {
        String end = file.getFileName().toString().replaceFirst("^[0-9]+-[0-9]+", "");
        Files.move(file, file.resolveSibling(owner + end));
      }
    }
  }

  private ReceiveCommand[] creations(ReceiveCommand... more) {
    List<ReceiveCommand> commands = new ArrayList<>(List.of(more));
    for (int i = 0; i <= Journal.MAX_LINKS; i++) {
      commands.add(command("refs/heads/n" + i, null, 2));
    }
    return commands.toArray(ReceiveCommand[]::new);
  }

  @Test
  void allLocksOfALargeBatchAreKnown() throws Exception {
    maxLooseBatch = 2 * Journal.MAX_LINKS;
    open(new RefDisk());
    update(A, 1);
    pack();
    writes.locks.close();
    kill("1-1", "packed-refs", creations(command(A, 1, null)));
    assertThat(files(".anchor-1", ".anchor-2")).hasSize(1);
    assertThat(files(".lock")).hasSize(Journal.MAX_LINKS + 3);
    open(new RefDisk());
    assertThat(values()).hasSize(Journal.MAX_LINKS + 1);
    assertThat(values()).doesNotContainKey(A);
    assertThat(test.tryGit("pack-refs", "--all").status()).isEqualTo(0);
    assertThat(files(".lock", ".anchor-1", ".decided")).isEmpty();
  }

  @Test
  void anAnchorIsDeletedWithItsJournal() throws Exception {
    batch(creations());
    assertThat(files(".lock", ".anchor-1", ".decided", ".transaction")).isEmpty();
    assertThat(files("refs/heads/n0")).isEmpty(); // all were packed at once
    assertThat(values()).hasSize(Journal.MAX_LINKS + 1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLockThatCouldNotBeDeletedIsDeletedLaterUnlessItIsAnotherOnes(boolean isAnotherOnes)
      throws Exception {
    boolean[] isBroken = {true};
    open(
        (step, file) -> {
          if (isBroken[0] && step.equals("delete") && file.toString().endsWith(".lock")) {
            throw new IOException("broken");
          }
        });
    update(A, 1);
    assertThat(TestRefs.force(refs, A, id(3), id(2))).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    writes.locks.upkeep();
    assertThat(files(".lock")).containsExactly(A + ".lock");
    if (isAnotherOnes) {
      replace(test.folder().resolve(A + ".lock"));
    }
    isBroken[0] = false;
    writes.locks.upkeep();
    assertThat(files(".lock")).hasSize(isAnotherOnes ? 1 : 0);
    assertThat(update(A, 2))
        .isEqualTo(isAnotherOnes ? RefUpdate.Result.LOCK_FAILURE : RefUpdate.Result.FORCED);
  }

  /** No writer of another repository waits for the disk of one. */
  @Test
  void idleOwnersOfManyRepositoriesAreClosed() throws Exception {
    List<JournalFolder> all = new ArrayList<>();
    CountDownLatch goesOn = new CountDownLatch(1);
    boolean[] goesOnInTime = new boolean[1];
    RefDisk hanging =
        TestRefs.disk(
            (step, file) -> {
              if (step.equals("delete") && file.toString().endsWith(".alive")) {
                goesOnInTime[0] = goesOn.await(20, TimeUnit.SECONDS);
              }
            });
    HeldLocks inUse = null;
    for (int i = 0; i < 100; i++) {
      try (FileRepository repository = new FileRepository(folder.resolve(i + ".git").toFile())) {
        Files.createDirectories(folder.resolve(i + ".git/refs/heads"));
        JournalFolder locks = new JournalFolder(i == 1 ? hanging : new RefDisk());
        HeldLocks held =
            HeldLocks.lock(
                new RefPaths(repository, folder.resolve(i + ".git/packed-refs").toFile()),
                locks,
                List.of(new HeldLocks.LockedRef(A, id(1))),
                0);
        if (inUse == null) {
          inUse = held;
        } else {
          held.close();
        }
        all.add(locks);
      }
    }
    goesOn.countDown();
    int open = 100;
    while (open > 65) {
      open = 0;
      for (int i = 0; i < 100; i++) {
        open += owners(i);
      }
    }
    assertThat(goesOnInTime[0]).isTrue();
    assertThat(owners(0)).isEqualTo(1);
    assertThat(owners(1)).isEqualTo(0);
    assertThat(owners(99)).isEqualTo(1);
    inUse.close();
    all.forEach(locks -> locks.close());
    assertThat(owners(0)).isEqualTo(0);
    assertThat(owners(99)).isEqualTo(0);
  }

  private int owners(int repository) throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve(repository + ".git/cache-chroniclemap"))) {
      return (int) files.filter(file -> file.toString().endsWith(".alive")).count();
    }
  }

  private void packInto(Path place) throws Exception {
    batch(command(A, null, 1), command(B, null, 1));
    pack();
    writes.locks.close();
    Path packed = test.folder().resolve("packed-refs");
    Files.move(packed, place);
    Files.createSymbolicLink(packed, place);
  }

  @Test
  void aKilledWriterThroughALinkLeavesNothing() throws Exception {
    packInto(folder.resolve("elsewhere"));
    kill("1-1", "elsewhere", () -> update(B, null));
    open(new RefDisk());
    assertThat(values()).containsExactly(A, id(1).name(), B, id(1).name());
    assertThat(update(B, null)).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(values()).containsExactly(A, id(1).name());
    assertThat(files(".lock", ".transaction", ".packed", ".alive")).hasSize(1);
    assertThat(folder.toFile().list()).asList().containsExactly("a.git", "elsewhere");
  }

  /** Or native git, which follows the link, would lose what JGit writes, and the reverse. */
  @Test
  void aPackedRefsElsewhereIsNotReplaced() throws Exception {
    Path other = elsewhere();
    try {
      packInto(other.resolve("packed"));
      open(new RefDisk());
      assertThrows(IOException.class, () -> update(B, null));
      assertThat(update(A, 2)).isEqualTo(RefUpdate.Result.FORCED);
      assertThrows(IOException.class, this::pack);
      assertThat(values()).containsExactly(A, id(2).name(), B, id(1).name());
      assertThat(Files.isSymbolicLink(test.folder().resolve("packed-refs"))).isTrue();
      assertThat(other.toFile().list()).asList().containsExactly("packed");
    } finally {
      MoreFiles.deleteRecursively(other, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }

  /** After the first of two refs has changed. */
  private void killInBatch(String owner) throws Exception {
    kill(owner, B, command(A, null, 1), command(B, null, 1));
    open(new RefDisk());
  }

  /** Native git looks at no locks above a ref. */
  @Test
  void aBatchThatCantBeCompletedChangesNothingAndKeepsNoOtherFromIt() throws Exception {
    kill("1-1", A, command(A, null, 1), command(B, null, 1));
    assertThat(test.tryGit("update-ref", A + "/below", id(0).name()).status()).isEqualTo(0);
    kill("2-1", CHANGE, command(CHANGE, null, 2), command(META, null, 2));
    open(new RefDisk());
    assertThat(values())
        .containsExactly(A + "/below", id(0).name(), CHANGE, id(2).name(), META, id(2).name());
    assertThat(files(".lock")).containsExactly(A + ".lock", B + ".lock");
    // When nothing is in its way any more, the next process completes it.
    assertThat(test.tryGit("update-ref", "-d", A + "/below").status()).isEqualTo(0);
    writes.locks.close();
    open(new RefDisk());
    assertThat(values())
        .containsExactly(
            A, id(1).name(), B, id(1).name(), CHANGE, id(2).name(), META, id(2).name());
    assertThat(files(".lock", ".decided", ".alive")).isEmpty();
  }

  /** As after a crash of the machine that took the journal, or by git. */
  @Test
  void aLockThatNobodyKnowsIsNamedInTheLog() throws Throwable {
    update(A, 0);
    pack();
    namesOldLock(B, () -> assertThat(update(B, 1)).isEqualTo(RefUpdate.Result.LOCK_FAILURE));
    String above = "refs/heads/above";
    namesOldLock(
        above, () -> assertThat(update(above + "/x", 1)).isEqualTo(RefUpdate.Result.LOCK_FAILURE));
    namesOldLock(
        "packed-refs", () -> assertThrows(LockFailedException.class, () -> update(A, null)));
    assertThat(update(A, null)).isEqualTo(RefUpdate.Result.FORCED);
  }

  private void namesOldLock(String name, Executable change) throws Throwable {
    Path lock = Files.writeString(test.folder().resolve(name + ".lock"), "what it had");
    try (Warnings warnings = new Warnings("writing.Recovery")) {
      change.execute();
      assertThat(warnings.texts).isEmpty();
      Files.setLastModifiedTime(lock, FileTime.fromMillis(1));
      change.execute();
      assertThat(warnings.texts).hasSize(1);
      assertThat(warnings.texts.get(0)).startsWith(lock + " excludes updates; delete it if");
    }
    Files.delete(lock);
  }

  /** Its file says which locks are its own, so it stays as long as they do. */
  @Test
  void aJournalWhoseTextWasLostIsNamedWithItsLocks() throws Exception {
    kill("1-1", A, command(A, null, 1), command(B, null, 1));
    Path journal = test.folder().resolve(files(".decided").get(0));
    Files.writeString(journal, "");
    try (Warnings warnings = new Warnings("writing.Recovery")) {
      open(new RefDisk());
      assertThat(values()).isEmpty();
      assertThat(warnings.texts).hasSize(1);
      assertThat(warnings.texts.get(0)).contains("recovery of " + journal);
    }
    batch(command(CHANGE, null, 2), command(META, null, 2)); // other refs are changed as ever
    assertThat(update(A, 2)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    assertThat(files(".lock")).containsExactly(A + ".lock", B + ".lock");
    for (String name : files(".lock")) {
      assertThat(Files.isSameFile(test.folder().resolve(name), journal)).isTrue();
      Files.delete(test.folder().resolve(name));
    }
    assertThat(update(A, 2)).isEqualTo(RefUpdate.Result.NEW);
    writes.locks.close();
    open(new RefDisk());
    assertThat(update(B, 2)).isEqualTo(RefUpdate.Result.NEW);
    assertThat(files(".decided", ".lock")).isEmpty();
  }

  /** Such as by a copy of the repository that was made of links while the process lived. */
  @Test
  void aJournalWithoutRefsIsDeletedThoughOthersHaveALinkToIt() throws Exception {
    update(A, 1);
    writes.locks.close();
    kill("1-1", "packed-refs", this::pack);
    Path journal = test.folder().resolve(files(".transaction").get(0));
    Path copy = Files.createLink(folder.resolve("copy"), journal);
    try (Warnings warnings = new Warnings("writing.Recovery")) {
      open(new RefDisk());
      assertThat(values()).containsExactly(A, id(1).name());
      assertThat(warnings.texts).hasSize(1);
      assertThat(warnings.texts.get(0)).contains("a transaction of 0 loose refs");
    }
    assertThat(files(".transaction", ".lock", ".alive")).isEmpty();
    assertThat(Files.exists(copy)).isTrue();
  }

  /** It has no file lock any more, for whatever reason: nobody may take its locks. */
  @Test
  void aProcessThatLivesIsNeverTakenForDead() throws Exception {
    ProcessHandle parent = ProcessHandle.current().parent().orElseThrow();
    killInBatch(parent.pid() + "-" + parent.info().startInstant().orElseThrow().toEpochMilli());
    assertThat(values()).containsExactly(A, id(1).name());
    assertThat(files(".lock")).hasSize(2);
    assertThat(update(B, 2)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
  }
}
