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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.common.flogger.FluentLogger;
import com.google.common.util.concurrent.ThreadFactoryBuilder;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisServer.Entry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.eclipse.jgit.lib.Config;

/**
 * A server in front of the loaders of several Gerrits, for caches whose keys name immutable
 * content.
 *
 * <p>Requests wait for threads of this class, never for the server itself: not longer than the
 * time-out, and not at all while the {@link Breaker} is open or {@link #MOST_AT_ONCE} others wait.
 * Values are sent by one thread from a queue of limited size. No failure is seen by a request. Safe
 * for any thread.
 */
public final class SharedTier implements AutoCloseable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** So many requests wait for the server at the same time at most. */
  static final int MOST_AT_ONCE = 64;

  /** Values of so many bytes wait to be sent at most. */
  static final long MOST_QUEUED_BYTES = 32 << 20;

  /** About so much is sent in one round trip. */
  private static final long BATCH_BYTES = 1 << 20;

  private static final int BATCH = 256;

  /** Sending may take longer than any request would wait. */
  private static final int SEND_MILLIS = 5000;

  /** What a value that waits takes beside its bytes, about. */
  private static final int OVERHEAD = 200;

  private static final int CHECK_SECONDS = 20;

  /** A value that waits to be sent; it is sealed by the thread that sends it. */
  record Unsent(Seal seal, byte[] key, byte[] value, long created, long loadNanos) {
    int size() {
      return key.length + value.length + OVERHEAD;
    }

    Entry entry() {
      byte[] name = seal.nameOf(key);
      return new Entry(name, seal.seal(name, value, created, loadNanos));
    }
  }

  private final SharedSettings settings;
  private final RedisServer reader;
  private final RedisServer writer;
  private final ScheduledExecutorService timer;
  private final Breaker breaker;
  private final ExecutorService askers;
  private final BlockingQueue<Unsent> queue = new LinkedBlockingQueue<>();
  private final AtomicLong queuedBytes = new AtomicLong();
  private final Thread sender;

  /** Only for the thread that sends. */
  private boolean isWriterConnected;

  private final LongAdder requests = new LongAdder();
  private final LongAdder timeouts = new LongAdder();
  private final LongAdder errors = new LongAdder();
  private final LongAdder tooMany = new LongAdder();
  private final LongAdder sent = new LongAdder();
  private final LongAdder sentBytes = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private volatile String lastError = "";

  private SharedTier(SharedSettings settings) {
    this.settings = settings;
    int timeoutMillis = (int) settings.timeout().toMillis();
    this.reader = new RedisServer(settings, timeoutMillis, MOST_AT_ONCE);
    this.writer = new RedisServer(settings, SEND_MILLIS, /* connections= */ 1);
    ThreadFactory threads =
        new ThreadFactoryBuilder()
            .setNameFormat("cache-chroniclemap-shared-%d")
            .setDaemon(true)
            .build();
    this.timer = Executors.newSingleThreadScheduledExecutor(threads);
    this.breaker = new Breaker(this::probe, timer);
    this.askers =
        new ThreadPoolExecutor(0, MOST_AT_ONCE, 60, SECONDS, new SynchronousQueue<>(), threads);
    this.sender = threads.newThread(this::sendAll);
  }

  /**
   * Makes the tier of a server, which is connected to in the background.
   *
   * @param resolve resolves paths relative to the site
   * @return empty if no server is set
   * @throws IllegalArgumentException if a setting is wrong; the message names it and the remedy
   */
  public static Optional<SharedTier> open(Config config, Function<String, Path> resolve) {
    if (!SharedSettings.isSet(config)) {
      return Optional.empty();
    }
    SharedTier tier = new SharedTier(SharedSettings.read(config, resolve));
    tier.breaker.begin();
    if (!tier.settings.isReadOnly()) {
      tier.sender.start();
    }
    return Optional.of(tier);
  }

  /** Returns the shared values of a cache; null for a cache that is not shared. */
  @Nullable
  public SharedCache cache(PersistentCacheDef<?, ?> def) {
    return SharedCache.isShared(def) ? new SharedCache(this, settings, def) : null;
  }

  private void probe() throws IOException {
    try {
      reader.probe();
    } catch (IOException e) {
      note(e);
      throw e;
    }
  }

  private void note(Throwable failure) {
    lastError = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    logger.atWarning().atMostEvery(10, TimeUnit.MINUTES).log(
        "The shared server %s does not answer as it should, values are computed instead: %s",
        settings, lastError);
  }

  /**
   * Returns what the server has under each of the names.
   *
   * @return null if it is not asked or does not answer in time; no other failure shows
   */
  @Nullable
  List<byte[]> fetch(List<byte[]> names) {
    long openings = breaker.openings();
    if (!breaker.isClosed()) {
      return null;
    }
    Future<List<byte[]>> asked;
    try {
      asked = askers.submit(() -> reader.getAll(names));
    } catch (RejectedExecutionException e) {
      tooMany.increment();
      return null;
    }
    requests.increment();
    try {
      List<byte[]> values = asked.get(settings.timeout().toNanos(), TimeUnit.NANOSECONDS);
      breaker.succeeded();
      return values;
    } catch (TimeoutException e) {
      timeouts.increment();
      asked.cancel(true);
      breaker.failed(openings);
      note(new IOException("no answer within " + settings.timeout().toMillis() + " ms"));
    } catch (ExecutionException e) {
      errors.increment();
      breaker.failed(openings);
      note(e.getCause());
    } catch (InterruptedException e) {
      asked.cancel(true);
      Thread.currentThread().interrupt();
    }
    return null;
  }

  /** Whether the server is asked at this moment. */
  boolean isAnswering() {
    return breaker.isClosed();
  }

  /** Counts a failure of this module, which no request may see. */
  void failed(Throwable failure) {
    errors.increment();
    note(failure);
  }

  // ---- sending

  /** Has a value sent, unless too many wait for that. */
  void send(Unsent value) {
    if (settings.isReadOnly()) {
      return;
    }
    if (queuedBytes.addAndGet(value.size()) > MOST_QUEUED_BYTES) {
      queuedBytes.addAndGet(-value.size());
      dropped.increment();
      return;
    }
    queue.add(value);
  }

  private void sendAll() {
    long waitMillis = Breaker.FIRST_WAIT_MILLIS;
    List<Unsent> batch = new ArrayList<>();
    try {
      // Jedis may swallow the interrupt.
      while (!breaker.hasEnded()) {
        long bytes = takeInto(batch);
        breaker.awaitClosed();
        int taken = 0;
        try {
          taken = sendBatch(batch);
        } catch (RuntimeException | Error e) {
          // Not logged, as most likely there is no memory for that.
          dropped.add(batch.size());
        }
        // After a fail-over, or if a cluster has moved keys, another server takes the values.
        isWriterConnected = taken == batch.size();
        queuedBytes.addAndGet(-bytes);
        batch.clear();
        if (taken == 0) {
          // Nobody waits for this thread, and a server that refuses is not asked at once again.
          Thread.sleep(waitMillis);
          waitMillis = Math.min(2 * waitMillis, Breaker.LONGEST_WAIT_MILLIS);
        } else {
          waitMillis = Breaker.FIRST_WAIT_MILLIS;
        }
      }
    } catch (InterruptedException e) {
      // The tier is closed.
    }
  }

  /** Waits for a value, and takes it with others that wait; returns their size. */
  private long takeInto(List<Unsent> batch) throws InterruptedException {
    long bytes = 0;
    for (Unsent next = queue.take(); next != null; next = queue.poll()) {
      batch.add(next);
      bytes += next.size();
      if (bytes >= BATCH_BYTES || batch.size() >= BATCH) {
        break;
      }
    }
    return bytes;
  }

  /** Returns how many the server took: none if it does not answer or is full. */
  private int sendBatch(List<Unsent> batch) {
    try {
      if (!isWriterConnected) {
        writer.connect();
      }
      return put(batch);
    } catch (IOException e) {
      dropped.add(batch.size());
      note(e);
      return 0;
    }
  }

  private int put(List<Unsent> batch) throws IOException {
    List<Entry> entries = batch.stream().map(Unsent::entry).toList();
    List<String> refusals = writer.putAll(entries);
    int taken = 0;
    for (int i = 0; i < entries.size(); i++) {
      if (refusals.get(i) == null) {
        taken++;
        sentBytes.add(entries.get(i).value().length);
      } else {
        refused.increment();
        lastError = refusals.get(i);
      }
    }
    sent.add(taken);
    return taken;
  }

  // ---- figures

  /** Returns the figures of the connection. */
  public SharedReport report() {
    return new SharedReport(
        settings.shownUrl(),
        breaker.isClosed(),
        requests.sum(),
        timeouts.sum(),
        errors.sum(),
        tooMany.sum(),
        breaker.openings(),
        lastError,
        queuedBytes.get(),
        sent.sum(),
        sentBytes.sum(),
        refused.sum(),
        dropped.sum());
  }

  /** Tries all that a node needs from the server, which takes 20 seconds at most. */
  public List<SharedCheck.Line> check() {
    FutureTask<List<SharedCheck.Line>> check = new FutureTask<>(() -> SharedCheck.run(settings));
    Thread thread = new Thread(check, "cache-chroniclemap-shared-check");
    thread.setDaemon(true);
    thread.start();
    try {
      return check.get(CHECK_SECONDS, SECONDS);
    } catch (TimeoutException | ExecutionException e) {
      String detail =
          e instanceof TimeoutException
              ? "the server has not answered everything within " + CHECK_SECONDS + " s"
              : e.getCause().toString();
      return List.of(new SharedCheck.Line("check", SharedCheck.Verdict.FAILED, detail));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return List.of(new SharedCheck.Line("check", SharedCheck.Verdict.FAILED, "interrupted"));
    }
  }

  /** Ends without waiting for the server. Values that were not sent are lost. */
  @Override
  public void close() {
    breaker.end();
    sender.interrupt();
    timer.shutdownNow();
    askers.shutdownNow();
    Thread closing = new Thread(this::closeConnections, "cache-chroniclemap-shared-close");
    closing.setDaemon(true);
    closing.start();
  }

  private void closeConnections() {
    reader.close();
    writer.close();
  }
}
