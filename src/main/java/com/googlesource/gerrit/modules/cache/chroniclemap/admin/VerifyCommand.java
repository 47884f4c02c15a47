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

import static com.google.gerrit.sshd.CommandMetaData.Mode.MASTER_OR_SLAVE;

import com.google.common.collect.LinkedListMultimap;
import com.google.common.collect.ListMultimap;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.sshd.CommandMetaData;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.kohsuke.args4j.Option;

/**
 * The command {@code ssh HOST cache-chroniclemap verify}, which reads and checks every entry on
 * disk, of one cache after the other, each in a task of the {@link VerifyQueue}.
 *
 * <p>A command whose client disconnects, or that is killed, begins no further task. The current one
 * goes on, as each of the queue's does until it is killed.
 */
@CommandMetaData(
    name = "verify",
    description = "Check all entries of caches on disk",
    runsAt = MASTER_OR_SLAVE)
class VerifyCommand extends CachesCommand {
  @Option(name = "--repair", usage = "drop damaged entries")
  private boolean repair;

  @Inject private Rights rights;
  @Inject VerifyQueue queue;

  @Override
  protected final void run() throws UnloggedFailure {
    if (repair && !rights.has(Rights.MAINTAIN)) {
      throw die("--repair: maintain server not permitted");
    }
    List<CacheReport> caches = select();
    if (inventory.directory().isEmpty()) {
      throw die(
          "all caches are kept in memory only: " + inventory.memoryOnlyReason().orElse("unknown"));
    }
    List<VerifyResult> results = new ArrayList<>();
    ListMultimap<String, String> failures = LinkedListMultimap.create();
    for (CacheReport cache : caches) {
      try {
        results.add(queue.await(queue.start(repair, cache.name(), user.getLoggableName())));
      } catch (ResourceConflictException e) {
        results.add(VerifyResult.none(cache.name(), repair, e.getMessage()));
      } catch (InterruptedException e) {
        failures.put("interrupted; its task goes on: gerrit show-queue", cache.name());
        break;
      }
    }
    print(() -> VerifyResult.json(results), out -> VerifyResult.print(out, results));
    results.forEach(result -> failures.put(result.failure(), result.cache()));
    failures.removeAll("");
    if (!failures.isEmpty()) {
      throw die(
          failures.asMap().entrySet().stream()
              .map(failure -> String.join(", ", failure.getValue()) + ": " + failure.getKey())
              .collect(Collectors.joining("\n")));
    }
  }

  @Override
  String example() {
    return "--repair change_notes";
  }
}
