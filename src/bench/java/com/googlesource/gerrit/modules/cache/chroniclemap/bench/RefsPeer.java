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
import java.io.IOException;
import java.nio.file.Path;
import org.eclipse.jgit.internal.storage.file.FileRepository;

/** Who answers questions about refs. */
public enum RefsPeer implements Peer {
  /** This module. */
  OURS("ours") {
    @Override
    RefReader open(Path repository, OurRefs ours) throws IOException {
      FileRepository files = new FileRepository(repository.toFile());
      return new JGitRefReader(files, ours.open(files));
    }
  },

  /** JGit on the same files. */
  REF_DIRECTORY("RefDirectory") {
    @Override
    RefReader open(Path repository, OurRefs ours) throws IOException {
      FileRepository files = new FileRepository(repository.toFile());
      return new JGitRefReader(files, files.getRefDatabase());
    }
  },

  /** Native git on the same files, in a process that is kept. */
  GIT("git") {
    @Override
    RefReader open(Path repository, OurRefs ours) throws IOException {
      return new GitRefReader(repository);
    }
  };

  private final String title;

  RefsPeer(String title) {
    this.title = title;
  }

  @Override
  public String title() {
    return title;
  }

  /**
   * Opens a repository of which this process knows nothing.
   *
   * @param ours only for this module
   */
  abstract RefReader open(Path repository, OurRefs ours) throws IOException;
}
