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

import com.google.common.flogger.FluentLogger;
import java.io.File;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** A counter of lookups that JGit answered because this package failed. Any thread may call. */
final class Failures {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  final LongAdder count = new LongAdder();

  void count(File file, Throwable cause) {
    count.increment();
    logger.atSevere().withCause(cause).atMostEvery(1, TimeUnit.HOURS).log(
        "Reading refs failed for %s; JGit answers instead", file);
  }
}
