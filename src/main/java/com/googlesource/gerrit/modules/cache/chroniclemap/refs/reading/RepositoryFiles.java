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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import org.eclipse.jgit.events.RefsChangedEvent;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.CoreConfig;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.StoredConfig;
import org.eclipse.jgit.storage.file.FileBasedConfig;

/**
 * The refs of one repository as all of its databases share them: the files, a reader for each
 * purpose, and JGit's events about changes. Any thread may call.
 */
public final class RepositoryFiles {
  public final FileRepository repository;

  /** JGit's own database, which handles what this module leaves to it. */
  public final RefDirectory jgit;

  public final PackedRefsFile packedFile;
  public final RefPaths paths;
  public final LooseRefs loose;

  private final FileBasedConfig config;

  /** How far {@code core.trustPackedRefsStat} trusts the attributes of {@code packed-refs}. */
  final TrustStat trustPacked;

  /** Reads {@code packed-refs} as {@link #trustPacked} says. */
  public final RefReader reader;

  /**
   * Reads refs that the caller has locked before. Reads {@code packed-refs} by content if its
   * attributes are not trusted.
   */
  public final RefReader lockedReader;

  /**
   * Reads what is read or verified again under the locks. Reads {@code packed-refs} only if its
   * attributes have changed, even if they are not trusted.
   */
  public final RefReader earlyReader;

  /** The number of updates by this process until now. */
  final AtomicLong writes = new AtomicLong();

  /** The version of {@code packed-refs} that listeners know of; 0 before the first reading. */
  private final AtomicLong seenVersion = new AtomicLong();

  /**
   * Takes the files and settings from a repository, without touching the disk.
   *
   * @param counted gets the number of loose refs whenever all of them were listed
   */
  public RepositoryFiles(
      FileRepository repository,
      RefDirectory jgit,
      PackedRefsFile packedFile,
      Transactions transactions,
      IntConsumer counted) {
    this.repository = repository;
    this.jgit = jgit;
    this.packedFile = packedFile;
    this.config = repository.getConfig();
    CoreConfig core = config.get(CoreConfig.KEY);
    this.trustPacked = core.getTrustPackedRefsStat();
    this.paths = new RefPaths(repository, packedFile.file);
    this.loose = new LooseRefs(repository, paths, core.getTrustLooseRefStat(), packedFile);
    this.reader =
        new RefReader(loose, () -> packedFile.current(trustPacked), transactions, counted);
    this.lockedReader = reader.with(() -> lockedList(false));
    TrustStat early = trustPacked == TrustStat.NEVER ? TrustStat.AFTER_OPEN : trustPacked;
    this.earlyReader = reader.with(() -> packedFile.current(early));
  }

  /**
   * Returns the list of {@code packed-refs} for a caller that has locked refs or the file. The file
   * is opened even if its attributes are trusted. On NFS, a client's old attributes would hide that
   * another machine has deleted a ref, which has since become a loose one of the same value.
   * Packing would then delete the only file of that ref.
   *
   * @param byContent whether to distrust the file's attributes
   * @throws RefReader.LeftToJGit if JGit must write
   */
  public ParsedRefs lockedList(boolean byContent) throws IOException {
    TrustStat trust =
        byContent
            ? TrustStat.NEVER
            : trustPacked == TrustStat.ALWAYS ? TrustStat.AFTER_OPEN : trustPacked;
    ParsedRefs list = packedFile.current(trust);
    if (list == null) {
      throw new RefReader.LeftToJGit();
    }
    return list;
  }

  /**
   * Returns the repository's config as its own file is now. JGit also looks at the files of the
   * user and the system, which takes several times as long; these are as it found them last.
   */
  public StoredConfig config() {
    return config.isOutdated() ? repository.getConfig() : config;
  }

  // ---- events

  /** Tells listeners of a change by this process. */
  public void wrote() {
    // The write's own change of packed-refs is no change by others.
    seenVersion.set(packedFile.version());
    writes.incrementAndGet();
    repository.fireEvent(new RefsChangedEvent());
  }

  /** Tells listeners if {@code packed-refs} was found to have been changed by others. */
  public void fireIfOthersChanged() {
    long version = packedFile.version();
    long seen = seenVersion.get();
    if (version != seen && seenVersion.compareAndSet(seen, version) && seen != 0) {
      repository.fireEvent(new RefsChangedEvent());
    }
  }
}
