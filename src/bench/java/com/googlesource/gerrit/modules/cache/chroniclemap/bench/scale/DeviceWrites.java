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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What the block device of a folder has written, whoever asked it to. */
record DeviceWrites(Path stat) {
  private static final int SECTORS_WRITTEN = 6;
  private static final long SECTOR_BYTES = 512;

  /** Empty if the folder is not on a device that Linux counts for. */
  static Optional<DeviceWrites> of(Path folder) throws IOException {
    try {
      long device = ((Number) Files.getAttribute(folder, "unix:dev")).longValue();
      long major = ((device >>> 8) & 0xfff) | ((device >>> 32) & ~0xfffL);
      long minor = (device & 0xff) | ((device >>> 12) & ~0xffL);
      Path stat = Path.of("/sys/dev/block/" + major + ":" + minor + "/stat");
      return Files.isReadable(stat) ? Optional.of(new DeviceWrites(stat)) : Optional.empty();
    } catch (UnsupportedOperationException | IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** Bytes written since the machine was started. */
  long bytes() throws IOException {
    List<String> fields =
        Splitter.on(' ').omitEmptyStrings().splitToList(Files.readString(stat).trim());
    return Long.parseLong(fields.get(SECTORS_WRITTEN)) * SECTOR_BYTES;
  }
}
