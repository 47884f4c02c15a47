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

import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.NfsRevalidation;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables.TableRefDatabase;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RepositoryWriter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiPredicate;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.TreeFormatter;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A repository with some objects for refs to point to, opened twice: once for the database under
 * test, once for JGit's, as if that one were in another process.
 */
public final class TestRefs implements Closeable {
  private final FileRepository repository;
  private final FileRepository peerRepository;
  private final List<ObjectId> commits = new ArrayList<>();
  private final List<ObjectId> tags = new ArrayList<>();
  private final List<ObjectId> many = new ArrayList<>();

  private TestRefs(Path folder) throws IOException {
    repository = new FileRepository(folder.toFile());
    peerRepository = new FileRepository(folder.toFile());
  }

  /** Makes a repository with this {@code core.trustStat}; null leaves it out. */
  public static TestRefs create(Path folder, @Nullable String trust) throws IOException {
    return make(folder, trust == null ? Map.of() : Map.of("core.trustStat", trust), false);
  }

  /** The same with settings by name, such as {@code core.trustStat}. */
  public static TestRefs createWith(Path folder, Map<String, ?> config) throws IOException {
    return make(folder, config, false);
  }

  /** Makes one with reftables and settings by name, such as {@code reftable.blockSize}. */
  public static TestRefs createReftable(Path folder, Map<String, ?> config) throws IOException {
    return make(folder, config, true);
  }

  private static TestRefs make(Path folder, Map<String, ?> config, boolean withTables)
      throws IOException {
    try (FileRepository made = new FileRepository(folder.toFile())) {
      made.create(true);
      config.forEach(
          (name, value) -> {
            int dot = name.indexOf('.');
            made.getConfig()
                .setString(name.substring(0, dot), null, name.substring(dot + 1), value.toString());
          });
      made.getConfig().save();
      if (withTables) {
        made.convertRefStorage(ConfigConstants.CONFIG_REF_STORAGE_REFTABLE, false, false);
      }
    }
    return open(folder);
  }

  /** Opens what {@link #create} or {@link #createReftable} made. */
  public static TestRefs open(Path folder) throws IOException {
    TestRefs refs = new TestRefs(folder);
    refs.insertObjects();
    return refs;
  }

  /** The same ones each time. */
  private void insertObjects() throws IOException {
    try (ObjectInserter inserter = repository.newObjectInserter()) {
      ObjectId tree = inserter.insert(new TreeFormatter());
      for (int i = 0; i < 5; i++) {
        commits.add(inserter.insert(RefObjects.commit(tree, 10 + i)));
        tags.add(inserter.insert(RefObjects.tag(commits.get(i), Constants.OBJ_COMMIT, "t" + i)));
      }
      inserter.flush();
    }
  }

  /**
   * Returns many more commits, the same ones each time, all in one pack; made when first asked for.
   */
  public List<ObjectId> manyCommits(int count) throws IOException {
    if (many.size() >= count) {
      return many.subList(0, count);
    }
    many.clear();
    try (ObjectInserter inserter = repository.getObjectDatabase().newPackInserter()) {
      ObjectId tree = inserter.insert(new TreeFormatter());
      for (int i = 0; i < count; i++) {
        many.add(inserter.insert(RefObjects.commit(tree, 100 + i)));
      }
      inserter.flush();
    }
    return many;
  }

  /** Its file of packed refs, whose lists are in memory that nobody else has. */
  public PackedRefsFile packedRefs() {
    return packedRefs(NfsRevalidation.OF_SYSTEM);
  }

  /** The same, for a test that sees when folders are opened. */
  PackedRefsFile packedRefs(NfsRevalidation revalidation) {
    return new PackedRefsFile(
        folder().resolve("packed-refs").toFile(),
        Lists.tiers(new ListMemory(1 << 30)),
        used -> {},
        revalidation);
  }

  /** The same repository, opened by JGit elsewhere. */
  public FileRepository peerRepository() {
    return peerRepository;
  }

  /**
   * Changes refs in one atomic batch, which may force them. Returns whether it was done; the
   * commands have their results then.
   */
  public static boolean batch(Repository repository, RefDatabase refs, ReceiveCommand... commands)
      throws IOException {
    BatchRefUpdate batch = refs.newBatchUpdate();
    batch.setAtomic(true);
    batch.setAllowNonFastForwards(true);
    batch.addCommand(commands);
    execute(repository, batch);
    return Arrays.stream(commands)
        .allMatch(command -> command.getResult() == ReceiveCommand.Result.OK);
  }

  /** Makes or moves a ref, without force. */
  public static RefUpdate.Result update(RefDatabase refs, String name, ObjectId id)
      throws IOException {
    RefUpdate update = refs.newUpdate(name, false);
    update.setNewObjectId(id);
    return update.update();
  }

  /** An update to a value whatever the ref has now. */
  public static RefUpdate forced(RefDatabase refs, String name, ObjectId to) throws IOException {
    RefUpdate update = refs.newUpdate(name, false);
    update.setForceUpdate(true);
    update.setNewObjectId(to);
    return update;
  }

  /** Makes or moves a ref, with force. */
  public static RefUpdate.Result force(RefDatabase refs, String name, ObjectId to)
      throws IOException {
    return forced(refs, name, to).update();
  }

  /** Makes, moves or deletes a ref that has this value now; the zero id is that of none. */
  public static RefUpdate.Result force(RefDatabase refs, String name, ObjectId from, ObjectId to)
      throws IOException {
    RefUpdate update = forced(refs, name, to);
    update.setExpectedOldObjectId(from);
    return to.equals(ObjectId.zeroId()) ? update.delete() : update.update();
  }

  /** Deletes a ref, with force. */
  public static RefUpdate.Result delete(RefDatabase refs, String name) throws IOException {
    RefUpdate delete = refs.newUpdate(name, false);
    delete.setForceUpdate(true);
    return delete.delete();
  }

  public void pack(RefDatabase refs) throws IOException {
    refs.packRefs(NullProgressMonitor.INSTANCE, new PackRefsCommand(repository).setAll(true));
  }

  /** Does a batch, whatever becomes of its commands. */
  public static void execute(Repository repository, BatchRefUpdate batch) throws IOException {
    try (RevWalk walk = new RevWalk(repository)) {
      batch.execute(walk, NullProgressMonitor.INSTANCE);
    }
  }

  /**
   * Makes a hook of native git for transactions of refs, and a pipe {@code go-on} from which it may
   * read until it is to go on.
   */
  void hook(String script) throws IOException, InterruptedException {
    Path hook = folder().resolve("waiting/reference-transaction");
    Files.createDirectories(hook.getParent());
    Files.writeString(hook, script, UTF_8);
    Files.setPosixFilePermissions(hook, PosixFilePermissions.fromString("rwx------"));
    String pipe = folder().resolve("go-on").toString();
    assertThat(new ProcessBuilder("mkfifo", pipe).inheritIO().start().waitFor()).isEqualTo(0);
  }

  Process gitWithHook(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of("git", "-c", "core.hooksPath=waiting"));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command)
        .directory(folder().toFile())
        .redirectErrorStream(true)
        .start();
  }

  /** Has the hook go on that waits. */
  void letGoOn() throws IOException {
    Files.writeString(folder().resolve("go-on"), "");
  }

  /** The ids of refs, by their names. */
  public static Map<String, ObjectId> ids(Iterable<Ref> refs) {
    Map<String, ObjectId> ids = new TreeMap<>();
    refs.forEach(ref -> ids.put(ref.getName(), ref.getObjectId()));
    return ids;
  }

  /** Those of all refs, in hexadecimal digits. */
  public static Map<String, String> values(RefDatabase refs) throws IOException {
    Map<String, String> values = new TreeMap<>();
    for (Ref ref : refs.getRefsByPrefix("refs/")) {
      values.put(ref.getName(), ref.getObjectId().name());
    }
    return values;
  }

  /** Puts a list of packed refs in place, as native git does: all have the same value. */
  public void writePacked(ObjectId id, String... names) throws IOException {
    StringBuilder text = new StringBuilder(PackedRefsText.HEADER);
    for (String name : names) {
      text.append(id.name()).append(' ').append(name).append('\n');
    }
    Path next = Files.writeString(folder().resolve("next"), text, UTF_8);
    Files.move(next, folder().resolve("packed-refs"), StandardCopyOption.ATOMIC_MOVE);
  }

  /** A commit by its number; none for null. */
  public ObjectId id(@Nullable Integer number) {
    return number == null ? ObjectId.zeroId() : commits.get(number);
  }

  /** A command from one commit to another, by their numbers; null for none. */
  public ReceiveCommand command(String name, @Nullable Integer from, @Nullable Integer to) {
    return new ReceiveCommand(id(from), id(to), name);
  }

  /** What a test does before a step of a {@link RefDisk}, which may fail it. */
  @FunctionalInterface
  public interface BeforeStep {
    void of(String step, Path file) throws Exception;
  }

  /** A disk with something that a test does before each step. */
  public static RefDisk disk(BeforeStep before) {
    return new RefDisk() {
      @Override
      protected void about(String step, Path file) throws IOException {
        try {
          before.of(step, file);
        } catch (Exception e) {
          Throwables.throwIfInstanceOf(e, IOException.class);
          throw new IOException(e);
        }
      }
    };
  }

  /** A disk of which one step waits until it is told to go on. */
  public static final class WaitingDisk extends RefDisk {
    public final CountDownLatch isThere = new CountDownLatch(1);
    public final CountDownLatch goesOn = new CountDownLatch(1);
    private final BiPredicate<String, Path> isStep;

    /** Takes what is asked before each step whether it is the one. */
    public WaitingDisk(BiPredicate<String, Path> isStep) {
      this.isStep = isStep;
    }

    @Override
    protected void about(String step, Path file) throws IOException {
      if (isStep.test(step, file)) {
        isThere.countDown();
        try {
          goesOn.await();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
    }
  }

  /** The commands for all refs that there were or are to be. */
  public static ReceiveCommand[] commands(
      Map<String, ObjectId> before, Map<String, ObjectId> after) {
    Set<String> names = new TreeSet<>(before.keySet());
    names.addAll(after.keySet());
    return names.stream()
        .map(
            name ->
                new ReceiveCommand(
                    before.getOrDefault(name, ObjectId.zeroId()),
                    after.getOrDefault(name, ObjectId.zeroId()),
                    name))
        .toArray(ReceiveCommand[]::new);
  }

  /** A database of this repository's refs as the module has it. */
  public RefDatabase database(PackedRefsFile packed, RefDisk disk, UpdateSettings updates) {
    return database(packed, writes(packed, disk), updates);
  }

  /** The same, which writes so large batches as loose refs, and packs so many loose ones. */
  public FileRefDatabase database(RefDisk disk, int maxLooseBatch, int maxLoose) {
    PackedRefsFile packed = packedRefs();
    return database(
        packed,
        writes(packed, disk),
        new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, maxLoose));
  }

  /** The same, which counts what it leaves to JGit. */
  public FileRefDatabase database(JGitFallbacks failures) {
    PackedRefsFile packed = packedRefs();
    return new FileRefDatabase(
        repository,
        (RefDirectory) repository.getRefDatabase(),
        packed,
        writes(packed, new RefDisk()),
        UpdateSettings.DEFAULT,
        failures);
  }

  /** All repositories of a process, with lists in memory only. */
  public static PackedRefsCache cache(UpdateSettings updates) {
    return new PackedRefsCache(new RefsSettings(64 << 20, 0, Optional.empty()), updates);
  }

  /** The database that such a process has of this one. */
  public FileRefDatabase database(PackedRefsCache cache) {
    return cache.of(repository, (RefDirectory) repository.getRefDatabase());
  }

  /** A database of this repository's reftables as the module has it. */
  public RefDatabase tables(JGitFallbacks failures) {
    return new TableRefDatabase(
        repository, (FileReftableDatabase) repository.getRefDatabase(), new LongAdder(), failures);
  }

  /** The same, with other shared parts. */
  public FileRefDatabase database(
      PackedRefsFile packed, RepositoryWriter writes, UpdateSettings updates) {
    return new FileRefDatabase(
        repository,
        (RefDirectory) repository.getRefDatabase(),
        packed,
        writes,
        updates,
        new JGitFallbacks());
  }

  /** What writers of a repository share, which write and pack on threads of their own. */
  public static RepositoryWriter writes(PackedRefsFile packed, RefDisk disk) {
    Executor onNewThread = task -> Thread.ofPlatform().daemon().start(task);
    return new RepositoryWriter(packed, disk, onNewThread, onNewThread);
  }

  public Path folder() {
    return repository.getDirectory().toPath();
  }

  /** Writes a file as somebody else does, and the folders above it. */
  public void write(String name, String text) throws IOException {
    Files.createDirectories(file(name).getParent());
    Files.writeString(file(name), text, UTF_8);
  }

  /** Whether the locale in which the tests run has the characters for a file of this name. */
  static boolean canName(String name) {
    try {
      Path unused = Path.of(name);
      return true;
    } catch (InvalidPathException e) {
      return false;
    }
  }

  /** A file of the repository, by the bytes of its name: in any locale. */
  public Path file(String name) {
    return Path.of(
        URI.create(
            folder().toUri()
                + URLEncoder.encode(name, UTF_8).replace("%2F", "/").replace("+", "%20")));
  }

  public FileRepository repository() {
    return repository;
  }

  boolean isReftable() {
    return repository.getRefDatabase() instanceof FileReftableDatabase;
  }

  /** JGit's own database, of another instance of the repository. */
  public RefDirectory peer() {
    return (RefDirectory) peerRepository.getRefDatabase();
  }

  public List<ObjectId> commits() {
    return commits;
  }

  public List<ObjectId> tags() {
    return tags;
  }

  /** What native git said, and its exit status. */
  public record Output(int status, String text) {}

  /** Runs native git, which must not refuse. */
  public void git(String... arguments) throws IOException, InterruptedException {
    gitWith("", arguments);
  }

  /** The same with text for its standard input. */
  public void gitWith(String input, String... arguments) throws IOException, InterruptedException {
    Output output = tryGitWith(input, arguments);
    assertWithMessage(output.text()).that(output.status()).isEqualTo(0);
  }

  /** Runs native git, which may refuse. */
  public Output tryGit(String... arguments) throws IOException, InterruptedException {
    return tryGitWith("", arguments);
  }

  /** The same with text for its standard input. */
  public Output tryGitWith(String input, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(isReftable() ? NewerGit.path() : "git"));
    command.addAll(List.of(arguments));
    Process git =
        new ProcessBuilder(command).directory(folder().toFile()).redirectErrorStream(true).start();
    try (OutputStream in = git.getOutputStream()) {
      in.write(input.getBytes(UTF_8));
    } catch (IOException e) {
      // It ended before it read all: its exit status says why.
    }
    String text = new String(git.getInputStream().readAllBytes(), UTF_8);
    return new Output(git.waitFor(), text);
  }

  public List<Path> lockFiles() throws IOException {
    return lockFiles(folder());
  }

  /** Returns the lock files there are in a repository. */
  static List<Path> lockFiles(Path repository) throws IOException {
    try (Stream<Path> files = Files.walk(repository)) {
      return files.filter(file -> file.toString().endsWith(".lock")).toList();
    }
  }

  /** Returns the ids of all refs as native git sees them, by name. */
  public Map<String, String> refsOfGit() throws IOException, InterruptedException {
    Output git = tryGit("for-each-ref", "--format=%(refname) %(objectname)");
    assertWithMessage(git.text()).that(git.status()).isEqualTo(0);
    Map<String, String> seen = new TreeMap<>();
    for (String line : git.text().lines().toList()) {
      int blank = line.indexOf(' ');
      seen.put(line.substring(0, blank), line.substring(blank + 1));
    }
    return seen;
  }

  @Override
  public void close() {
    repository.close();
    peerRepository.close();
  }
}
