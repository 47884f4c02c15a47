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
import com.google.gerrit.server.git.DelegateRepository;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.errors.PackProtocolException;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.ReceivePack;
import org.eclipse.jgit.transport.RefFilter;
import org.eclipse.jgit.transport.RequestNotYetReadException;
import org.eclipse.jgit.transport.UploadPack;
import org.eclipse.jgit.transport.UploadPack.AdvertisedRequestValidator;
import org.eclipse.jgit.transport.UploadPack.ReachableCommitTipRequestValidator;
import org.eclipse.jgit.transport.UploadPack.RequestPolicy;
import org.eclipse.jgit.transport.UploadPack.RequestValidator;

/**
 * The check of a fetch, over HTTP and by git's protocol version 2, whether the client may have the
 * refs and the object ids that it wants. For other fetches it does nothing.
 *
 * <p>JGit allows an id that a visible ref points to, or a commit reachable from visible refs, and
 * reads all visible refs to find out. Here, the refs with such an id are looked up first. If the
 * user may see one of them, by Gerrit's filter, the id is allowed. If any id is not allowed so,
 * JGit checks that and the other remaining ids as it always does. Many names or ids cost no more
 * than all visible refs, which are then read once.
 *
 * <p>How: JGit calls an {@link AdvertiseRefsHook} before it reads all refs. When it does so for a
 * fetch, and not for a list of refs, this hook sets itself as the validator, and sets a map of
 * advertised refs that finds refs by name but lists none. So no id counts as advertised, and JGit
 * passes all of them to the validator. A connection over SSH may ask for a list of refs afterwards,
 * which that map would leave empty; so the hook does nothing there.
 *
 * <p>For the thread of the fetch.
 */
final class WantedTips implements AdvertiseRefsHook, RequestValidator {
  /** Tags come last, as Gerrit has to look for a branch that they are reachable from. */
  private static final Comparator<Ref> BY_COST =
      Comparator.comparing(ref -> ref.getName().startsWith(Constants.R_TAGS));

  private final DelegateRepository repository;
  private final TransportCounts counts;

  /** The ids of the refs that the client has asked for by name and may see. */
  private final Set<ObjectId> named = new HashSet<>();

  private final RefsByName byName;

  /**
   * Makes the hook of one fetch.
   *
   * @param repository filters refs; its delegate does not
   */
  WantedTips(DelegateRepository repository, TransportCounts counts) {
    this.repository = repository;
    this.counts = counts;
    byName =
        new RefsByName(repository.getRefDatabase()) {
          @Override
          @Nullable
          public Ref get(Object name) {
            Ref ref = super.get(name);
            if (ref != null && ref.getObjectId() != null) {
              named.add(ref.getObjectId());
            }
            return ref;
          }
        };
  }

  /** Other modules may have set another policy or filter since this hook was set. */
  @Override
  public void advertiseRefs(UploadPack fetch) {
    if (fetch.isBiDirectionalPipe()
        || !isFetching(fetch)
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

  /** Whether the client's request for objects has been read. */
  private static boolean isFetching(UploadPack fetch) {
    try {
      int unused = fetch.getDepth();
      return true;
    } catch (RequestNotYetReadException e) {
      return false;
    }
  }

  @Override
  public void checkWants(UploadPack fetch, List<ObjectId> wanted)
      throws PackProtocolException, IOException {
    if (fetch.getAdvertisedRefs() != byName) {
      // A hook of another module has set refs since. JGit's usual check is of these.
      new AdvertisedRequestValidator().checkWants(fetch, wanted);
      return;
    }
    List<ObjectId> others = new ArrayList<>(wanted);
    others.removeAll(named);
    if (others.size() <= RefsByName.MOST_LOOKUPS) {
      for (ObjectId id : List.copyOf(others)) {
        if (isVisibleTip(id)) {
          others.remove(id);
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

  private boolean isVisibleTip(ObjectId id) throws IOException {
    RefDatabase unfiltered = repository.delegate().getRefDatabase();
    if (!unfiltered.hasFastTipsWithSha1()) {
      return false;
    }
    List<Ref> tips = new ArrayList<>(unfiltered.getTipsWithSha1(id));
    tips.sort(BY_COST);
    for (Ref tip : tips) {
      Ref visible = byName.find(tip.getName());
      if (visible != null
          && (id.equals(visible.getObjectId()) || id.equals(visible.getPeeledObjectId()))) {
        return true;
      }
    }
    return false;
  }
}
