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

import static com.google.common.truth.Truth.assertThat;

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** A real Gerrit that answers for refs from parsed lists, and what an administrator asks of it. */
abstract class RefsFixture extends OneGerrit {
  Path folder(String project) {
    return site.repository(project);
  }

  String git(String project, String... args) throws IOException {
    return site.git(project, args);
  }

  /** What native git says of the repository. */
  Map<String, String> refsOfGit(String project) throws IOException {
    return NativeGit.refsIn(git(project, "for-each-ref", "--format=%(objectname) %(refname)"));
  }

  /** What Gerrit says to an administrator who fetches. */
  Map<String, String> refsOfGerrit(String project) throws IOException {
    return gerrit.git().refs(project);
  }

  void assertSameRefs(String project) throws Exception {
    assertThat(refsOfGerrit(project)).isEqualTo(refsOfGit(project));
  }

  /** Projects that the command shows. */
  Set<String> projectsShown() throws IOException {
    return new TreeSet<>(gerrit.ssh().json("refs").getAsJsonObject("projects").keySet());
  }

  /** Gerrit makes figures anew only now and then, so what is asked for is waited for. */
  void awaitMetric(String name, java.util.function.LongPredicate condition) {
    long[] last = new long[1];
    try {
      Deadline.awaitInAMinute(
          () -> {
            last[0] = metric(name);
            return condition.test(last[0]);
          },
          name);
    } catch (IllegalStateException e) {
      throw new AssertionError("metric " + name + " is " + last[0], e);
    }
  }

  private long metric(String name) throws IOException {
    JsonObject metrics = gerrit.rest().object("/config/server/metrics/?prefix=refs/chroniclemap/");
    return metrics.getAsJsonObject("refs/chroniclemap/" + name).get("value").getAsLong();
  }
}
