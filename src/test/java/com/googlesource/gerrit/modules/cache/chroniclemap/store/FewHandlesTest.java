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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Starts of a process that cannot open the files: the next start finds all values. */
@Timeout(120)
class FewHandlesTest {
  /** So many that a few handles which the Java runtime closes meanwhile do not suffice. */
  private static final int STORES = 30;

  private static final int VALUES = 50;

  @TempDir Path temp;
  private Path folder;

  private static StoreSettings settings(int number) {
    List<OldValues> kinds = List.of(OldValues.values());
    OldValues oldValues = kinds.get(number % kinds.size());
    return new StoreSettings("cache" + number, 1, 1 << 20, Optional.empty(), oldValues);
  }

  private static List<Store> openAll(StoreDirectory directory) throws Exception {
    List<Store> stores = new ArrayList<>();
    for (int i = 0; i < STORES; i++) {
      stores.add(directory.openStore(settings(i)));
    }
    for (Store store : stores) {
      store.awaitOpened();
    }
    return stores;
  }

  @BeforeEach
  void fill() throws Exception {
    folder = temp.resolve("stores");
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      for (Store store : openAll(directory)) {
        for (int i = 0; i < VALUES; i++) {
          store.put(key(i), key(i), System.currentTimeMillis());
        }
        store.flush();
      }
    }
  }

  private void assertAllIsThere() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      for (Store store : openAll(directory)) {
        assertWithMessage(store.name())
            .that(store.stats().start().kind())
            .isEqualTo(StartReport.Kind.CLEAN);
        for (int i = 0; i < VALUES; i++) {
          assertThat(store.read(key(i)).bytes()).isEqualTo(key(i));
        }
      }
    }
  }

  @Test
  void withTenFreeHandles() throws Exception {
    List<String> said = startChild(folder);
    assertWithMessage("%s", said)
        .that(said.stream().filter(line -> line.startsWith("FAILED")))
        .isNotEmpty();
    for (String line : said) {
      if (line.startsWith("FAILED")) {
        assertThat(line).contains("its file, which is left as it is, cannot be opened now");
      }
    }
    assertWithMessage("%s", said)
        .that(said.stream().filter(line -> line.contains("(raise LimitNOFILE")))
        .isNotEmpty();
    assertAllIsThere();
  }

  private static List<String> startChild(Path folder) throws Exception {
    List<String> command = new ArrayList<>(List.of("bash", "-c", "ulimit -n 256; exec \"$@\"", ""));
    command.add(ProcessHandle.current().info().command().orElseThrow());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("--add-"))
        .forEach(command::add);
    command.addAll(List.of("-Xmx256m", "-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(Child.class.getName(), folder.toString()));
    Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
    List<String> said = new String(child.getInputStream().readAllBytes(), UTF_8).lines().toList();
    assertWithMessage("%s", said).that(child.waitFor()).isEqualTo(0);
    return said;
  }

  /** Opens the stores with few file handles, and prints how each of them was found. */
  static final class Child {
    private static final int FREE = 10;

    private Child() {}

    public static void main(String[] arguments) throws Exception {
      Path folder = Path.of(arguments[0]);
      // Each class in a folder is a file to open; a server's classes are in a jar, which is open.
      var unused = Remedy.of(new IOException());
      Deque<FileChannel> taken = new ArrayDeque<>();
      try (StoreDirectory directory = StoreDirectory.open(folder)) {
        try {
          while (true) {
            taken.add(FileChannel.open(Path.of("/dev/null"), StandardOpenOption.READ));
          }
        } catch (IOException e) {
          for (int i = 0; i < FREE; i++) {
            taken.pop().close();
          }
        }
        List<Store> stores = openAll(directory);
        for (FileChannel channel : taken) {
          channel.close();
        }
        for (Store store : stores) {
          System.out.println(store.stats().state() + " " + store.stats().start());
        }
      }
    }
  }
}
