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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;

/**
 * An open file. Not a channel: that would be closed when its thread is interrupted, which JGit's
 * own reading is not.
 */
final class FileText implements TextSource, Closeable {
  /** The runtime copies reads through memory that it takes anew from the system if this is more. */
  private static final int MOST = 64 << 10;

  private final RandomAccessFile file;

  /** Opens a file; {@link java.io.FileNotFoundException} if there is none. */
  FileText(File path) throws IOException {
    file = new RandomAccessFile(path, "r");
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    return file.read(target, offset, Math.min(length, MOST));
  }

  @Override
  public void rewind() throws IOException {
    file.seek(0);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
