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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/** A network of some length: passes on bytes between a client and a server after a delay. */
final class DelayingProxy implements AutoCloseable {
  private static final int CHUNK = 1 << 16;

  /** Bytes with the time at which they arrive; none at the end. */
  private record Chunk(byte[] bytes, long arrival) {}

  private final ServerSocket listener;
  private final int port;
  private final long oneWayNanos;
  private final List<Socket> open = new CopyOnWriteArrayList<>();

  /**
   * Listens on a free port.
   *
   * @param port of the server on this machine
   * @param roundTrip the delay of both directions together
   */
  DelayingProxy(int port, Duration roundTrip) throws IOException {
    this.listener = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    this.port = port;
    this.oneWayNanos = roundTrip.toNanos() / 2;
    start(this::accept);
  }

  int port() {
    return listener.getLocalPort();
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task, "delaying proxy");
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
        for (Socket socket : new Socket[] {client, server}) {
          socket.setTcpNoDelay(true);
          open.add(socket);
        }
        pass(client, server);
        pass(server, client);
      }
    } catch (IOException e) {
      // Closed.
    }
  }

  private void pass(Socket from, Socket to) throws IOException {
    InputStream in = from.getInputStream();
    OutputStream out = to.getOutputStream();
    BlockingQueue<Chunk> onTheWay = new LinkedBlockingQueue<>();
    start(
        () -> {
          byte[] bytes = new byte[CHUNK];
          try {
            for (int count = in.read(bytes); count >= 0; count = in.read(bytes)) {
              onTheWay.add(new Chunk(Arrays.copyOf(bytes, count), System.nanoTime() + oneWayNanos));
            }
          } catch (IOException e) {
            // As if it had ended.
          }
          onTheWay.add(new Chunk(new byte[0], System.nanoTime()));
        });
    start(
        () -> {
          try (from;
              to) {
            for (Chunk next = onTheWay.take(); next.bytes.length > 0; next = onTheWay.take()) {
              for (long wait = next.arrival - System.nanoTime();
                  wait > 0;
                  wait = next.arrival - System.nanoTime()) {
                LockSupport.parkNanos(wait);
              }
              out.write(next.bytes);
            }
          } catch (IOException | InterruptedException e) {
            // Both sides are closed.
          }
        });
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : open) {
      socket.close();
    }
  }
}
