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

import com.google.gerrit.entities.Project;
import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.ModuleImpl;
import com.google.gerrit.server.git.DelegateRefDatabase;
import com.google.gerrit.server.git.DelegateRepository;
import com.google.gerrit.server.git.GitRepositoryManager;
import com.google.gerrit.server.git.GitRepositoryManagerModule;
import com.google.gerrit.server.git.LocalDiskRepositoryManager;
import com.google.gerrit.server.git.LocalDiskRepositoryManager.LocalDiskRepositoryManagerModule;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.io.IOException;
import java.util.List;
import java.util.NavigableSet;
import org.eclipse.jgit.errors.RepositoryNotFoundException;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A module for {@code gerrit.installDbModule} that puts a manager of its own in front of Gerrit's,
 * as those for several Gerrits do: it must see each update of a ref before it happens.
 */
@ModuleImpl(name = GitRepositoryManagerModule.MANAGER_MODULE)
public final class GuardModule extends LifecycleModule {
  public static final String MESSAGE = "another Gerrit has the newer ref";
  private static final String VETOED = "refs/heads/vetoed/";

  @Override
  protected void configure() {
    install(new LocalDiskRepositoryManagerModule());
    bind(GitRepositoryManager.class).to(GuardedManager.class);
  }

  /** Wraps each repository that Gerrit's own manager opens. */
  @Singleton
  static final class GuardedManager implements GitRepositoryManager {
    private final LocalDiskRepositoryManager gerrit;

    @Inject
    GuardedManager(LocalDiskRepositoryManager gerrit) {
      this.gerrit = gerrit;
    }

    @Override
    public Status getRepositoryStatus(Project.NameKey name) {
      return gerrit.getRepositoryStatus(name);
    }

    @Override
    public Repository openRepository(Project.NameKey name) throws RepositoryNotFoundException {
      return new GuardedRepository(gerrit.openRepository(name));
    }

    @Override
    public Repository createRepository(Project.NameKey name) throws IOException {
      return new GuardedRepository(gerrit.createRepository(name));
    }

    @Override
    public NavigableSet<Project.NameKey> list() {
      return gerrit.list();
    }

    @Override
    public Boolean canPerformGC() {
      return gerrit.canPerformGC();
    }

    @Override
    public void repositoryDeleted(Project.NameKey name) {
      gerrit.repositoryDeleted(name);
    }
  }

  /** All its refs are changed through {@link GuardedRefs}. */
  static final class GuardedRepository extends DelegateRepository {
    private final GuardedRefs refs;

    GuardedRepository(Repository inner) {
      super(inner);
      this.refs = new GuardedRefs(inner);
    }

    @Override
    public RefDatabase getRefDatabase() {
      return refs;
    }

    @Override
    public RefUpdate updateRef(String ref) throws IOException {
      return refs.newUpdate(ref, false);
    }

    @Override
    public RefUpdate updateRef(String ref, boolean detach) throws IOException {
      return refs.newUpdate(ref, detach);
    }
  }

  /** Refuses to change refs that begin with {@link #VETOED}; all else is the inner repository's. */
  static final class GuardedRefs extends DelegateRefDatabase {
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
      return new GuardedBatch(this, super.newBatchUpdate());
    }
  }

  private static final class GuardedBatch extends BatchRefUpdate {
    private final BatchRefUpdate inner;

    GuardedBatch(RefDatabase refs, BatchRefUpdate inner) {
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
