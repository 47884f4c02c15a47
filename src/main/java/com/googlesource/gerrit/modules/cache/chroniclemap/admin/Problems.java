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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.common.collect.ImmutableList;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * What an administrator should know of the caches, the parsed ref lists and the shared values at
 * one moment: what is wrong, what was wrong since the server's start, and which limits are reached.
 */
final class Problems {
  /** A count that rose within this time is wrong now; an older rise was wrong. */
  static final Duration RECENT = Duration.ofMinutes(10);

  /** Shared values that are this far behind the newest one are reported. */
  private static final Duration BEHIND = Duration.ofMinutes(1);

  /** Writes that are queued in so many samples in a row wait for the disk. */
  private static final int SAMPLES_QUEUED = 4;

  /** How urgent a problem is, the most urgent first. */
  enum Level {
    NOW("wrong now"),
    LIMIT("at its limit"),
    WAS("was wrong");

    final String shown;

    Level(String shown) {
      this.shown = shown;
    }
  }

  /**
   * A problem.
   *
   * @param subject a cache, or what else it concerns
   * @param text what is wrong
   * @param meaning what that means, and what to do
   * @param paragraph the paragraph of the page's documentation with the details
   * @param repairable whether a repair of the cache ends it
   * @param last when it was last seen, in milliseconds since the epoch; 0 if that is unknown
   */
  record Problem(
      Level level,
      String subject,
      String text,
      String meaning,
      String paragraph,
      boolean repairable,
      long last) {
    /** Formats it as a sentence for a terminal. */
    String line() {
      String when = last == UNKNOWN ? "" : ", last at " + Units.time(last);
      return subject + ", " + level.shown + ": " + text + when + ". " + meaning;
    }
  }

  /** A figure that should be 0. */
  private record Kind(String name, String meaning, String paragraph) {}

  private static final String NO_FILE = "caches-without-a-file";
  private static final String TO_JGIT = "refs-left-to-jgit";
  private static final String TRIED_AGAIN = "Remove the reason: the file is tried each minute.";
  private static final String IN_MEMORY = "lists are kept in memory only";

  /** The time of a state, which lasts. */
  static final long UNKNOWN = 0;

  private static final String ALL_CACHES = "all caches";
  private static final String SHARED = "shared values";
  private static final String PAGE = "this page";

  private static final ImmutableList<Kind> KINDS =
      ImmutableList.of(
          new Kind(
              "unrepaired",
              "A read of such an entry finds nothing, and drops it. Repair (verify --repair) drops all"
                  + " of them, and keeps the rest.",
              "damaged-entries"),
          new Kind(
              "damaged",
              "None is known to be left. A kill damages one at most; if there were more, suspect the"
                  + " disk or memory.",
              "damaged-entries"),
          new Kind("faults", "The log has file and reason. Check the disk.", "errors-of-the-disk"),
          new Kind(
              "not_stored",
              "Values were put faster than the disk writes, or are larger than the limit allows: see"
                  + " the log.",
              "values-not-stored"),
          new Kind(
              "serializer_errors",
              "It is computed again. After an upgrade this is normal once; else flush the cache.",
              "values-rejected"),
          new Kind(
              "left_to_jgit",
              "Answers are right, but slower. The command refs names the project and the reason.",
              TO_JGIT),
          new Kind("no_memory", "JGit answers instead. Raise -XX:MaxDirectMemorySize.", TO_JGIT),
          new Kind("failures", "Answers are right, but slower. The log has the reason.", TO_JGIT));

  private final long now;
  private final ImmutableList<Sample> samples;
  private final List<Events.Event> events;
  private final List<Problem> all = new ArrayList<>();

  /**
   * Starts without any problem.
   *
   * @param now the time, in milliseconds since the epoch
   * @param samples of the figures, the newest one last
   * @param events since the server's start, the newest one first
   */
  Problems(long now, ImmutableList<Sample> samples, List<Events.Event> events) {
    this.now = now;
    this.samples = samples;
    this.events = events;
  }

  /**
   * Finds what an administrator should know now.
   *
   * @param caches those to look at
   * @param refs the totals of parsed ref lists, null to leave them out
   * @param refFigures the figures of these totals
   */
  static Problems find(
      History history,
      Optional<CacheInventory> inventory,
      List<CacheReport> caches,
      @Nullable RefsTotals refs,
      @Nullable Figures refFigures) {
    history.look();
    Problems found = new Problems(System.currentTimeMillis(), history.samples(), history.events());
    inventory.flatMap(CacheInventory::memoryOnlyReason).ifPresent(found::findMemoryOnly);
    inventory
        .flatMap(CacheInventory::exposed)
        .ifPresent(
            why ->
                found.add(
                    ALL_CACHES, why, "Take them away, and restart Gerrit.", "errors-of-the-disk"));
    inventory.flatMap(CacheInventory::shared).ifPresent(found::findIn);
    caches.forEach(report -> found.findIn(report, Figures.of(CacheMetrics.ALL, report)));
    if (refs != null) {
      found.findIn(refs, refFigures);
    }
    found.findMissingSamples();
    return found;
  }

  /** Finds what an administrator should know now of some caches. */
  static Problems find(History history, CacheInventory inventory, List<CacheReport> caches) {
    return find(history, Optional.of(inventory), caches, null, null);
  }

  /** Returns those that were found, the most urgent ones first. */
  ImmutableList<Problem> all() {
    return ImmutableList.sortedCopyOf(Comparator.comparing(Problem::level), all);
  }

  void findMemoryOnly(String reason) {
    add(
        ALL_CACHES,
        "kept in memory only: " + reason,
        "Their values are lost at the next stop. Remove the reason.",
        NO_FILE);
  }

  void findIn(CacheReport report, Figures figures) {
    String name = report.name();
    findFailed(
        name,
        report.disk(),
        "kept in memory only",
        "What is put meanwhile is lost at the next stop. ");
    findKinds(name, figures);
    new Limits(report, samples, now).find(all::add);
    if (figures.get("queued") > 0 && wasQueued(name)) {
      add(
          Level.LIMIT,
          name,
          figures.fill("{queued} values queued for writing"),
          "Values are put faster than the disk writes them.",
          "values-not-stored");
    }
  }

  private boolean wasQueued(String cache) {
    int first = samples.size() - SAMPLES_QUEUED;
    return first >= 0
        && samples.subList(first, samples.size()).stream()
            .map(sample -> sample.caches().get(cache))
            .allMatch(figures -> figures != null && figures.get("queued") > 0);
  }

  void findIn(RefsTotals totals, Figures figures) {
    String effect = "They are parsed again after a restart. ";
    Optional<String> why = totals.memoryOnlyReason().filter(reason -> totals.wantsDisk());
    if (why.isPresent()) {
      String text = IN_MEMORY + ": " + why.get();
      add(Events.REFS, text, effect + "Remove the reason, and restart Gerrit.", NO_FILE);
    }
    totals
        .disk()
        .ifPresent(
            disk -> {
              findFailed(Events.REFS, disk, IN_MEMORY, effect);
              if (disk.unrepaired() > 0) {
                String blocks = "damaged blocks in the file of the lists";
                add(Events.REFS, blocks, "Lists with such a block are parsed again.", TO_JGIT);
              }
            });
    findKinds(Events.REFS, figures);
    Member.missing().forEach(this::findMissing);
  }

  void findMissing(Member member) {
    String meaning = "Answers are right, but slower. A newer jar may help.";
    add(Events.REFS, member.warning(), meaning, TO_JGIT);
  }

  void findIn(SharedReport shared) {
    SharedTable.problems(shared)
        .forEach(text -> add(SHARED, text, "Run shared --check.", "shared-values"));
    if (shared.behindMillis() > BEHIND.toMillis()) {
      add(
          Level.LIMIT,
          SHARED,
          "this server is " + Units.millis(shared.behindMillis()) + " behind the others",
          "Values of the others come later than they could.",
          "shared-values");
    }
  }

  /** Without samples, rates and charts show what was. */
  void findMissingSamples() {
    if (!samples.isEmpty()) {
      long last = samples.get(samples.size() - 1).millis();
      if (now - last > 3 * History.INTERVAL.toMillis()) {
        add(
            PAGE,
            "no sample of the figures was taken for minutes",
            "Rates and charts are outdated; the log has the reason.",
            "figures-out-of-date");
      }
    }
  }

  /** Finds a store without a file. */
  private void findFailed(String subject, StoreStats store, String what, String effect) {
    if (store.state() == StoreState.FAILED) {
      String reason = store.start().detail();
      String why = reason.isEmpty() ? "see the log" : reason;
      add(subject, what + ": " + why, effect + TRIED_AGAIN, NO_FILE);
    }
  }

  private void add(String subject, String text, String meaning, String paragraph) {
    add(Level.NOW, subject, text, meaning, paragraph);
  }

  private void add(Level level, String subject, String text, String meaning, String paragraph) {
    all.add(new Problem(level, subject, text, meaning, paragraph, false, UNKNOWN));
  }

  private void findKinds(String subject, Figures figures) {
    for (Kind kind : KINDS) {
      long count = figures.get(kind.name);
      // What is there now, and a repair drops; or what was found since the start.
      boolean isLeft = kind.name.equals("unrepaired");
      boolean isFound = kind.name.equals("damaged");
      boolean isToldAlready = isFound && figures.get("unrepaired") > 0;
      if (count > 0 && !isToldAlready) {
        long last = isLeft ? now : lastRise(subject, kind.name);
        boolean isOver = isFound || now - last > RECENT.toMillis();
        Level level = isOver ? Level.WAS : Level.NOW;
        String text = figures.meaning(kind.name) + ": " + Units.count(count);
        String since = isLeft ? "" : " since the start";
        all.add(
            new Problem(
                level,
                subject,
                text + since,
                kind.meaning,
                kind.paragraph,
                isLeft,
                isLeft ? UNKNOWN : last));
      }
    }
  }

  /** Returns when a count last rose; 0 if that is unknown. */
  private long lastRise(String subject, String figure) {
    return events.stream()
        .filter(event -> event.subject().equals(subject) && event.kind().equals(figure))
        .findFirst()
        .map(Events.Event::to)
        .orElse(UNKNOWN);
  }
}
