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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * How one request looks at {@code packed-refs}.
 *
 * <p>Where attributes of the file are trusted that is as for everyone: one look at them for each
 * question. Only under {@link TrustStat#NEVER}, where each look would read the whole file, the
 * request reads it when it first asks, and again when it asks after it began an update; in between
 * it looks at the attributes anew after opening the file ({@link TrustStat#AFTER_OPEN}). So it
 * never sees less than it would of the one state that JGit's own database of a request keeps; what
 * this process has written it sees at once; and what an update was refused for is seen when it is
 * tried again.
 *
 * <p>No update starts from it. Any thread may call.
 */
final class RequestPin implements RefReader.CurrentList {
  private final PackedRefsFile file;
  private final TrustStat trust;
  private final RefDirectory jgit;

  /** How often the content must have been read. */
  private final AtomicInteger needed = new AtomicInteger(1);

  /** The need that was met last. */
  private volatile int met;

  private volatile boolean updating;

  /** Made when it is needed. */
  @Nullable private volatile RefDatabase snapshot;

  /** Made when it is needed. */
  @Nullable private volatile RefDirectory jgitForRequest;

  RequestPin(PackedRefsFile file, TrustStat trust, RefDirectory jgit) {
    this.file = file;
    this.trust = trust;
    this.jgit = jgit;
  }

  /** The request may change refs from here on. */
  void beginUpdate() {
    updating = true;
    lookAnew();
  }

  /** The next question needs the content of now. */
  void lookAnew() {
    snapshot = null;
    needed.incrementAndGet();
  }

  /** JGit's database for reading: its own of one state, until the request changes refs. */
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

  /** JGit's database for updates by JGit: Gerrit gives a request one that parses for it once. */
  RefDirectory jgitToWrite() {
    RefDirectory made = jgitForRequest;
    if (made == null) {
      made = jgit.createSnapshottingRefDirectory();
      jgitForRequest = made;
    }
    return made;
  }

  @Override
  @Nullable
  public ParsedRefs get() throws IOException {
    if (trust != TrustStat.NEVER) {
      return file.current(trust);
    }
    int now = needed.get();
    if (met == now) {
      return file.current(TrustStat.AFTER_OPEN);
    }
    ParsedRefs list = file.currentByContent();
    met = now;
    return list;
  }
}
