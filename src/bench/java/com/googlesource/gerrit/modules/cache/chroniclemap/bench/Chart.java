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

import com.google.common.html.HtmlEscapers;
import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * {@code bin/bench chart}: the ratios of figures, as {@code --json} writes them, as bars in SVG.
 * The scale is logarithmic: a bar that points to the right is in favour of this module.
 */
public final class Chart {
  private static final int LABELS = 530;
  private static final int BARS = 420;
  private static final int NUMBERS = 70;
  private static final int ROW = 24;
  private static final int HEAD = 30;

  private Chart() {}

  /**
   * Draws the chart.
   *
   * @param args the file to write, and the files that {@code --json} has written
   */
  public static void main(String[] args) throws IOException {
    List<Figure> figures = new ArrayList<>();
    for (String file : List.of(args).subList(1, args.length)) {
      figures.addAll(read(Path.of(file)));
    }
    Files.writeString(Path.of(args[0]), svg(figures));
  }

  /** Reads the figures of a file. */
  public static List<Figure> read(Path file) throws IOException {
    List<Figure> all = new Gson().fromJson(Files.readString(file), new TypeToken<>() {});
    return all.stream().filter(figure -> figure.ratio() > 0).toList();
  }

  /** Draws a bar for each figure. */
  public static String svg(List<Figure> figures) {
    int low = decade(figures.stream().mapToDouble(Figure::ratio).min().orElse(1), false);
    int high = decade(figures.stream().mapToDouble(Figure::ratio).max().orElse(1), true);
    double decades = Math.max(1, high - low);
    double one = LABELS - BARS * low / decades;
    int width = LABELS + BARS + NUMBERS;
    int height = HEAD + ROW * figures.size() + 10;
    StringBuilder out = new StringBuilder();
    add(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\""
            + " font-family=\"sans-serif\" font-size=\"13\" role=\"img\">",
        width,
        height,
        width,
        height);
    add(out, "<title>Ratios: above 1, this module is better</title>");
    add(out, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>", width, height);
    for (int decade = low; decade <= high; decade++) {
      double x = LABELS + BARS * (decade - low) / decades;
      add(
          out,
          "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>",
          x,
          HEAD - 6,
          x,
          height - 6,
          decade == 0 ? "#333333" : "#d0d4da");
      add(
          out,
          "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555555\">%s×</text>",
          x,
          HEAD - 12,
          decade >= 0 ? String.format(Locale.ROOT, "%,.0f", Math.pow(10, decade)) : "0.1");
    }
    for (int i = 0; i < figures.size(); i++) {
      Figure figure = figures.get(i);
      int y = HEAD + ROW * i;
      double length = BARS * Math.log10(figure.ratio()) / decades;
      add(
          out,
          "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>",
          LABELS - 10,
          y + 16,
          HtmlEscapers.htmlEscaper().escape(figure.name()));
      add(
          out,
          "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
          Math.min(one, one + length),
          y + 4,
          Math.max(1, Math.abs(length)),
          ROW - 8,
          length < 0 ? "#b25a00" : "#1a66d6");
      add(
          out,
          "<text x=\"%.1f\" y=\"%d\">%s×</text>",
          Math.max(one, one + length) + 5,
          y + 16,
          String.format(Locale.ROOT, figure.ratio() < 10 ? "%.2f" : "%,.0f", figure.ratio()));
    }
    add(out, "</svg>");
    return out.toString();
  }

  private static int decade(double ratio, boolean up) {
    double exact = Math.log10(ratio);
    return (int) (up ? Math.max(0, Math.ceil(exact)) : Math.min(0, Math.floor(exact)));
  }

  private static void add(StringBuilder out, String format, Object... arguments) {
    out.append(String.format(Locale.ROOT, format, arguments)).append('\n');
  }
}
