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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.google.gerrit.common.Nullable;
import java.util.List;

/**
 * How far a log was read.
 *
 * @param index how many records were appended up to there; below 0 if that is not known
 */
record Checkpoint(StreamId position, long index) {
  static final Checkpoint START = new Checkpoint(StreamId.START, -1);

  /**
   * Returns the stored form.
   *
   * @param log names the log and the secret by which its records are opened
   */
  byte[] toText(String log) {
    return (log + "\n" + position + "\n" + index).getBytes(UTF_8);
  }

  /** Reads the stored form; the start if there is none, or only one of another log. */
  static Checkpoint ofText(@Nullable byte[] text, String log) {
    if (text == null) {
      return START;
    }
    List<String> lines = Splitter.on('\n').splitToList(new String(text, UTF_8));
    try {
      return lines.get(0).equals(log)
          ? new Checkpoint(StreamId.parse(lines.get(1)), Long.parseLong(lines.get(2)))
          : START;
    } catch (RuntimeException e) {
      return START;
    }
  }
}
