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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;

import java.io.Closeable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import org.eclipse.jgit.annotations.Nullable;

/**
 * An open file.
 *
 * <p>It is read through a channel, right into direct memory. A channel is closed when its thread is
 * interrupted, so a thread that is interrupted already reads by {@link RandomAccessFile}, which
 * costs a copy; and one that is interrupted meanwhile must {@linkplain #retry begin anew}, since
 * another file may have the name by now.
 */
public final class FileText implements TextSource, Closeable {
  /** The runtime copies such reads through memory that it takes anew if this is more. */
  private static final int MOST = 64 << 10;

  @Nullable private final FileChannel channel;
  @Nullable private final RandomAccessFile file;
  @Nullable private final byte[] part;

  /** What to do with an open file. */
  public interface Reading<T> {
    T read(FileText text) throws IOException, NotParsableException;
  }

  /** Opens a file; {@link FileNotFoundException} or like it if there is none. */
  FileText(File path) throws IOException {
    this(path, !Thread.currentThread().isInterrupted());
  }

  private FileText(File path, boolean byChannel) throws IOException {
    if (!byChannel) {
      channel = null;
      file = new RandomAccessFile(path, "r");
      part = new byte[MOST];
    } else {
      // A folder can be opened too.
      if (!path.isFile()) {
        throw new FileNotFoundException(path.getPath());
      }
      channel = open(path);
      file = null;
      part = null;
    }
  }

  private static FileChannel open(File path) throws IOException {
    try {
      return FileChannel.open(path.toPath(), StandardOpenOption.READ);
    } catch (NoSuchFileException e) {
      // JGit's retries know that one only.
      throw (IOException) new FileNotFoundException(path.getPath()).initCause(e);
    }
  }

  /**
   * Opens a file, reads and closes it; anew from opening, and without a channel, if that is closed
   * by an interrupt. The thread need not be interrupted then: {@link Thread#interrupt} sets the
   * status before it looks for a channel, so one that was meant for what the thread did before, and
   * was seen there, may close a channel that was opened since.
   */
  public static <T> T retry(Reading<T> reading, File path)
      throws IOException, NotParsableException {
    try (FileText text = new FileText(path)) {
      return reading.read(text);
    } catch (ClosedByInterruptException e) {
      try (FileText text = new FileText(path, /* byChannel= */ false)) {
        return reading.read(text);
      }
    }
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    if (channel != null) {
      return channel.read(target);
    }
    int n = file.read(part, 0, Math.min(target.remaining(), MOST));
    if (n > 0) {
      target.put(part, 0, n);
    }
    return n;
  }

  /** Whether {@link #part} can be used. */
  public boolean hasParts() {
    return channel != null;
  }

  /** A part of the file, empty at first, to be read while others are by other threads. */
  Part part() {
    return new Part(channel);
  }

  /** Part of a file. For one thread. */
  static final class Part implements TextSource {
    private final FileChannel channel;
    private long from;
    private long to;
    private long position;

    private Part(FileChannel channel) {
      this.channel = channel;
    }

    /**
     * Becomes another part of the file.
     *
     * @param first position of its first byte
     * @param end position after its last byte; anything after the end of the file for the rest
     */
    Part set(long first, long end) {
      from = first;
      to = end;
      position = first;
      return this;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      if (position == to) {
        return -1;
      }
      int limit = target.limit();
      target.limit(
          (int) Math.min(limit, target.position() + Math.min(to - position, target.remaining())));
      try {
        int n = channel.read(target, position);
        position += Math.max(0, n);
        return n;
      } finally {
        target.limit(limit);
      }
    }

    @Override
    public void rewind() {
      position = from;
    }
  }

  @Override
  public void rewind() throws IOException {
    if (channel != null) {
      channel.position(0);
    } else {
      file.seek(0);
    }
  }

  @Override
  public void close() throws IOException {
    if (channel != null) {
      channel.close();
    } else {
      file.close();
    }
  }
}
