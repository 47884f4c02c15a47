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

package com.googlesource.gerrit.modules.cache.chroniclemap.transport;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.entities.Project;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.eclipse.jgit.lib.Ref;

/**
 * The lists of refs that were sent to fetches over HTTP within the last minute, the newest first.
 * If a client asks for a listed ref by its name, and the ref was deleted meanwhile, the client can
 * still get the object that it would have asked for by id.
 *
 * <p>Any thread may call. Takes at most about 10 MB.
 */
final class RecentLists {
  private static final long MAX_AGE_NANOS = Duration.ofMinutes(1).toNanos();
  private static final int MAX_REFS = 50_000;

  /** The size of a list without refs, counted in refs, as a search reads each list. */
  private static final int LIST_SIZE = 100;

  private record Sent(long time, Project.NameKey project, Map<String, Ref> refs) {}

  private final Deque<Sent> lists = new ArrayDeque<>();
  private int size;

  /** Keeps a list, which must not change afterwards, and returns it. */
  synchronized Map<String, Ref> add(Project.NameKey project, Map<String, Ref> refs) {
    if (refs.size() < MAX_REFS - LIST_SIZE) {
      lists.addFirst(new Sent(System.nanoTime(), project, refs));
      size += LIST_SIZE + refs.size();
    }
    dropOld();
    return refs;
  }

  /** Returns a ref as it was listed last, or null. Somebody else may have been sent that list. */
  @Nullable
  synchronized Ref find(Project.NameKey project, String name) {
    dropOld();
    for (Sent sent : lists) {
      Ref ref = sent.project.equals(project) ? sent.refs.get(name) : null;
      if (ref != null) {
        return ref;
      }
    }
    return null;
  }

  private void dropOld() {
    while (size > MAX_REFS
        || (!lists.isEmpty() && System.nanoTime() - lists.getLast().time > MAX_AGE_NANOS)) {
      size -= LIST_SIZE + lists.removeLast().refs.size();
    }
  }
}
