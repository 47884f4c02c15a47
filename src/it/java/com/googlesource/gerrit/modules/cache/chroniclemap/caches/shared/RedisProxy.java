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

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Stands between a client and a server: a network of some length, which lies if it is told to. */
public final class RedisProxy implements AutoCloseable {
  /** Takes the place of a reply. */
  public interface Lie {
    /** Writes what it likes; the connection is cut afterwards. */
    void tell(byte[] reply, OutputStream client) throws IOException;
  }

  private final ServerSocket listener;
  private final int port;
  private final long oneWayNanos;
  private final List<Socket> open = new CopyOnWriteArrayList<>();
  private volatile Lie lie;

  /**
   * Listens on a free port for clients of a server on this machine.
   *
   * @param roundTrip the delay of both directions together
   */
  public RedisProxy(int port, Duration roundTrip) throws IOException {
    this.listener = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    this.port = port;
    this.oneWayNanos = roundTrip.toNanos() / 2;
    Delay.start(this::accept);
  }

  public String url() {
    return "redis://127.0.0.1:" + listener.getLocalPort();
  }

  /** Has each reply from now on be a lie; null to have all passed on again. */
  public void tell(Lie newLie) {
    lie = newLie;
  }

  /** A lie that writes bytes. */
  public static Lie of(byte[] bytes) {
    return (reply, client) -> client.write(bytes);
  }

  /** The right reply, of which one byte comes each 400 milliseconds. */
  public static Lie dripping() {
    return (reply, client) -> {
      for (byte one : reply) {
        client.write(one);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(400));
      }
    };
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
        pass(client, server, /* lies= */ false);
        pass(server, client, /* lies= */ true);
      }
    } catch (IOException e) {
      // Closed.
    }
  }

  private void pass(Socket from, Socket to, boolean lies) throws IOException {
    OutputStream out = to.getOutputStream();
    Delay.pass(
        from.getInputStream(),
        bytes -> {
          Lie told = lie;
          if (lies && told != null) {
            told.tell(bytes, out);
            throw new IOException("the connection is cut after a lie");
          }
          out.write(bytes);
        },
        oneWayNanos,
        () -> {
          try (from;
              to) {}
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
