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

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.events.RefsChangedEvent;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.TagBuilder;
import org.eclipse.jgit.lib.TreeFormatter;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The database beside JGit's on the same repository. */
class OffHeapRefDatabaseTest {
  private static final String[] NAMES = {
    "HEAD",
    "refs/heads/a",
    "refs/heads/a/b",
    "refs/heads/a/b/c",
    "refs/heads/a-b",
    "refs/heads/master",
    "refs/heads/\u00e9",
    "refs/heads/\uff5e",
    "refs/heads/\ud83d\ude00",
    "refs/tags/t1",
    "refs/tags/t2",
    "refs/tags/t",
    "refs/changes/01/1/meta",
    "refs/changes/01/1/1",
    "refs/changes/01/1/2",
    "refs/meta/config",
    "refs/sym/one",
    "refs/sym/two",
    "ORIG_HEAD",
    "refs/x"
  };

  private static final String[] PREFIXES = {
    "",
    "refs/",
    "refs/heads/",
    "refs/heads/a",
    "refs/heads/a/",
    "refs/tags/t",
    "refs/changes/01/",
    "refs/changes/01/1/",
    "refs/sym/",
    "refs",
    "HE",
    "nothing/",
    "refs/heads/\ud83d\ude00",
    "refs/none/"
  };

  /** {@code -Drefs.steps=N} for more. */
  private static final int STEPS = Integer.getInteger("refs.steps", 60);

  @TempDir Path folder;
  private final Random random = new Random(Long.getLong("refs.seed", 11));
  private final ListMemory memory = new ListMemory(1 << 30);
  private FileRepository repository;
  private FileRepository peerRepository;
  private PackedRefsFile packed;
  private final Failures failures = new Failures();
  private FallbackRefDatabase database;
  private RefDatabase refs;

  /** Whether the last operation was one through {@link #refs}. */
  private boolean byOurs;

  private RefDirectory peer;
  private final List<ObjectId> commits = new ArrayList<>();
  private final List<ObjectId> tags = new ArrayList<>();

  private void open(@Nullable String trust) throws IOException {
    File gitFolder = folder.resolve("r.git").toFile();
    try (FileRepository create = new FileRepository(gitFolder)) {
      create.create(true);
      if (trust != null) {
        create.getConfig().setString(ConfigConstants.CONFIG_CORE_SECTION, null, "trustStat", trust);
        create.getConfig().save();
      }
    }
    repository = new FileRepository(gitFolder);
    peerRepository = new FileRepository(gitFolder);
    peer = (RefDirectory) peerRepository.getRefDatabase();
    packed =
        new PackedRefsFile(
            gitFolder.toPath().resolve("packed-refs").toFile(),
            new ListTiers(Differential.KEY, memory, null));
    RefDirectory jgit = (RefDirectory) repository.getRefDatabase();
    database =
        new FallbackRefDatabase(new OffHeapRefDatabase(repository, jgit, packed), jgit, failures);
    refs = database;
    try (ObjectInserter inserter = repository.newObjectInserter()) {
      ObjectId tree = inserter.insert(new TreeFormatter());
      for (int i = 0; i < 5; i++) {
        PersonIdent person =
            new PersonIdent("n", "n@example.com", Instant.ofEpochSecond(i), ZoneOffset.UTC);
        CommitBuilder commit = new CommitBuilder();
        commit.setTreeId(tree);
        commit.setAuthor(person);
        commit.setCommitter(person);
        commit.setMessage("c" + i);
        commits.add(inserter.insert(commit));
        TagBuilder tag = new TagBuilder();
        tag.setObjectId(commits.get(i), Constants.OBJ_COMMIT);
        tag.setTag("t" + i);
        tag.setTagger(person);
        tag.setMessage("t");
        tags.add(inserter.insert(tag));
      }
      inserter.flush();
    }
  }

  @BeforeEach
  void forget() {
    repository = null;
  }

  @AfterEach
  void close() {
    if (repository != null) {
      repository.close();
      peerRepository.close();
    }
  }

  private <T> T any(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private String anyName() {
    return NAMES[random.nextInt(NAMES.length)];
  }

  private ObjectId anyObject() {
    return random.nextInt(3) == 0 ? any(tags) : any(commits);
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void answersAsJGitAfterEachOperation(String trust) throws Exception {
    open(trust);
    compare("at first");
    for (int step = 0; step < STEPS; step++) {
      String done = operate();
      compare("step " + step + ": " + done);
    }
    assertThat(failures.sum()).isEqualTo(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void aRequestSeesItsOwnChanges(String trust) throws Exception {
    open(trust);
    for (int step = 0; step < STEPS; step++) {
      refs = database.forRequest();
      List<Ref> before = refs.getRefs();
      String done = operate();
      // A request that has begun sees what others do, or not.
      assertThat(before).isNotNull();
      if (!byOurs) {
        refs = database.forRequest();
      }
      compare("step " + step + ": " + done);
    }
    assertThat(failures.sum()).isEqualTo(0);
  }

  /** Changes something, here, by JGit elsewhere, by native git or by hand. */
  private String operate() throws Exception {
    RefDatabase by = random.nextBoolean() ? refs : peer;
    String name = anyName();
    int what = random.nextInt(12);
    byOurs = by == refs && (what < 7 || what == 9);
    switch (what) {
      case 0, 1, 2, 3 -> {
        RefUpdate update = by.newUpdate(name, random.nextBoolean());
        update.setNewObjectId(anyObject());
        update.setForceUpdate(true);
        return "update " + name + " " + update.update();
      }
      case 4, 5 -> {
        RefUpdate update = by.newUpdate(name, random.nextInt(4) == 0);
        update.setForceUpdate(true);
        return "delete " + name + " " + update.delete();
      }
      case 6 -> {
        String target = anyName();
        if (target.startsWith("refs/") && (name.equals("HEAD") || name.startsWith("refs/sym/"))) {
          return "link " + name + " " + by.newUpdate(name, false).link(target);
        }
        return "nothing";
      }
      case 7 -> {
        List<String> pack = new ArrayList<>();
        for (Ref ref : peer.getRefsByPrefix("refs/")) {
          if (!ref.isSymbolic() && random.nextBoolean()) {
            pack.add(ref.getName());
          }
        }
        peer.pack(pack);
        return "pack " + pack;
      }
      case 8 -> {
        runGit("pack-refs", "--all", random.nextBoolean() ? "--prune" : "--no-prune");
        return "git pack-refs";
      }
      case 9 -> {
        BatchRefUpdate batch = by.newBatchUpdate();
        batch.setAtomic(random.nextBoolean());
        batch.setAllowNonFastForwards(true);
        for (int i = 0; i < 3; i++) {
          String one = "refs/changes/01/1/" + (char) ('1' + i);
          Ref old = by.exactRef(one);
          batch.addCommand(
              new ReceiveCommand(
                  old == null ? ObjectId.zeroId() : old.getObjectId(), anyObject(), one));
        }
        try (RevWalk walk = new RevWalk(repository)) {
          batch.execute(walk, NullProgressMonitor.INSTANCE);
        }
        return "batch";
      }
      case 10 -> {
        // A loose file that is no ref, or a broken one.
        String[] contents = {"", "x", "ref: refs/heads/none\n", "ref: refs/sym/one\n"};
        Path file = repository.getDirectory().toPath().resolve("refs/heads/odd");
        Files.writeString(file, contents[random.nextInt(contents.length)]);
        return "odd file";
      }
      default -> {
        Path file = repository.getDirectory().toPath().resolve("packed-refs");
        if (!Files.exists(file)) {
          return "nothing";
        }
        // As an editor would: without the header, or with carriage returns.
        String text = Files.readString(file, UTF_8);
        String edited =
            random.nextBoolean() ? text.replaceAll("(?m)^#.*\n", "") : text.replace("\n", "\r\n");
        Path next = folder.resolve("edited");
        Files.writeString(next, edited.replace("\r\r", "\r"));
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        return "edited packed-refs";
      }
    }
  }

  private void runGit(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("git"));
    command.addAll(List.of(arguments));
    Process git =
        new ProcessBuilder(command)
            .directory(repository.getDirectory())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    // It refuses when a symbolic ref leads in circles; that changes nothing.
    git.waitFor();
  }

  /** An answer or a failure. */
  private interface Answer {
    Object get() throws IOException;
  }

  private static Object of(Answer answer) {
    try {
      return answer.get();
    } catch (IOException e) {
      return "IOException " + e.getMessage();
    }
  }

  private static Object show(@Nullable Object answer) {
    if (answer instanceof Ref ref) {
      boolean isPacked = ref.getStorage() == Ref.Storage.PACKED && !ref.isSymbolic();
      return ref.getName()
          + "="
          + (ref.isSymbolic() ? "->" + show(ref.getTarget()) : ref.getObjectId())
          + " "
          + ref.getStorage()
          // Of loose refs JGit may remember what it peeled.
          + (isPacked ? " " + ref.isPeeled() + " " + ref.getPeeledObjectId() : "");
    }
    if (answer instanceof Map<?, ?> map) {
      Map<Object, Object> shown = new TreeMap<>();
      map.forEach((key, value) -> shown.put(key, show(value)));
      return shown;
    }
    if (answer instanceof Set<?> set) {
      return set.stream().map(one -> show(one).toString()).sorted().toList();
    }
    if (answer instanceof Collection<?> list) {
      List<Object> shown = new ArrayList<>();
      list.forEach(one -> shown.add(show(one)));
      return shown;
    }
    return answer;
  }

  private void same(String when, Answer ours, Answer jgits) {
    Object expected = of(() -> show(jgits.get()));
    Object actual = of(() -> show(ours.get()));
    assertWithMessage("%s", when).that(actual).isEqualTo(expected);
  }

  @SuppressWarnings("deprecation")
  private void compare(String after) {
    // What it keeps of its own writing is not always what it wrote: a ref that it has not peeled
    // gets into a file that says all are.
    peer.refresh();
    for (String name : NAMES) {
      String when = after + "; " + name;
      same(when, () -> refs.exactRef(name), () -> peer.exactRef(name));
      same(when, () -> refs.isNameConflicting(name), () -> peer.isNameConflicting(name));
      same(when, () -> refs.getConflictingNames(name), () -> peer.getConflictingNames(name));
      same(
          when,
          () -> refs.getConflictingNames(name + "/x"),
          () -> peer.getConflictingNames(name + "/x"));
      String shortName = name.substring(name.lastIndexOf('/') + 1);
      same(when, () -> refs.findRef(shortName), () -> peer.findRef(shortName));
      same(when, () -> peel(refs, name), () -> peel(peer, name));
    }
    for (String prefix : PREFIXES) {
      String when = after + "; prefix " + prefix;
      same(when, () -> refs.getRefsByPrefix(prefix), () -> peer.getRefsByPrefix(prefix));
      if (prefix.isEmpty() || (prefix.startsWith("refs/") && prefix.endsWith("/"))) {
        same(when, () -> refs.getRefs(prefix), () -> peer.getRefs(prefix));
        Set<String> excluded = Set.of("refs/heads/a", "refs/changes/01/1/m");
        same(
            when,
            () -> refs.getRefsByPrefixWithExclusions(prefix, excluded),
            () -> peer.getRefsByPrefixWithExclusions(prefix, excluded));
      }
    }
    same(after, refs::getRefs, peer::getRefs);
    same(after, () -> elements(refs.getRefs()), peer::getRefs);
    same(
        after,
        () -> refs.getRefsByPrefix("refs/tags/", "refs/heads/a", "refs/heads/", "HE"),
        () -> peer.getRefsByPrefix("refs/tags/", "refs/heads/a", "refs/heads/", "HE"));
    same(
        after,
        () -> refs.getRefsByPrefix(new String[0]),
        () -> peer.getRefsByPrefix(new String[0]));
    same(after, () -> refs.exactRef(NAMES), () -> peer.exactRef(NAMES));
    same(
        after,
        () -> refs.firstExactRef("refs/none", "refs/x", "refs/tags/t", "HEAD"),
        () -> peer.firstExactRef("refs/none", "refs/x", "refs/tags/t", "HEAD"));
    same(after, refs::hasRefs, peer::hasRefs);
    same(after, refs::getAdditionalRefs, peer::getAdditionalRefs);
    // Else JGit finds loose tags by what it has peeled before.
    peer.refresh();
    same(
        after,
        () -> refs.getTipsWithSha1(commits.get(0)),
        () -> peer.getTipsWithSha1(commits.get(0)));
    same(after, () -> refs.getTipsWithSha1(tags.get(0)), () -> peer.getTipsWithSha1(tags.get(0)));
  }

  @Nullable
  private static Object peel(RefDatabase database, String name) throws IOException {
    Ref ref = database.exactRef(name);
    return ref == null ? null : database.peel(ref).getPeeledObjectId();
  }

  private static List<Ref> elements(List<Ref> list) {
    List<Ref> elements = new ArrayList<>();
    for (int i = 0; i < list.size(); i++) {
      elements.add(list.get(i));
    }
    return elements;
  }

  @Test
  void whatIsNotParsedIsAnsweredByJGit() throws Exception {
    open(null);
    Path file = repository.getDirectory().toPath().resolve("packed-refs");
    Files.writeString(file, commits.get(0).name() + " refs/heads/a\nbroken\n");
    compare("broken");
    assertThat(of(() -> refs.exactRef("refs/heads/a")).toString()).contains("IOException");
    Files.writeString(
        file,
        commits.get(0).name() + " refs/heads/a\n" + commits.get(0).name() + " refs/heads/a\n");
    compare("twice");
    Files.writeString(file, commits.get(1).name() + " refs/heads/a\n");
    compare("mended");
    assertThat(refs.exactRef("refs/heads/a").getObjectId()).isEqualTo(commits.get(1));
  }

  @Test
  void aRefIsNeverMissingWhileItIsPacked() throws Exception {
    open(null);
    AtomicBoolean done = new AtomicBoolean();
    RefUpdate create = peer.newUpdate("refs/heads/a", false);
    create.setNewObjectId(commits.get(0));
    create.update();
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try {
      Future<?> packing =
          executor.submit(
              () -> {
                try {
                  for (int i = 0; i < 60; i++) {
                    peer.pack(List.of("refs/heads/a"));
                    RefUpdate update = peer.newUpdate("refs/heads/a", false);
                    update.setForceUpdate(true);
                    update.setNewObjectId(commits.get(i % 5));
                    update.update();
                  }
                } finally {
                  done.set(true);
                }
                return null;
              });
      while (!done.get()) {
        assertThat(refs.exactRef("refs/heads/a")).isNotNull();
        assertThat(refs.getRefsByPrefix("refs/heads/")).hasSize(1);
        assertThat(refs.isNameConflicting("refs/heads/a/b")).isTrue();
      }
      packing.get();
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void listenersAreToldOfANewContent() throws Exception {
    open(null);
    AtomicInteger events = new AtomicInteger();
    repository
        .getListenerList()
        .addRefsChangedListener((RefsChangedEvent event) -> events.incrementAndGet());
    Path file = repository.getDirectory().toPath().resolve("packed-refs");
    Files.writeString(file, commits.get(0).name() + " refs/heads/a\n");
    refs.exactRef("refs/heads/a");
    assertThat(events.get()).isEqualTo(0);
    Files.writeString(file, commits.get(1).name() + " refs/heads/a\n");
    refs.exactRef("refs/heads/a");
    assertThat(events.get()).isEqualTo(1);
    refs.exactRef("refs/heads/a");
    assertThat(events.get()).isEqualTo(1);
  }
}
