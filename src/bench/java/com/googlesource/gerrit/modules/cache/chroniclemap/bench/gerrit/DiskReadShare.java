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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/**
 * What share of a daemon's running Java threads reads values from disk and deserialises them, as
 * Java's flight recorder samples them: a heap tier that was filled before could save no more.
 */
final class DiskReadShare {
  private static final String DISK_TIER =
      "com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskTier";

  private final GerritDaemon daemon;
  private final Path recording;

  private DiskReadShare(GerritDaemon daemon, Path recording) {
    this.daemon = daemon;
    this.recording = recording;
  }

  static DiskReadShare begin(GerritDaemon daemon, Path folder) throws Exception {
    jcmd(daemon, "JFR.start", "name=reads", "settings=profile");
    return new DiskReadShare(daemon, folder.resolve("reads.jfr"));
  }

  /** Ends the recording; answers with the share, 0 to 1. */
  double end() throws Exception {
    jcmd(daemon, "JFR.stop", "name=reads", "filename=" + recording);
    int all = 0;
    int reads = 0;
    try (RecordingFile file = new RecordingFile(recording)) {
      while (file.hasMoreEvents()) {
        RecordedEvent event = file.readEvent();
        if (event.getEventType().getName().equals("jdk.ExecutionSample")) {
          all++;
          reads += isRead(event.getStackTrace()) ? 1 : 0;
        }
      }
    }
    if (all == 0) {
      throw new IOException("the flight recorder took no sample: file=" + recording);
    }
    return (double) reads / all;
  }

  private static boolean isRead(RecordedStackTrace stack) {
    return stack != null
        && stack.getFrames().stream()
            .anyMatch(
                frame ->
                    frame.getMethod().getType().getName().equals(DISK_TIER)
                        && frame.getMethod().getName().startsWith("read"));
  }

  static void jcmd(GerritDaemon daemon, String... arguments) throws Exception {
    Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
    List<String> line =
        Stream.concat(Stream.of(jcmd.toString(), Long.toString(daemon.pid())), Stream.of(arguments))
            .toList();
    Process process =
        new ProcessBuilder(line)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    if (process.waitFor() != 0) {
      throw new IOException("jcmd failed: " + line);
    }
  }
}
