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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One figure of both, as {@code --json} writes it, rounded.
 *
 * @param ratio more than 1 if ours is better
 */
public record Figure(String name, String unit, double ours, double peer, double ratio) {
  /** Rounds them. */
  public Figure {
    ours = rounded(ours);
    peer = rounded(peer);
    ratio = rounded(ratio);
  }

  /** A figure of which less is better. */
  public static Figure lessIsBetter(String name, String unit, double ours, double peer) {
    return new Figure(name, unit, ours, peer, ours == 0 ? 0 : peer / ours);
  }

  /** A figure of which more is better. */
  public static Figure moreIsBetter(String name, String unit, double ours, double peer) {
    return new Figure(name, unit, ours, peer, peer == 0 ? 0 : ours / peer);
  }

  /** The same without a peer and a ratio. */
  Alone alone() {
    return new Alone(name, unit, ours);
  }

  /** A figure that no peer has, as {@code --json} writes it. */
  public record Alone(String name, String unit, double ours) {
    /** Rounds it. */
    public Alone {
      ours = rounded(ours);
    }
  }

  /** Writes figures, which are records, to a file, if that is asked for. */
  public static void write(Optional<String> json, List<?> figures) throws IOException {
    if (json.isPresent()) {
      Path file = Path.of(json.get());
      Gson gson = new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();
      Files.writeString(file, gson.toJson(figures) + "\n");
      System.out.println("Written: " + file);
    }
  }

  /** For people, without decimals. */
  public static String whole(double number) {
    return String.format(Locale.ROOT, "%,d", Math.round(number));
  }

  /** With a decimal where there are fewer than three digits before the point. */
  public static String threeDigits(double number) {
    if (number >= 99.95) {
      return whole(number);
    }
    return String.format(Locale.ROOT, number >= 9.995 ? "%.1f" : "%.2f", number);
  }

  /** More digits would say nothing. */
  private static double rounded(double figure) {
    return figure >= 1000 ? Math.rint(figure) : Math.rint(figure * 1000) / 1000;
  }
}
