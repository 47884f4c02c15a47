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

import com.google.common.base.Splitter;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Where and with what the figures are made: they mean nothing without it. */
public final class Machine {
  private Machine() {}

  /**
   * Prints it.
   *
   * @param versions of what is measured
   */
  static void print(PrintStream out, Path folder, String versions) throws IOException {
    var system = ManagementFactory.getOperatingSystemMXBean();
    out.printf(
        Locale.ROOT,
        "Machine   %d processors (%s), %s %s, load %.2f before the run%n",
        system.getAvailableProcessors(),
        processor(),
        system.getName(),
        system.getArch(),
        system.getSystemLoadAverage());
    FileStore store = Files.getFileStore(folder);
    out.printf(Locale.ROOT, "Disk      %s of type %s%n", store.name(), store.type());
    out.printf(
        Locale.ROOT,
        "Java      %s, %s%n",
        System.getProperty("java.vm.name"),
        System.getProperty("java.vm.version"));
    out.printf(Locale.ROOT, "Versions  %s, JMH %s%n", versions, version("jmh-core"));
    out.printf(
        Locale.ROOT,
        "Date      %s%n",
        DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm 'UTC'", Locale.ROOT)
            .format(ZonedDateTime.now(ZoneOffset.UTC)));
  }

  private static String processor() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
      return lines
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).trim())
          .findFirst()
          .orElse("unknown model");
    } catch (IOException e) {
      return "unknown model";
    }
  }

  /** The version in the name of a jar on the class path. */
  public static String version(String artifact) {
    Pattern jar = Pattern.compile(".*[/\\\\]" + Pattern.quote(artifact) + "-(\\d[^/\\\\]*)\\.jar");
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(jar::matcher)
        .filter(Matcher::matches)
        .map(matcher -> matcher.group(1))
        .findFirst()
        .orElse("unknown");
  }

  /**
   * How busy other processes kept the machine while this one and its forks measured. Figures of a
   * run that was disturbed are not worth much. Known on Linux only.
   */
  static final class OtherWork {
    /** A point in time, in ticks of the clock that Linux counts with. */
    private record Ticks(long all, long busy, long ours) {}

    private final Optional<Ticks> start = now();

    /** Share of the machine that others took since this was made, 0 to 1; empty if not known. */
    Optional<Double> share() {
      Optional<Ticks> end = now();
      if (start.isEmpty() || end.isEmpty()) {
        return Optional.empty();
      }
      double all = end.get().all - start.get().all;
      double others =
          end.get().busy - start.get().busy - (double) (end.get().ours - start.get().ours);
      return all <= 0 ? Optional.empty() : Optional.of(Math.clamp(others / all, 0, 1));
    }

    private static Optional<Ticks> now() {
      try {
        // cpu user nice system idle iowait irq softirq steal ...
        List<String> machine = fields(firstLine(Path.of("/proc/stat")));
        long all = 0;
        for (String field : machine.subList(1, 9)) {
          all += Long.parseLong(field);
        }
        long idle = Long.parseLong(machine.get(4)) + Long.parseLong(machine.get(5));
        // Behind the name in brackets, from the 14th field: own user and system time, and that of
        // the children that have ended.
        String process = firstLine(Path.of("/proc/self/stat"));
        long ours = 0;
        for (String field :
            fields(process.substring(process.lastIndexOf(')') + 2)).subList(11, 15)) {
          ours += Long.parseLong(field);
        }
        return Optional.of(new Ticks(all, all - idle, ours));
      } catch (IOException | RuntimeException e) {
        return Optional.empty();
      }
    }

    private static String firstLine(Path file) throws IOException {
      return Files.readAllLines(file).get(0);
    }

    private static List<String> fields(String line) {
      return Splitter.on(' ').omitEmptyStrings().splitToList(line);
    }
  }
}
