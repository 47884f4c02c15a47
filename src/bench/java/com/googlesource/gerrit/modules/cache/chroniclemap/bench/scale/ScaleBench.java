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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Machine;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Measures how caches behave as they get large: how long they take to start and to stop, and how
 * long requests wait meanwhile. Fills caches of some sizes, each in processes of its own, of this
 * module and, as far as it bears the size, of H2.
 */
public final class ScaleBench {
  private static final String GIGABYTES = "--gigabytes";
  private static final String H2_GIGABYTES = "--h2-gigabytes";
  private static final String FULL_GIGABYTES = "--full-gigabytes";
  private static final String DEFAULT_FULL_GIGABYTES = "2";
  private static final String DEFAULT_GIGABYTES = "1,10";
  private static final String DEFAULT_H2_GIGABYTES = "1";
  private static final double GIGABYTE = 1L << 30;

  /**
   * Room that a cache needs, as a multiple of its values: while its file is copied, two have it.
   */
  private static final double ROOM_FACTOR = 2.5;

  /** The same for a file of H2, which gives room back late. */
  private static final double H2_ROOM_FACTOR = 5;

  private ScaleBench() {}

  /** Exits with 0, with 1 if something could not be measured, with 2 for what can't be. */
  public static void main(String[] args) {
    Session.run(args, ScaleBench::run);
  }

  private static void run(Session session) throws IOException {
    List<Double> sizes =
        Splitter.on(',')
            .splitToStream(session.value(GIGABYTES).orElse(DEFAULT_GIGABYTES))
            .map(Double::valueOf)
            .distinct()
            .sorted()
            .toList();
    double mostH2 = Double.parseDouble(session.value(H2_GIGABYTES).orElse(DEFAULT_H2_GIGABYTES));
    ScaleResults results = new ScaleResults();
    List<List<ScaleSteps.Step>> caches = new ArrayList<>();
    double minutes = 0;
    double room = 0;
    for (double size : sizes) {
      for (CachePeer peer : List.of(CachePeer.OURS, CachePeer.H2)) {
        if (peer == CachePeer.OURS || size <= mostH2) {
          Path folder = session.folder().resolve(peer.name());
          caches.add(new ScaleSteps(MeasuredCache.of(peer, folder, size, results)).steps());
          minutes += minutes(peer, size);
          room = Math.max(room, size * (peer == CachePeer.OURS ? ROOM_FACTOR : H2_ROOM_FACTOR));
        }
      }
    }
    double full = Double.parseDouble(session.value(FULL_GIGABYTES).orElse(DEFAULT_FULL_GIGABYTES));
    for (CachePeer peer : full > 0 ? List.of(CachePeer.OURS, CachePeer.H2) : List.<CachePeer>of()) {
      Path folder = session.folder().resolve(peer.name());
      caches.add(new FullSteps(peer, folder, full, results).steps());
      minutes += 4 + 3 * full;
      room = Math.max(room, full * H2_ROOM_FACTOR);
    }
    checkRoom(session.folder(), room);
    List<ScaleSteps.Step> steps = chosen(session, caches);
    session.printHead("H2 of Gerrit " + Machine.version("gerrit-acceptance-framework"));
    System.out.printf(
        Locale.ROOT,
        "Sizes     %s; values: %s%n",
        String.join(", ", sizes.stream().map(MeasuredCache::title).toList()),
        Values.mix());
    System.out.printf(
        Locale.ROOT,
        "Takes     about %.0f minutes if all is measured, and %.1f GB of disk, which it gives back%n%n",
        Math.ceil(minutes),
        room);
    int failed = measure(steps);
    results.print(System.out);
    session.printOtherWork();
    session.finish(results.figures());
    if (failed > 0) {
      throw new IOException(
          String.format(
              Locale.ROOT,
              "%d of %d steps failed: see above what came of them",
              failed,
              steps.size()));
    }
  }

  /** The steps that were asked for, and what they need. */
  private static List<ScaleSteps.Step> chosen(Session session, List<List<ScaleSteps.Step>> caches) {
    List<ScaleSteps.Step> chosen =
        session.chosen(caches.stream().flatMap(List::stream).toList(), ScaleSteps.Step::title);
    return caches.stream()
        .filter(steps -> steps.stream().anyMatch(chosen::contains))
        .flatMap(List::stream)
        .filter(step -> step.always() || chosen.contains(step))
        .toList();
  }

  /**
   * Takes all steps. One that fails, half an hour after the first, must not take the figures of the
   * others away: each opens the cache anew. Only without a cache nothing can be measured.
   *
   * @return how many failed
   */
  private static int measure(List<ScaleSteps.Step> steps) throws IOException {
    int failed = 0;
    Progress progress = new Progress(steps.size());
    for (ScaleSteps.Step step : steps) {
      progress.begin(step.title());
      try {
        step.action().run();
      } catch (IOException e) {
        String what = step.title() + ": " + e.getMessage();
        if (step.always()) {
          throw new IOException(what, e);
        }
        System.err.println("error: " + what);
        failed++;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw (IOException) new InterruptedIOException().initCause(e);
      }
    }
    return failed;
  }

  /** Roughly, on two processors. */
  private static double minutes(CachePeer peer, double gigabytes) {
    return peer == CachePeer.OURS ? 2 + 2 * gigabytes : 3 + 5 * gigabytes;
  }

  private static void checkRoom(Path folder, double gigabytes) throws IOException {
    double there = Files.getFileStore(folder).getUsableSpace() / GIGABYTE;
    if (there < gigabytes) {
      throw new IOException(
          String.format(
              Locale.ROOT,
              "these sizes need %.1f GB of disk in %s, which has %.1f GB free: free some, or choose"
                  + " smaller ones with %s and %s",
              gigabytes,
              folder.getParent(),
              there,
              GIGABYTES,
              H2_GIGABYTES));
    }
  }
}
