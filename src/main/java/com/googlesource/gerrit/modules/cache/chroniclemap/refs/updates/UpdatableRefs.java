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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;

/** The refs of a repository, as updates of them see them. Any thread may call. */
public interface UpdatableRefs {
  /** The database that updates are made of. */
  RefDatabase database();

  FileRepository repository();

  /** JGit's own database, for what is left to it. */
  RefDirectory jgit();

  /**
   * Reads for whoever has locked what he asks for, after he has: {@code packed-refs} by its content
   * where attributes are not trusted.
   */
  RefReader reader();

  /**
   * Reads what is read again under the locks, or is verified there: {@code packed-refs} by its
   * attributes, whatever they are trusted for.
   */
  RefReader earlyReader();

  /** A database that reads so, but confirms a conflict of names by the content. */
  RefDatabase earlyDatabase();

  /**
   * The list of {@code packed-refs}, which the caller has locked.
   *
   * @param byContent whether attributes of the file are not to be trusted
   * @return null if JGit is to do it
   */
  @Nullable
  ParsedRefs lockedList(boolean byContent) throws IOException;

  /** Notes that there are refs, which is no change. */
  void sawRefs();

  /** Notes a change that was made, so that listeners are told once. */
  void wrote();
}
