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

import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess.await;

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.Delay;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A folder of this machine as a network file system, by sshfs: SFTP to a server some time away, and
 * an empty page cache at first. Needs root or FUSE for users, sshfs and OpenSSH's sftp-server.
 */
final class RemoteFolder implements AutoCloseable {
  private static final String SERVER = "/usr/lib/openssh/sftp-server";

  private final Path mountPoint;
  private final Process server;
  private final Process client;

  /**
   * Mounts a folder.
   *
   * @param folder not empty
   * @param mountPoint an empty folder, made if it is missing
   * @param roundTrip from the client to the server and back
   */
  RemoteFolder(Path folder, Path mountPoint, Duration roundTrip) throws IOException {
    this.mountPoint = Files.createDirectories(mountPoint);
    server = new ProcessBuilder(SERVER).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    client =
        new ProcessBuilder("sshfs", "-f", "-o", "passive", ":" + folder, mountPoint.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    connect(server, client, roundTrip);
    connect(client, server, roundTrip);
    AtExit.add(this);
    await(() -> mountPoint.toFile().list().length > 0);
  }

  private static void connect(Process from, Process to, Duration roundTrip) {
    OutputStream out = to.getOutputStream();
    Delay.pass(
        from.getInputStream(),
        bytes -> {
          out.write(bytes);
          out.flush();
        },
        roundTrip.toNanos() / 2,
        out);
  }

  Path path() {
    return mountPoint;
  }

  @Override
  public void close() throws IOException {
    AtExit.remove(this);
    try {
      // Unmounts it first.
      client.destroy();
      client.waitFor();
      server.destroy();
      server.waitFor();
      if (mountPoint.toFile().list().length > 0) {
        throw new IOException(mountPoint + " is still mounted");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }
}
