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

import static com.google.common.truth.Truth.assertThat;

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Kind;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Operation;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The judge of the concurrency tests tells right from wrong. */
class KeyHistoryTest {
  private static final int NONE = KeyHistory.NONE;

  /** 0 stands for no value; behind an @, how many operations of the other thread had ended. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # One thread reads what it wrote.
          0 | read 0, put 1, read 1                 | true
          7 | read 7, remove, read 0                | true
          0 | stored 1, read 1                      | true
          0 | put 1, put 2, read 1                  | false
          0 | put 1, read 0                         | false
          7 | remove, read 7                        | false
          7 | stored 1                              | false
          0 | stored 1, read 0                      | false
          # A put beside a removal may win or lose.
          7 | put 1 @0 / remove @0, read 1 @1       | true
          7 | put 1 @0 / remove @0, read 0 @1       | true
          7 | put 1 @0 / remove @0, read 7 @1       | false
          7 | put 1 @0 / remove @1, read 1 @1       | false
          # Readers agree on the order.
          7 | put 1 @0 / read 7 @0, read 1 @0       | true
          7 | put 1 @0 / read 1 @0, read 7 @0       | false
          # A miss is allowed beside a change only.
          7 | put 1 @0 / read 0 @0                  | true
          7 | put 1 @0 / read 0 @1                  | false
          7 | stored 1 @0 / remove @0, read 1 @1    | true
          7 | stored 1 @0 / read 7 @0               | false
          # A load during which a value was put must not take its place.
          0 | stored 1 @0 / put 2 @0, read 1 @1     | false
          0 | stored 1 @0 / put 2 @0, read 2 @1     | true
          0 | ended 1 @0 / put 2 @0, read 1 @1      | false
          0 | ended 1 @0 / put 2 @0, read 2 @1      | true
          # A load whose ticket ended may have stored.
          0 | ended 1 @0 / read 1 @0, remove @0     | true
          0 | ended 1 @0 / remove @0, read 0 @1     | true
          """)
  void theAnswersAreAllowed(int before, String threads, boolean isAllowed) {
    List<List<Operation>> all = new ArrayList<>();
    for (String thread : Splitter.on(" / ").split(threads)) {
      List<Operation> operations = new ArrayList<>();
      for (String operation : Splitter.on(", ").split(thread)) {
        operations.add(operation(operation, all.size(), operations.size()));
      }
      all.add(operations);
    }
    assertThat(new KeyHistory(all).isAllowed(before)).isEqualTo(isAllowed);
  }

  private static Operation operation(String text, int thread, int ended) {
    List<String> parts = Splitter.on(" @").splitToList(text);
    int other = parts.size() > 1 ? Integer.parseInt(parts.get(1)) : 0;
    int[] seen = thread == 0 ? new int[] {ended, other} : new int[] {other, ended};
    List<String> words = Splitter.on(' ').splitToList(parts.get(0));
    int value = words.size() > 1 ? Integer.parseInt(words.get(1)) : NONE;
    return switch (words.get(0)) {
      case "put" -> new Operation(Kind.PUT, new Answer(value, NONE, true), seen);
      case "remove" -> new Operation(Kind.REMOVE, new Answer(NONE, NONE, true), seen);
      case "read" -> new Operation(Kind.READ, new Answer(NONE, value, true), seen);
      case "stored" -> new Operation(Kind.LOAD, new Answer(value, NONE, true), seen);
      case "ended" -> new Operation(Kind.LOAD, new Answer(value, NONE, false), seen);
      default -> throw new IllegalArgumentException(text);
    };
  }
}
