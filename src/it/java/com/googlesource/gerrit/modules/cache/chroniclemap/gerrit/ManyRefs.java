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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsObjects;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;

/**
 * Fills a repository that Gerrit has made with as many packed refs as a busy project has; they
 * point to some hundred commits and tags. No daemon may run meanwhile.
 */
final class ManyRefs {
  private final ImmutableList<Branch> branches;
  private final long bytes;

  /** A branch and where it points to. */
  record Branch(String name, String revision) {}

  private ManyRefs(List<Branch> branches, long bytes) {
    this.branches = ImmutableList.copyOf(branches);
    this.bytes = bytes;
  }

  /**
   * Fills the repository.
   *
   * @param trustStat value of {@code core.trustStat}; null to leave it out
   */
  static ManyRefs fill(Path folder, int count, @Nullable String trustStat) throws IOException {
    RefsObjects objects;
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      objects = RefsObjects.insert(repository, count);
      if (trustStat != null) {
        repository
            .getConfig()
            .setString(ConfigConstants.CONFIG_CORE_SECTION, null, "trustStat", trustStat);
        repository.getConfig().save();
      }
    }
    Path packed = folder.resolve(Constants.PACKED_REFS);
    String[] names = RefsFile.names(count);
    int[] numbers = new Random(count).ints(count, 0, objects.count()).toArray();
    objects.writePackedRefs(packed, names, i -> numbers[i]);
    List<Branch> branches = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      if (names[i].startsWith(Constants.R_HEADS)) {
        branches.add(new Branch(names[i], objects.of(names[i], numbers[i]).name()));
      }
    }
    return new ManyRefs(branches, Files.size(packed));
  }

  /** Some of the refs. */
  ImmutableList<Branch> branches() {
    return branches;
  }

  /** Size of {@code packed-refs}. */
  long bytes() {
    return bytes;
  }
}
