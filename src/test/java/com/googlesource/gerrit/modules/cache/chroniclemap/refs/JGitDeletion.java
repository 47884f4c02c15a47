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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.RefUpdate;

/**
 * How JGit deletes a single ref. Before 7.3 (Gerrit 3.12) it does not lock packed-refs if the ref
 * is not in there: a {@code git pack-refs} that has read the loose file puts the ref in its list
 * all the same, so it is back after it was deleted.
 */
final class JGitDeletion {
  private static final String NAME = "refs/heads/probe";

  private JGitDeletion() {}

  /**
   * Whether JGit deletes no loose ref while somebody else has the lock of packed-refs.
   *
   * @param folder to be made, for a repository in which to try it
   */
  static boolean locksPackedRefs(Path folder) throws IOException {
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      repository.create(true);
      Files.createFile(folder.resolve("packed-refs.lock"));
      Files.writeString(folder.resolve(NAME), insertObject(repository).name() + "\n", UTF_8);
      RefDirectory refs = (RefDirectory) repository.getRefDatabase();
      // It would be tried for three seconds.
      Method retries = RefDirectory.class.getDeclaredMethod("setRetrySleepMs", List.class);
      retries.setAccessible(true);
      retries.invoke(refs, List.of(0));
      RefUpdate update = refs.newUpdate(NAME, false);
      update.setForceUpdate(true);
      RefUpdate.Result result = update.delete();
      if (result != RefUpdate.Result.FORCED) {
        throw new AssertionError(result);
      }
      return false;
    } catch (LockFailedException e) {
      return true;
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("this JGit is not known", e);
    }
  }

  private static ObjectId insertObject(FileRepository repository) throws IOException {
    try (ObjectInserter inserter = repository.newObjectInserter()) {
      ObjectId id = inserter.insert(Constants.OBJ_BLOB, new byte[0]);
      inserter.flush();
      return id;
    }
  }
}
