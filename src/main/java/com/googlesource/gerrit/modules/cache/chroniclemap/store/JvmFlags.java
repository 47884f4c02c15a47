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

import java.util.Optional;

/**
 * The flags of the Java virtual machine that Chronicle-Map needs.
 *
 * <p>The flags are checked and never forced: opening the JDK is the administrator's decision. A
 * manifest entry would not do, because Java reads only that of the jar that {@code java -jar}
 * names.
 */
public final class JvmFlags {
  private JvmFlags() {}

  /**
   * What an administrator has to do before the module can run.
   *
   * @return the message with the exact lines for {@code gerrit.config}; empty if nothing is missing
   */
  public static Optional<String> missing() {
    Module base = Object.class.getModule();
    Module self = JvmFlags.class.getModule();
    String missing =
        line(base.isExported("sun.nio.ch", self), "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED")
            + line(
                base.isOpen("java.lang.reflect", self),
                "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED");
    return missing.isEmpty()
        ? Optional.empty()
        : Optional.of(
            "cache-chroniclemap needs flags that this Java virtual machine was started without."
                + " Add these lines to etc/gerrit.config and start Gerrit again:\n\n[container]\n"
                + missing
                + "\nOnly gerrit.sh reads them. Put the flags on any other command line of Java.\n");
  }

  private static String line(boolean isSet, String flag) {
    return isSet ? "" : "\tjavaOptions = " + flag + "\n";
  }
}
