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
import com.google.gerrit.server.cache.PerThreadCache;
import com.google.gerrit.server.git.DelegateRepository;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.FetchV2Request;
import org.eclipse.jgit.transport.LsRefsV2Request;
import org.eclipse.jgit.transport.ProtocolV2Hook;
import org.eclipse.jgit.transport.ProtocolV2HookChain;
import org.eclipse.jgit.transport.ReceivePack;
import org.eclipse.jgit.transport.RefFilter;
import org.eclipse.jgit.transport.RequestNotYetReadException;
import org.eclipse.jgit.transport.UploadPack;
import org.eclipse.jgit.transport.UploadPack.AdvertisedRequestValidator;
import org.eclipse.jgit.transport.UploadPack.ReachableCommitTipRequestValidator;
import org.eclipse.jgit.transport.UploadPack.RequestPolicy;
import org.eclipse.jgit.transport.UploadPack.RequestValidator;

/**
 * A validator of the refs and object ids that a client wants to fetch. It applies to fetches over
 * HTTP, and to those over SSH by git's protocol version 2.
 *
 * <p>JGit allows an id that a visible ref points to, and a commit reachable from visible refs, and
 * reads all visible refs to find out. Here, the refs with such an id are looked up first. If
 * Gerrit's filter lets the user see one of them, the id is allowed. JGit checks all other ids as it
 * always does. Many names or ids cost no more than all visible refs, which are then read once.
 *
 * <p>How: JGit calls an {@link AdvertiseRefsHook} before it reads all refs. When it does so, this
 * hook sets itself as the validator, and sets a map of advertised refs that finds refs by name but
 * lists none to a fetch. So no id counts as advertised, and JGit passes all of them to the
 * validator.
 *
 * <p>Over HTTP, each request has a hook of its own. A connection over SSH asks for a list of refs
 * first and then fetches from the same {@link UploadPack}, and JGit calls the hook once. There, the
 * map lists the refs by the prefixes that the client has asked for. A list without prefixes is left
 * to JGit, which keeps it for the fetch.
 *
 * <p>For the thread of the fetch.
 */
final class WantValidator implements AdvertiseRefsHook, RequestValidator {
  private final UploadPack fetch;
  private final DelegateRepository repository;
  private final TransportCounts counts;

  /** Whether JGit calls this hook for lists of refs over SSH. */
  private boolean isWatching;

  /** The prefixes of the last list that the client has asked for; none for all refs. */
  private List<String> prefixes = List.of();

  /** The refs of that list; null until they are read. */
  @Nullable private Map<String, Ref> listed;

  /** The ids of the refs that the client has asked for by name and may see. */
  private final Set<ObjectId> named = new HashSet<>();

  private final Visible byName;
  private final Project.NameKey project;
  private final RecentLists recent;

  /**
   * Makes the hook of one fetch.
   *
   * @param repository filters refs; its delegate does not
   */
  WantValidator(
      UploadPack fetch,
      DelegateRepository repository,
      TransportCounts counts,
      Project.NameKey project,
      RecentLists recent) {
    this.project = project;
    this.recent = recent;
    this.fetch = fetch;
    this.repository = repository;
    this.counts = counts;
    byName = new Visible(repository);
  }

  /** Has JGit call this hook for lists of refs, besides the hook that Gerrit has set. */
  void watchLists() {
    if (isWatching) {
      return;
    }
    isWatching = true;
    ProtocolV2Hook own =
        new ProtocolV2Hook() {
          @Override
          public void onLsRefs(LsRefsV2Request request) {
            prefixes = request.getRefPrefixes();
            if (prefixes.size() > RefsByName.MAX_LOOKUPS) {
              prefixes = List.of(); // each ref would be compared with all of them
            }
            listed = null;
            if (!isListed() && fetch.getAdvertisedRefs() == byName) {
              fetch.setAdvertisedRefs(null); // JGit reads all refs
            }
          }

          @Override
          public void onFetch(FetchV2Request request) {
            listed = null;
          }
        };
    fetch.setProtocolV2Hook(ProtocolV2HookChain.newChain(List.of(fetch.getProtocolV2Hook(), own)));
  }

  /** Other modules may have set another policy, filter or hook since this hook was set. */
  @Override
  public void advertiseRefs(UploadPack fetch) {
    boolean isUsed =
        fetch.isBiDirectionalPipe() ? isWatching && (hasFetched() || isListed()) : hasFetched();
    // A hook that is called from a chain must not hide refs from the hooks after it.
    if (!isUsed
        || fetch.getAdvertiseRefsHook() != this
        || fetch.getRequestPolicy() != RequestPolicy.ADVERTISED
        || fetch.getRefFilter() != RefFilter.DEFAULT
        || fetch.getAdvertisedRefs() != null) {
      return;
    }
    fetch.setAdvertisedRefs(byName);
    if (fetch.getAdvertisedRefs() == byName) {
      fetch.setRequestValidator(this);
    } else {
      // Another module's transfer config hides refs. JGit reads all refs then, and filters them.
      fetch.setAdvertisedRefs(null);
    }
  }

  @Override
  public void advertiseRefs(ReceivePack push) {
    throw new UnsupportedOperationException("this hook is for fetches");
  }

  /** Whether the map may list the refs that the client asks for: by prefix, before any fetch. */
  private boolean isListed() {
    return !prefixes.isEmpty() && !hasFetched();
  }

  /** Whether a request for objects has been read. */
  private boolean hasFetched() {
    try {
      int unused = fetch.getDepth();
      return true;
    } catch (RequestNotYetReadException e) {
      return false;
    }
  }

  /** Returns a filter that hides nothing, and records the lists that are sent to clients. */
  RefFilter recordingFilter() {
    return hasFetched() ? RefFilter.DEFAULT : refs -> recent.add(project, refs);
  }

  @Override
  public void checkWants(UploadPack fetch, List<ObjectId> wanted) throws IOException {
    if (fetch.getAdvertisedRefs() != byName) {
      // A hook of another module has set other refs. JGit's usual check is of these.
      new AdvertisedRequestValidator().checkWants(fetch, wanted);
      return;
    }
    List<ObjectId> others = new ArrayList<>();
    PerThreadCache request = RefsByName.beginRequest();
    try (request) {
      for (ObjectId id : wanted) {
        if (!named.contains(id) && !byName.hasTip(id)) {
          others.add(id);
        }
      }
    }
    if (others.isEmpty()) {
      counts.tips.increment();
    } else {
      counts.walks.increment();
      new ReachableCommitTipRequestValidator().checkWants(fetch, others);
    }
  }

  /** The visible refs, which are listed to a list of refs and not to a fetch. */
  private final class Visible extends RefsByName {
    private int deletedLookups;

    Visible(DelegateRepository repository) {
      super(repository);
    }

    @Override
    @Nullable
    public Ref get(Object name) {
      Ref ref = super.get(name);
      if (ref != null && ref.getObjectId() != null) {
        named.add(ref.getObjectId());
      }
      // JGit then checks its id as if the client had asked for it: visible refs must lead to it.
      return ref != null || ++deletedLookups > MAX_LOOKUPS
          ? ref
          : recent.find(project, (String) name);
    }

    @Override
    public Set<Entry<String, Ref>> entrySet() {
      if (!isListed()) {
        return Set.of();
      }
      try {
        if (listed == null) {
          String[] these = prefixes.toArray(String[]::new);
          listed = toMap(repository.getRefDatabase().getRefsByPrefix(these));
        }
        return listed.entrySet();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
