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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * The view that one request has of {@code packed-refs}, which limits how often the file is read.
 *
 * <p>If the file's attributes are trusted, they are checked at each lookup, as without a request.
 * Under {@link TrustStat#NEVER}, each lookup would read the whole file. There, a request reads the
 * file at its first lookup, and at its first lookup after it began an update. All other lookups
 * check the attributes after opening the file ({@link TrustStat#AFTER_OPEN}).
 *
 * <p>So a request does not see a single state of the file. It sees at least as much as with JGit's
 * own database of a request, which keeps a single state. It sees writes of this process at once,
 * and a retried update sees the change because of which it was refused.
 *
 * <p>No update starts from this view. Any thread may call.
 */
public final class RequestView implements RefReader.CurrentList {
  private final RepositoryFiles refs;

  /** The number of the reading by content that the next lookup needs. */
  private final AtomicInteger requiredRead = new AtomicInteger(1);

  /** The number of the last reading by content. */
  private volatile int lastRead;

  /** The refs for lookups by id, made on demand. */
  @Nullable private volatile KnownRefs lastKnown;

  /** Made on demand. */
  @Nullable private volatile RefDirectory jgitForRequest;

  /**
   * The refs at one moment of the request.
   *
   * @param requiredRead the number of the reading that the next lookup required
   * @param writes the number of updates by this process before
   */
  private record KnownRefs(int requiredRead, long writes, RefsById refs) {}

  public RequestView(RepositoryFiles refs) {
    this.refs = refs;
  }

  /** Has the next lookup read the content, as the request changes refs. */
  public void requireRead() {
    jgitForRequest = null;
    requiredRead.incrementAndGet();
  }

  /**
   * Returns JGit's database for reading, which has a single state until the request changes refs.
   */
  public RefDatabase jgit() {
    return refs.trustPacked == TrustStat.NEVER ? jgitSnapshot() : refs.jgit;
  }

  /** Returns JGit's database for updates by JGit, which parses once for a request as in Gerrit. */
  public RefDirectory jgitSnapshot() {
    RefDirectory made = jgitForRequest;
    if (made == null) {
      made = refs.jgit.createSnapshottingRefDirectory();
      jgitForRequest = made;
    }
    return made;
  }

  /**
   * Returns the refs with an id or peeled id, which were read since the last update by this
   * request, and since the last one by this module for anybody else. Updates by JGit and by other
   * processes may be missing until then; Gerrit's own cache of refs for a push lacks all updates
   * since its start.
   */
  public Set<Ref> tips(RefReader reader, ObjectId id) throws IOException {
    int now = requiredRead.get();
    long writes = refs.writes.get();
    KnownRefs known = lastKnown;
    // JGit's updates are not counted.
    if (known == null
        || known.requiredRead != now
        || known.writes != writes
        || jgitForRequest != null) {
      known = new KnownRefs(now, writes, reader.refsById());
      lastKnown = known;
    }
    return known.refs.of(id);
  }

  @Override
  @Nullable
  public ParsedRefs get() throws IOException {
    if (refs.trustPacked != TrustStat.NEVER) {
      return refs.packedFile.current(refs.trustPacked);
    }
    int now = requiredRead.get();
    if (lastRead == now) {
      return refs.packedFile.current(TrustStat.AFTER_OPEN);
    }
    ParsedRefs list = refs.packedFile.current(TrustStat.NEVER);
    lastRead = now;
    return list;
  }
}
