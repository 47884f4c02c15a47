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

import com.google.common.collect.Iterables;
import com.google.common.collect.Sets;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PerThreadCache;
import com.google.gerrit.server.git.DelegateRepository;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.AbstractMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;

/**
 * A map of the refs that a user may see, for JGit, that finds refs by name without reading others.
 * After some lookups all refs are read once. Subclasses decide when the map lists refs.
 *
 * <p>Clients send any text for a name. A database that keeps refs in files would find a hidden file
 * by a name such as {@code refs/heads/../meta/config}, which Gerrit's filter takes for a branch. So
 * only valid names are looked up.
 *
 * <p>For one thread.
 */
abstract class RefsByName extends AbstractMap<String, Ref> {
  /** The refs that are looked up one by one. */
  static final int MAX_LOOKUPS = 32;

  /**
   * A tag counts as this many lookups, as Gerrit reads all branches to find one that reaches it.
   */
  private static final int TAG_LOOKUPS = 8;

  /** The ids that are looked up one by one. */
  private static final int MAX_QUESTIONS = 256;

  private final RefDatabase visible;

  /** Its database is another one during a request. */
  private final Repository unfiltered;

  private int lookups;
  private int questions;

  /** All refs by name; null unless there were many lookups. */
  @Nullable private Map<String, Ref> all;

  /** The ids and peeled ids of all refs; null until they are needed. */
  @Nullable private Set<ObjectId> ids;

  /**
   * Makes the map of one request.
   *
   * @param repository hides refs that the user may not see; its delegate does not
   */
  RefsByName(DelegateRepository repository) {
    visible = repository.getRefDatabase();
    unfiltered = repository.delegate();
  }

  /**
   * Begins a request of Gerrit's on this thread; returns null if one is under way. Until the result
   * is closed, all lookups of ids share one scan of the loose refs.
   */
  @Nullable
  static PerThreadCache beginRequest() {
    return PerThreadCache.get() == null ? PerThreadCache.create() : null;
  }

  /** Returns refs by name, in a map that may be changed. */
  static Map<String, Ref> toMap(List<Ref> refs) {
    Map<String, Ref> map = new HashMap<>();
    refs.forEach(ref -> map.put(ref.getName(), ref));
    return map;
  }

  /** Reads all refs. They may be changed afterwards. */
  Map<String, Ref> readAll() throws IOException {
    return toMap(visible.getRefs());
  }

  /** Returns all refs by name, which are read the first time. */
  final Map<String, Ref> all() throws IOException {
    if (all == null) {
      all = readAll();
    }
    return all;
  }

  /**
   * Returns those of some refs with one id whose names start with a prefix. Of a set that is in the
   * order of names, as this module's databases of files return it, no others are read.
   */
  static Set<Ref> below(String prefix, Set<Ref> tips) {
    return tips instanceof SortedSet<Ref> sorted && sorted.comparator() == RefComparator.INSTANCE
        ? sorted.subSet(named(prefix), named(prefix + Character.MAX_VALUE))
        : Sets.filter(tips, ref -> ref.getName().startsWith(prefix));
  }

  private static Ref named(String name) {
    return new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null);
  }

  /**
   * Whether one of these refs has an id or peeled id. Some refs with the id are looked up. If more
   * have it, or there were many questions, all refs are read once: the cost does not grow with the
   * number of refs that have the id.
   */
  final boolean hasTip(ObjectId id) throws IOException {
    RefDatabase unhidden = unfiltered.getRefDatabase();
    if (ids != null || ++questions > MAX_QUESTIONS || !unhidden.hasFastTipsWithSha1()) {
      return ids().contains(id);
    }
    Set<Ref> tips = unhidden.getTipsWithSha1(id);
    Set<String> names = new HashSet<>();
    // Tags are behind most others, as Gerrit has to look for a branch that reaches them.
    for (Ref tip : Iterables.concat(below(Constants.R_HEADS, tips), tips)) {
      if (names.add(tip.getName())) {
        if (names.size() > MAX_LOOKUPS) {
          return ids().contains(id);
        }
        Ref ref = find(tip.getName());
        if (ref != null && (id.equals(ref.getObjectId()) || id.equals(ref.getPeeledObjectId()))) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns the ids and peeled ids of all refs, which are read the first time. */
  final Set<ObjectId> ids() throws IOException {
    if (ids == null) {
      ids =
          all().values().stream()
              .flatMap(ref -> Stream.of(ref.getObjectId(), ref.getPeeledObjectId()))
              .filter(Objects::nonNull)
              .collect(Collectors.toSet());
    }
    return ids;
  }

  /** Returns a ref by a name that does not come from a client, or null. */
  @Nullable
  Ref find(String name) throws IOException {
    lookups += name.startsWith(Constants.R_TAGS) ? TAG_LOOKUPS : 1;
    return all != null || lookups > MAX_LOOKUPS ? all().get(name) : visible.exactRef(name);
  }

  @Override
  @Nullable
  public Ref get(Object key) {
    String name = (String) key;
    boolean isName =
        name.equals(Constants.HEAD)
            || (name.startsWith(Constants.R_REFS) && Repository.isValidRefName(name));
    try {
      return isName ? find(name) : null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public final boolean containsKey(Object name) {
    return get(name) != null;
  }
}
