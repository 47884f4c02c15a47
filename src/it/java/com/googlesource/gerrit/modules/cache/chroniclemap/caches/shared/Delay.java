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

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/** Passes bytes on some time after they have come, as many at a time as come, as a network does. */
public final class Delay {
  /** Takes the bytes that have arrived. */
  public interface Receiver {
    /** An exception ends the connection. */
    void accept(byte[] bytes) throws IOException;
  }

  /** Bytes with the time at which they arrive; none at the end. */
  private record Chunk(byte[] bytes, long arrival) {}

  private Delay() {}

  /**
   * Passes bytes on, in threads of its own, until one side ends.
   *
   * @param nanos how long the bytes are on their way
   * @param end closes both sides
   */
  public static void pass(InputStream from, Receiver to, long nanos, Closeable end) {
    BlockingQueue<Chunk> onTheWay = new LinkedBlockingQueue<>();
    start(() -> receive(from, onTheWay, nanos));
    start(() -> deliver(onTheWay, to, end));
  }

  static void start(Runnable task) {
    Thread thread = new Thread(task, "network");
    thread.setDaemon(true);
    thread.start();
  }

  private static void receive(InputStream from, BlockingQueue<Chunk> onTheWay, long nanos) {
    byte[] room = new byte[1 << 16];
    try {
      for (int count = from.read(room); count >= 0; count = from.read(room)) {
        onTheWay.add(new Chunk(Arrays.copyOf(room, count), System.nanoTime() + nanos));
      }
    } catch (IOException e) {
      // As if it had ended.
    }
    onTheWay.add(new Chunk(new byte[0], System.nanoTime()));
  }

  private static void deliver(BlockingQueue<Chunk> onTheWay, Receiver to, Closeable end) {
    try (end) {
      for (Chunk next = onTheWay.take(); next.bytes.length > 0; next = onTheWay.take()) {
        for (long wait = next.arrival - System.nanoTime();
            wait > 0;
            wait = next.arrival - System.nanoTime()) {
          LockSupport.parkNanos(wait);
        }
        to.accept(next.bytes);
      }
    } catch (IOException | InterruptedException e) {
      // Both sides are closed.
    }
  }
}
