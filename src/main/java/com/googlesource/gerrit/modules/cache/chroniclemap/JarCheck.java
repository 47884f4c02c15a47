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

import static com.google.common.base.Strings.lenientFormat;

import com.google.inject.ProvisionException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.Collections;
import java.util.List;

/**
 * A check that no other jar takes the place of a part of this one. Gerrit loads all jars of {@code
 * lib/} with one class loader: where two of them have a class of the same name, only one is used.
 * This jar holds the libraries that it needs under names of its own, except one whose native code
 * is bound to its name.
 */
final class JarCheck {
  /** A class of the library for native code, jffi. */
  private static final String NATIVE = "com/kenai/jffi/Foreign.class";

  private JarCheck() {}

  /**
   * Checks that no other jar takes the place of a part of this one.
   *
   * @throws ProvisionException if one does; the message names it
   */
  static void check(ClassLoader loader) {
    String module = JarCheck.class.getName().replace('.', '/') + ".class";
    List<String> own = jarsWith(loader, module);
    if (own.size() > 1) {
      throw new ProvisionException(
          lenientFormat(
              "lib/ has two jars of cache-chroniclemap, and Java would use either: keep one of %s",
              String.join(" and ", own)));
    }
    List<String> natives = jarsWith(loader, NATIVE);
    // Where the tests run, each library is a jar of its own.
    if (natives.containsAll(own) && !natives.subList(0, 1).equals(own)) {
      throw new ProvisionException(
          lenientFormat(
              "%s holds the library jffi as %s does, perhaps in another version, and takes its"
                  + " place: remove it, or put it into plugins/ if it is a plugin",
              natives.get(0), own.get(0)));
    }
  }

  /** The locations of a class, in the order in which they are searched. */
  private static List<String> jarsWith(ClassLoader loader, String file) {
    try {
      return Collections.list(loader.getResources(file)).stream()
          .map(URL::toString)
          .map(url -> url.substring(0, url.length() - file.length()))
          .distinct()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
