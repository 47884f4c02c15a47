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

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The limits of one cache that cost more than they should, by the figures of its history.
 *
 * <p>The history is judged in pieces of at most ten minutes, so that a night in which a limit cost
 * much is seen by day. The bars count what was asked for within a piece: a cache that is hardly
 * asked costs nothing, and the share of its misses means nothing.
 */
final class Limits {
  /** Reads of the disk in a piece: one a second. Fewer loads are not felt. */
  private static final int MIN_READS = 600;

  /** Lookups in a piece: five a second. What memory saves is microseconds each. */
  private static final int MIN_LOOKUPS = 3000;

  /**
   * The percentage of missed reads from which a limit costs, where more keys are in use than fit.
   * Where fewer are missed, room for all would spare less than a tenth of the loads.
   */
  private static final int MISSED = 10;

  /**
   * The percentage from which it costs whatever is in use, since what is read in turns of many
   * times the limit is not read again while its usage is remembered.
   */
  private static final int MISSED_BY_FAR = 40;

  /** How often what fits must have been missed before, as a first pass misses all of it too. */
  private static final int PASSES = 8;

  /** The percentage of lookups below which the memory tier is of no use. */
  private static final int FOUND = 20;

  /** The most that is proposed: so many times the limit. */
  private static final int MOST_ON_DISK = 8;

  /** The same in memory, which the heap has to hold. */
  private static final int MOST_IN_MEMORY = 4;

  /** From here on, limits are shown in KiB and more. */
  private static final int MIN_IN_UNITS = 10 << 10;

  /** The samples of a piece. */
  private static final int SAMPLES =
      (int) (Problems.RECENT.toMillis() / History.INTERVAL.toMillis());

  /** What happened to a cache from the first to the last of some samples. */
  private record Piece(String cache, List<Sample> samples) {
    Figures at(Sample sample) {
      return sample.caches().get(cache);
    }

    Figures to() {
      return at(samples.getLast());
    }

    /** By how much a count rose; 0 if it started again, as that of a plugin does. */
    long rise(String count) {
      return Math.max(0, to().get(count) - at(samples.getFirst()).get(count));
    }

    long reads() {
      return rise("hits") + rise("misses");
    }

    boolean isShare(long percent, String of, String others) {
      return 100 * rise(of) >= percent * (rise(of) + rise(others));
    }

    String percent(String of, String others) {
      return Units.percent(rise(of), rise(of) + rise(others));
    }

    /** The most values that the file had, which is what fits if some were evicted. */
    long fit() {
      return samples.stream().mapToLong(sample -> at(sample).get("entries")).max().orElse(0);
    }

    /** Whether more keys are in use than fit. */
    boolean lacksRoom() {
      return to().get("keys_in_use") > fit();
    }

    String length() {
      long minutes =
          Math.max(
              1, Math.round((samples.getLast().millis() - samples.getFirst().millis()) / 60_000.0));
      return minutes < 100
          ? Units.counted(minutes, "minute", "minutes")
          : Units.counted(Math.round(minutes / 60.0), "hour", "hours");
    }
  }

  private final CacheReport report;
  private final ImmutableList<Sample> samples;

  /**
   * Takes the history of a cache. The cost grows with the number of samples.
   *
   * @param samples the newest one last
   * @param now milliseconds since the epoch
   */
  Limits(CacheReport report, List<Sample> samples, long now) {
    this.report = report;
    this.samples =
        Stream.concat(samples.stream(), Stream.of(Sample.of(now, List.of(report), null)))
            .filter(sample -> sample.caches().containsKey(report.name()))
            .collect(ImmutableList.toImmutableList());
  }

  private Piece piece(int from, int to) {
    return new Piece(report.name(), samples.subList(from, to + 1));
  }

  /** Finds what costs too much now, or did within the history. */
  void find(Consumer<Problems.Problem> found) {
    find(found, Limits::costsOnDisk, Limits::onDisk, this::moreDisk, "full-caches");
    find(found, Limits::costsInMemory, Limits::inMemory, this::moreMemory, "small-memory");
  }

  /**
   * Finds whether one of the limits does.
   *
   * @param costs says so of a piece, and of all of the history up to its end
   * @param text what happened up to the end of the last piece that cost
   * @param meaning what to do, by that piece
   */
  private void find(
      Consumer<Problems.Problem> found,
      BiPredicate<Piece, Piece> costs,
      Function<Piece, String> text,
      Function<Piece, String> meaning,
      String paragraph) {
    int now = samples.size() - 1;
    for (int end = now; end > 0; end--) {
      Piece piece = piece(Math.max(0, end - SAMPLES), end);
      if (costs.test(piece, piece(0, end))) {
        Piece shown = used(end);
        found.accept(
            new Problems.Problem(
                end == now ? Problems.Level.LIMIT : Problems.Level.WAS,
                report.name(),
                text.apply(shown),
                meaning.apply(piece),
                paragraph,
                false,
                end == now ? Problems.UNKNOWN : shown.samples.getLast().millis()));
        return;
      }
    }
  }

  /** From the first read of the disk to the last one before a sample: what is over stays as is. */
  private Piece used(int end) {
    int last = end;
    while (last > 1 && piece(last - 1, end).reads() == 0) {
      last--;
    }
    int first = 0;
    while (first < last - 1 && piece(0, first + 1).reads() == 0) {
      first++;
    }
    return piece(first, last);
  }

  /** Many reads find no value, and values are evicted. */
  private static boolean costsOnDisk(Piece piece, Piece before) {
    return piece.reads() >= MIN_READS
        && 2 * piece.rise("evicted") >= piece.rise("misses")
        && (piece.lacksRoom()
            ? piece.isShare(MISSED, "misses", "hits")
            : piece.isShare(MISSED_BY_FAR, "misses", "hits")
                && before.rise("misses") > PASSES * piece.fit());
  }

  private static String onDisk(Piece shown) {
    long misses = shown.rise("misses");
    long loads = shown.rise("load_nanos");
    String each = Units.nanos(loads / Math.max(1, misses));
    return lenientFormat(
        "diskLimit too small: in %s, %s values evicted, %s of %s reads found nothing%s",
        shown.length(),
        Units.count(shown.rise("evicted")),
        shown.percent("misses", "hits"),
        Units.count(shown.reads()),
        loads == 0 ? "" : lenientFormat(", loads took %s (%s each)", Units.nanos(loads), each));
  }

  private String moreDisk(Piece piece) {
    long inUse = piece.to().get("keys_in_use");
    long fit = piece.fit();
    long limit = report.disk().maxBytes();
    String inUseAndFit = "About %s keys are in use, and %s fit.";
    return (piece.lacksRoom()
            ? lenientFormat(inUseAndFit, Units.count(inUse), Units.count(fit))
            : "What is missed is read again seldom, or only after many others.")
        + raise("diskLimit", limit, inUse, fit, MOST_ON_DISK * limit);
  }

  /**
   * Values leave memory for others and are read from the file again. A pass over all values does
   * the same, but reads each once, so there must have been more reads than the file has values.
   */
  private static boolean costsInMemory(Piece piece, Piece before) {
    long missed = piece.rise("heap_misses");
    return missed + piece.rise("heap_hits") >= MIN_LOOKUPS
        && !piece.isShare(FOUND, "heap_hits", "heap_misses")
        && 2 * piece.rise("heap_evicted") >= missed
        && 2 * piece.rise("hits") >= missed
        && before.rise("hits") > piece.to().get("entries");
  }

  private static String inMemory(Piece shown) {
    String latency = ", and a read from the file took up to {read_latency_p99} (99 %)";
    return lenientFormat(
        "memoryLimit too small: in %s, %s of %s lookups found nothing in memory%s",
        shown.length(),
        shown.percent("heap_misses", "heap_hits"),
        Units.count(shown.rise("heap_hits") + shown.rise("heap_misses")),
        shown.to().get("read_latency_p99") == 0 ? "" : shown.to().fill(latency));
  }

  private String moreMemory(Piece piece) {
    long entries = piece.to().get("entries");
    long held = report.heapEntries();
    long limit = report.memoryLimit();
    long most = Math.max(MOST_IN_MEMORY * limit, report.defaultMemoryLimit());
    return lenientFormat(
            "%s values are in the file, %s in memory.", Units.count(entries), Units.count(held))
        + raise("memoryLimit", limit, entries, held, most);
  }

  /**
   * Proposes a limit: as many times the present one as keys are wanted for each that fits, rounded
   * up to a power of two, so that it has headroom.
   *
   * @param held how many fit; if none does, it is unknown how much each takes
   * @param most the most that is proposed
   */
  private String raise(String key, long limit, long wanted, long held, long most) {
    long room = held == 0 ? most : (long) Math.min((double) limit * wanted / held, (double) most);
    return lenientFormat(
        " cache.%s.%s is %s: try %s.",
        report.name(),
        key,
        setting(limit),
        setting(Math.min(most, Long.highestOneBit(2 * Math.max(room, limit + 1) - 1))));
  }

  /** Formats a limit as in gerrit.config; small ones may be counts of values. */
  private static String setting(long limit) {
    int unit = limit < MIN_IN_UNITS ? 0 : Math.min(3, Long.numberOfTrailingZeros(limit) / 10);
    return (limit >> (10 * unit)) + ImmutableList.of("", "k", "m", "g").get(unit);
  }
}
