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
import java.util.stream.Collectors;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
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
 * <p>The cost grows with the advertised refs, not with the changes. Over HTTP, JGit and Gerrit do
 * not walk through the refs when they are set, and the second request of a push looks up refs by
 * name when they are needed. If a branch was rewound while the pack arrived, its earlier target is
 * no longer advertised; in JGit's own list it would be.
 *
 * <p>For the thread of the push.
 */
final class PushAdvertisement implements AdvertiseRefsHook {
  /** Namespaces that Gerrit's hook removes. In a reftable, their refs are skipped, not read. */
  private static final Set<String> LEFT_OUT =
      Set.of(RefNames.REFS_CHANGES, RefNames.REFS_CACHE_AUTOMERGE);

  private final AdvertiseRefsHook gerrits;
  private final DelegateRepository repository;
  private final Predicate<String> isAdvertised;
  private final TransportCounts counts;
  private final ByName byName;

  @Nullable private final PushView view;

  /** The push that gets {@link #byName}; or null. */
  @Nullable private ReceivePack push;

  /** Whether the request of {@link #push} is the one that lists the refs. */
  private boolean isList;

  /** The filter that this hook has set; null if another module has set one. */
  @Nullable private RefFilter filter;

  /** Whether the refs are being set; {@link #byName} lists nothing then. */
  private boolean isSetting;

  /**
   * Makes the hook of one push.
   *
   * @param gerrits the hook to call afterwards
   * @param repository filters refs; its delegate does not
   * @param view has Gerrit's filter run for all refs at once; null if it can't
   * @param isAdvertised whether a ref is to be advertised if the user may see it
   */
  PushAdvertisement(
      AdvertiseRefsHook gerrits,
      DelegateRepository repository,
      @Nullable PushView view,
      Predicate<String> isAdvertised,
      TransportCounts counts) {
    this.gerrits = gerrits;
    this.repository = repository;
    this.isAdvertised = isAdvertised;
    this.counts = counts;
    byName = new ByName(repository);
    this.view = view;
  }

  /**
   * Has the advertised refs of a request over HTTP looked up by name. A push is two requests: the
   * first one lists the refs; in the second one, JGit looks up the refs that are pushed. Does
   * nothing if another module filters the advertised refs, which takes all.
   */
  void lookUpByName(ReceivePack push, boolean isList) {
    if (hasGerritsFilter(push)) {
      this.push = push;
      this.isList = isList;
    }
  }

  private static boolean hasGerritsFilter(ReceivePack push) {
    return Member.PUSH_FILTER.isOf(push.getRefFilter().getClass());
  }

  /**
   * Whether JGit has the map of this hook that lists nothing, so that ids must be asked for here.
   * Another module may have chosen other refs at any time.
   */
  boolean isByName() {
    return push != null && push.getAdvertisedRefs() == byName;
  }

  /** A failure is one that git shows, as with Gerrit's hook, and not an error of the server. */
  @Override
  public void advertiseRefs(ReceivePack push) throws ServiceMayNotContinueException {
    try {
      advertise(push);
    } catch (IOException | UncheckedIOException e) {
      throw e instanceof ServiceMayNotContinueException why
          ? why
          : new ServiceMayNotContinueException(e);
    }
  }

  private void advertise(ReceivePack push) throws IOException {
    Map<String, Ref> before = push.getAdvertisedRefs();
    if (before == null) {
      // Another module may have set a filter since.
      boolean isByName = this.push != null && hasGerritsFilter(push);
      runHooks(isByName ? byName : visibleRefs(), push);
      if (isByName() && isList) {
        readList(push); // if this fails, git shows why only if it does so here
      }
      (isByName() && !isList ? counts.pushesByName : counts.pushes).increment();
    } else if (before == byName) {
      runHooks(push.getRefFilter() == filter ? byName : visibleRefs(), push);
    } else {
      gerrits.advertiseRefs(push);
    }
  }

  private void readList(ReceivePack push) throws IOException {
    boolean isKept = push.isCheckReferencedObjectsAreReachable();
    for (Ref ref : byName.all().values()) {
      if (isKept && ref.getObjectId() != null) {
        push.getAdvertisedObjects().add(ref.getObjectId()); // for the second request, by Gerrit
      }
    }
  }

  private void runHooks(Map<String, Ref> refs, ReceivePack push) throws IOException {
    isSetting = refs == byName;
    try {
      if (push.getAdvertisedRefs() != refs) {
        set(refs, push);
      }
      gerrits.advertiseRefs(push);
    } finally {
      isSetting = false;
    }
    if (refs == byName && push.getAdvertisedRefs() != byName) {
      // A hook has copied the map, and the copy is empty. No hook of today's Gerrits does so.
      runHooks(visibleRefs(), push);
    }
  }

  private void set(Map<String, Ref> refs, ReceivePack push) throws IOException {
    if (hasGerritsFilter(push)) {
      // It copies all refs each time they are set, to omit those that are omitted here.
      RefFilter gerrits = push.getRefFilter();
      filter = given -> given == refs ? given : gerrits.filter(given);
      push.setRefFilter(filter);
    }
    push.setAdvertisedRefs(refs, push.getAdvertisedObjects());
  }

  /** Whether any advertised ref has an id. */
  boolean isTip(ObjectId id) throws IOException {
    return byName.hasTip(id);
  }

  /** Whether the advertised ref of a name has an id. */
  boolean isTip(String name, ObjectId id) {
    Ref ref = byName.get(name);
    return ref != null && id.equals(ref.getObjectId());
  }

  /** Returns the ids of all advertised refs. */
  Set<ObjectId> ids() throws IOException {
    return byName.all().values().stream().map(Ref::getObjectId).collect(Collectors.toSet());
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
    RefDatabase visible = repository.getRefDatabase();
    Map<String, Ref> refs = new LinkedHashMap<>();
    for (Ref ref :
        view == null
            ? visible.getRefsByPrefixWithExclusions(RefDatabase.ALL, LEFT_OUT)
            : view.visible(visible, LEFT_OUT)) {
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
