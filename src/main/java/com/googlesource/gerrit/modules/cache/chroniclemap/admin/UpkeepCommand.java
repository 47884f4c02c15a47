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
import com.google.common.flogger.FluentLogger;
import com.google.common.primitives.Ints;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.sshd.server.Environment;
import org.apache.sshd.server.Signal;
import org.apache.sshd.server.channel.ChannelSession;

/**
 * An SSH command that works for a long time, on one cache after the other, and shows its progress.
 *
 * <p>The command is cancelled when the client disconnects or, on a terminal, sends an interrupt.
 * The current cache is then left as it was.
 */
abstract class UpkeepCommand extends CachesCommand {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final String NO_TERMINAL = "dumb";
  private static final int DEFAULT_COLUMNS = 80;

  /** The byte that a terminal sends for Ctrl-C if the server handles all keys. */
  private static final int CTRL_C = 3;

  private final WatchedRun run = new WatchedRun();
  @Inject UpkeepQueue queue;
  private boolean terminal;
  private int width = DEFAULT_COLUMNS;

  /** The work that the options ask for. */
  abstract UpkeepWork work() throws UnloggedFailure;

  @Override
  public void start(ChannelSession channel, Environment env) throws IOException {
    readTerminal(env);
    super.start(channel, env);
  }

  /** Reads the client's terminal type and width, and listens to its signals. */
  void readTerminal(Environment env) {
    String term = env.getEnv().get(Environment.ENV_TERM);
    terminal = term != null && !term.isEmpty() && !term.equals(NO_TERMINAL);
    Integer columns = Ints.tryParse(env.getEnv().getOrDefault(Environment.ENV_COLUMNS, ""));
    width = columns != null && columns > 0 ? columns : DEFAULT_COLUMNS;
    env.addSignalListener((from, signal) -> run.cancel(), Signal.INT, Signal.TERM, Signal.HUP);
  }

  /** Cancels the work: the client has disconnected, or an administrator has killed the task. */
  @Override
  public void destroy(ChannelSession channel) {
    run.cancel();
    super.destroy(channel);
  }

  /** Works on all selected caches, and prints the results. */
  @Override
  protected final void run() throws UnloggedFailure {
    UpkeepWork work = work();
    List<CacheReport> caches = select();
    if (inventory.directory().isEmpty()) {
      throw die(
          "all caches are kept in memory only: " + inventory.memoryOnlyReason().orElse("unknown"));
    }
    PrintWriter shown = json && !terminal ? new PrintWriter(Writer.nullWriter()) : stderr;
    ProgressDisplay display = new ProgressDisplay(shown, terminal, width, System.nanoTime());
    Progress watcher =
        (done, total) -> {
          readKeys();
          display.show(done, total, System.nanoTime());
        };
    List<UpkeepResult> results = new ArrayList<>();
    for (CacheReport cache : caches) {
      readKeys();
      if (run.isCancelled()) {
        break;
      }
      display.begin(cache.name(), results.size() + 1, caches.size());
      long begun = System.currentTimeMillis();
      UpkeepResult result = work.run(cache.name(), run, watcher);
      queue.end(null, work.name(), user.getLoggableName(), begun, result);
      results.add(result);
    }
    display.end();
    print(() -> UpkeepFormat.json(results), out -> UpkeepFormat.print(out, results));
    ListMultimap<String, String> failures = LinkedListMultimap.create();
    results.forEach(result -> failures.put(result.failure(), result.cache()));
    failures.removeAll("");
    if (run.isCancelled()) {
      throw die("interrupted");
    }
    if (!failures.isEmpty()) {
      throw die(
          failures.asMap().entrySet().stream()
              .map(failure -> String.join(", ", failure.getValue()) + ": " + failure.getKey())
              .collect(Collectors.joining("\n")));
    }
  }

  /** Looks for a Ctrl-C among the keys of a terminal, which reach the server as plain bytes. */
  private void readKeys() {
    try {
      while (terminal && in.available() > 0) {
        if (in.read() == CTRL_C) {
          run.cancel();
        }
      }
    } catch (IOException e) {
      logger.atFine().withCause(e).log(
          "Cannot read the keys of an SSH client, which has disconnected");
    }
  }
}
