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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.events.RefsChangedEvent;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.EmptyProgressMonitor;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefRename;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * One of the two repositories that the same is done to. It writes down all that a caller of the
 * database gets to see.
 */
public final class RefsSide {
  private static final Pattern ENTRY_TIME = Pattern.compile("> (\\d+) [-+]\\d{4}");

  private final TestRefs repository;
  private final RefDatabase refs;
  private final List<String> seen = new ArrayList<>();
  private final AtomicInteger events = new AtomicInteger();

  public RefsSide(TestRefs repository, RefDatabase refs) {
    this.repository = repository;
    this.refs = refs;
  }

  TestRefs testRefs() {
    return repository;
  }

  public FileRepository repository() {
    return repository.repository();
  }

  RefDatabase refs() {
    return refs;
  }

  /** What was seen since this was asked for before. */
  List<String> takeSeen() {
    List<String> taken = List.copyOf(seen);
    seen.clear();
    return taken;
  }

  /** Does the steps of a {@link RefsScript}, and returns what was seen. */
  public List<String> run(String steps) throws Exception {
    takeSeen();
    RefsParity.script(steps).on(this);
    return takeSeen();
  }

  /** The same; returns whether whoever did it was told that all of it has happened. */
  public boolean isDone(String steps) throws Exception {
    return run(steps).stream()
        .noneMatch(line -> line.matches("(?s).*: (throws |LOCK_FAILURE|REJECTED|NOT_ATTEMPTED).*"));
  }

  void see(String what, @Nullable Object answer) {
    seen.add(what + ": " + withoutFolder(String.valueOf(answer)));
  }

  void countEvents() {
    repository()
        .getListenerList()
        .addRefsChangedListener((RefsChangedEvent event) -> events.incrementAndGet());
  }

  /** How many events were fired since this was asked for before. */
  int takeEvents() {
    return events.getAndSet(0);
  }

  /**
   * Without what differs between two sides: their folders, and who says that no file has a name.
   */
  private String withoutFolder(String text) {
    return text.replace(repository.folder().toString(), "<git>")
        .replaceAll(
            "(<git>/\\S+): refs whose names .*LC_ALL=C.UTF-8 in its environment",
            "Cannot read file $1");
  }

  /** Something to try. */
  @FunctionalInterface
  interface Attempt {
    @Nullable
    Object run() throws Exception;
  }

  /** Writes down the answer, or what was thrown. */
  void attempt(String what, Attempt attempt) {
    Object answer;
    try {
      answer = attempt.run();
    } catch (Exception e) {
      answer = RefsComparison.shown(e);
    }
    see(what, answer);
  }

  // ---- what is done

  RefUpdate newUpdate(String name, boolean detach, @Nullable ObjectId to) throws IOException {
    RefUpdate update = refs.newUpdate(name, detach);
    if (to != null) {
      update.setNewObjectId(to);
    }
    return update;
  }

  /** Something to do with an update that was made. */
  @FunctionalInterface
  interface Act {
    RefUpdate.Result on(RefUpdate update) throws IOException;
  }

  /** Writes down what an update says of itself after the act. */
  void run(String what, RefUpdate update, Act act) {
    attempt(what, () -> act.on(update));
    see(
        "it says",
        update.getName()
            + " "
            + update.getResult()
            + " old "
            + update.getOldObjectId()
            + " new "
            + update.getNewObjectId()
            + " expected "
            + update.getExpectedOldObjectId());
  }

  /** Makes an update and does it. */
  void update(
      String what,
      String name,
      boolean detach,
      @Nullable ObjectId to,
      Act act,
      Consumer<RefUpdate> settings) {
    attempt(
        "new update of " + name,
        () -> {
          RefUpdate update = newUpdate(name, detach, to);
          settings.accept(update);
          run(what + " " + name, update, act);
          return "made";
        });
  }

  void update(String name, ObjectId to) {
    update("update", name, false, to, RefUpdate::update, update -> {});
  }

  void link(String name, String target) {
    update("link", name, false, null, update -> update.link(target), update -> {});
  }

  void rename(String from, String to) {
    rename(from, to, rename -> {});
  }

  void rename(String from, String to, Consumer<RefRename> settings) {
    attempt(
        "rename " + from + " to " + to,
        () -> {
          RefRename rename = refs.newRename(from, to);
          settings.accept(rename);
          RefUpdate.Result result = rename.rename();
          return result + " " + rename.getResult() + " " + rename.getRefLogMessage();
        });
  }

  void batch(boolean atomic, ReceiveCommand... commands) {
    batch(atomic, batch -> {}, commands);
  }

  void batch(boolean atomic, Consumer<BatchRefUpdate> settings, ReceiveCommand... commands) {
    batch(atomic, settings, null, commands);
  }

  void batch(
      boolean atomic,
      Consumer<BatchRefUpdate> settings,
      @Nullable List<String> options,
      ReceiveCommand... commands) {
    BatchRefUpdate batch = refs.newBatchUpdate();
    batch.setAtomic(atomic).addCommand(commands);
    settings.accept(batch);
    CountingMonitor monitor = new CountingMonitor();
    attempt(
        atomic ? "atomic batch" : "batch",
        () -> {
          try (RevWalk walk = new RevWalk(repository())) {
            batch.execute(walk, monitor, options);
          }
          return "done";
        });
    for (ReceiveCommand command : commands) {
      String message = String.valueOf(command.getMessage());
      // Of a file that can't be named ours adds why.
      message = message.replaceFirst("(Cannot read file [^:]*): refs .*", "$1");
      see(command.toString(), command.getResult() + " " + message);
    }
    see("push options", batch.getPushOptions());
    see("more reported than there was to do", monitor.done > monitor.total);
  }

  private static final class CountingMonitor extends EmptyProgressMonitor {
    private int total;
    private int done;

    @Override
    public void beginTask(String title, int totalWork) {
      total += totalWork;
    }

    @Override
    public void update(int completed) {
      done += completed;
    }
  }

  /** As {@code gerrit gc} does. */
  void pack() {
    attempt(
        "pack",
        () -> {
          pack(true);
          return "done";
        });
  }

  /** Packs all refs, or tags only. */
  void pack(boolean all) throws IOException {
    PackRefsCommand command = new PackRefsCommand(repository());
    command.setAll(all);
    refs.packRefs(NullProgressMonitor.INSTANCE, command);
  }

  // ---- what others do

  /** As native git, another process, does it. */
  void git(String... arguments) throws IOException, InterruptedException {
    TestRefs.Output output = repository.tryGit(arguments);
    see("git " + String.join(" ", arguments), output.status() + " " + output.text());
  }

  Path file(String name) {
    return repository.file(name);
  }

  /** A loose ref, written by somebody else. */
  void loose(String name, String content) throws IOException {
    repository.write(name, content + "\n");
  }

  void loose(String name, ObjectId id) throws IOException {
    loose(name, id.name());
  }

  /** A packed ref, as native git writes it. */
  void packed(String name, ObjectId id) throws IOException {
    TreeMap<String, String> lines = new TreeMap<>(PackedRefsText.BY_BYTES);
    Path file = file("packed-refs");
    String last = "";
    for (String line : Files.exists(file) ? Files.readAllLines(file, UTF_8) : List.<String>of()) {
      if (line.startsWith("^")) {
        lines.merge(last, '\n' + line, String::concat);
      } else if (!line.startsWith("#")) {
        last = line.substring(line.indexOf(' ') + 1);
        lines.put(last, line);
      }
    }
    boolean isTag = id.equals(RefObjects.TAG) || id.equals(RefObjects.TAG_OF_TAG);
    lines.put(name, id.name() + ' ' + name + (isTag ? "\n^" + RefObjects.A.name() : ""));
    StringBuilder text = new StringBuilder(PackedRefsText.HEADER);
    lines.values().forEach(line -> text.append(line).append('\n'));
    Path next = file("next");
    Files.writeString(next, text, UTF_8);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Somebody else takes a lock. */
  void lock(String name) throws IOException {
    Path lock = file(name + ".lock");
    Files.createDirectories(lock.getParent());
    Files.createFile(lock);
  }

  void unlock(String name) throws IOException {
    see("lock of others is there", Files.deleteIfExists(file(name + ".lock")));
  }

  // ---- what is left

  boolean isPacked(String name) throws IOException {
    Path packed = file("packed-refs");
    return Files.exists(packed)
        && Files.readAllLines(packed, UTF_8).stream().anyMatch(line -> line.endsWith(' ' + name));
  }

  boolean isLoose(String name) {
    return Files.isRegularFile(file(name));
  }

  /** All that can be seen of the refs, but for how they are stored; {@code fsck} takes longest. */
  String state(boolean fsck) throws IOException, InterruptedException {
    StringBuilder state = new StringBuilder();
    state.append("refs\n").append(show(refs));
    RefDirectory peer = repository.peer();
    peer.refresh();
    state.append("refs of another process\n").append(show(peer));
    state.append("git\n");
    state.append(
        repository
            .tryGit(
                "for-each-ref",
                "--format=%(refname) %(objectname) %(objecttype) %(*objectname) %(symref)")
            .text());
    if (fsck) {
      TestRefs.Output found = repository.tryGit("fsck", "--no-progress", "--no-dangling");
      state.append("fsck ").append(found.status()).append(' ').append(found.text()).append('\n');
    }
    state.append("reflogs\n");
    for (Path log : files("logs")) {
      String name = file("logs").relativize(log).toString();
      state.append(name).append('\n');
      for (String entry : Files.readAllLines(log, UTF_8)) {
        state.append("  ").append(withoutTime(entry)).append('\n');
      }
    }
    state.append("other files ").append(otherFiles()).append('\n');
    return withoutFolder(state.toString());
  }

  /** The time of an entry only if it is one of the past that a test has chosen. */
  private static String withoutTime(String entry) {
    Matcher time = ENTRY_TIME.matcher(entry);
    return time.find() && Long.parseLong(time.group(1)) > 1_000_000
        ? entry.substring(0, time.start()) + "> now" + entry.substring(time.end())
        : entry;
  }

  private static String show(RefDatabase refs) {
    StringBuilder shown = new StringBuilder();
    try {
      for (Ref ref : refs.getRefs()) {
        shown.append(ref.getName());
        for (Ref link = ref; link.isSymbolic(); link = link.getTarget()) {
          shown.append(" -> ").append(link.getTarget().getName());
        }
        shown.append(' ').append(ref.getObjectId());
        shown.append(" peeled ").append(peeled(refs, ref)).append('\n');
      }
      Ref head = refs.exactRef("HEAD");
      shown.append("HEAD leads to ").append(head == null ? null : head.getLeaf().getName());
    } catch (IOException e) {
      shown.append(RefsComparison.shown(e));
    }
    return shown.append('\n').toString();
  }

  @Nullable
  private static Object peeled(RefDatabase refs, Ref ref) {
    try {
      return refs.peel(ref).getPeeledObjectId();
    } catch (IOException e) {
      return RefsComparison.shown(e);
    }
  }

  private List<Path> files(String folder) throws IOException {
    if (!Files.isDirectory(file(folder))) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(file(folder))) {
      return files.filter(Files::isRegularFile).sorted().toList();
    }
  }

  /** What is neither a ref nor a log nor an object: locks, journals and drafts left behind. */
  private List<String> otherFiles() throws IOException {
    TreeSet<String> names = new TreeSet<>();
    for (Path file : files(".")) {
      String name = repository.folder().relativize(file.normalize()).toString();
      boolean known =
          name.startsWith("objects/")
              || name.startsWith("logs/")
              || name.startsWith("refs/")
              // Kept for the next transaction, for some seconds.
              || name.matches("cache-chroniclemap/.*\\.(transaction|alive)")
              || name.equals("packed-refs");
      if (!known || name.endsWith(".lock") || name.contains("renamed_")) {
        names.add(name);
      }
    }
    return List.copyOf(names);
  }

  /**
   * Folders below {@code refs/} with nothing in them, each a look for whoever lists refs. Not those
   * of the first level, such as {@code refs/changes}: neither JGit nor git ever deletes them.
   */
  Set<String> emptyFolders() throws IOException {
    TreeSet<String> empty = new TreeSet<>();
    try (Stream<Path> folders = Files.walk(file("refs"))) {
      for (Path folder : folders.filter(Files::isDirectory).toList()) {
        if (!folder.getParent().equals(file("refs")) && folder.toFile().list().length == 0) {
          empty.add(repository.folder().relativize(folder).toString());
        }
      }
    }
    return empty;
  }

  /**
   * Each ref that there is, and its value; a name without value is of a link that leads nowhere.
   */
  Map<String, ObjectId> values() throws IOException {
    RefDatabase peer = repository.peerRepository().getRefDatabase();
    peer.refresh();
    return TestRefs.ids(peer.getRefs());
  }
}
