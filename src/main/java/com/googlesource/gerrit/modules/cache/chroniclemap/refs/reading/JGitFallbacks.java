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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading;

import com.google.common.flogger.FluentLogger;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.util.RefList;
import org.eclipse.jgit.util.RefMap;

/** A counter of lookups that JGit answered because this package failed. Any thread may call. */
public final class JGitFallbacks {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  public final LongAdder count = new LongAdder();

  /** Counts a failure, and logs it. */
  public void count(File file, Throwable cause) {
    count.increment();
    logger.atSevere().withCause(cause).atMostEvery(1, TimeUnit.HOURS).log(
        "Reading refs failed for %s; JGit answers instead", file);
  }

  /** A question for a reader of refs: one of this module, or JGit's database. */
  @FunctionalInterface
  public interface Question<R, T> {
    T ask(R refs) throws IOException;
  }

  /** Returns refs as the map that JGit returns for a prefix. */
  public static RefMap map(String prefix, List<Ref> refs) {
    RefList<Ref> list = refs.stream().collect(RefList.toRefList(null));
    return new RefMap(prefix, list, RefList.emptyList(), RefList.emptyList());
  }
}
