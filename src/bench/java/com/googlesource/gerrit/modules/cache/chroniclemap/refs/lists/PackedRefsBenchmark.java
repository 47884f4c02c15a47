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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Parsed ref lists beside JGit's RefDirectory: packed refs alone, so without the look for a loose
 * ref that both need. JGit's figures here are with {@code trustStat = always}, whose check of the
 * file and probe for a loose ref are in them.
 *
 * <p>Run after {@code mvn process-test-classes}: {@code java -cp
 * target/test-classes:target/classes:$(cat target/test-class-path.txt) org.openjdk.jmh.Main
 * PackedRefsBenchmark}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 7, time = 1)
@Fork(
    value = 1,
    jvmArgs = {"-Xmx1g", "-XX:+UseG1GC"})
public class PackedRefsBenchmark {
  private static final int ASKED = 1 << 14;

  /** Number of refs. */
  @Param("500000")
  public int refs;

  private final SiteKey key = new SiteKey(new byte[SiteKey.SECRET_BYTES]);
  private final PackedRefsReader reader = new PackedRefsReader(key);
  private final ListMemory memory = new ListMemory(1 << 30);
  private final String[] existing = new String[ASKED];
  private final String[] missing = new String[ASKED];
  private final String[] prefixes = new String[ASKED];
  private Path folder;
  private Path file;
  private Path edited;
  private FileRepository repository;
  private RefDatabase jgit;
  private ParsedRefs list;
  private ParsedRefs current;
  private int next;
  private int edition;

  /** Writes two files and parses one. */
  @Setup(Level.Trial)
  public void setUp() throws Exception {
    folder = Files.createTempDirectory("packed-refs");
    repository = new FileRepository(folder.resolve("r.git").toFile());
    repository.create(true);
    jgit = repository.getRefDatabase();
    file = repository.getDirectory().toPath().resolve("packed-refs");
    edited = folder.resolve("edited");
    String[] names = RefsFile.names(refs);
    RefsFile.write(file, names, 0);
    RefsFile.write(edited, names, 1);
    Random random = new Random(1);
    for (int i = 0; i < ASKED; i++) {
      String name = names[random.nextInt(names.length * 19 / 20)];
      existing[i] = name;
      missing[i] = name + "x";
      prefixes[i] = name.substring(0, name.lastIndexOf('/') + 1);
    }
    try (FileText text = new FileText(file.toFile())) {
      list = reader.read(text, memory.draft(), null);
    }
    current = list;
  }

  /** Deletes all. */
  @TearDown(Level.Trial)
  public void tearDown() throws IOException {
    repository.close();
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  private String one(String[] of) {
    return of[next++ & (ASKED - 1)];
  }

  /** A ref that exists. */
  @Benchmark
  public Ref existing() {
    return list.exactRef(one(existing));
  }

  /** The same, JGit. */
  @Benchmark
  public Ref existingJgit() throws IOException {
    return jgit.exactRef(one(existing));
  }

  /** A ref that does not exist. */
  @Benchmark
  public Ref missing() {
    return list.exactRef(one(missing));
  }

  /** The same, JGit. */
  @Benchmark
  public Ref missingJgit() throws IOException {
    return jgit.exactRef(one(missing));
  }

  /** The refs of a change. */
  @Benchmark
  public List<Ref> smallPrefix() {
    return list.refs(one(prefixes));
  }

  /** The same, JGit. */
  @Benchmark
  public List<Ref> smallPrefixJgit() throws IOException {
    return jgit.getRefsByPrefix(one(prefixes));
  }

  /** All refs, one after the other. */
  @Benchmark
  public int all() {
    int length = 0;
    for (Ref ref : list.refs()) {
      length += ref.getName().length();
    }
    return length;
  }

  /** The same, JGit. */
  @Benchmark
  public int allJgit() throws IOException {
    int length = 0;
    for (Ref ref : jgit.getRefs()) {
      length += ref.getName().length();
    }
    return length;
  }

  /** Is the file what was parsed? */
  @Benchmark
  public boolean check() throws IOException {
    try (FileText text = new FileText(file.toFile())) {
      return reader.matches(text, list.root, 0, list.blocks());
    }
  }

  /** First parse; the blocks are put into memory that was used before, or are there. */
  @Benchmark
  public ParsedRefs parse() throws Exception {
    try (FileText text = new FileText(file.toFile())) {
      return reader.read(text, memory.draft(), null);
    }
  }

  /** The same, JGit. */
  @Benchmark
  public Ref parseJgit() throws IOException {
    jgit.refresh();
    return jgit.exactRef(existing[0]);
  }

  /** Parse after a rewrite that changed one line. */
  @Benchmark
  public ParsedRefs rewrite() throws Exception {
    edition ^= 1;
    try (FileText text = new FileText((edition == 0 ? file : edited).toFile())) {
      current = reader.read(text, memory.draft(), current);
      return current;
    }
  }
}
