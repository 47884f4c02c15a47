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

import java.io.IOException;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * What {@code packed-refs} is for one request.
 *
 * <p>Where attributes of the file are trusted it is what the file is now: that costs one look at
 * them. Only under {@link TrustStat#NEVER}, where each look reads the whole file, it is the content
 * that the request saw first, as with JGit's snapshotting RefDirectory, until the request begins to
 * update refs. From then on each look sees what this process has written: its own changes are in
 * the file's attributes at once, also on a network file system that keeps attributes for a while.
 *
 * <p>Loose refs are looked at each time. So a ref that somebody packs after the request has begun
 * may be in neither, under {@code never}: JGit's own per-request state has that too.
 *
 * <p>No update starts from it. Any thread may call.
 */
final class RequestPin implements CurrentList {
  private final PackedRefsFile file;
  private final TrustStat trust;
  private final RefDirectory jgit;
  @Nullable private volatile ParsedRefs pinned;
  private volatile boolean updating;

  /** Made when it is needed. */
  @Nullable private volatile RefDatabase snapshot;

  RequestPin(PackedRefsFile file, TrustStat trust, RefDirectory jgit) {
    this.file = file;
    this.trust = trust;
    this.jgit = jgit;
  }

  /** The request may change refs from here on. */
  void update() {
    updating = true;
    pinned = null;
  }

  /** JGit's database for reading: its own of one state, as long as this is of one state. */
  RefDatabase jgit() {
    if (updating || trust != TrustStat.NEVER) {
      return jgit;
    }
    RefDatabase made = snapshot;
    if (made == null) {
      made = jgit.createSnapshottingRefDirectory();
      snapshot = made;
    }
    return made;
  }

  @Override
  @Nullable
  public ParsedRefs get() throws IOException {
    if (trust != TrustStat.NEVER) {
      return file.current(trust);
    }
    if (updating) {
      return file.current(TrustStat.ALWAYS);
    }
    ParsedRefs list = pinned;
    if (list == null) {
      list = file.current(trust);
      if (!updating) {
        pinned = list;
      }
    }
    return list;
  }
}
