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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * How long a request for one branch takes over REST.
 *
 * @param first the first one, in milliseconds
 * @param median of the following ones, in milliseconds
 * @param asked how many there were
 * @param wrong those of them whose answer was not right
 */
record LookupTimes(double first, double median, int asked, int wrong) {
  private static final int MIN_REQUESTS = 15;
  private static final int MAX_REQUESTS = 300;
  private static final Duration LIMIT = Duration.ofSeconds(4);

  static LookupTimes measure(RestClient reader, String project, ManyRefs refs) throws IOException {
    Random random = new Random(1);
    List<Double> times = new ArrayList<>();
    int wrong = 0;
    Deadline clock = Deadline.in(LIMIT);
    double first = 0;
    while (times.size() < MIN_REQUESTS
        || (times.size() < MAX_REQUESTS && clock.elapsed().compareTo(LIMIT) < 0)) {
      ManyRefs.Branch branch = refs.branches().get(random.nextInt(refs.branches().size()));
      String path =
          "/projects/"
              + project
              + "/branches/"
              + URLEncoder.encode(branch.name(), StandardCharsets.UTF_8);
      long begin = System.nanoTime();
      JsonObject answer = reader.get(path).json().getAsJsonObject();
      double millis = (System.nanoTime() - begin) / 1e6;
      if (!answer.get("revision").getAsString().equals(branch.revision())) {
        wrong++;
      }
      if (first == 0) {
        first = millis;
      } else {
        times.add(millis);
      }
    }
    Collections.sort(times);
    return new LookupTimes(first, times.get(times.size() / 2), times.size() + 1, wrong);
  }
}
