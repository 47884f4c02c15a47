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

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.eclipse.jgit.annotations.Nullable;

/** The text of an open file, which is read into direct memory without a copy. */
final class FileText implements TextSource, Closeable {
  private final FileChannel channel;

  /**
   * Tells the file from one that replaces it, in most cases: it is that of the file that had the
   * name just before this one was opened. Null if nothing does.
   */
  @Nullable final Object key;

  /** A way to read an open file. */
  interface Reading<T> {
    T read(FileText text) throws IOException;
  }

  /** Opens a file. */
  FileText(File path) throws IOException {
    // A channel could open a folder, too.
    BasicFileAttributes found = Files.readAttributes(path.toPath(), BasicFileAttributes.class);
    if (!found.isRegularFile()) {
      throw new FileSystemException(path.getPath(), null, "is not a regular file");
    }
    key = found.fileKey();
    channel = FileChannel.open(path.toPath(), StandardOpenOption.READ);
  }

  /**
   * Opens, reads and closes a file. If an interrupt closes the channel, all of this is done again
   * in another thread, as another file may have the name by then. The thread may not even have its
   * interrupt status set then. {@link Thread#interrupt} sets the status before it looks for a
   * channel, so a late interrupt whose status was handled already may close a channel that was
   * opened since.
   */
  static <T> T read(Reading<T> reading, File path) throws IOException {
    try {
      return readOnce(reading, path);
    } catch (ClosedChannelException e) {
      return UninterruptedThreads.call(() -> readOnce(reading, path));
    }
  }

  private static <T> T readOnce(Reading<T> reading, File path) throws IOException {
    try (FileText text = new FileText(path)) {
      return reading.read(text);
    }
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    return channel.read(target);
  }

  /**
   * Returns a part of the file. Several threads can read parts at the same time.
   *
   * @param first position of its first byte
   * @param end position after its last byte, which may be beyond the end of the file
   */
  TextSource part(long first, long end) {
    return new TextSource() {
      private long position = first;

      @Override
      public int read(ByteBuffer target) throws IOException {
        if (position == end) {
          return -1;
        }
        int limit = target.limit();
        target.limit(target.position() + (int) Math.min(end - position, target.remaining()));
        try {
          int n = channel.read(target, position);
          position += Math.max(0, n);
          return n;
        } finally {
          target.limit(limit);
        }
      }
    };
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
