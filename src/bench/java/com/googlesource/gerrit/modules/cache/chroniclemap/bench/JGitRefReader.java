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
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

/** Asks a database of JGit's kind, this module's among them. */
final class JGitRefReader implements RefReader {
  private final FileRepository repository;
  private final RefDatabase refs;

  JGitRefReader(FileRepository repository, RefDatabase refs) {
    this.repository = repository;
    this.refs = refs;
  }

  @Override
  public boolean exactRef(String name) throws IOException {
    Ref ref = refs.exactRef(name);
    return ref != null && ref.getObjectId() != null;
  }

  @Override
  public int prefix(String prefix) throws IOException {
    return count(refs.getRefsByPrefix(prefix));
  }

  @Override
  public int all() throws IOException {
    return count(refs.getRefs());
  }

  private static int count(Iterable<Ref> some) {
    int count = 0;
    for (Ref ref : some) {
      count += ref.getName().isEmpty() ? 0 : 1;
    }
    return count;
  }

  @Override
  public int conflictingNames(String name) throws IOException {
    return refs.getConflictingNames(name).size();
  }

  @Override
  public int tips(ObjectId id) throws IOException {
    return refs.getTipsWithSha1(id).size();
  }

  @Override
  public void close() {
    repository.close();
  }
}
