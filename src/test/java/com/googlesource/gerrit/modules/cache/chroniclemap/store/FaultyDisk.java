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
import com.google.common.collect.ImmutableSet;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
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
final class FaultyDisk extends TestDisk {
  /** What happens at the n-th call or touch. */
  enum Fault {
    /** Nothing: calls and touches are counted. */
    NONE(false),
    /** The call fails, this once. */
    ONCE(false, Kind.values()),
    /** The call is done and fails even so. */
    LATE(false, Kind.WRITE, Kind.MAKE, Kind.LENGTHEN, Kind.DELETE),
    /** From here on there is no room: nothing can be made, moved, mapped or made longer. */
    FULL(true, Kind.MAKE, Kind.LENGTHEN),
    /** From here on the folder can't be changed: nothing can be made, moved or deleted. */
    READ_ONLY(true, Kind.MAKE, Kind.DELETE),
    /** From here on all calls fail. */
    GONE(true, Kind.values()),
    /** A file that is opened by this call ends at half its length. */
    SHORT(true, Kind.OPEN),
    /** All files that were not mapped yet are cut to half their length. */
    CUT(false, Kind.values()),
    /** The touch fails as Java has it if a mapped file can't be read or written. */
    TOUCH(false),
    /** As {@link #TOUCH}, and all later ones. */
    ALL_TOUCHES(true),
    /** The call fails, this once, because of a {@link Trouble}. */
    TROUBLE(false, Kind.values()),
    /** From here on all calls fail because of a {@link Trouble}. */
    ALL_TROUBLES(true, Kind.values());

    static final List<Fault> OF_CALLS = List.of(ONCE, LATE, FULL, READ_ONLY, GONE, SHORT, CUT);

    /** Whether what failed once fails for ever. */
    final boolean goesOn;

    /** Calls that it does anything to. */
    private final ImmutableSet<Kind> kinds;

    Fault(boolean goesOn, Kind... kinds) {
      this.goesOn = goesOn;
      this.kinds = ImmutableSet.copyOf(kinds);
    }
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

  /** Of calls, those with which the same goes wrong. */
  private enum Kind {
    READ,
    MAP,
    OPEN,
    WRITE,
    MAKE,
    LENGTHEN,
    DELETE
  }

  private static Kind kindOf(Call call, Path file) throws IOException {
    return switch (call) {
      case EXISTS, SIZE, LIST, FILE_KEY, HAS_KEY, MODIFIED, BOOT, READ_OPEN, SIZE_OPEN -> Kind.READ;
      case OPEN -> Kind.OPEN;
      case MAP -> Kind.MAP;
      case MAKE_PRIVATE, COMPLETE, SYNC, FORCE, WRITE_OPEN, TRUNCATE_OPEN, FORCE_OPEN -> Kind.WRITE;
      case CREATE, MOVE, ALLOCATING -> Kind.MAKE;
      case WRITE, LENGTHEN_OPEN -> Kind.LENGTHEN;
      case DELETE -> Kind.DELETE;
      case TOUCHING -> throw new IllegalArgumentException("a touch is no call");
      // A file that has its disk can be mapped where there is no more.
      case MAPPING -> REAL.size(file) == 0 ? Kind.MAKE : Kind.MAP;
    };
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
    return what.kinds.contains(kinds.get(call - 1))
        && (what != Fault.CUT || call <= callsBeforeMapping);
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
    return fault.goesOn;
  }

  /** Counts a call; whether it is the n-th, or a later one of a fault that goes on. */
  private synchronized boolean meets(Kind kind) {
    calls++;
    kinds.add(kind);
    boolean isMet = calls == n || (calls > n && fault.goesOn && fault != Fault.SHORT);
    return isMet && fault.kinds.contains(kind);
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

  @Override
  <T> T call(Call call, Path file, Action<T> action) throws IOException {
    Kind kind = kindOf(call, file);
    if (meets(kind)) {
      switch (fault) {
        case ONCE, FULL, READ_ONLY, GONE -> throw failure();
        case LATE -> {
          T unused = run(call, action);
          throw failure();
        }
        case CUT -> cutAll(call == Call.SYNC || call == Call.LIST ? file : file.getParent());
        case TROUBLE, ALL_TROUBLES -> {
          hit();
          trouble.throwIt(file, call.isOfOpenFile(), kind == Kind.MAP);
        }
        case NONE, SHORT, TOUCH, ALL_TOUCHES -> {}
      }
    }
    return run(call, action);
  }

  private static <T> T run(Call call, Action<T> action) throws IOException {
    return switch (call) {
      // Not done: it is slow, and no machine stops here.
      case SYNC, FORCE, FORCE_OPEN -> null;
      default -> action.run();
    };
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
  public void move(Path from, Path to) throws IOException {
    super.move(from, to);
    if (mapped.remove(from)) {
      mapped.add(to);
    }
  }

  @Override
  public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
    FileChannel channel = super.open(file, options);
    if (!isShort()) {
      return channel;
    }
    hit();
    long end = REAL.size(file) / 2;
    return new ForwardingChannel(channel) {
      @Override
      public int read(ByteBuffer dst, long position) throws IOException {
        int limit = dst.limit();
        dst.limit((int) Math.min(limit, dst.position() + Math.max(0, end - position)));
        try {
          return position >= end ? -1 : super.read(dst, position);
        } finally {
          dst.limit(limit);
        }
      }

      @Override
      public long size() throws IOException {
        return Math.min(end, super.size());
      }
    };
  }

  /** Whether the call that was made last is one that opens a file which ends too early. */
  private synchronized boolean isShort() {
    return fault == Fault.SHORT && calls == n;
  }

  @Override
  public boolean hasKey(Path file, String key) throws IOException {
    // What was copied by a test is to be taken for the file itself.
    return call(Call.HAS_KEY, file, () -> true);
  }

  @Override
  public void mapping(Path file) throws IOException {
    super.mapping(file);
    mapped.add(file);
    synchronized (this) {
      callsBeforeMapping = calls;
    }
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
}
