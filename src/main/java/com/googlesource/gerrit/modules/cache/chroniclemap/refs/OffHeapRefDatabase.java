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

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.errors.InvalidObjectIdException;
import org.eclipse.jgit.events.RefsChangedEvent;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.CoreConfig;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefRename;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogReader;
import org.eclipse.jgit.util.RefList;
import org.eclipse.jgit.util.RefMap;
import org.eclipse.jgit.util.StringUtils;

/**
 * The refs of a repository that keeps them in files: read from loose files and from the parsed list
 * of {@code packed-refs}, updated through JGit's RefDirectory.
 *
 * <p>A look at a ref goes to its loose file first and to {@code packed-refs} second. That order
 * matters: packing writes {@code packed-refs} and then deletes the loose files, so a ref that is
 * not loose any more is seen to be packed.
 *
 * <p>Updates never start from what was read here: RefDirectory reads what is on disk. It also
 * answers where a content is not parsed (see {@link NotParsableException}).
 *
 * <p>Any thread may call, as with RefDirectory.
 */
final class OffHeapRefDatabase extends RefDatabase {
  private final FileRepository repository;
  private final RefDirectory jgit;
  private final PackedRefsFile packedFile;
  private final CurrentList current;
  private final Supplier<RefDatabase> fallback;
  private final LooseRefs loose;
  private final TrustStat trustPacked;
  private final AtomicLong seenVersion = new AtomicLong();

  /**
   * Makes the database of a repository.
   *
   * @param jgit the repository's own
   * @param packedFile one for all databases of this repository
   */
  OffHeapRefDatabase(FileRepository repository, RefDirectory jgit, PackedRefsFile packedFile) {
    this.repository = repository;
    this.jgit = jgit;
    this.packedFile = packedFile;
    CoreConfig config = repository.getConfig().get(CoreConfig.KEY);
    trustPacked = config.getTrustPackedRefsStat();
    current = () -> packedFile.current(trustPacked);
    fallback = () -> jgit;
    loose = new LooseRefs(repository, config.getTrustLooseRefStat(), packedFile.looseMemory());
  }

  private OffHeapRefDatabase(
      OffHeapRefDatabase of, CurrentList current, Supplier<RefDatabase> fallback) {
    this.repository = of.repository;
    this.jgit = of.jgit;
    this.packedFile = of.packedFile;
    this.trustPacked = of.trustPacked;
    this.current = current;
    this.fallback = fallback;
    this.loose = of.loose;
  }

  /**
   * The same refs, with {@code packed-refs} as somebody else says that it is.
   *
   * @param otherFallback answers where that one leaves it to JGit
   */
  OffHeapRefDatabase with(CurrentList other, Supplier<RefDatabase> otherFallback) {
    return new OffHeapRefDatabase(this, other, otherFallback);
  }

  PackedRefsFile packedFile() {
    return packedFile;
  }

  File refsFolder() {
    return loose.refsFolder();
  }

  TrustStat trustPacked() {
    return trustPacked;
  }

  /** A question to the packed refs. */
  private interface Question<T> {
    T ask(ParsedRefs packed) throws IOException;
  }

  /** The same question to JGit. */
  private interface Fallback<T> {
    T ask(RefDatabase refs) throws IOException;
  }

  /** Asks the list of now; or JGit. */
  private <T> T ask(Question<T> question, Fallback<T> toJGit) throws IOException {
    try {
      ParsedRefs packed = current.get();
      return packed == null ? toJGit.ask(fallback.get()) : question.ask(packed);
    } finally {
      fireIfChanged();
    }
  }

  private void fireIfChanged() {
    long version = packedFile.version();
    long seen = seenVersion.get();
    // Not for the first look, as JGit.
    if (version != seen && seenVersion.compareAndSet(seen, version) && seen != 0) {
      repository.fireEvent(new RefsChangedEvent());
    }
  }

  // ---- single refs

  @Override
  @Nullable
  public Ref exactRef(String name) throws IOException {
    FollowedRef found = followLoose(name);
    if (found != null && found.isLoose()) {
      return found.resolve(null);
    }
    return ask(
        packed -> found != null ? found.resolve(packed) : packed.exactRef(name),
        refs -> refs.exactRef(name));
  }

  @Override
  public Map<String, Ref> exactRef(String... names) throws IOException {
    FollowedRef[] found = new FollowedRef[names.length];
    for (int i = 0; i < names.length; i++) {
      found[i] = followLoose(names[i]);
    }
    return ask(
        packed -> {
          Map<String, Ref> refs = HashMap.newHashMap(names.length);
          for (int i = 0; i < names.length; i++) {
            Ref ref = looseOrPacked(names[i], found[i], packed);
            if (ref != null) {
              refs.put(names[i], ref);
            }
          }
          return refs;
        },
        refs -> refs.exactRef(names));
  }

  @Override
  @Nullable
  public Ref firstExactRef(String... names) throws IOException {
    FollowedRef[] found = new FollowedRef[names.length];
    IOException[] failure = new IOException[names.length];
    for (int i = 0; i < names.length; i++) {
      try {
        found[i] = followLoose(names[i]);
        if (found[i] != null && found[i].isRef()) {
          break; // none of the later ones is asked for
        }
      } catch (IOException e) {
        failure[i] = e; // a packed ref may come first
      }
    }
    return ask(
        packed -> {
          for (int i = 0; i < names.length; i++) {
            if (failure[i] != null) {
              throw failure[i];
            }
            Ref ref = looseOrPacked(names[i], found[i], packed);
            if (ref != null) {
              return ref;
            }
          }
          return null;
        },
        refs -> refs.firstExactRef(names));
  }

  @Nullable
  private static Ref looseOrPacked(String name, @Nullable FollowedRef found, ParsedRefs packed) {
    return found == null ? packed.exactRef(name) : found.resolve(packed);
  }

  /**
   * Reads the loose ref of that name, and those it leads to; null if there is none. A file outside
   * of refs/ may be something else; that is no ref then.
   */
  @Nullable
  private FollowedRef followLoose(String name) throws IOException {
    try {
      Ref ref = loose.read(name);
      return ref == null ? null : FollowedRef.of(ref, loose::read);
    } catch (IOException e) {
      if (!name.contains("/") && e.getCause() instanceof InvalidObjectIdException) {
        return null;
      }
      throw e;
    }
  }

  @Override
  public List<Ref> getAdditionalRefs() throws IOException {
    List<Ref> refs = new ArrayList<>();
    for (String name : additionalRefsNames) {
      Ref ref = exactRef(name);
      if (ref != null) {
        refs.add(ref);
      }
    }
    return refs;
  }

  @Override
  public Ref peel(Ref ref) throws IOException {
    return loose.peel(ref);
  }

  // ---- many refs

  @Override
  public List<Ref> getRefs() throws IOException {
    return getRefsByPrefix(ALL);
  }

  @Override
  public List<Ref> getRefsByPrefix(String prefix) throws IOException {
    ScannedRefs found = ScannedRefs.of(loose, prefix);
    return ask(packed -> merge(prefix, found, packed), refs -> refs.getRefsByPrefix(prefix));
  }

  private static List<Ref> merge(String prefix, ScannedRefs found, ParsedRefs packed) {
    List<Ref> over = found.resolve(prefix, packed);
    List<Ref> under = packed.refs(prefix);
    if (over.isEmpty()) {
      return under;
    }
    int first = packed.rank(prefix);
    int[] places = new int[over.size()];
    for (int i = 0; i < places.length; i++) {
      String name = over.get(i).getName();
      int place = packed.rank(name) - first;
      places[i] = packed.contains(name) ? place : -1 - place;
    }
    return Collections.unmodifiableList(new MergedRefs(over, places, under));
  }

  @Override
  public List<Ref> getRefsByPrefix(String... prefixes) throws IOException {
    // Those that start with another one have nothing to add; the others follow each other.
    List<String> apart = new ArrayList<>();
    String[] sorted = prefixes.clone();
    Arrays.sort(sorted);
    for (String prefix : sorted) {
      if (apart.isEmpty() || !prefix.startsWith(apart.get(apart.size() - 1))) {
        apart.add(prefix);
      }
    }
    if (apart.size() == 1) {
      return getRefsByPrefix(apart.get(0));
    }
    ScannedRefs found =
        ScannedRefs.of(
            loose, List.of(), apart, ScannedRefs.folder(StringUtils.commonPrefix(sorted)));
    return ask(
        packed -> {
          List<Ref> refs = new ArrayList<>();
          for (String prefix : apart) {
            refs.addAll(merge(prefix, found, packed));
          }
          return Collections.unmodifiableList(refs);
        },
        refs -> refs.getRefsByPrefix(prefixes));
  }

  @Override
  public List<Ref> getRefsByPrefixWithExclusions(String include, Set<String> excludes)
      throws IOException {
    List<Ref> refs = getRefsByPrefix(include);
    if (excludes.isEmpty()) {
      return refs;
    }
    List<Ref> left = new ArrayList<>();
    for (Ref ref : refs) {
      if (excludes.stream().noneMatch(ref.getName()::startsWith)) {
        left.add(ref);
      }
    }
    return Collections.unmodifiableList(left);
  }

  @Override
  @Deprecated
  public Map<String, Ref> getRefs(String prefix) throws IOException {
    return LooseRefs.isFolder(prefix)
        ? map(prefix, getRefsByPrefix(prefix))
        // JGit looks for loose refs in folders only, where it is asked in this way.
        : ask(packed -> map(prefix, packed.refs(prefix)), refs -> refs.getRefs(prefix));
  }

  private static Map<String, Ref> map(String prefix, List<Ref> refs) {
    RefList.Builder<Ref> list = new RefList.Builder<>(refs.size());
    for (Ref ref : refs) {
      list.add(ref);
    }
    return new RefMap(prefix, list.toRefList(), RefList.emptyList(), RefList.emptyList());
  }

  @Override
  public boolean hasRefs() throws IOException {
    return !getRefs().isEmpty();
  }

  @Override
  public Set<Ref> getTipsWithSha1(ObjectId id) throws IOException {
    ScannedRefs found = ScannedRefs.of(loose, ALL);
    return ask(
        packed -> {
          Set<Ref> tips = new HashSet<>();
          Set<String> hiding = new HashSet<>();
          for (Ref ref : found.resolve(ALL, packed)) {
            hiding.add(ref.getName());
            if (id.equals(ref.getObjectId()) || id.equals(ref.getPeeledObjectId())) {
              tips.add(ref);
            }
          }
          packed.pointingTo(
              id,
              ref -> {
                if (!hiding.contains(ref.getName())) {
                  tips.add(ref);
                }
              });
          return tips;
        },
        refs -> refs.getTipsWithSha1(id));
  }

  // ---- conflicts of names

  @Override
  public boolean isNameConflicting(String name) throws IOException {
    for (int slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
      if (exactRef(name.substring(0, slash)) != null) {
        return true;
      }
    }
    return !getRefsByPrefix(name + '/').isEmpty();
  }

  @Override
  public Collection<String> getConflictingNames(String name) throws IOException {
    List<String> parents = new ArrayList<>();
    for (int slash = name.indexOf('/', 1); slash > 0; slash = name.indexOf('/', slash + 1)) {
      parents.add(name.substring(0, slash));
    }
    String prefix = name + '/';
    ScannedRefs found = ScannedRefs.of(loose, parents, List.of(prefix), ALL);
    return ask(
        packed -> {
          Set<String> listed = new HashSet<>();
          for (Ref ref : found.resolve(ALL, packed)) {
            listed.add(ref.getName());
          }
          // The longest first.
          for (String parent : parents.reversed()) {
            if (listed.contains(parent) || packed.contains(parent)) {
              return Collections.singletonList(parent);
            }
          }
          List<String> names = new ArrayList<>();
          for (Ref ref : merge(prefix, found, packed)) {
            names.add(ref.getName());
          }
          return Collections.unmodifiableList(names);
        },
        refs -> refs.getConflictingNames(name));
  }

  // ---- everything else is JGit's

  @Override
  public void create() throws IOException {
    jgit.create();
  }

  @Override
  public void close() {
    jgit.close();
  }

  @Override
  public void refresh() {
    packedFile.refresh();
    loose.refresh();
    jgit.refresh();
  }

  @Override
  public RefUpdate newUpdate(String name, boolean detach) throws IOException {
    return jgit.newUpdate(name, detach);
  }

  @Override
  public RefRename newRename(String fromName, String toName) throws IOException {
    return jgit.newRename(fromName, toName);
  }

  @Override
  public BatchRefUpdate newBatchUpdate() {
    return jgit.newBatchUpdate();
  }

  @Override
  public boolean performsAtomicTransactions() {
    return jgit.performsAtomicTransactions();
  }

  @Override
  public ReflogReader getReflogReader(Ref ref) throws IOException {
    return jgit.getReflogReader(ref);
  }

  @Override
  public void packRefs(ProgressMonitor monitor, PackRefsCommand command) throws IOException {
    jgit.packRefs(monitor, command);
  }
}
