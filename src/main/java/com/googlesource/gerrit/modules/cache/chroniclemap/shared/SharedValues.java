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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.eclipse.jgit.lib.Config;

/**
 * The values that the servers of a site share: each is computed by one of them, and is in the
 * stores of the others a moment later. A server that was away or is new reads what it lacks from
 * the log.
 *
 * <p>Only for caches whose values depend on their keys alone. No method waits for the network.
 *
 * <p>Any thread may call.
 */
public final class SharedValues {
  /**
   * The version of the records' format. It must change with the format of the seal or the batch.
   */
  private static final String FORMAT = "v1";

  private static final String FLUSHES_FILE = "shared-flushes";

  /** In this time, the stores are forced to disk. */
  private static final Duration NOTE_EVERY = Duration.ofMinutes(1);

  private static final long STOP_MILLIS = 500;

  private final SharedSettings settings;
  private final Seal seal;
  private final RecordLog.Opener opener;
  private final SharedCounts counts = new SharedCounts();
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final Reconnection following;
  private final Flushes flushes;
  private final Follower follower;
  private final Thread followerThread;

  private final Reconnection publishing;

  /** Does not run if this server only reads. */
  private final Publisher publisher;

  private SharedValues(SharedSettings settings, String key, RecordLog.Opener opener, Path folder) {
    this.settings = settings;
    this.opener = opener;
    this.seal = new Seal(settings.secret(), key);
    this.following = new Reconnection(opener, counts, "not connected yet", stopped);
    this.flushes = new Flushes(folder.resolve(FLUSHES_FILE));
    String log = settings.server() + " " + key + " " + seal.fingerprint();
    this.follower = new Follower(seal, log, following, flushes, counts, NOTE_EVERY, stopped);
    this.followerThread = thread("follow", follower);
    this.publishing = new Reconnection(opener, counts, "", stopped);
    this.publisher = new Publisher(seal, publishing, counts, stopped);
    if (isPublishing()) {
      thread("publish", publisher).start();
    }
  }

  private static Thread thread(String what, Runnable task) {
    return Thread.ofPlatform().daemon().name("cache-chroniclemap-shared-" + what).unstarted(task);
  }

  /**
   * Begins to publish values, if that is configured. {@link #follow} begins to take them in.
   *
   * @param folder of the stores, for notes of flushes
   * @param gerrit the minor version of Gerrit, such as 3.13; others have another log
   * @throws IllegalArgumentException if a setting is invalid
   */
  public static Optional<SharedValues> begin(Config config, Path folder, String gerrit) {
    if (!SharedSettings.areSet(config)) {
      return Optional.empty();
    }
    SharedSettings settings = SharedSettings.of(config);
    String key = "cache-chroniclemap:" + settings.site() + ":" + gerrit + ":" + FORMAT;
    return Optional.of(new SharedValues(settings, key, () -> new RedisLog(settings, key), folder));
  }

  /** Adds a cache, which takes in values. */
  public void add(SharedCache cache) {
    follower.add(cache);
  }

  /** Begins to take in values. Each cache that is added later costs a way back in the log. */
  public void follow() {
    followerThread.start();
  }

  /** Whether values that this server computes go to the others. */
  public boolean isPublishing() {
    return settings.publishes();
  }

  /** Publishes a value that this server has computed, in the background, or drops it. */
  public void computed(SharedCache cache, byte[] key, byte[] value, long created) {
    if (isPublishing()) {
      publisher.offer(new SharedValue(cache.name(), cache.version(), key, value, created));
    }
  }

  /** Notes that a cache was flushed: it takes in no values from before. */
  public void flushed(SharedCache cache) {
    flushes.add(cache.name());
  }

  /** The figures at this moment. */
  public SharedReport report() {
    return new SharedReport(
        settings.server(),
        following.failure().isEmpty() ? publishing.failure() : following.failure(),
        publisher.isFull(),
        follower.isRefusing(),
        publisher.queued(),
        follower.behindRecords(),
        follower.behindMillis(),
        follower.logBytes(),
        counts);
  }

  /** Looks at what works and what does not. Waits for the server, some seconds for each call. */
  public CheckReport check() {
    CheckReport report = new CheckReport();
    try (RecordLog log = opener.open()) {
      log.check(report);
      checkSecret(report);
      if (!follower.ignored().isEmpty()) {
        report.good("ignored", "%s", follower.ignored());
      }
      long behind = follower.behindRecords();
      report.good("behind", "%s records, %s ms", behind, follower.behindMillis());
    } catch (IOException e) {
      report.bad("connection", "%s", e.getMessage());
    }
    return report;
  }

  /** Goes by the records of others that this server has met since its start. */
  private void checkSecret(CheckReport report) {
    if (follower.isRefusing()) {
      report.bad(
          "secret",
          "records were refused within the last hour, %s since the start: set sharedSecret to the"
              + " same on all servers of the site (other sites need another sharedSite), stop all,"
              + " delete the log (see several.md of the documentation), and start them",
          counts.refused.sum());
    } else if (follower.hasOpenedOthers()) {
      report.good("secret", "it opens what others, or earlier runs, have published");
    } else {
      report.good("secret", "not compared yet: no record of another server was read");
    }
  }

  /** Ends the sharing. Waits half a second at most. To be called before stores are closed. */
  public void stop() {
    stopped.countDown();
    following.close();
    try {
      followerThread.join(STOP_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
