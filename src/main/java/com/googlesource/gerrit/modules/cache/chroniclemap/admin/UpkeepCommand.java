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

import com.google.common.collect.LinkedListMultimap;
import com.google.common.collect.ListMultimap;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * An SSH command that works for a long time, on one cache after the other, each in a task of the
 * {@link UpkeepQueue}.
 *
 * <p>A command whose client disconnects, or that is killed, begins no further task. The current one
 * goes on, as each of the queue's does until it is killed.
 */
abstract class UpkeepCommand extends CachesCommand {
  @Inject UpkeepQueue queue;

  /** The work that the options ask for. */
  abstract UpkeepWork work() throws UnloggedFailure;

  /** Works on all selected caches, and prints the results. */
  @Override
  protected final void run() throws UnloggedFailure {
    UpkeepWork work = work();
    List<CacheReport> caches = select();
    if (inventory.directory().isEmpty()) {
      throw die(
          "all caches are kept in memory only: " + inventory.memoryOnlyReason().orElse("unknown"));
    }
    List<UpkeepResult> results = new ArrayList<>();
    ListMultimap<String, String> failures = LinkedListMultimap.create();
    for (CacheReport cache : caches) {
      try {
        results.add(queue.await(queue.start(work, cache.name(), user.getLoggableName())));
      } catch (ResourceConflictException e) {
        results.add(work.refused().apply(cache.name(), e.getMessage()));
      } catch (InterruptedException e) {
        failures.put("interrupted; its task goes on: gerrit show-queue", cache.name());
        break;
      }
    }
    print(() -> UpkeepFormat.json(results), out -> UpkeepFormat.print(out, results));
    results.forEach(result -> failures.put(result.failure(), result.cache()));
    failures.removeAll("");
    if (!failures.isEmpty()) {
      throw die(
          failures.asMap().entrySet().stream()
              .map(failure -> String.join(", ", failure.getValue()) + ": " + failure.getKey())
              .collect(Collectors.joining("\n")));
    }
  }
}
