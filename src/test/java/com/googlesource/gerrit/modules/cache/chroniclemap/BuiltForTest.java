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

package com.googlesource.gerrit.modules.cache.chroniclemap;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.inject.ProvisionException;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;

/** A jar for another Gerrit is refused. */
class BuiltForTest {
  @Test
  void theSameMinorIsTaken() {
    BuiltFor.check("3.13.5", "3.13.5");
    BuiltFor.check("3.13.5", "3.13.0-rc1-12-g0123abc");
    BuiltFor.check("3.13.5", "v3.13.8");
  }

  @Test
  void anotherMinorIsRefused() {
    for (String running : new String[] {"3.12.2", "v3.14.0-rc0", "3.1.5", "4.0"}) {
      assertThat(
              assertThrows(ProvisionException.class, () -> BuiltFor.check("3.13.5", running))
                  .getMessage())
          .contains("was built for Gerrit 3.13, and this is Gerrit " + running);
    }
  }

  @Test
  void whatIsNotKnownIsNotChecked() {
    BuiltFor.check("3.13.5", null);
    BuiltFor.check("3.13.5", "(dev)");
    BuiltFor.check("${gerrit.version}", "3.13.5");
    BuiltFor.check("", "3.13.5");
  }

  @Test
  void mavenTellsWhatThisOneWasBuiltFor() {
    BuiltFor.check(new Config());
    assertThat(BuiltFor.version()).matches("\\d+\\.\\d+\\.\\d+");
  }
}
