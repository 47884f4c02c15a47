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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import static com.google.common.truth.Truth.assertThat;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Mapped files that can't be read any more do not end the process. */
@Timeout(120)
class CutFilesIT {
  @TempDir Path temp;

  @Test
  void aBadBlockUnderAMappedFileIsSurvived() throws Exception {
    try (ChildJvm child = ChildJvm.start(temp, Child.class, temp)) {
      List<String> lines = child.finish();
      assertThat(lines).contains("checksum error");
      assertThat(lines.stream().filter("closed"::equals).count()).isEqualTo(15);
    }
  }

  /**
   * Cuts files off while they are mapped, so that to touch them is a fault of memory as with a bad
   * block of the disk, and does with them what a store does.
   */
  static final class Child {
    private static final int KEYS = 300;

    /** So often that all is compiled after the first files. */
    private static final int ROUNDS = 10;

    private static final int ACTIONS = 3;

    private interface Action {
      void run() throws Exception;
    }

    private Child() {}

    public static void main(String[] args) throws Exception {
      Path folder = Path.of(args[0]);
      checksum(Files.createDirectories(folder.resolve("checksum")).resolve("state"));
      for (int first = 0; first < ACTIONS; first++) {
        use(folder.resolve("state" + first), ".state", 0, first);
        for (int bytes : new int[] {0, 8192, 300_000, 1_400_000}) {
          use(folder.resolve(bytes + "-" + first), ".chm", bytes, first);
        }
      }
    }

    private static void checksum(Path path) throws IOException {
      Files.write(path, new byte[4096]);
      ByteBuffer mapped = Disk.REAL.map(path);
      int before = FileState.fixedChecksum(mapped);
      cut(path, 0);
      try {
        int after = FileState.fixedChecksum(mapped);
        System.out.println("checksum " + before + " " + after);
      } catch (InternalError e) {
        System.out.println("checksum error");
      }
    }

    private static void cut(Path path, long bytes) throws IOException {
      try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
        var unused = channel.truncate(bytes);
      }
    }

    private static byte[] value(int number) {
      byte[] out = new byte[number % 50 == 0 ? 40_000 : 900];
      Arrays.fill(out, (byte) number);
      return out;
    }

    private static void use(Path folder, String end, int bytes, int first) throws Exception {
      try (StoreDirectory directory = StoreDirectory.open(folder)) {
        Store store = directory.openStore(new StoreSettings("cache", 1, 4 << 20, Optional.empty()));
        store.awaitOpened();
        for (int round = 0; round < ROUNDS; round++) {
          changeAll(store);
          readAll(store);
        }
        System.out.println("cut " + end + " " + bytes);
        try (Stream<Path> files = Files.list(folder)) {
          for (Path file : files.filter(f -> f.toString().endsWith(end)).toList()) {
            cut(file, Math.min(bytes, Files.size(file)));
          }
        }
        List<Action> actions =
            List.of(
                () -> readAll(store),
                () -> changeAll(store),
                () -> store.verify(true, Progress.NONE));
        // The first that meets a fault gives the file up.
        for (int i = 0; i < ACTIONS; i++) {
          attempt(actions.get((first + i) % ACTIONS));
        }
        attempt(store::clear);
        System.out.println("used " + store.stats().state());
      }
      System.out.println("closed");
    }

    private static void changeAll(Store store) {
      for (int i = 0; i < KEYS; i++) {
        if (i % 7 == 0) {
          store.remove(key(i));
        } else {
          store.put(key(i), value(i), 1);
        }
      }
      store.flush();
    }

    private static void readAll(Store store) {
      for (int i = 0; i < KEYS; i++) {
        Value value = store.read(key(i));
        if (value != null && !Arrays.equals(value.bytes(), value(i))) {
          throw new AssertionError("wrong value of key " + i);
        }
      }
    }

    /** Java says of a fault in compiled code when the thread has gone on for a little. */
    private static void attempt(Action action) throws Exception {
      try {
        action.run();
      } catch (InternalError e) {
        System.out.println("late: " + e.getMessage());
      }
    }
  }
}
