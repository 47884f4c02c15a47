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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Zipf;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Users who look at changes of one project, each making one request after the other, with the
 * cookie of a web session: a password would be hashed for each request, a quarter of its processor
 * time.
 */
public final class Readers {
  /** What they ask for. */
  enum Request {
    DETAIL("change detail"),
    QUERY("query of 25 changes with details"),
    DIFF("file diff"),
    /** Six of ten a detail, three a diff, one a query. */
    MIXED("mixed");

    final String title;

    Request(String title) {
      this.title = title;
    }
  }

  /** Which changes they look at. */
  enum Spread {
    UNIFORM("uniform"),
    /** The k-th most popular one k times less often than the first. */
    ZIPF("Zipf");

    final String title;

    Spread(String title) {
      this.title = title;
    }
  }

  private static final int QUERIED = 25;
  private static final int ZIPF_SEED = 7;

  private final Workload work;
  private final ImmutableList<Integer> changes;
  private final List<RestClient> users = new ArrayList<>();

  /** Places in {@link #changes}, the most popular first. */
  private final List<Integer> popular = new ArrayList<>();

  private final Zipf zipf;

  /** When each call of the last {@link #clients} ended, nanoseconds from their making. */
  final Queue<Long> answers = new ConcurrentLinkedQueue<>();

  Readers(Workload work, int count, String url, String cookie) {
    this.work = work;
    this.changes = work.changes();
    for (int i = 0; i < count; i++) {
      users.add(RestClient.withCookie(url, cookie));
    }
    zipf = new Zipf(changes.size(), /* exponent= */ 1);
    for (int i = 0; i < changes.size(); i++) {
      popular.add(i);
    }
    Collections.shuffle(popular, new Random(ZIPF_SEED));
  }

  /**
   * All of them, who ask for a time from now on.
   *
   * @param seed of what they look at: the same for those who are compared
   */
  List<Callable<List<Long>>> clients(Request request, Spread spread, long seed, Duration time) {
    answers.clear();
    Deadline clock = Deadline.in(time);
    List<Callable<List<Long>>> tasks = new ArrayList<>();
    for (int i = 0; i < users.size(); i++) {
      RestClient user = users.get(i);
      Random random = new Random(seed * 1000 + i);
      tasks.add(
          () -> {
            List<Long> calls = new ArrayList<>();
            while (clock.elapsed().compareTo(time) < 0) {
              String path = path(request, spread, random);
              long begun = System.nanoTime();
              var unused = user.get(path);
              calls.add(System.nanoTime() - begun);
              answers.add(clock.elapsed().toNanos());
            }
            return calls;
          });
    }
    return tasks;
  }

  private String path(Request request, Spread spread, Random random) {
    Request asked = request;
    if (request == Request.MIXED) {
      int dice = random.nextInt(10);
      asked = dice < 6 ? Request.DETAIL : dice < 9 ? Request.DIFF : Request.QUERY;
    }
    int index = pick(spread, random);
    String change = work.path(changes.get(index));
    return switch (asked) {
      case DETAIL -> change + "/detail";
      case DIFF ->
          change
              + "/revisions/current/files/"
              + encode(Workload.fileOf(index, random.nextInt(Workload.FILES)))
              + "/diff";
      case QUERY -> {
        StringBuilder query = new StringBuilder();
        for (int i = 0; i < QUERIED; i++) {
          query.append(i == 0 ? "" : " OR ").append(changes.get(pick(spread, random)));
        }
        yield "/changes/?q="
            + encode(query.toString())
            + "&o=DETAILED_LABELS&o=DETAILED_ACCOUNTS&o=MESSAGES&o=CURRENT_REVISION";
      }
      case MIXED -> throw new AssertionError();
    };
  }

  private int pick(Spread spread, Random random) {
    return spread == Spread.UNIFORM
        ? random.nextInt(changes.size())
        : popular.get(zipf.next(random));
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
