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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The disk of this machine, but the n-th of what is asked of it fails. Each call counts, those of
 * an open file too, and each touch of mapped memory counts by itself.
 */
final class FaultyDisk extends Disk {
  /** What happens at the n-th call or touch. */
  enum Fault {
    /** Nothing: calls and touches are counted. */
    NONE,
    /** The call fails, this once. */
    ONCE,
    /** The call is done and fails even so. */
    LATE,
    /** From here on there is no room: nothing can be made, moved, mapped or made longer. */
    FULL,
    /** From here on the folder can't be changed: nothing can be made, moved or deleted. */
    READ_ONLY,
    /** From here on all calls fail. */
    GONE,
    /** A file that is opened by this call ends at half its length. */
    SHORT,
    /** All files that were not mapped yet are cut to half their length. */
    CUT,
    /** The touch fails as Java has it if a mapped file can't be read or written. */
    TOUCH,
    /** As {@link #TOUCH}, and all later ones. */
    ALL_TOUCHES,
    /** The call fails, this once, because of a {@link Trouble}. */
    TROUBLE,
    /** From here on all calls fail because of a {@link Trouble}. */
    ALL_TROUBLES
  }

  /** What is wrong with the process or what surrounds it, and not with the file. */
  enum Trouble {
    HANDLES,
    DENIED,
    READ_ONLY,
    METADATA,
    MEMORY,
    CLASS;

    private void throwIt(Path file, boolean isOpen, boolean maps) throws IOException {
      switch (this) {
        case HANDLES ->
            throw new FileSystemException(file + "", null, "Too many open files (a test)");
        case DENIED -> throw new AccessDeniedException(file + "");
        case READ_ONLY ->
            throw new FileSystemException(file + "", null, "Read-only file system (a test)");
        case METADATA -> {
          if (isOpen) {
            throw new IOException("Input/output error (a test)");
          }
          throw new FileSystemException(file + "", null, "Input/output error (a test)");
        }
        case MEMORY -> {
          if (maps) {
            throw new OutOfMemoryError("Map failed (a test)");
          }
          throw new FileSystemException(file + "", null, "Cannot allocate memory (a test)");
        }
        case CLASS -> {
          if (maps) {
            throw new NoClassDefFoundError("net/openhft/None (a test)");
          }
          throw new AccessDeniedException(file + "");
        }
      }
    }
  }

  private enum Kind {
    READ,
    MAP,
    OPEN,
    WRITE,
    MAKE,
    LENGTHEN,
    DELETE
  }

  private interface Call<T> {
    T run() throws IOException;
  }

  private final Fault fault;
  private final int n;
  private final Trouble trouble;
  private final Set<Path> mapped = ConcurrentHashMap.newKeySet();
  private int calls;
  private int touches;
  private int hits;

  /** The first failure, which tells where it was; null before. */
  private IOException first;

  /** What each call did, for choosing those worth to fail. */
  private final List<Kind> kinds = new ArrayList<>();

  private int callsBeforeMapping;

  /** Whether this thread calls a file that is open. */
  private final ThreadLocal<Boolean> inFile = ThreadLocal.withInitial(() -> false);

  FaultyDisk(Fault fault, int n) {
    this(fault, n, Trouble.HANDLES);
  }

  FaultyDisk(Fault fault, int n, Trouble trouble) {
    this.fault = fault;
    this.n = n;
    this.trouble = trouble;
  }

  synchronized int calls() {
    return calls;
  }

  synchronized int touches() {
    return touches;
  }

  /** Whether it makes a difference if the n-th call of another run like this one fails. */
  synchronized boolean concerns(Fault what, int call) {
    Kind kind = kinds.get(call - 1);
    return switch (what) {
      case NONE, TOUCH, ALL_TOUCHES -> false;
      case ONCE, GONE, TROUBLE, ALL_TROUBLES -> true;
      case LATE -> kind != Kind.READ && kind != Kind.MAP && kind != Kind.OPEN;
      case FULL -> kind == Kind.MAKE || kind == Kind.LENGTHEN;
      case READ_ONLY -> kind == Kind.MAKE || kind == Kind.DELETE;
      case SHORT -> kind == Kind.OPEN;
      case CUT -> call <= callsBeforeMapping;
    };
  }

  /** How often anything failed or was cut. */
  synchronized int hits() {
    return hits;
  }

  /** Whether a call or touch failed, if any was hit: not only a file that is short. */
  boolean failed() {
    return fault != Fault.SHORT && fault != Fault.CUT;
  }

  /** Whether mapped memory fails, rather than a call. */
  boolean failsTouches() {
    return fault == Fault.TOUCH || fault == Fault.ALL_TOUCHES;
  }

  /** Whether what failed once fails for ever. */
  boolean goesOn() {
    return switch (fault) {
      case FULL, READ_ONLY, GONE, SHORT, ALL_TOUCHES, ALL_TROUBLES -> true;
      case NONE, ONCE, LATE, CUT, TOUCH, TROUBLE -> false;
    };
  }

  private synchronized boolean counts(Kind kind) {
    calls++;
    kinds.add(kind);
    return switch (fault) {
      case ONCE, LATE, SHORT, CUT, TROUBLE -> calls == n;
      case FULL, READ_ONLY, GONE, ALL_TROUBLES -> calls >= n;
      case NONE, TOUCH, ALL_TOUCHES -> false;
    };
  }

  private synchronized void hit() {
    hits++;
  }

  private synchronized IOException failure() {
    hit();
    IOException failure =
        new IOException(
            switch (fault) {
              case FULL -> "No space left on device (a test)";
              case READ_ONLY -> "Read-only file system (a test)";
              default -> "Input/output error (a test)";
            });
    first = first == null ? failure : first;
    return failure;
  }

  /** What failed first, for people. */
  synchronized String firstFailure() {
    return first == null ? "none" : Throwables.getStackTraceAsString(first);
  }

  private <T> T call(Kind kind, Path file, Call<T> call) throws IOException {
    if (!counts(kind)) {
      return call.run();
    }
    switch (fault) {
      case ONCE, GONE -> throw failure();
      case LATE -> {
        T unused = call.run();
        if (unused instanceof FileChannel channel) {
          channel.close();
        }
        throw failure();
      }
      case FULL -> {
        if (kind == Kind.MAKE || kind == Kind.LENGTHEN) {
          throw failure();
        }
      }
      case READ_ONLY -> {
        if (kind == Kind.MAKE || kind == Kind.DELETE) {
          throw failure();
        }
      }
      case CUT -> cutAll(file.getParent());
      case TROUBLE, ALL_TROUBLES -> {
        hit();
        trouble.throwIt(file, inFile.get(), kind == Kind.MAP);
      }
      case NONE, SHORT, TOUCH, ALL_TOUCHES -> {}
    }
    return call.run();
  }

  private <T> T callOpen(Kind kind, Path file, Call<T> call) throws IOException {
    inFile.set(true);
    try {
      return call(kind, file, call);
    } finally {
      inFile.set(false);
    }
  }

  private void cutAll(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".chm")).toList()) {
        if (!mapped.contains(file)) {
          try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() / 2);
          }
          hit();
        }
      }
    }
  }

  @Override
  public boolean exists(Path file) throws IOException {
    return call(Kind.READ, file, () -> REAL.exists(file));
  }

  @Override
  public long size(Path file) throws IOException {
    return call(Kind.READ, file, () -> REAL.size(file));
  }

  @Override
  public void create(Path file) throws IOException {
    call(
        Kind.MAKE,
        file,
        () -> {
          super.create(file);
          return null;
        });
  }

  @Override
  public boolean makePrivate(Path file) throws IOException {
    return call(Kind.WRITE, file, () -> REAL.makePrivate(file));
  }

  @Override
  public void delete(Path file) throws IOException {
    call(
        Kind.DELETE,
        file,
        () -> {
          super.delete(file);
          return null;
        });
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    call(
        Kind.MAKE,
        from,
        () -> {
          super.move(from, to);
          if (mapped.remove(from)) {
            mapped.add(to);
          }
          return null;
        });
  }

  @Override
  public void sync(Path folder) throws IOException {
    call(
        Kind.WRITE,
        folder.resolve("."),
        () -> {
          // Not done: it is slow, and no machine stops here.
          return null;
        });
  }

  @Override
  public List<Path> list(Path folder) throws IOException {
    return call(Kind.READ, folder.resolve("."), () -> REAL.list(folder));
  }

  @Override
  public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
    boolean[] cut = new boolean[1];
    FileChannel channel =
        call(
            Kind.OPEN,
            file,
            () -> {
              synchronized (this) {
                cut[0] = fault == Fault.SHORT && calls == n;
              }
              return REAL.open(file, options);
            });
    long end = Long.MAX_VALUE;
    if (cut[0]) {
      hit();
      end = channel.size() / 2;
    }
    return new FaultyChannel(file, channel, end);
  }

  @Override
  public void write(Path file, byte[] bytes) throws IOException {
    call(
        Kind.LENGTHEN,
        file,
        () -> {
          super.write(file, bytes);
          return null;
        });
  }

  @Override
  public MappedByteBuffer map(Path file) throws IOException {
    return call(Kind.MAP, file, () -> REAL.map(file));
  }

  @Override
  public void unmap(MappedByteBuffer mapped) {
    REAL.unmap(mapped);
  }

  @Override
  public void force(Path file, FileChannel open) throws IOException {
    call(
        Kind.WRITE,
        file,
        () -> {
          // Not done: it is slow, and no machine stops here.
          return null;
        });
  }

  @Override
  public String fileKey(Path file) throws IOException {
    return call(Kind.READ, file, () -> REAL.fileKey(file));
  }

  @Override
  public boolean hasKey(Path file, String key) throws IOException {
    // What was copied by a test is to be taken for the file itself.
    return call(Kind.READ, file, () -> true);
  }

  @Override
  public long modified(Path file) throws IOException {
    return call(Kind.READ, file, () -> REAL.modified(file));
  }

  @Override
  public String boot(Path file) throws IOException {
    return call(Kind.READ, file, () -> REAL.boot(file));
  }

  @Override
  public long free(Path folder) {
    return Disk.REAL.free(folder);
  }

  @Override
  public void allocating(Path file) throws IOException {
    call(Kind.MAKE, file, () -> null);
  }

  @Override
  public void mapping(Path file) throws IOException {
    call(
        // A file that has its disk can be mapped where there is no more.
        REAL.size(file) == 0 ? Kind.MAKE : Kind.MAP,
        file,
        () -> {
          mapped.add(file);
          synchronized (this) {
            callsBeforeMapping = calls;
          }
          return null;
        });
  }

  @Override
  public void touching(Path file) {
    synchronized (this) {
      touches++;
      if (!(fault == Fault.TOUCH && touches == n)
          && !(fault == Fault.ALL_TOUCHES && touches >= n)) {
        return;
      }
      hits++;
    }
    // As an unsafe memory access does, where the disk fails under the mapping.
    throw new InternalError("a fault occurred in an unsafe memory access operation (a test)");
  }

  /** An open file whose calls count too. */
  private final class FaultyChannel extends FileChannel {
    private final Path file;
    private final FileChannel channel;
    private final long end;

    FaultyChannel(Path file, FileChannel channel, long end) {
      this.file = file;
      this.channel = channel;
      this.end = end;
    }

    /** Reads up to the end there seems to be. */
    private int read(ByteBuffer dst, long position, boolean advance) throws IOException {
      if (position >= end) {
        return -1;
      }
      int limit = dst.limit();
      dst.limit((int) Math.min(limit, dst.position() + end - position));
      try {
        return advance ? channel.read(dst) : channel.read(dst, position);
      } finally {
        dst.limit(limit);
      }
    }

    @Override
    public int read(ByteBuffer dst) throws IOException {
      return callOpen(Kind.READ, file, () -> read(dst, channel.position(), true));
    }

    @Override
    public int read(ByteBuffer dst, long position) throws IOException {
      return callOpen(Kind.READ, file, () -> read(dst, position, false));
    }

    @Override
    public int write(ByteBuffer src, long position) throws IOException {
      boolean longer = position + src.remaining() > channel.size();
      return callOpen(
          longer ? Kind.LENGTHEN : Kind.WRITE, file, () -> channel.write(src, position));
    }

    @Override
    public long size() throws IOException {
      return callOpen(Kind.READ, file, () -> Math.min(end, channel.size()));
    }

    @Override
    public FileChannel truncate(long size) throws IOException {
      callOpen(Kind.WRITE, file, () -> channel.truncate(size));
      return this;
    }

    @Override
    public void force(boolean metaData) throws IOException {
      callOpen(
          Kind.WRITE,
          file,
          () -> {
            // Not done: it is slow, and no machine stops here.
            return null;
          });
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) throws IOException {
      return channel.tryLock(position, size, shared);
    }

    @Override
    protected void implCloseChannel() throws IOException {
      channel.close();
    }

    @Override
    public int write(ByteBuffer src) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long read(ByteBuffer[] dsts, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] srcs, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long position() {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel position(long newPosition) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long transferFrom(ReadableByteChannel src, long position, long count) {
      throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
      throw new UnsupportedOperationException();
    }
  }
}
