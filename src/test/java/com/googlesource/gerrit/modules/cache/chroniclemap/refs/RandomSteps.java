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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.JGitPackedRefs;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import org.eclipse.jgit.lib.ObjectId;

/** All that can happen to refs, at random: steps of a {@link RefsScript}. */
final class RandomSteps {
  /** Some of them in the way of others. */
  private static final List<String> NAMES =
      List.of(
          "refs/heads/a",
          "refs/heads/a/b",
          "refs/heads/a/b/c",
          "refs/heads/a/d",
          "refs/heads/a-b",
          "refs/heads/b",
          "refs/heads/master",
          "refs/heads/\uff5e",
          JGitPackedRefs.TRUSTS_SORTED ? "refs/heads/\u4e2d" : "refs/heads/\ud83d\ude00",
          "refs/tags/t",
          "refs/tags/t/u",
          "refs/changes/01/1/1",
          "refs/changes/01/1/meta",
          "refs/x");

  private static final List<String> LINKS = List.of("HEAD", "refs/sym/one", "refs/sym/two");

  private static final List<String> VALUES = List.of("A", "B", "C", "D", "TAG", "TAG_OF_TAG");

  private final Random random;
  private final List<String> names;
  private Map<String, ObjectId> values = Map.of();

  RandomSteps(Random random) {
    this(random, name -> true);
  }

  /** Steps with some of the names only. */
  RandomSteps(Random random, Predicate<String> mayName) {
    this.random = random;
    this.names = NAMES.stream().filter(mayName).toList();
  }

  private <T> T any(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private boolean oneIn(int times) {
    return random.nextInt(times) == 0;
  }

  private String anyName() {
    return oneIn(8) ? any(LINKS) : any(names);
  }

  private String anyValue() {
    return oneIn(12) ? "MISSING" : any(VALUES);
  }

  private String anyExpected(String name) {
    ObjectId value = values.get(name);
    return oneIn(6) ? any(List.of("A", "B", "0", "MISSING")) : value == null ? "0" : value.name();
  }

  /** That a change expects a value, or nothing. */
  private String maybeExpected(String name) {
    return random.nextBoolean() ? " expect " + anyExpected(name) : "";
  }

  /** The next step, which mostly expects one of the values that refs have now. */
  String next(Map<String, ObjectId> now) {
    values = now;
    return switch (random.nextInt(14)) {
      case 0, 1, 2 -> update();
      case 3, 4 -> delete();
      case 5 -> "link " + any(LINKS) + ' ' + (oneIn(4) ? "refs/sym/two" : any(names));
      case 6 -> "pack";
      case 7 -> "rename " + any(names) + ' ' + any(names);
      case 8 -> byGit();
      default -> batch();
    };
  }

  private String update() {
    String name = anyName();
    String to = name + ' ' + anyValue();
    String how = any(List.of(" message", " forced result"));
    boolean detach = oneIn(5);
    String log = any(List.of("", " logged"));
    String expected = maybeExpected(name);
    return detach ? "detach " + to : "update " + to + how + log + expected;
  }

  private String delete() {
    String name = anyName();
    String how = oneIn(6) ? " unforced" : "";
    boolean detach = oneIn(4);
    String expected = maybeExpected(name);
    return detach ? "unlink " + name : "delete " + name + how + expected;
  }

  private String byGit() {
    String name = any(names);
    String to = any(VALUES);
    boolean deletes = oneIn(3);
    return switch (random.nextInt(3)) {
      case 0 -> "git-status pack-refs --all";
      case 1 -> "git-status pack-refs --all --no-prune";
      default -> "update-ref " + (deletes ? "delete " + name : "update " + name + ' ' + to);
    };
  }

  private String batch() {
    String how = oneIn(4) ? "batch each" : "batch atomic";
    how += oneIn(4) ? " result" : " force result";
    how += oneIn(3) ? " logged" : "";
    int count = 1 + random.nextInt(5);
    Set<String> chosen = new LinkedHashSet<>();
    while (chosen.size() < count) {
      String name = oneIn(15) ? any(LINKS) : any(names);
      // Where a file can't be named JGit throws or rejects, depending on what else is wrong.
      if (TestRefs.canName(name)) {
        chosen.add(name);
      }
    }
    List<String> commands = new ArrayList<>();
    for (String name : chosen) {
      String from = anyExpected(name);
      boolean deletes = oneIn(3) && !from.equals("0");
      commands.add(name + ' ' + from + '>' + (deletes ? "0" : anyValue()));
    }
    return how + ": " + String.join(", ", commands);
  }

  /**
   * The same, or something that is done by hand, such as by an editor that removes the header of
   * {@code packed-refs} or its last line feed.
   */
  String nextOrByHand(Map<String, ObjectId> now) {
    return switch (random.nextInt(12)) {
      case 0 -> "symbolic odd " + any(List.of("none", "refs/sym/one"));
      case 1 -> any(List.of("edit header", "edit end"));
      default -> next(now);
    };
  }
}
