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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour;

import com.google.gerrit.server.git.DelegateRefDatabase;
import java.io.IOException;
import java.util.List;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/** Refuses to change refs that begin with {@link #VETOED}; all else is the inner repository's. */
final class GuardedRefs extends DelegateRefDatabase {
  static final String VETOED = "refs/heads/vetoed/";
  static final String MESSAGE = "another Gerrit has the newer ref";

  GuardedRefs(Repository inner) {
    super(inner);
  }

  @Override
  public RefUpdate newUpdate(String name, boolean detach) throws IOException {
    if (name.startsWith(VETOED)) {
      throw new IOException(MESSAGE);
    }
    return super.newUpdate(name, detach);
  }

  @Override
  public BatchRefUpdate newBatchUpdate() {
    return new Batch(this, super.newBatchUpdate());
  }

  private static final class Batch extends BatchRefUpdate {
    private final BatchRefUpdate inner;

    Batch(RefDatabase refs, BatchRefUpdate inner) {
      super(refs);
      this.inner = inner;
    }

    @Override
    public void execute(RevWalk walk, ProgressMonitor monitor, List<String> options)
        throws IOException {
      for (ReceiveCommand command : getCommands()) {
        if (command.getRefName().startsWith(VETOED)) {
          command.setResult(ReceiveCommand.Result.REJECTED_OTHER_REASON, MESSAGE);
          ReceiveCommand.abort(getCommands());
          return;
        }
      }
      inner.addCommand(getCommands());
      inner.setAtomic(isAtomic());
      inner.setAllowNonFastForwards(isAllowNonFastForwards());
      inner.setForceRefLog(isForceRefLog());
      inner.setRefLogIdent(getRefLogIdent());
      inner.setPushCertificate(getPushCertificate());
      if (isRefLogDisabled()) {
        inner.disableRefLog();
      } else {
        inner.setRefLogMessage(getRefLogMessage(), isRefLogIncludingResult());
      }
      inner.execute(walk, monitor, options);
    }
  }
}
