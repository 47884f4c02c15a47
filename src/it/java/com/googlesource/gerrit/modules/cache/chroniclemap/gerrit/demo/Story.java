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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.demo;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Tells what the demo does, step by step, and counts what went right and what went wrong. */
final class Story {
  private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private final long start = System.nanoTime();
  private int chapters;
  private int passed;
  private int failed;

  void chapter(String title) {
    chapters++;
    say("");
    say(chapters + ". " + title);
  }

  void line(String text) {
    say("     " + text);
  }

  void check(boolean good, String what) {
    if (good) {
      passed++;
      say("   ✓ " + what);
    } else {
      failed++;
      say("   ✗ " + what);
    }
  }

  void passed(String what) {
    check(true, what);
  }

  void failed(String what) {
    check(false, what);
  }

  /** Does what may take its time, and shows that it goes on. */
  <T> T slowly(String what, Callable<T> action) throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    Thread ticker = Thread.ofPlatform().daemon().start(() -> tickUntil(done, what));
    try {
      return action.call();
    } finally {
      done.countDown();
      ticker.join();
    }
  }

  private void tickUntil(CountDownLatch done, String what) {
    try {
      for (int seconds = 10; !done.await(10, TimeUnit.SECONDS); seconds += 10) {
        line(what + " ... " + seconds + " s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Prints the sum; true if all went right. */
  boolean end() {
    say("");
    say(
        String.format(
            Locale.ROOT,
            "The demo %s: %d passed, %d failed, in %s.",
            failed == 0 ? "went well" : "FAILED",
            passed,
            failed,
            seconds(Duration.ofNanos(System.nanoTime() - start))));
    return failed == 0;
  }

  static String seconds(Duration duration) {
    return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1000.0);
  }

  private synchronized void say(String text) {
    out.println(text);
  }
}
