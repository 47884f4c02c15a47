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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.OurRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** The repository of a peer, which the run has made, and names to ask for. */
@State(Scope.Benchmark)
public class RefsFixture {
  static final int NAMES = 1 << 14;

  @Param RefsPeer peer;

  @Param("500000")
  int refs;

  @Param({"always", "after_open", "never"})
  String trust;

  final String[] existing = new String[NAMES];
  final String[] missing = new String[NAMES];
  final String[] prefixes = new String[NAMES];

  /** Each has one ref. */
  final ObjectId[] tips = new ObjectId[NAMES];

  final ObjectId[] noTips = new ObjectId[NAMES];
  Path repository;

  /** Not of use to the other peers. */
  OurRefs ours;

  @Setup(Level.Trial)
  public void prepare() throws IOException {
    Path folder = Fork.folder();
    ours = new OurRefs(folder);
    repository = folder.resolve(RefsRepositories.FILES);
    RefsRepositories.setCore(repository, "trustStat = " + trust);
    String[] names = RefsFile.names(refs);
    Random random = new Random(1);
    List<ObjectId> branchTips = RefsRepositories.branchTips(folder);
    byte[] id = new byte[Constants.OBJECT_ID_LENGTH];
    for (int i = 0; i < NAMES; i++) {
      // Refs of changes, or branches: each has a folder of few.
      String name = names[random.nextInt(names.length / 20 * 19)];
      // Of their own, as names from requests are: not spread over the memory of all.
      existing[i] = new String(name.toCharArray());
      missing[i] = name + "x";
      prefixes[i] = name.substring(0, name.lastIndexOf('/') + 1);
      tips[i] = branchTips.get(random.nextInt(branchTips.size()));
      random.nextBytes(id);
      noTips[i] = ObjectId.fromRaw(id);
    }
  }

  @TearDown(Level.Trial)
  public void close() {
    ours.close();
  }

  RefReader open() throws IOException {
    return peer.open(repository, ours);
  }
}
