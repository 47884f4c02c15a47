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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.lib.Constants;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** The first read after something has happened; the file is in the page cache. */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class RefsOnceBenchmark {
  /** A repository of which this process, and the store, know nothing. */
  @State(Scope.Benchmark)
  public static class Unknown {
    private RefReader reader;

    @Setup(Level.Iteration)
    public void open(RefsFixture fixture) throws IOException {
      fixture.ours.forgetAll();
      reader = fixture.open();
    }

    @TearDown(Level.Iteration)
    public void close() throws IOException {
      reader.close();
    }
  }

  /** A repository that was read and closed. */
  @State(Scope.Benchmark)
  public static class Known {
    private RefReader reader;

    @Setup(Level.Iteration)
    public void open(RefsFixture fixture) throws IOException {
      try (RefReader before = fixture.open()) {
        read(before, fixture);
      }
      fixture.ours.restart();
      reader = fixture.open();
    }

    @TearDown(Level.Iteration)
    public void close(RefsFixture fixture) throws IOException {
      if (fixture.peer == RefsPeer.OURS && fixture.ours.parses() > 0) {
        throw new IllegalStateException("what is known was parsed again");
      }
      reader.close();
    }
  }

  /** A repository whose file is rewritten before each read. */
  @State(Scope.Benchmark)
  public static class Rewritten {
    private RefReader reader;
    private Path file;
    private Path[] editions;
    private int count;

    @Setup(Level.Trial)
    public void open(RefsFixture fixture) throws IOException {
      file = fixture.repository.resolve(Constants.PACKED_REFS);
      Path folder = fixture.repository.getParent();
      Path first = Files.copy(file, folder.resolve("packed-refs-first"));
      editions = new Path[] {folder.resolve(RefsRepositories.EDITED), first};
      reader = fixture.open();
      read(reader, fixture);
    }

    /** As git does: a new file in the place of the old one. */
    @Setup(Level.Iteration)
    public void rewrite() throws IOException {
      put(editions[count % 2], ++count);
    }

    private void put(Path edition, int time) throws IOException {
      Path next = file.resolveSibling("packed-refs.new");
      Files.copy(edition, next);
      Files.setLastModifiedTime(next, RefsRepositories.time(time));
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
    }

    @TearDown(Level.Trial)
    public void close() throws IOException {
      put(editions[1], 0);
      Files.delete(editions[1]);
      reader.close();
    }
  }

  private static void read(RefReader reader, RefsFixture fixture) throws IOException {
    RefsOperation.FIRST.ask(reader, fixture);
  }

  @Benchmark
  public void first(RefsFixture fixture, Unknown unknown) throws IOException {
    read(unknown.reader, fixture);
  }

  @Benchmark
  public void restart(RefsFixture fixture, Known known) throws IOException {
    read(known.reader, fixture);
  }

  @Benchmark
  public void rewrite(RefsFixture fixture, Rewritten rewritten) throws IOException {
    read(rewritten.reader, fixture);
  }
}
