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

import com.google.common.flogger.FluentLogger;
import com.google.common.primitives.Ints;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheUpkeepException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.sshd.server.Environment;
import org.apache.sshd.server.Signal;
import org.apache.sshd.server.channel.ChannelSession;

/**
 * A command that works on one cache after the other for a long time and shows how far it is. It can
 * be interrupted: when the client goes away, or sends an interrupt where it has a terminal, the
 * cache in work is left as it was.
 */
abstract class UpkeepCommand extends CachesCommand {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final String NO_TERMINAL = "dumb";
  private static final int DEFAULT_COLUMNS = 80;

  /** What a terminal sends for Ctrl-C while the client leaves all keys to the server. */
  private static final int CTRL_C = 3;

  private final List<UpkeepShown.Column> columns;
  private final WatchedTask task = new WatchedTask();
  private boolean terminal;
  private int width = DEFAULT_COLUMNS;

  /** With the columns of the table in which its results are shown. */
  UpkeepCommand(CacheInventory inventory, List<UpkeepShown.Column> columns) {
    super(inventory);
    this.columns = columns;
  }

  /** Works on one cache. Called by a thread that is not interrupted. */
  abstract UpkeepResult work(String cache, Progress progress)
      throws CacheUpkeepException, InterruptedException;

  /** What came of a cache that could not be worked on. */
  abstract UpkeepResult refused(String cache, String reason);

  /** Prints what came of all caches that were worked on. */
  void print(List<UpkeepResult> results) {
    if (isJson()) {
      UpkeepShown.print(stdout, UpkeepShown.json(results));
    } else {
      UpkeepShown.print(stdout, columns, results);
    }
  }

  @Override
  protected void run() throws UnloggedFailure {
    runAll();
  }

  @Override
  public void start(ChannelSession channel, Environment env) throws IOException {
    lookAt(env);
    super.start(channel, env);
  }

  /** Learns what the client looks at, and listens to its signals. */
  void lookAt(Environment env) {
    String term = env.getEnv().get(Environment.ENV_TERM);
    terminal = term != null && !term.isEmpty() && !term.equals(NO_TERMINAL);
    width = columns(env.getEnv().get(Environment.ENV_COLUMNS));
    env.addSignalListener((from, signal) -> task.cancel(), Signal.INT, Signal.TERM, Signal.HUP);
  }

  private static int columns(String text) {
    Integer columns = text == null ? null : Ints.tryParse(text);
    return columns != null && columns > 0 ? columns : DEFAULT_COLUMNS;
  }

  /** The client has gone, or an administrator has killed the task. */
  @Override
  public void destroy(ChannelSession channel) {
    task.cancel();
    super.destroy(channel);
  }

  /** Works on all caches that are meant, and prints what came of it. */
  final void runAll() throws UnloggedFailure {
    List<CacheReport> caches = select();
    if (inventory.directory().isEmpty()) {
      throw die(
          "all caches are kept in memory only: " + inventory.memoryOnlyReason().orElse("unknown"));
    }
    ProgressDisplay display =
        isJson() && !terminal
            ? ProgressDisplay.none()
            : new ProgressDisplay(stderr, terminal, width, System.nanoTime());
    List<UpkeepResult> results = new ArrayList<>();
    for (CacheReport cache : caches) {
      readKeys();
      if (task.isCancelled()) {
        break;
      }
      display.begin(cache.name(), results.size() + 1, caches.size());
      results.add(run(cache.name(), display));
    }
    display.end();
    print(results);
    stdout.flush();
    List<String> failures =
        results.stream().map(UpkeepResult::failure).filter(f -> !f.isEmpty()).toList();
    if (task.isCancelled()) {
      throw die("interrupted");
    }
    if (!failures.isEmpty()) {
      throw die(String.join("; ", failures));
    }
  }

  private UpkeepResult run(String cache, ProgressDisplay display) {
    try {
      return task.run(
          getName() + " " + cache,
          () -> work(cache, task),
          (done, total) -> {
            readKeys();
            display.show(done, total, System.nanoTime());
          });
    } catch (CacheUpkeepException e) {
      return refused(cache, e.getMessage());
    } catch (Exception e) {
      logger.atWarning().withCause(e).log("%s of cache %s failed", getName(), cache);
      return refused(cache, "it failed, see the log");
    }
  }

  /** A terminal's keys come as they are: nothing else makes an interrupt of Ctrl-C. */
  private void readKeys() {
    try {
      while (terminal && in.available() > 0) {
        if (in.read() == CTRL_C) {
          task.cancel();
        }
      }
    } catch (IOException e) {
      logger.atFine().withCause(e).log("the client has gone");
    }
  }
}
