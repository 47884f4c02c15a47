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

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsWriter.By;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.eclipse.jgit.lib.CoreConfig;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * One of two machines on one repository on NFS; run by bin/lib/soak-nfs.sh. Each changes sets of
 * its own: some through the module, some through JGit, some with native git. All three pack, JGit
 * only under {@code after_open}. It says what a {@link RefsWriter} says, with the time before, and
 * when it sees which generation of the other machine's sets.
 */
final class NfsRefsMain {
  private static final String REPOSITORY = "first";

  private static final int PACKS_ONE_IN = 20;
  private static final int SEEN_WITHIN_SECONDS = 120;
  private static final int SETTLED_SECONDS = 40;
  private static final int LOOK_AGAIN_MILLIS = 100;

  /** So many later generations of a set are looked for. */
  private static final int AHEAD = 60;

  private final TestRefs repository;
  private final PackedRefsCache cache;
  private final Map<String, RefDatabase> databases = new LinkedHashMap<>();
  private final RefsModel model;

  private NfsRefsMain(Path folder) throws IOException {
    model = new RefsModel(folder, List.of(REPOSITORY));
    repository = model.open(REPOSITORY);
    cache = TestRefs.cache(UpdateSettings.DEFAULT);
    databases.put("module", repository.database(cache));
    databases.put("jgit", repository.peer());
  }

  public static void main(String[] args) {
    Thread.setDefaultUncaughtExceptionHandler((thread, cause) -> RefsWriter.end(cause));
    try {
      Path folder = Path.of(args[1]);
      switch (args[0]) {
        case "make" -> {
          RefsModel unused = RefsModel.make(folder, List.of(REPOSITORY));
        }
        case "work" ->
            new NfsRefsMain(folder)
                .work(args[2].equals("1"), args[3].equals("module"), Integer.parseInt(args[4]));
        case "see" -> new NfsRefsMain(folder).see(args[2]);
        case "packdeleted" -> new NfsRefsMain(folder).packDeleted(args[2]);
        case "check" -> check(folder, Arrays.asList(args).subList(2, args.length));
        default -> throw new IllegalArgumentException(args[0]);
      }
      System.exit(0);
    } catch (Exception | AssertionError e) {
      RefsWriter.end(e);
    }
  }

  private static void say(String what) {
    System.out.println(System.currentTimeMillis() + " " + what);
    System.out.flush();
  }

  private static List<RefSet> sets(boolean ofSecond) {
    List<RefSet> all = RefSet.of(0);
    int half = all.size() / 2;
    return ofSecond ? all.subList(half, all.size()) : all.subList(0, half);
  }

  private void work(boolean isSecond, boolean byModule, int seconds) throws Exception {
    Random random = new Random();
    CoreConfig config = repository.repository().getConfig().get(CoreConfig.KEY);
    // Else JGit brings deleted refs back: see packDeleted.
    boolean mayJGit = config.getTrustLooseRefStat() == TrustStat.AFTER_OPEN;
    RefsWriter writer = writer(sets(isSecond), random);
    writer.find();
    long end = System.nanoTime() + seconds * 1_000_000_000L;
    Thread reader = new Thread(() -> readUntil(end, sets(!isSecond)));
    reader.start();
    while (System.nanoTime() < end) {
      RefSet set = writer.any();
      By by = byModule ? By.MODULE : By.ALL.get(set.number() % By.ALL.size());
      boolean done = false;
      try {
        done = writer.move(set, by);
      } catch (IOException e) {
        say("exception " + by + " " + e);
      }
      writer.ended(set, done);
      if (random.nextInt(PACKS_ONE_IN) == 0) {
        for (By packer : By.ALL) {
          if (packer != By.JGIT || mayJGit) {
            pack(writer, packer);
          }
        }
      }
    }
    reader.join();
    cache.close();
  }

  private RefsWriter writer(List<RefSet> sets, Random random) {
    return new RefsWriter(
        repository, databases.get("module"), model, sets, random, NfsRefsMain::say);
  }

  /** Who finds the lock of packed-refs taken gives up, and says so. */
  private static void pack(RefsWriter writer, By by) throws InterruptedException {
    try {
      say((writer.pack(by) ? "packed " : "notpacked ") + by);
    } catch (IOException e) {
      say("notpacked " + by + " " + e);
    }
  }

  /** Says each new generation of the sets, by each database, and what is of no generation. */
  private void readUntil(long end, List<RefSet> sets) {
    Map<String, Integer> seen = new TreeMap<>();
    try {
      while (System.nanoTime() < end) {
        for (RefSet set : sets) {
          for (Map.Entry<String, RefDatabase> database : databases.entrySet()) {
            Map<String, ObjectId> found = RefsModel.read(database.getValue(), set.prefix());
            if (found.isEmpty()) {
              continue; // which of the generations without refs it is cannot be seen
            }
            String what = database.getKey() + " " + set.number();
            int last = seen.getOrDefault(what, 0);
            int now = Math.max(0, last - AHEAD);
            while (now < last + AHEAD && !set.at(now, model.values()).equals(found)) {
              now++;
            }
            if (now == last + AHEAD) {
              say("part " + what);
            } else if (now != last) {
              say((now > last ? "saw " : "sawolder ") + what + " " + now);
              seen.put(what, now);
            }
          }
        }
      }
    } catch (IOException e) {
      say("exception reader " + e);
    }
  }

  /**
   * Says when a database sees what another machine changes, while packed-refs is held open as it
   * was: a packed ref that is deleted, one that is changed, and a new one. Only one database for
   * each process: what one looks up freshly, the kernel knows for the other, too.
   */
  private void see(String how) throws IOException, InterruptedException {
    Set<String> unseen =
        new TreeSet<>(List.of("refs/fixed/00/100", "refs/fixed/00/200", "refs/fixed/00/new"));
    Map<String, String> before = new TreeMap<>();
    // The kernel trusts names longer if they were the same for longer.
    long settled = System.nanoTime() + SETTLED_SECONDS * 1_000_000_000L;
    long end = settled + SEEN_WITHIN_SECONDS * 1_000_000_000L;
    boolean told = false;
    try (FileChannel held = FileChannel.open(repository.folder().resolve("packed-refs"))) {
      while (System.nanoTime() < end && !unseen.isEmpty()) {
        for (String name : List.copyOf(unseen)) {
          Ref ref = databases.get(how).exactRef(name);
          String now = ref == null ? "none" : ref.getObjectId().name();
          String last = before.putIfAbsent(name, now);
          if (last != null && !last.equals(now)) {
            unseen.remove(name);
            say("sees " + name);
          }
        }
        if (!told && System.nanoTime() > settled) {
          told = true;
          say("looking");
        }
        // Nothing tells this machine when another one has changed a ref.
        Thread.sleep(LOOK_AGAIN_MILLIS);
      }
      say("unseen " + unseen + " held " + held.isOpen());
    }
    cache.close();
  }

  /**
   * Packs a loose ref, which another machine locks or deletes while this one waits for packed-refs.
   */
  private void packDeleted(String how) throws IOException, InterruptedException {
    String name = "refs/heads/loose";
    TestRefs.Output made = repository.tryGit("update-ref", name, model.values().get(1).name());
    if (made.status() != 0) {
      throw new AssertionError(made.text());
    }
    for (RefDatabase database : databases.values()) {
      say("found " + database.exactRef(name));
    }
    // As by an earlier packing.
    say("locked " + Files.exists(repository.folder().resolve(name + ".lock")));
    say("packing");
    pack(writer(List.of(), new Random()), By.valueOf(how.toUpperCase(Locale.ROOT)));
    cache.close();
  }

  /** Holds the repository against the logs of both machines, and tells how long changes took. */
  private static void check(Path folder, List<String> logs) throws Exception {
    RefsModel model = new RefsModel(folder, List.of(REPOSITORY));
    Map<String, Integer> counts = new TreeMap<>();
    Map<String, Long> done = new TreeMap<>();
    Map<String, List<Long>> seconds = new TreeMap<>();
    List<List<String>> all = new ArrayList<>();
    for (String log : logs) {
      long before = 0;
      long longest = 0;
      for (String line : Files.readAllLines(Path.of(log), UTF_8)) {
        List<String> words = Splitter.on(' ').splitToList(line);
        if (words.size() < 2 || !words.get(0).matches("\\d+")) {
          continue;
        }
        all.add(words);
        counts.merge(
            words.get(1).matches("(not)?packed|saw.*|part")
                ? words.get(1) + " " + words.get(2)
                : words.get(1),
            1,
            Integer::sum);
        if (words.get(1).matches("begin|done|failed")) {
          model.heed(line);
          long at = Long.parseLong(words.get(0));
          longest = before == 0 ? 0 : Math.max(longest, at - before);
          before = at;
          if (words.get(1).equals("done")) {
            done.put(words.get(2) + " " + words.get(3), at);
          }
        }
      }
      System.out.printf(
          Locale.ROOT, "%s: longest step %.1f s%n", Path.of(log).getFileName(), longest / 1000.0);
    }
    Set<String> seen = new HashSet<>();
    for (List<String> words : all) {
      if (words.get(1).equals("saw")) {
        // Generations before it are seen, too, if a later one came first.
        int generation = Integer.parseInt(words.get(4));
        while (seen.add(words.get(2) + " " + words.get(3) + " " + generation)) {
          Long at = done.get(words.get(3) + " " + generation);
          if (at == null) {
            break;
          }
          seconds
              .computeIfAbsent(words.get(2), how -> new ArrayList<>())
              .add(Math.max(0, Long.parseLong(words.get(0)) - at));
          generation--;
        }
      }
    }
    System.out.println(counts);
    seconds.forEach(
        (how, list) -> {
          list.sort(null);
          System.out.printf(
              Locale.ROOT,
              "%s sees changes of the other after (seconds): median %.1f, nine of ten %.1f, last %.1f; %d changes%n",
              how,
              list.get(list.size() / 2) / 1000.0,
              list.get(list.size() * 9 / 10) / 1000.0,
              list.get(list.size() - 1) / 1000.0,
              list.size());
        });
    for (String how : List.of("begin", "done")) {
      if (counts.getOrDefault(how, 0) == 0) {
        throw new AssertionError("no " + how);
      }
    }
    if (all.stream()
        .anyMatch(words -> words.get(1).equals("exception") && words.get(2).equals("module"))) {
      throw new AssertionError("a change by the module threw an exception");
    }
    model.check("on NFS");
    System.out.println("all right: acknowledged=" + model.done() + " refused=" + model.refused());
  }
}
