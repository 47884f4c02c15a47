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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.eclipse.jgit.lib.ObjectId;

/** Makes packed-refs files, as git writes them and otherwise. */
public final class PackedRefsText {
  public static final String HEADER = "# pack-refs with: peeled fully-peeled sorted \n";

  /** The order in which git sorts names. */
  public static final Comparator<String> BY_BYTES =
      (a, b) -> Arrays.compareUnsigned(a.getBytes(UTF_8), b.getBytes(UTF_8));

  private PackedRefsText() {}

  /** Names as a Gerrit project has them, and their lines; a tag's has two. */
  public static SortedMap<String, String> gerrit(Random random, int count) {
    TreeMap<String, String> lines = new TreeMap<>();
    for (int change = 1; lines.size() < count; change++) {
      int kind = random.nextInt(20);
      if (kind == 0) {
        String name = "refs/tags/v" + change;
        lines.put(name, line(random, name) + peeled(random));
      } else if (kind == 1) {
        String name = "refs/heads/" + letters(random) + "/" + letters(random) + change;
        lines.put(name, line(random, name));
      } else {
        String folder = String.format(Locale.ROOT, "refs/changes/%02d/%d/", change % 100, change);
        for (String last : new String[] {"1", "2", "meta"}) {
          lines.put(folder + last, line(random, folder + last));
        }
      }
    }
    return lines;
  }

  public static byte[] text(String header, Collection<String> lines) {
    return (header + String.join("", lines)).getBytes(UTF_8);
  }

  public static byte[] text(Map<String, String> lines) {
    return text(HEADER, lines.values());
  }

  /** A file of branches and other refs that are no tags, in the order in which they are given. */
  public static byte[] of(Map<String, ObjectId> refs) {
    StringBuilder text = new StringBuilder(HEADER);
    refs.forEach((name, id) -> text.append(id.name()).append(' ').append(name).append('\n'));
    return text.toString().getBytes(UTF_8);
  }

  public static String line(Random random, String name) {
    return id(random) + " " + name + "\n";
  }

  static String peeled(Random random) {
    return "^" + id(random) + "\n";
  }

  static String id(Random random) {
    return id(random, 20);
  }

  static String id(Random random, int bytes) {
    byte[] id = new byte[bytes];
    random.nextBytes(id);
    return HexFormat.of().formatHex(id);
  }

  private static String letters(Random random) {
    StringBuilder letters = new StringBuilder();
    for (int i = random.nextInt(12); i >= 0; i--) {
      letters.append((char) ('a' + random.nextInt(26)));
    }
    return letters.toString();
  }

  /** A name of few letters, so that prefixes, near misses and all widths of UTF-8 are met. */
  public static String oddName(Random random) {
    String[] parts = {
      "a",
      "b",
      "/",
      "refs/",
      "zz",
      "\u007f",
      "\u00e9",
      "\u07ff",
      "\u0800",
      "\ud7ff",
      "\ue000",
      "\uffff",
      "\ufffd",
      "\ud800\udc00",
      "\ud83d\ude00",
      "\udbff\udfff",
      "-",
      " ",
      "\u000e",
      "~"
    };
    StringBuilder name = new StringBuilder(random.nextInt(4) == 0 ? "" : "refs/heads/");
    for (int i = random.nextInt(6); i >= 0; i--) {
      name.append(parts[random.nextInt(parts.length)]);
    }
    if (random.nextInt(50) == 0) {
      name.append("long".repeat(random.nextInt(100)));
    }
    return name.toString();
  }

  /** A file of odd names in the order of their bytes, as native git writes it. */
  public static byte[] oddNames(Random random, int count, boolean peeled) {
    TreeSet<byte[]> names = new TreeSet<>(Arrays::compareUnsigned);
    for (int i = 0; i < count; i++) {
      names.add(oddName(random).getBytes(UTF_8));
    }
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    if (peeled) {
      text.writeBytes(HEADER.getBytes(UTF_8));
    }
    for (byte[] name : names) {
      text.writeBytes((id(random) + " ").getBytes(UTF_8));
      text.writeBytes(name);
      text.write('\n');
      if (random.nextInt(5) == 0) {
        text.writeBytes(peeled(random).getBytes(UTF_8));
      }
    }
    return text.toByteArray();
  }
}
