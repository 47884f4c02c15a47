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

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.entities.Project;
import com.google.gerrit.server.util.RequestContext;
import com.google.gerrit.server.util.ThreadLocalRequestContext;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import org.eclipse.jgit.lib.Ref;

/**
 * The lists of refs that were sent to fetches over HTTP within the last minute. If a client asks
 * for a listed ref by its name, and the ref was deleted meanwhile, the client can still get the
 * object that it would have asked for by id. Only the user who was sent a list can find its refs,
 * so a search neither says what others see nor runs Gerrit's filter.
 *
 * <p>Any thread may call. Takes at most about 10 MB. A search costs microseconds: there are at most
 * 500 lists.
 */
final class RecentLists {
  private static final int MAX_REFS = 50_000;

  /** The size of a list without refs, counted in refs, as a search reads each list. */
  private static final int LIST_SIZE = 100;

  private record Sent(long time, Object user, Project.NameKey project, Map<String, Ref> refs) {}

  /** By keys without a meaning; in one segment, as each would get a part of the room. */
  private final Cache<Object, Sent> lists =
      CacheBuilder.newBuilder()
          .concurrencyLevel(1)
          .expireAfterWrite(Duration.ofMinutes(1))
          .maximumWeight(MAX_REFS)
          .<Object, Sent>weigher((key, sent) -> LIST_SIZE + sent.refs.size())
          .build();

  /** Knows the user of a request; null until Gerrit has made it. */
  @Nullable volatile ThreadLocalRequestContext requests;

  /** Returns who makes this thread's request, in a form that can be compared; null if unknown. */
  @Nullable
  private Object user() {
    RequestContext request = requests == null ? null : requests.getContext();
    return request == null ? null : request.getUser().getCacheKey();
  }

  /** Keeps a list, which must not change afterwards, and returns it. */
  Map<String, Ref> add(Project.NameKey project, Map<String, Ref> refs) {
    Object user = user();
    if (user != null) {
      lists.put(new Object(), new Sent(System.nanoTime(), user, project, refs));
    }
    return refs;
  }

  /** Returns a ref as it was listed last to the user of this thread's request, or null. */
  @Nullable
  Ref find(Project.NameKey project, String name) {
    Object user = user();
    return lists.asMap().values().stream()
        .filter(sent -> sent.user.equals(user) && sent.project.equals(project))
        .filter(sent -> sent.refs.containsKey(name))
        .max(Comparator.comparingLong(Sent::time))
        .map(sent -> sent.refs.get(name))
        .orElse(null);
  }
}
