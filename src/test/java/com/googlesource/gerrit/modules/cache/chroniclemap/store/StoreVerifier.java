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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Kind;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Operation;
import java.util.ArrayList;
import java.util.List;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionResult;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.kotlinx.lincheck.execution.ResultWithClock;
import org.jetbrains.kotlinx.lincheck.util.LincheckResult;
import org.jetbrains.kotlinx.lincheck.util.ValueResult;
import org.jetbrains.lincheck.datastructures.verifier.Verifier;

/** Judges what Lincheck saw, key by key; Lincheck's own judge knows of nothing left out. */
public final class StoreVerifier implements Verifier {
  /** Called by Lincheck, which prescribes the parameter. */
  public StoreVerifier(Class<?> unused) {}

  @Override
  public boolean verifyResults(ExecutionScenario scenario, ExecutionResult results) {
    for (int key = 0; key < CheckedStore.KEYS; key++) {
      if (!history(key, scenario, results).isAllowed(KeyHistory.NONE)) {
        return false;
      }
    }
    return true;
  }

  private static KeyHistory history(int key, ExecutionScenario scenario, ExecutionResult results) {
    int threads = scenario.getNThreads();
    // How many of a thread's first operations are about the key.
    int[][] counts = new int[threads][];
    for (int thread = 0; thread < threads; thread++) {
      List<Actor> actors = scenario.getThreads().get(thread);
      counts[thread] = new int[actors.size() + 1];
      for (int i = 0; i < actors.size(); i++) {
        counts[thread][i + 1] = counts[thread][i] + (isAbout(key, actors.get(i)) ? 1 : 0);
      }
    }
    List<List<Operation>> all = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      List<Actor> actors = scenario.getThreads().get(thread);
      List<ResultWithClock> ends = results.getThreadsResultsWithClock().get(thread);
      List<Operation> operations = new ArrayList<>();
      for (int i = 0; i < actors.size(); i++) {
        if (isAbout(key, actors.get(i))) {
          int[] seen = ends.get(i).getClockOnStart().getClock().clone();
          seen[thread] = i;
          for (int other = 0; other < threads; other++) {
            seen[other] = counts[other][seen[other]];
          }
          operations.add(new Operation(kind(actors.get(i)), answer(ends.get(i).getResult()), seen));
        }
      }
      all.add(operations);
    }
    return new KeyHistory(all);
  }

  private static boolean isAbout(int key, Actor actor) {
    return switch (actor.getMethod().getName()) {
      case "fill", "flush" -> false;
      case "clear" -> true;
      default -> actor.getArguments().get(0).equals(key);
    };
  }

  private static Kind kind(Actor actor) {
    return switch (actor.getMethod().getName()) {
      case "put" -> Kind.PUT;
      case "read" -> Kind.READ;
      case "load" -> Kind.LOAD;
      case "remove", "clear" -> Kind.REMOVE;
      default -> throw new IllegalArgumentException(actor.toString());
    };
  }

  private static Answer answer(LincheckResult result) {
    if (result instanceof ValueResult value && value.getValue() instanceof Answer answer) {
      return answer;
    }
    throw new AssertionError("an operation failed: " + result);
  }
}
