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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.LooseRefs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.IntConsumer;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.InvalidObjectIdException;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.util.StringUtils;

/**
 * Reads the refs of a repository that keeps them in files: loose files, and the parsed list of
 * {@code packed-refs}.
 *
 * <p>A look at a ref goes to its loose file first and to {@code packed-refs} second. That order
 * matters: packing writes {@code packed-refs} and then deletes the loose files, so a ref that is
 * not loose any more is found to be packed. Last, what transactions of this process have changed
 * meanwhile is undone ({@link Transactions}): so an answer has all of a transaction or nothing.
 *
 * <p>Any thread may call. All methods throw {@link LeftToJGit} where the content of {@code
 * packed-refs} is not parsed; nothing but JGit can answer then.
 */
public final class RefReader {
  /** JGit is to answer. */
  public static final class LeftToJGit extends IOException {
    private static final long serialVersionUID = 1;

    public LeftToJGit() {
      super("packed-refs is not parsed");
    }

    /** It is thrown by each question, and always from the same places. */
    @Override
    public Throwable fillInStackTrace() {
      return this;
    }
  }

  /** Reads the current list of {@code packed-refs}, or the one that somebody is to see. */
  @FunctionalInterface
  public interface CurrentList {
    /** The list, or null if JGit is to answer. */
    @Nullable
    ParsedRefs get() throws IOException;
  }

  private final LooseRefs loose;
  private final CurrentList current;
  private final IntConsumer counted;
  private final Transactions transactions;

  /**
   * Makes it.
   *
   * @param transactions that are under way in this process
   * @param counted told how many loose refs there are, when all have been looked for
   */
  public RefReader(
      LooseRefs loose, CurrentList current, Transactions transactions, IntConsumer counted) {
    this.counted = counted;
    this.loose = loose;
    this.current = current;
    this.transactions = transactions;
  }

  /** The same, but for who takes another list for that of now. */
  public RefReader with(CurrentList other) {
    return new RefReader(loose, other, transactions, counted);
  }

  /** The loose refs, which are to be read before {@link #packed}. */
  public LooseRefs loose() {
    return loose;
  }

  /** The current list of packed refs. */
  public ParsedRefs packed() throws IOException, LeftToJGit {
    ParsedRefs list = current.get();
    if (list == null) {
      throw new LeftToJGit();
    }
    return list;
  }

  // ---- single refs

  @Nullable
  public Ref exactRef(String name) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    FollowedRef found = follow(name);
    return found.resolve(found.isLoose() ? null : packed(), moment.changesSince());
  }

  public Map<String, Ref> exactRef(String... names) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    FollowedRef[] found = new FollowedRef[names.length];
    for (int i = 0; i < names.length; i++) {
      found[i] = follow(names[i]);
    }
    ParsedRefs packed = packed();
    Transactions.Changes changes = moment.changesSince();
    Map<String, Ref> refs = HashMap.newHashMap(names.length);
    for (int i = 0; i < names.length; i++) {
      Ref ref = found[i].resolve(packed, changes);
      if (ref != null) {
        refs.put(names[i], ref);
      }
    }
    return refs;
  }

  @Nullable
  public Ref firstExactRef(String... names) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    List<FollowedRef> found = new ArrayList<>();
    IOException failure = null;
    for (int i = 0; i < names.length && failure == null; i++) {
      try {
        found.add(follow(names[i]));
        if (found.get(i).isRef()) {
          break; // none of the later ones is asked for
        }
      } catch (IOException e) {
        failure = e; // a packed ref may come first
      }
    }
    ParsedRefs packed = packed();
    Transactions.Changes changes = moment.changesSince();
    for (FollowedRef each : found) {
      Ref ref = each.resolve(packed, changes);
      if (ref != null) {
        return ref;
      }
    }
    if (failure != null) {
      throw failure;
    }
    if (found.size() == names.length) {
      return null;
    }
    // The ref at which the search stopped has come since it began, with a transaction.
    Map<String, Ref> all = exactRef(names);
    return Arrays.stream(names).map(all::get).filter(Objects::nonNull).findFirst().orElse(null);
  }

  /** A file outside of refs/ may be something else than a ref; it is passed over then. */
  private FollowedRef follow(String name) throws IOException {
    try {
      return new FollowedRef(name, loose::read);
    } catch (IOException e) {
      if (!name.contains("/") && e.getCause() instanceof InvalidObjectIdException) {
        return new FollowedRef(name, other -> null);
      }
      throw e;
    }
  }

  // ---- many refs

  public List<Ref> refs(String prefix) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, prefix);
    if (prefix.isEmpty() || prefix.equals(Constants.R_REFS)) {
      counted.accept(found.size());
    }
    return merge(prefix, found, packed(), moment.changesSince());
  }

  public List<Ref> refs(String... prefixes) throws IOException, LeftToJGit {
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
      return refs(apart.get(0));
    }
    Transactions.Moment moment = transactions.now();
    ScannedRefs found =
        ScannedRefs.of(
            loose, List.of(), apart, ScannedRefs.folder(StringUtils.commonPrefix(sorted)));
    ParsedRefs packed = packed();
    Transactions.Changes changes = moment.changesSince();
    List<Ref> refs = new ArrayList<>();
    for (String prefix : apart) {
      refs.addAll(merge(prefix, found, packed, changes));
    }
    return Collections.unmodifiableList(refs);
  }

  private static List<Ref> merge(
      String prefix, ScannedRefs found, ParsedRefs packed, Transactions.Changes changes) {
    List<Ref> over = overPacked(prefix, found, packed, changes);
    return over.isEmpty() ? packed.refs(prefix) : new MergedRefs(over, packed, prefix);
  }

  /**
   * Returns the refs that hide the packed ones of their names, in order: loose ones, and those that
   * have changed meanwhile as they were before. One without an object stands for no ref.
   */
  private static List<Ref> overPacked(
      String prefix, ScannedRefs found, ParsedRefs packed, Transactions.Changes changes) {
    List<Ref> over = found.resolve(prefix, packed, changes);
    List<Ref> old = changes.oldRefs(prefix);
    if (!old.isEmpty()) {
      over.removeIf(ref -> changes.firstToChange(ref.getName()) != null);
      over.addAll(old);
      // Two runs in order, which cost one pass.
      over.sort(RefComparator.INSTANCE);
    }
    return over;
  }

  /** Returns the refs whose id or peeled id is this one. */
  public Set<Ref> tips(ObjectId id) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, RefDatabase.ALL);
    ParsedRefs packed = packed();
    Set<Ref> tips = new HashSet<>();
    Set<String> hidden = new HashSet<>();
    for (Ref ref : overPacked(RefDatabase.ALL, found, packed, moment.changesSince())) {
      hidden.add(ref.getName());
      if (id.equals(ref.getObjectId()) || id.equals(ref.getPeeledObjectId())) {
        tips.add(ref);
      }
    }
    packed.pointingTo(
        id,
        ref -> {
          if (!hidden.contains(ref.getName())) {
            tips.add(ref);
          }
        });
    return tips;
  }

  // ---- conflicts of names

  /** Names that would be folders above a ref, the shortest first. */
  private static List<String> parents(String name) {
    List<String> parents = new ArrayList<>();
    for (int slash = name.indexOf('/', 1); slash > 0; slash = name.indexOf('/', slash + 1)) {
      parents.add(name.substring(0, slash));
    }
    return parents;
  }

  /** As {@link RefDatabase#isNameConflicting}, with one look at {@code packed-refs}. */
  public boolean isNameConflicting(String name) throws IOException, LeftToJGit {
    String prefix = name + '/';
    Transactions.Moment moment = transactions.now();
    List<FollowedRef> above = new ArrayList<>();
    for (String parent : parents(name)) {
      above.add(follow(parent));
    }
    ScannedRefs below = ScannedRefs.of(loose, prefix);
    ParsedRefs packed = packed();
    Transactions.Changes changes = moment.changesSince();
    return above.stream().anyMatch(parent -> parent.resolve(packed, changes) != null)
        || !merge(prefix, below, packed, changes).isEmpty();
  }

  public Collection<String> conflictingNames(String name) throws IOException, LeftToJGit {
    List<String> parents = parents(name);
    String prefix = name + '/';
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, parents, List.of(prefix), RefDatabase.ALL);
    ParsedRefs packed = packed();
    Transactions.Changes changes = moment.changesSince();
    Map<String, Ref> over = new HashMap<>();
    overPacked(RefDatabase.ALL, found, packed, changes)
        .forEach(ref -> over.put(ref.getName(), ref));
    // The longest first.
    for (String parent : parents.reversed()) {
      Ref ref = over.get(parent);
      if (ref == null ? packed.contains(parent) : ref.getObjectId() != null) {
        return Collections.singletonList(parent);
      }
    }
    return merge(prefix, found, packed, changes).stream().map(Ref::getName).toList();
  }

  // ---- for writers

  /**
   * A ref as a writer of it must see it.
   *
   * @param ref null if there is none
   * @param packed the list that was read for it, after its files; null if it is loose
   */
  public record ToWrite(@Nullable Ref ref, @Nullable ParsedRefs packed) {}

  /**
   * Reads a ref as a writer of it must: as the files say, whatever readers are told, and failing
   * where there is a file that is no ref.
   */
  public ToWrite refToWrite(String name) throws IOException, LeftToJGit {
    FollowedRef followed = new FollowedRef(name, loose::readFile);
    ParsedRefs packed = followed.isLoose() ? null : packed();
    return new ToWrite(followed.resolve(packed, Transactions.Changes.NONE), packed);
  }
}
