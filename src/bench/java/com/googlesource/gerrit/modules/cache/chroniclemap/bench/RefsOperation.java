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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.IOException;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;

/** What is asked of refs. */
public enum RefsOperation {
  EXISTING("exactRef existing", (refs, all) -> refs.exactRef(any(all.existing))),
  MISSING("exactRef missing", (refs, all) -> !refs.exactRef(any(all.missing))),
  /** The refs of a change, or the branches of a team. */
  PREFIX("small prefix", (refs, all) -> refs.prefix(any(all.prefixes)) > 0),
  /** For a ref that could be made. */
  CONFLICTS("getConflictingNames", (refs, all) -> refs.conflictingNames(any(all.missing)) == 0),
  /** For an object with one ref. */
  TIPS("getTips existing", (refs, all) -> refs.tips(any(all.tips)) == 1),
  NO_TIPS("getTips missing", (refs, all) -> refs.tips(any(all.noTips)) == 0),
  // JGit lists HEAD only if it leads somewhere, which it does not.
  ALL("all refs", (refs, all) -> refs.all() == all.refs),
  /** Of a repository that this process has not seen. */
  FIRST("first read"),
  /** Of a repository whose list is known, of which one line was changed. */
  REWRITE("read after a rewrite"),
  /** Of a repository whose list an earlier process has stored. */
  RESTART("read after a restart");

  /** Asks, and tells whether the answer is right. */
  private interface Question {
    boolean ask(RefReader refs, RefsFixture all) throws IOException;
  }

  final String title;

  @SuppressWarnings("ImmutableEnumChecker") // it holds nothing
  private final Question question;

  final boolean once;

  RefsOperation(String title, Question question) {
    this(title, question, false);
  }

  /** What happens once, after which a ref is looked up. */
  RefsOperation(String title) {
    this(title, (refs, all) -> refs.exactRef(all.existing[0]), true);
  }

  RefsOperation(String title, Question question, boolean once) {
    this.title = title;
    this.question = question;
    this.once = once;
  }

  private static <T> T any(T[] names) {
    return names[ThreadLocalRandom.current().nextInt(names.length)];
  }

  void ask(RefReader refs, RefsFixture all) throws IOException {
    if (!question.ask(refs, all)) {
      throw new IllegalStateException("a wrong answer: " + this);
    }
  }

  /** What JMH takes for a pattern of names. */
  String jmhName() {
    return once
        ? RefsOnceBenchmark.class.getName() + "." + name().toLowerCase(Locale.ROOT) + "$"
        : RefsLookupBenchmark.class.getName() + ".ask$";
  }
}
