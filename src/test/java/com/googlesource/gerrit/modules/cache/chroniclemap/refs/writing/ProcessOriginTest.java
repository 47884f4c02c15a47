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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import static com.google.common.truth.Truth.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which processes without a file lock are known to be dead. */
@Tag("locale")
class ProcessOriginTest {
  private static final String ELSE = "7e3f00d2 elsewhere";

  @TempDir Path folder;

  private boolean isDead(String boot, String machine, boolean isLocal) {
    return ProcessOrigin.isDead(new ProcessOrigin(boot, machine, isLocal), folder);
  }

  @Test
  void ofThisSystem() {
    ProcessOrigin here = ProcessOrigin.ofThis(folder, true);
    assertThat(here.isLocal()).isTrue(); // or the rest of this test means nothing
    assertThat(isDead(here.boot(), ELSE, true)).isTrue();
    assertThat(isDead(here.boot(), ELSE, false)).isTrue();
  }

  @Test
  void ofAnEarlierBootOnALocalFileSystem() {
    assertThat(isDead("earlier", ELSE, true)).isTrue();
    assertThat(ProcessOrigin.isDead(null, folder)).isTrue();
  }

  /** The file system is local here, as it is where an NFS server exports it from. */
  @Test
  void ofAMachineThatHasItOverTheNetwork() {
    assertThat(isDead("another", ELSE, false)).isFalse();
  }

  @Test
  void ofThisMachineBeforeItBootedAgain() {
    String machine = ProcessOrigin.ofThis(folder, true).machine();
    boolean isKnown = !machine.equals("unknown");
    assertThat(isDead("earlier", machine, false)).isEqualTo(isKnown);
    assertThat(isDead("earlier", "unknown", false)).isFalse();
  }

  @Test
  void whereFilesCantBeLocked() {
    ProcessOrigin here = ProcessOrigin.ofThis(folder, false);
    assertThat(isDead(here.boot(), here.machine(), true)).isFalse();
  }

  @Test
  void isReadAsItWasWritten() {
    ProcessOrigin origin = new ProcessOrigin("a boot", "a machine", false);
    assertThat(ProcessOrigin.parse(origin.lines() + "more\n")).isEqualTo(origin);
    assertThat(ProcessOrigin.parse("boot a\nmachine b\n")).isNull();
    assertThat(ProcessOrigin.parse("")).isNull();
  }
}
