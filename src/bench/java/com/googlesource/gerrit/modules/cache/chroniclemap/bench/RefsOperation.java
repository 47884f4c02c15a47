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

/** What is asked of refs. */
enum RefsOperation {
  EXISTING("exactRef existing", RefsLookupBenchmark.class, "existing"),
  MISSING("exactRef missing", RefsLookupBenchmark.class, "missing"),
  PREFIX("small prefix", RefsLookupBenchmark.class, "smallPrefix"),
  CONFLICTS("getConflictingNames", RefsLookupBenchmark.class, "conflictingNames"),
  TIPS("getTips existing", RefsLookupBenchmark.class, "tips"),
  NO_TIPS("getTips missing", RefsLookupBenchmark.class, "noTips"),
  ALL("all refs", RefsLookupBenchmark.class, "all"),
  MAP("all in a map", RefsLookupBenchmark.class, "allInAMap"),
  FILTERED("all filtered", RefsLookupBenchmark.class, "allFiltered"),
  COPIED("all copied", RefsLookupBenchmark.class, "allCopied"),
  /** Of a repository that this process has not seen. */
  FIRST("first read", RefsOnceBenchmark.class, "first"),
  /** Of a repository whose list is known, of which one line was changed. */
  REWRITE("read after a rewrite", RefsOnceBenchmark.class, "rewrite"),
  /** Of a repository whose list an earlier process has stored. */
  RESTART("read after a restart", RefsOnceBenchmark.class, "restart");

  private final String title;
  private final Class<?> benchmark;
  private final String method;

  RefsOperation(String title, Class<?> benchmark, String method) {
    this.title = title;
    this.benchmark = benchmark;
    this.method = method;
  }

  String title() {
    return title;
  }

  boolean once() {
    return benchmark == RefsOnceBenchmark.class;
  }

  /** What JMH takes for a pattern of names. */
  String jmhName() {
    return benchmark.getName() + "." + method + "$";
  }
}
