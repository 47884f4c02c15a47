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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Figure;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What was measured, by name, in the order in which it came. */
final class ScaleResults {
  private static final int WIDTH = 112;
  private static final String ROW = "%-62s %-9s %12s %12s %10s%n";

  private static final class Line {
    final String unit;
    final boolean moreIsBetter;
    final Map<CachePeer, List<Double>> figures = new EnumMap<>(CachePeer.class);

    Line(String unit, boolean moreIsBetter) {
      this.unit = unit;
      this.moreIsBetter = moreIsBetter;
    }

    boolean has(CachePeer peer) {
      return figures.containsKey(peer);
    }

    /** The median of all rounds. */
    double figure(CachePeer peer) {
      List<Double> sorted = figures.get(peer).stream().sorted().toList();
      return sorted.get((sorted.size() - 1) / 2);
    }

    Record record(String name) {
      return has(CachePeer.H2)
          ? beside(name)
          : new Figure.Alone(name, unit, figure(CachePeer.OURS));
    }

    Figure beside(String name) {
      String both = name + ", vs " + CachePeer.H2.title();
      return moreIsBetter
          ? Figure.moreIsBetter(both, unit, figure(CachePeer.OURS), figure(CachePeer.H2))
          : Figure.lessIsBetter(both, unit, figure(CachePeer.OURS), figure(CachePeer.H2));
    }
  }

  private final Map<String, Line> lines = new LinkedHashMap<>();
  private final List<String> remarks = new ArrayList<>();

  /** Adds a figure of which less is better; one that is there already was of another round. */
  void less(CachePeer peer, String name, String unit, double figure) {
    add(peer, name, new Line(unit, /* moreIsBetter= */ false), figure);
  }

  /** Adds a figure of which more is better. */
  void more(CachePeer peer, String name, String unit, double figure) {
    add(peer, name, new Line(unit, /* moreIsBetter= */ true), figure);
  }

  private void add(CachePeer peer, String name, Line line, double figure) {
    lines
        .computeIfAbsent(name, n -> line)
        .figures
        .computeIfAbsent(peer, p -> new ArrayList<>())
        .add(figure);
  }

  /** Adds what is to be known of the figures, such as why there is none. */
  void remark(String text) {
    if (!remarks.contains(text)) {
      remarks.add(text);
    }
  }

  void print(PrintStream out) {
    out.printf(Locale.ROOT, ROW, "", "", "ours", CachePeer.H2.title(), "times");
    out.println("-".repeat(WIDTH));
    lines.forEach(
        (name, line) -> {
          boolean both = line.has(CachePeer.OURS) && line.has(CachePeer.H2);
          out.printf(
              Locale.ROOT,
              ROW,
              name,
              line.unit,
              line.has(CachePeer.OURS) ? Figure.threeDigits(line.figure(CachePeer.OURS)) : "",
              line.has(CachePeer.H2) ? Figure.threeDigits(line.figure(CachePeer.H2)) : "",
              both ? Figure.threeDigits(line.beside(name).ratio()) + "x" : "");
        });
    out.println("-".repeat(WIDTH));
    out.println("Times: so many times as good as H2. Starts are medians of their rounds.");
    remarks.forEach(out::println);
  }

  /** Those of ours, as {@code --json} writes them. */
  List<Record> figures() {
    List<Record> all = new ArrayList<>();
    lines.forEach(
        (name, line) -> {
          if (line.has(CachePeer.OURS)) {
            all.add(line.record(name));
          }
        });
    return all;
  }
}
