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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import net.openhft.posix.PosixAPI;
import net.openhft.posix.internal.PosixAPIHolder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Disk is allocated by this module, and not by Chronicle-Map, which asks for a file store first.
 */
class RecordMapBuilderTest {
  private static final Geometry GEOMETRY =
      Geometry.forFileOf(4 << 20, Geometry.DEFAULT_BYTES_PER_SLOT);

  @TempDir Path temp;

  /** The stack of each call of fallocate. */
  private final List<List<String>> calls = new ArrayList<>();

  private int answer;
  private Path path;

  @BeforeEach
  void watch() throws Exception {
    path = temp.toRealPath().resolve("file.chm");
    assertThat(ChronicleRuntime.allocatesDisk()).isTrue();
    PosixAPI real = PosixAPI.posix();
    PosixAPIHolder.POSIX_API =
        (PosixAPI)
            Proxy.newProxyInstance(
                PosixAPI.class.getClassLoader(),
                new Class<?>[] {PosixAPI.class},
                (proxy, method, arguments) -> {
                  if (!method.getName().equals("fallocate")) {
                    return method.invoke(real, arguments);
                  }
                  calls.add(
                      Arrays.stream(Thread.currentThread().getStackTrace())
                          .map(StackTraceElement::getClassName)
                          .toList());
                  return answer != 0 ? answer : method.invoke(real, arguments);
                });
  }

  @AfterEach
  void stopWatching() {
    PosixAPIHolder.POSIX_API = null;
    PosixAPIHolder.loadPosixApi();
  }

  private RecordMap create() throws IOException {
    return RecordMapBuilder.create(Disk.REAL, path, GEOMETRY, true);
  }

  @Test
  void chronicleNeitherAllocatesNorLooksForAFileStore() throws Exception {
    RecordMap file = create();
    file.close();
    assertThat(calls).hasSize(1);
    assertThat(calls.get(0)).contains(RecordMapBuilder.class.getName());
    assertThat(calls.get(0).toString()).doesNotContain("VanillaChronicleHash");
  }

  @Test
  void aVolumeThatLacksTheBlocksIsNamed() {
    answer = -1;
    IOException refused = assertThrows(IOException.class, this::create);
    assertThat(refused).hasMessageThat().contains("on the volume of " + path.getParent() + ",");
    assertThat(Files.exists(path)).isFalse();
    assertThat(Files.exists(FileState.pathOf(path))).isFalse();
  }
}
