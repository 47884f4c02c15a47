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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.RefPaths;
import java.io.File;
import java.io.IOException;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefRename;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.RefUpdate.Result;
import org.eclipse.jgit.revwalk.RevWalk;

/**
 * Renames a ref, with its log, and has HEAD follow: several updates one after the other, as in
 * JGit, each of which is undone if a later one fails. The value is kept under a third name
 * meanwhile, so that it can always be found.
 */
final class FileRefRename extends RefRename {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final UpdatableRefs refs;
  private final RefWriter writer;

  FileRefRename(UpdatableRefs refs, RefWriter writer, RefUpdate source, RefUpdate destination) {
    super(source, destination);
    this.refs = refs;
    this.writer = writer;
  }

  @Override
  protected Result doRename() throws IOException {
    if (source.getRef().isSymbolic()) {
      return Result.IO_FAILURE; // as in JGit: there is no such thing
    }
    ObjectId id = source.getOldObjectId();
    boolean isHead = needToUpdateHEAD();
    File place = File.createTempFile("renamed_", "_ref", writer.paths().refsFolder());
    String kept = Constants.R_REFS + place.getName();
    try (RevWalk walk = new RevWalk(refs.repository())) {
      RefUpdate keep = refs.database().newUpdate(kept, false);
      keep.setNewObjectId(id);
      keep.setForceUpdate(true);
      keep.disableRefLog();
      Result result = keep.update(walk);
      if (result != Result.NEW && result != Result.FORCED && result != Result.NO_CHANGE) {
        return result;
      }
      return rename(walk, id, kept, isHead);
    } finally {
      drop(kept);
    }
  }

  private void drop(String kept) {
    try {
      RefUpdate drop = refs.database().newUpdate(kept, false);
      drop.setForceUpdate(true);
      drop.disableRefLog();
      Result unused = drop.delete();
      writer.deleteLoose(kept); // it was made empty, which is no ref
    } catch (IOException e) {
      // What has become of the renaming is known by now.
      logger.atWarning().withCause(e).log("cannot delete %s", kept);
    }
  }

  private Result rename(RevWalk walk, ObjectId id, String kept, boolean isHead) throws IOException {
    String from = source.getName();
    String to = destination.getName();
    // Before the ref is deleted, and its log with it.
    if (!moveLog(from, kept)) {
      return Result.IO_FAILURE;
    }
    RefUpdate create = destination;
    if (isHead) {
      // Before too: the branch that HEAD leads to can't be deleted.
      if (!linkHead(to)) {
        moveLog(kept, from);
        return Result.LOCK_FAILURE;
      }
      // So that HEAD's log tells of it.
      create = refs.database().newUpdate(Constants.HEAD, false);
      create.setRefLogIdent(destination.getRefLogIdent());
      create.setRefLogMessage(destination.getRefLogMessage(), false);
    }
    source.setExpectedOldObjectId(id);
    source.setForceUpdate(true);
    source.disableRefLog();
    Result deleted = source.delete(walk);
    if (deleted != Result.FORCED) {
      moveLog(kept, from);
      if (isHead) {
        linkHead(from);
      }
      return deleted;
    }
    if (!moveLog(kept, to)) {
      moveLog(kept, from);
      restore(walk, id, isHead);
      return Result.IO_FAILURE;
    }
    create.setExpectedOldObjectId(ObjectId.zeroId());
    create.setNewObjectId(id);
    Result created = create.update(walk);
    if (created != Result.NEW) {
      if (moveLog(to, kept)) {
        moveLog(kept, from);
      }
      restore(walk, id, isHead);
      return created;
    }
    return Result.RENAMED;
  }

  private void restore(RevWalk walk, ObjectId id, boolean isHead) throws IOException {
    source.setExpectedOldObjectId(ObjectId.zeroId());
    source.setNewObjectId(id);
    Result unused = source.update(walk);
    if (isHead) {
      linkHead(source.getName());
    }
  }

  private boolean linkHead(String target) {
    try {
      RefUpdate head = refs.database().newUpdate(Constants.HEAD, false);
      head.disableRefLog();
      Result result = head.link(target);
      return result == Result.NEW || result == Result.FORCED || result == Result.NO_CHANGE;
    } catch (IOException e) {
      return false;
    }
  }

  private boolean moveLog(String from, String to) {
    File log = refs.jgit().logFor(from);
    if (!log.exists()) {
      return true;
    }
    File target = refs.jgit().logFor(to);
    try {
      writer.disk().makeFolders(target.getParentFile().toPath());
      writer.disk().renameOverEmptyFolders(log.toPath(), target);
      RefPaths.deleteEmptyParents(log, from);
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
