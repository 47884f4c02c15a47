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
import java.nio.file.Path;
import java.util.List;
import org.eclipse.jgit.lib.RefDatabase;

/** Who updates refs: this module, and others beside it. */
enum UpdatesPeer implements Peer {
  OURS("ours", UpdatesWorker.OURS),
  /** This module with {@code packedRefs.atomic = rewrite}. */
  OURS_BY_REWRITE("ours by rewrite", UpdatesWorker.OURS_BY_REWRITE),
  /** That of Gerrit 3.13.5. */
  JGIT_7_4("JGit 7.4", "org.eclipse.jgit-7.4.0.202509020913-r.jar"),
  /** That of Gerrit 3.14.2. */
  JGIT_7_7("JGit 7.7", "org.eclipse.jgit-7.7.1.202607240634-r.jar"),
  GIT("git", "");

  private final String title;
  private final String what;

  UpdatesPeer(String title, String what) {
    this.title = title;
    this.what = what;
  }

  @Override
  public String title() {
    return title;
  }

  boolean ours() {
    return this == OURS || this == OURS_BY_REWRITE;
  }

  /** Starts it on a repository of its own. */
  UpdatesContender open(UpdatesHome home, UpdatesRepository repository, int writers)
      throws IOException {
    if (this == GIT) {
      return new GitUpdates(home, repository.folder(), repository.input(), writers);
    }
    List<String> rest =
        List.of(
            repository.folder().toString(),
            repository.inputFolder().toString(),
            Integer.toString(writers));
    return new WorkerUpdates(
        home,
        ours() ? System.getProperty("java.class.path") : jgitClassPath(),
        List.of(ours() ? what : UpdatesWorker.JGIT, rest.get(0), rest.get(1), rest.get(2)));
  }

  /** Another JGit comes first; what JGit itself needs is in Gerrit's jar behind it. */
  private String jgitClassPath() {
    return WorkerUpdates.classPath(
        Path.of(System.getProperty("bench.jgit"), what),
        jarOf(UpdatesWorker.class),
        jarOf(RefDatabase.class));
  }

  private static Path jarOf(Class<?> type) {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath());
  }
}
