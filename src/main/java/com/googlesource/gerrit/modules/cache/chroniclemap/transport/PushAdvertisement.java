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

import com.google.gerrit.entities.RefNames;
import com.google.gerrit.server.git.DelegateRepository;
import com.google.gerrit.server.util.MagicBranch;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.ReceivePack;
import org.eclipse.jgit.transport.UploadPack;

/**
 * The hook in front of Gerrit's hook for pushes. Gerrit's hook advertises all refs that the user
 * may see except those of changes and of the cache of merges. If nobody has set refs before, it
 * reads all refs first and then removes these. This hook reads the other namespaces only, each
 * through Gerrit's filter, and sets their refs; Gerrit's hook then takes these.
 *
 * <p>The cost grows with the advertised refs, not with the changes. For the thread of the push.
 */
final class PushAdvertisement implements AdvertiseRefsHook {
  private final AdvertiseRefsHook gerrits;
  private final DelegateRepository repository;
  private final Predicate<String> isAdvertised;
  private final TransportCounts counts;

  /**
   * Makes the hook of one push.
   *
   * @param gerrits the hook to call afterwards
   * @param repository filters refs; its delegate does not
   * @param isAdvertised whether a ref is to be advertised if the user may see it
   */
  PushAdvertisement(
      AdvertiseRefsHook gerrits,
      DelegateRepository repository,
      Predicate<String> isAdvertised,
      TransportCounts counts) {
    this.gerrits = gerrits;
    this.repository = repository;
    this.isAdvertised = isAdvertised;
    this.counts = counts;
  }

  @Override
  public void advertiseRefs(ReceivePack push) throws IOException {
    if (push.getAdvertisedRefs() == null) {
      push.setAdvertisedRefs(visibleRefs(), push.getAdvertisedObjects());
      counts.pushes.increment();
    }
    gerrits.advertiseRefs(push);
  }

  @Override
  public void advertiseRefs(UploadPack fetch) {
    throw new UnsupportedOperationException("this hook is for pushes");
  }

  /** Returns the refs to advertise, by name, in a map that Gerrit may change. */
  private Map<String, Ref> visibleRefs() throws IOException {
    RefDatabase visible = repository.getRefDatabase();
    Map<String, Ref> refs = new HashMap<>();
    for (String namespace : namespaces(repository.delegate().getRefDatabase().getRefs())) {
      if (namespace.endsWith("/")) {
        visible.getRefsByPrefix(namespace).forEach(ref -> add(ref, refs));
      } else {
        Ref ref = visible.exactRef(namespace);
        if (ref != null && ref.getObjectId() != null) {
          add(ref, refs);
        }
      }
    }
    return refs;
  }

  private void add(Ref ref, Map<String, Ref> refs) {
    if (isAdvertised.test(ref.getName())) {
      refs.put(ref.getName(), ref);
    }
  }

  /**
   * Returns the namespaces to advertise, such as {@code refs/heads/}, and the names of refs that
   * are in none, such as {@code HEAD}.
   *
   * @param refs all refs, in order. Costs a search for each namespace
   */
  private static List<String> namespaces(List<Ref> refs) {
    List<String> namespaces = new ArrayList<>();
    int at = 0;
    while (at < refs.size()) {
      String namespace = namespace(refs.get(at).getName());
      if (!isLeftOut(namespace)) {
        namespaces.add(namespace);
      }
      at = namespace.endsWith("/") ? firstOutside(refs, at, namespace) : at + 1;
    }
    return namespaces;
  }

  private static String namespace(String name) {
    int slash =
        name.startsWith(Constants.R_REFS) ? name.indexOf('/', Constants.R_REFS.length()) : -1;
    return slash < 0 ? name : name.substring(0, slash + 1);
  }

  /** Whether Gerrit's hook removes all refs of a namespace. */
  private static boolean isLeftOut(String namespace) {
    return namespace.equals(RefNames.REFS_CHANGES)
        || namespace.equals(RefNames.REFS_CACHE_AUTOMERGE)
        || MagicBranch.isMagicBranch(namespace);
  }

  private static int firstOutside(List<Ref> refs, int from, String namespace) {
    int low = from + 1;
    int high = refs.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (refs.get(middle).getName().startsWith(namespace)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
