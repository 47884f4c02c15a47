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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;

/** The refs of a repository, as their updates see them. Any thread may call. */
public interface UpdatableRefs {
  /** The database that batch updates belong to. */
  RefDatabase database();

  FileRepository repository();

  /** JGit's own database, which handles what this module leaves to it. */
  RefDirectory jgit();

  /**
   * Reads refs that the caller has locked before. Reads {@code packed-refs} by content if its
   * attributes are not trusted.
   */
  RefReader reader();

  /**
   * Reads what is read or verified again under the locks. Reads {@code packed-refs} only if its
   * attributes have changed, even if they are not trusted.
   */
  RefReader earlyReader();

  /**
   * A database that reads like {@link #earlyReader}, but confirms name conflicts by the content.
   */
  RefDatabase earlyDatabase();

  /**
   * The list of {@code packed-refs}, which the caller has locked.
   *
   * @param byContent whether to distrust the file's attributes
   * @return null if JGit must write
   */
  @Nullable
  ParsedRefs lockedList(boolean byContent) throws IOException;

  /** Notes that refs were seen, which is no change. */
  void sawRefs();

  /** Notes a change, of which listeners are told once. */
  void wrote();
}
