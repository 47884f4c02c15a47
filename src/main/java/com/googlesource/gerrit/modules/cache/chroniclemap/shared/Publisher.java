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

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The thread that appends to the log what this server has computed. Values wait in a queue, and are
 * dropped when that is full, as it is while the server is away.
 *
 * <p>Any thread may {@link #offer}.
 */
final class Publisher implements Runnable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final int MAX_QUEUED = 4096;
  private static final long MAX_QUEUED_BYTES = 8 << 20;

  /** How long a value waits for others of its batch. */
  private static final long LINGER_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long LOOK_MILLIS = 200;

  /** How long nothing is appended after the server was full. */
  private static final long FULL_MILLIS = 1000;

  /** How often a record is tried, with pauses that grow: the server may refuse just this one. */
  private static final int MAX_TRIES = 10;

  private final Seal seal;
  private final Reconnection connection;
  private final SharedCounts counts;
  private final CountDownLatch stopped;
  private final BlockingQueue<SharedValue> queue = new ArrayBlockingQueue<>(MAX_QUEUED);
  private final AtomicLong queuedBytes = new AtomicLong();

  /** Whether the server was full at the last attempt. */
  private volatile boolean isFull;

  /** The record that is being appended; null if there is none. Used by this thread. */
  @Nullable private byte[] record;

  /** How many values it has, and how often it was tried. */
  private int values;

  private int tries;

  Publisher(Seal seal, Reconnection connection, SharedCounts counts, CountDownLatch stopped) {
    this.seal = seal;
    this.connection = connection;
    this.counts = counts;
    this.stopped = stopped;
  }

  /** Queues a value, or drops it. Never waits. */
  void offer(SharedValue value) {
    if (value.bytes() > Batch.MAX_VALUE_BYTES) {
      return;
    }
    if (queuedBytes.addAndGet(value.bytes()) > MAX_QUEUED_BYTES || !queue.offer(value)) {
      queuedBytes.addAndGet(-value.bytes());
      counts.dropped.increment();
    }
  }

  int queued() {
    return queue.size();
  }

  boolean isFull() {
    return isFull;
  }

  @Override
  public void run() {
    connection.repeat(this::publish);
  }

  /** Appends a record, the same one again if that has failed; twice in the log it does no harm. */
  private void publish() throws IOException, InterruptedException {
    if (record != null && ++tries > MAX_TRIES) {
      counts.dropped.add(values);
      record = null;
    }
    if (record == null) {
      SharedValue first = queue.poll(LOOK_MILLIS, TimeUnit.MILLISECONDS);
      if (first == null) {
        return;
      }
      seal(collect(first));
    }
    try {
      connection.get().append(record);
      isFull = false;
      counts.published.add(values);
      counts.publishedBytes.add(record.length);
    } catch (RecordLog.FullException e) {
      isFull = true;
      counts.dropped.add(values);
      logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
          "The server of shared values is full, so others compute these values again: %s",
          e.getMessage());
      var unused = stopped.await(FULL_MILLIS, TimeUnit.MILLISECONDS);
    }
    record = null;
    connection.succeeded();
  }

  private void seal(List<SharedValue> batch) {
    values = batch.size();
    tries = 0;
    try {
      record = seal.close(Batch.encode(batch));
    } catch (RuntimeException | Error e) {
      counts.dropped.add(values);
      throw e;
    }
  }

  private List<SharedValue> collect(SharedValue first) throws InterruptedException {
    List<SharedValue> batch = new ArrayList<>();
    long end = System.nanoTime() + LINGER_NANOS;
    int bytes = 0;
    for (SharedValue value = first; value != null; ) {
      batch.add(value);
      bytes += value.bytes();
      queuedBytes.addAndGet(-value.bytes());
      if (batch.size() == Batch.MAX_VALUES || bytes >= Batch.FULL_BYTES) {
        break;
      }
      value = queue.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
    }
    return batch;
  }
}
