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

package com.googlesource.gerrit.modules.cache.chroniclemap.build;

import java.util.concurrent.Callable;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.wire.TextWire;
import net.openhft.compiler.CachedCompiler;

/**
 * The plugin of {@link NeighboursIT}, which uses Chronicle's libraries of its own: it writes and
 * reads a text. Its result are the locations of the classes that it got, of which ours has only a
 * substitute for the compiler's.
 */
public final class ChronicleUser implements Callable<String> {
  @Override
  public String call() {
    TextWire wire = new TextWire(Bytes.allocateElasticOnHeap());
    wire.write("name").text("value");
    if (!"value".equals(wire.read("name").text())) {
      throw new IllegalStateException("the text was not read as it was written");
    }
    return locationOf(Bytes.class) + " " + locationOf(CachedCompiler.class);
  }

  private static String locationOf(Class<?> type) {
    return type.getProtectionDomain().getCodeSource().getLocation().toString();
  }
}
