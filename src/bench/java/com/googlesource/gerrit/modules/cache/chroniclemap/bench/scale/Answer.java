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

import com.google.common.base.Splitter;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** What a {@link ScaleWorker} answers: figures by name, in one line. */
final class Answer {
  private static final String DONE = "done";

  private final Map<String, String> figures = new LinkedHashMap<>();

  Answer add(String name, double figure) {
    figures.put(name, String.format(Locale.ROOT, "%.6f", figure));
    return this;
  }

  Answer add(String name, long figure) {
    return add(name, (double) figure);
  }

  /** Adds a single word. */
  Answer add(String name, String word) {
    figures.put(name, word);
    return this;
  }

  Answer add(String name, Waits waits) {
    waits.micros().forEach((which, micros) -> add(name + "." + which, micros));
    return this;
  }

  static Answer parse(String line) throws IOException {
    Iterable<String> words = Splitter.on(' ').split(line);
    Answer answer = new Answer();
    boolean first = true;
    for (String word : words) {
      int equals = word.indexOf('=');
      if (first ? !word.equals(DONE) : equals < 0) {
        throw new IOException(line);
      }
      if (!first) {
        answer.figures.put(word.substring(0, equals), word.substring(equals + 1));
      }
      first = false;
    }
    return answer;
  }

  double figure(String name) {
    return Double.parseDouble(word(name));
  }

  String word(String name) {
    String word = figures.get(name);
    if (word == null) {
      throw new IllegalStateException("no " + name + " in: " + this);
    }
    return word;
  }

  /** Figures whose names begin so, by the rest of their names. */
  Map<String, Double> all(String prefix) {
    Map<String, Double> all = new LinkedHashMap<>();
    figures.forEach(
        (name, figure) -> {
          if (name.startsWith(prefix)) {
            all.put(name.substring(prefix.length()), Double.valueOf(figure));
          }
        });
    return all;
  }

  @Override
  public String toString() {
    StringBuilder line = new StringBuilder(DONE);
    figures.forEach((name, figure) -> line.append(' ').append(name).append('=').append(figure));
    return line.toString();
  }
}
