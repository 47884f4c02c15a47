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

import com.google.common.base.Splitter;
import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;

/**
 * A process that {@link RefKillsIT} kills: threads move sets of refs from one generation to the
 * next, each set by one atomic batch, and say what they begin and what was acknowledged.
 *
 * <p>What it says, one line each, with the number of a set and a generation: {@code found} when it
 * has opened the repositories, then {@code begin} and {@code done} or {@code failed}. A line that
 * was cut by the kill has no dot at its end.
 */
final class RefKillsMain {
  static final List<String> REPOSITORIES = List.of("first", "second", "durable");

  /** So many of each repository. */
  private static final int SETS = 12;

  private static final int WRITERS = 3;
  private static final int PACKS_ONE_IN = 25;
  private static final int MAX_LOOSE = 20;

  /** So many that a ref does not get a value again soon. */
  static final int VALUES = 1000;

  /** Which refs of a set are there, by generation. */
  private enum Kind {
    /** All, always. */
    UPDATED,
    /** Two of three; each batch creates, updates and deletes, if there are enough. */
    MIXED,
    /** All or none, in turn. */
    WHOLE,
    /** One ref, by single updates, deleted every third time. */
    SINGLE
  }

  /** Refs that change together. */
  record RefSet(int number) {
    static List<RefSet> all() {
      List<RefSet> all = new ArrayList<>();
      for (int i = 0; i < SETS * REPOSITORIES.size(); i++) {
        all.add(new RefSet(i));
      }
      return all;
    }

    String repository() {
      return REPOSITORIES.get(number / SETS);
    }

    private Kind kind() {
      return switch (number % 4) {
        case 0 -> Kind.UPDATED;
        case 1 -> Kind.MIXED;
        case 2 -> Kind.WHOLE;
        default -> Kind.SINGLE;
      };
    }

    int size() {
      return kind() == Kind.SINGLE ? 1 : 2 + number * 7 % 19;
    }

    String prefix() {
      return String.format(Locale.ROOT, "refs/changes/%02d/%d/", number, 1000 + number);
    }

    /** The refs of a generation. All have its commit, and the one before has another. */
    Map<String, ObjectId> at(int generation, List<ObjectId> values) {
      Map<String, ObjectId> refs = new TreeMap<>();
      for (int i = 0; i < size(); i++) {
        boolean isThere =
            switch (kind()) {
              case UPDATED -> true;
              case MIXED -> (generation + i) % 3 != 0;
              case WHOLE -> generation % 2 == 0;
              case SINGLE -> generation % 3 != 2;
            };
        if (isThere) {
          // Some in folders that come and go with them.
          refs.put(
              prefix() + (i % 4 == 3 ? i + "/deep/meta" : "" + i), values.get(generation % VALUES));
        }
      }
      return refs;
    }
  }

  static Path gitFolder(Path folder, String repository) {
    return folder.resolve(repository + ".git");
  }

  static Path valuesFile(Path folder) {
    return folder.resolve("values");
  }

  static List<ObjectId> readValues(Path folder) throws IOException {
    return Files.readAllLines(valuesFile(folder)).stream().map(ObjectId::fromString).toList();
  }

  /** All refs of a repository that start so, as its refs say. */
  static Map<String, ObjectId> read(RefDatabase refs, String prefix) throws IOException {
    Map<String, ObjectId> found = new TreeMap<>();
    for (Ref ref : refs.getRefsByPrefix(prefix)) {
      found.put(ref.getName(), ref.getObjectId());
    }
    return found;
  }

  private final FileRepository repository;
  private final RefDatabase refs;
  private final List<ObjectId> values;

  RefKillsMain(FileRepository repository, RefDatabase refs, List<ObjectId> values) {
    this.repository = repository;
    this.refs = refs;
    this.values = values;
  }

  /** Folder, seed, and for each set the generation that was acknowledged last, with commas. */
  public static void main(String[] args) {
    try {
      run(Path.of(args[0]), new Random(Long.parseLong(args[1])), args[2], REPOSITORIES);
    } catch (Exception | AssertionError e) {
      end(e);
    }
  }

  /**
   * Changes some of the repositories until the process ends.
   *
   * @param acknowledged for each set of all repositories the generation, with commas
   */
  static void run(Path folder, Random random, String acknowledged, List<String> repositories)
      throws IOException {
    List<ObjectId> values = readValues(folder);
    say("ready");
    for (String name : repositories) {
      UpdateSettings updates =
          new UpdateSettings(
              UpdateSettings.By.OWN,
              random.nextBoolean() ? UpdateSettings.Atomic.LOOSE : UpdateSettings.Atomic.REWRITE,
              random.nextInt(3) == 0 ? 0 : MAX_LOOSE);
      PackedRefsCache cache =
          new PackedRefsCache(new RefsSettings(64 << 20, 0, Optional.empty()), updates);
      FileRepository repository = new FileRepository(gitFolder(folder, name).toFile());
      RefKillsMain main =
          new RefKillsMain(
              repository, cache.of(repository, (RefDirectory) repository.getRefDatabase()), values);
      int first = REPOSITORIES.indexOf(name) * SETS;
      for (int i = 0; i < WRITERS; i++) {
        main.startWriter(
            first + i,
            first + SETS,
            Splitter.on(',').splitToStream(acknowledged).mapToInt(Integer::parseInt).toArray(),
            random.nextLong());
      }
    }
  }

  /** Each set has one writer. */
  private void startWriter(int first, int end, int[] acknowledged, long seed) throws IOException {
    List<RefSet> mine = new ArrayList<>();
    int[] generations = acknowledged.clone();
    for (int i = first; i < end; i += WRITERS) {
      RefSet set = new RefSet(i);
      mine.add(set);
      // One more than is known if the process before was killed when it was about to say so.
      boolean isNext =
          read(refs, set.prefix()).equals(set.at(acknowledged[i] + 1, values))
              && !set.at(acknowledged[i], values).equals(set.at(acknowledged[i] + 1, values));
      generations[i] += isNext ? 1 : 0;
      say("found " + i + " " + generations[i]);
    }
    Random random = new Random(seed);
    new Thread(
            () -> {
              try {
                while (true) {
                  move(mine.get(random.nextInt(mine.size())), generations);
                  if (random.nextInt(PACKS_ONE_IN) == 0) {
                    refs.packRefs(
                        NullProgressMonitor.INSTANCE, new PackRefsCommand(repository).setAll(true));
                  }
                }
              } catch (IOException | RuntimeException | Error e) {
                end(e);
              }
            })
        .start();
  }

  private void move(RefSet set, int[] generations) throws IOException {
    int next = generations[set.number()] + 1;
    Map<String, ObjectId> before = set.at(next - 1, values);
    Map<String, ObjectId> after = set.at(next, values);
    say("begin " + set.number() + " " + next);
    boolean done = change(set, before, after);
    if (done) {
      generations[set.number()] = next;
    }
    say((done ? "done " : "failed ") + set.number() + " " + next);
  }

  /** Changes a set as its kind is changed; returns whether it was told that all of it happened. */
  boolean change(RefSet set, Map<String, ObjectId> before, Map<String, ObjectId> after)
      throws IOException {
    return set.kind() == Kind.SINGLE
        ? update(set, before, after)
        : TestRefs.batch(repository, refs, TestRefs.commands(before, after));
  }

  private boolean update(RefSet set, Map<String, ObjectId> before, Map<String, ObjectId> after)
      throws IOException {
    String name = set.at(0, values).keySet().iterator().next();
    RefUpdate update = refs.newUpdate(name, false);
    update.setForceUpdate(true);
    update.setExpectedOldObjectId(before.getOrDefault(name, ObjectId.zeroId()));
    if (after.isEmpty()) {
      return update.delete() == RefUpdate.Result.FORCED;
    }
    update.setNewObjectId(after.get(name));
    return switch (update.update()) {
      case NEW, FORCED, FAST_FORWARD -> true;
      default -> false;
    };
  }

  private static void say(String what) {
    System.out.println(what + " .");
    System.out.flush();
  }

  private static void end(Throwable why) {
    System.err.println("WRONG refs: " + Throwables.getStackTraceAsString(why));
    System.err.flush();
    Runtime.getRuntime().halt(1);
  }
}
