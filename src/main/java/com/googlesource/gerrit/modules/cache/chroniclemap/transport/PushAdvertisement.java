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
import com.google.gerrit.entities.RefNames;
import com.google.gerrit.server.git.DelegateRepository;
import com.google.gerrit.server.util.MagicBranch;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.ConnectivityChecker.ConnectivityCheckInfo;
import org.eclipse.jgit.transport.ReceivePack;
import org.eclipse.jgit.transport.RefFilter;
import org.eclipse.jgit.transport.ServiceMayNotContinueException;
import org.eclipse.jgit.transport.UploadPack;

/**
 * The advertisement of refs for one push: a hook in front of Gerrit's hook. Gerrit's hook
 * advertises all refs that the user may see except those of changes and of the cache of merges. If
 * nobody has set refs before, it reads all refs first and then removes these. This hook reads only
 * the refs that remain, through Gerrit's filter, and sets them; Gerrit's hook then uses these.
 *
 * <p>The cost grows with the advertised refs, not with the changes. JGit and Gerrit do not walk
 * through the refs when they are set. The second request of a push over HTTP looks up refs by name
 * when they are needed. If a branch was rewound while the pack arrived, its earlier target is no
 * longer advertised; in JGit's own list it would be.
 *
 * <p>For the thread of the push.
 */
final class PushAdvertisement implements AdvertiseRefsHook {
  /** Namespaces that Gerrit's hook removes. In a reftable, their refs are skipped, not read. */
  private static final Set<String> LEFT_OUT =
      Set.of(RefNames.REFS_CHANGES, RefNames.REFS_CACHE_AUTOMERGE);

  private final ReceivePack push;
  private final AdvertiseRefsHook gerrits;
  private final PushView view;
  private final Predicate<String> isAdvertised;
  private final TransportCounts counts;
  private final ByName byName;

  /** Whether this is the second request of a push over HTTP, which lists no refs. */
  boolean isSecond;

  /** The filter that this hook has set; or null. */
  @Nullable private RefFilter filter;

  /** Whether the refs are being set; {@link #byName} lists nothing then. */
  private boolean isSetting;

  /**
   * Makes the hook of one push, whose present hook is called afterwards.
   *
   * @param view has Gerrit's filter run for all refs at once
   * @param isAdvertised whether a ref is to be advertised if the user may see it
   */
  PushAdvertisement(
      ReceivePack push, PushView view, Predicate<String> isAdvertised, TransportCounts counts) {
    this.push = push;
    this.gerrits = push.getAdvertiseRefsHook();
    this.view = view;
    this.isAdvertised = isAdvertised;
    this.counts = counts;
    byName = new ByName(view.filtering);
  }

  /**
   * Is told what JGit has received, before Gerrit looks at it.
   *
   * @return the advertised refs; null if JGit has the ids of all
   */
  @Nullable
  RefsByName received(ConnectivityCheckInfo received) {
    view.received(received);
    return byName();
  }

  /** Another module may choose other refs at any time. */
  @Nullable
  private RefsByName byName() {
    return isSecond && push.getAdvertisedRefs() == byName ? byName : null;
  }

  /** A failure is one that git shows, as with Gerrit's hook, and not an error of the server. */
  @Override
  public void advertiseRefs(ReceivePack push) throws ServiceMayNotContinueException {
    try {
      advertise();
    } catch (IOException | UncheckedIOException e) {
      throw e instanceof ServiceMayNotContinueException why
          ? why
          : new ServiceMayNotContinueException(e);
    }
  }

  private void advertise() throws IOException {
    Map<String, Ref> before = push.getAdvertisedRefs();
    if (before == null) {
      // Filters and checkers of other modules need all refs.
      boolean canBeByName = hasGerritsFilter() && LocalConnectivityChecker.isInstalled(push);
      runHooks(canBeByName ? byName : visibleRefs());
      (byName() != null ? counts.pushesByName : counts.pushes).increment();
    } else if (before == byName) {
      runHooks(push.getRefFilter() == filter ? byName : visibleRefs());
    } else {
      gerrits.advertiseRefs(push);
    }
  }

  private boolean hasGerritsFilter() {
    return Member.PUSH_FILTER.isOf(push.getRefFilter().getClass());
  }

  private void runHooks(Map<String, Ref> refs) throws IOException {
    isSetting = refs == byName;
    try {
      if (push.getAdvertisedRefs() != refs) {
        set(refs);
      }
      gerrits.advertiseRefs(push);
    } finally {
      isSetting = false;
    }
    if (refs == byName && push.getAdvertisedRefs() != byName) {
      // A hook has copied the map, and the copy is empty. No hook of today's Gerrits does so.
      runHooks(visibleRefs());
    } else if (refs == byName && !isSecond) {
      // JGit takes no ids from a map that lists none, and git shows a failure only here.
      for (Ref ref : byName.all().values()) {
        if (ref.getObjectId() != null) {
          push.getAdvertisedObjects().add(ref.getObjectId());
        }
      }
    }
  }

  private void set(Map<String, Ref> refs) throws IOException {
    if (hasGerritsFilter()) {
      // It copies all refs each time they are set, to omit those that are omitted here.
      RefFilter gerrits = push.getRefFilter();
      filter = given -> given == refs ? given : gerrits.filter(given);
      push.setRefFilter(filter);
    }
    push.setAdvertisedRefs(refs, push.getAdvertisedObjects());
  }

  @Override
  public void advertiseRefs(UploadPack fetch) {
    throw new UnsupportedOperationException("this hook is for pushes");
  }

  /**
   * Returns the refs to advertise, by name, in a map that Gerrit and JGit may change. They are in
   * order, so that JGit sorts them quickly.
   */
  private Map<String, Ref> visibleRefs() throws IOException {
    Map<String, Ref> refs = new LinkedHashMap<>();
    for (Ref ref : view.visible(LEFT_OUT)) {
      String name = ref.getName();
      if (isAdvertised.test(name) && !MagicBranch.isMagicBranch(name)) {
        refs.put(name, ref);
      }
    }
    return refs;
  }

  /** Whether Gerrit's hook removes a ref. */
  private static boolean isLeftOut(String name) {
    return MagicBranch.isMagicBranch(name) || LEFT_OUT.stream().anyMatch(name::startsWith);
  }

  /**
   * The advertised refs by name. The map lists none while the refs are being set, as JGit and
   * Gerrit would walk through it needlessly, and lists all afterwards.
   */
  private final class ByName extends RefsByName {
    /** Refs that Gerrit has added, such as {@code refs/users/self}. */
    private final Map<String, Ref> added = new HashMap<>();

    ByName(DelegateRepository repository) {
      super(repository);
    }

    @Override
    Map<String, Ref> readAll() throws IOException {
      Map<String, Ref> refs = visibleRefs();
      if (isHidden(refs.get(Constants.HEAD))) {
        refs.remove(Constants.HEAD);
      }
      refs.putAll(added);
      return refs;
    }

    @Override
    @Nullable
    public Ref get(Object name) {
      Ref ref = added.get(name);
      return ref != null ? ref : super.get(name);
    }

    @Override
    @Nullable
    Ref find(String name) throws IOException {
      Ref ref = isLeftOut(name) || !isAdvertised.test(name) ? null : super.find(name);
      return isHidden(ref) ? null : ref;
    }

    /** JGit does not advertise a symbolic HEAD to pushes, nor a ref without an object. */
    private boolean isHidden(@Nullable Ref ref) {
      return ref != null
          && (ref.getObjectId() == null
              || (ref.getName().equals(Constants.HEAD) && ref.isSymbolic()));
    }

    @Override
    @Nullable
    public Ref put(String name, Ref ref) {
      return added.put(name, ref);
    }

    @Override
    public Set<Entry<String, Ref>> entrySet() {
      try {
        return isSetting ? Set.of() : all().entrySet();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
