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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/** A way to a server of this machine on which all bytes take a time, as over a network. */
final class DelayedLink implements AutoCloseable {
  private record Chunk(long due, byte[] bytes) {}

  private final int target;
  private final long delayNanos;
  private final ServerSocket listener;

  /**
   * Opens a way.
   *
   * @param target the port of the server
   * @param delay for each direction
   */
  DelayedLink(int target, Duration delay) throws IOException {
    this.target = target;
    this.delayNanos = delay.toNanos();
    this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  int port() {
    return listener.getLocalPort();
  }

  private interface Task {
    void run() throws IOException, InterruptedException;
  }

  private static void start(Task task) {
    var unused =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try {
                    task.run();
                  } catch (IOException | InterruptedException e) {
                    // The way was closed, or one of its ends.
                  }
                });
  }

  private void accept() throws IOException {
    while (true) {
      Socket client = listener.accept();
      Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
      client.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
      pump(client, server);
      pump(server, client);
    }
  }

  private void pump(Socket from, Socket to) {
    BlockingQueue<Chunk> way = new LinkedBlockingQueue<>();
    start(
        () -> {
          InputStream in = from.getInputStream();
          byte[] buffer = new byte[64 << 10];
          for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            way.add(new Chunk(System.nanoTime() + delayNanos, Arrays.copyOf(buffer, n)));
          }
          way.add(new Chunk(System.nanoTime() + delayNanos, new byte[0]));
        });
    start(
        () -> {
          try (from;
              to) {
            OutputStream out = to.getOutputStream();
            for (Chunk next = way.take(); next.bytes.length > 0; next = way.take()) {
              for (long left = next.due - System.nanoTime();
                  left > 0;
                  left = next.due - System.nanoTime()) {
                LockSupport.parkNanos(left);
              }
              out.write(next.bytes);
            }
          }
        });
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
