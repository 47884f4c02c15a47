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

import com.google.common.collect.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.BadRef;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntConsumer;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * A reader of the refs of a repository that keeps them in loose files and {@code packed-refs}.
 *
 * <p>Each lookup reads loose files first and {@code packed-refs} second. The order matters: packing
 * writes {@code packed-refs} before it deletes loose files, so a ref that is no longer loose is
 * found in {@code packed-refs}. Finally, changes by concurrent transactions of this process are
 * undone in the answer ({@link Transactions}), which thus has all of a transaction or nothing.
 *
 * <p>Safe for any thread. All methods throw {@link LeftToJGit} if the content of {@code
 * packed-refs} is not parsed. Then only JGit can answer.
 *
 * @param loose the loose refs, which must be read before {@link #packed}
 * @param transactions the transactions of this process
 * @param counted gets the number of loose refs whenever all of them were listed
 */
public record RefReader(
    LooseRefs loose, CurrentList current, Transactions transactions, IntConsumer counted) {
  /** Thrown if JGit has to answer. */
  public static final class LeftToJGit extends IOException {
    private static final long serialVersionUID = 1;

    public LeftToJGit() {
      super("packed-refs is not parsed");
    }

    /** Omits the stack trace, since lookups throw this often and always from the same places. */
    @Override
    public Throwable fillInStackTrace() {
      return this;
    }
  }

  /** Provides the list of {@code packed-refs} that a reader has to see. */
  @FunctionalInterface
  public interface CurrentList {
    /** Returns the list, or null if JGit has to answer. */
    @Nullable
    ParsedRefs get() throws IOException;
  }

  /** Returns the same reader with another source of lists. */
  public RefReader with(CurrentList other) {
    return new RefReader(loose, other, transactions, counted);
  }

  /** Returns the current list of packed refs. */
  public ParsedRefs packed() throws IOException, LeftToJGit {
    ParsedRefs list = current.get();
    if (list == null) {
      throw new LeftToJGit();
    }
    return list;
  }

  // ---- single refs

  @Nullable
  public Ref exactRef(RefName name) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ResolvedName found = follow(name);
    return BadRef.check(found.resolve(found.isLoose() ? null : packed(), moment.changesSince()));
  }

  /**
   * Returns the first of some refs that is there. The names up to the first that is loose share one
   * reading of {@code packed-refs}. A later name is looked at only if no transaction under way has
   * made that one.
   */
  @Nullable
  public Ref firstExactRef(RefName... names) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    Ref ref = null;
    for (int next = 0; ref == null && next < names.length; ) {
      List<ResolvedName> found = new ArrayList<>(1);
      try {
        do {
          found.add(follow(names[next]));
          next++;
        } while (next < names.length && !found.getLast().isRef());
      } catch (IOException e) {
        if (found.isEmpty()) {
          throw e;
        } // an earlier name may be packed
      }
      ParsedRefs packed = found.stream().allMatch(ResolvedName::isLoose) ? null : packed();
      Transactions.Changes changes = moment.changesSince();
      for (int i = 0; ref == null && i < found.size(); i++) {
        ref = BadRef.check(found.get(i).resolve(packed, changes));
      }
    }
    return ref;
  }

  /** Returns those of some refs that are there. As in a list, a {@link BadRef} is left out. */
  public Map<String, Ref> exactRef(RefName... names) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ResolvedName[] found = new ResolvedName[names.length];
    for (int i = 0; i < names.length; i++) {
      found[i] = follow(names[i]);
    }
    ParsedRefs packed = packed();
    Transactions.Changes changes = moment.changesSince();
    Map<String, Ref> refs = HashMap.newHashMap(names.length);
    for (int i = 0; i < names.length; i++) {
      Ref ref = found[i].resolve(packed, changes);
      if (ref != null && !(ref instanceof BadRef)) {
        refs.put(names[i].text(), ref);
      }
    }
    return refs;
  }

  private ResolvedName follow(RefName name) throws IOException {
    return new ResolvedName(name, loose::find);
  }

  // ---- many refs

  public List<Ref> refs(String prefix) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, List.of(prefix));
    if (prefix.isEmpty() || prefix.equals(Constants.R_REFS)) {
      counted.accept(found.scanned.size());
    }
    return merge(prefix, found, packed(), moment.changesSince());
  }

  public List<Ref> refs(String... prefixes) throws IOException, LeftToJGit {
    // Prefixes that start with another prefix add nothing. The others are disjoint and in order.
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
    ScannedRefs found = ScannedRefs.of(loose, apart);
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
    if (over.isEmpty()) {
      return packed.refs(prefix);
    }
    if (packed.isInJGitsOrder()) {
      return new MergedRefs(over, packed, prefix);
    }
    // The packed refs are in another order than JGit's, so places among them are of no use.
    TreeMap<String, Ref> merged = new TreeMap<>();
    packed.refs(prefix).forEach(ref -> merged.put(ref.getName(), ref));
    over.forEach(ref -> merged.put(ref.getName(), ref));
    return merged.values().stream().filter(ref -> ref.getObjectId() != null).toList();
  }

  /**
   * Returns the refs that hide packed refs, in order: loose refs, and the old values of refs that
   * transactions have changed meanwhile. A ref without an object stands for a missing ref, or one
   * that leads to a {@link BadRef}.
   */
  private static List<Ref> overPacked(
      String prefix, ScannedRefs found, ParsedRefs packed, Transactions.Changes changes) {
    List<Ref> over = found.resolve(prefix, packed, changes);
    List<Ref> old = changes.oldRefs(prefix);
    if (!old.isEmpty()) {
      over.removeIf(ref -> changes.firstToChange(ref.getName()) != null);
      over.addAll(old);
      // Sorting two sorted runs takes one pass.
      over.sort(RefComparator.INSTANCE);
    }
    return over;
  }

  /** Returns the refs with an id or peeled id. */
  public Set<Ref> tips(ObjectId id) throws IOException, LeftToJGit {
    return refsById().of(id);
  }

  /** Returns all refs, to be looked up by id. */
  RefsById refsById() throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, List.of(RefDatabase.ALL));
    ParsedRefs packed = packed();
    return new RefsById(packed, overPacked(RefDatabase.ALL, found, packed, moment.changesSince()));
  }

  /**
   * Fails if a file that holds no ref hides a packed ref. As no list has that ref, the collection
   * of garbage would delete its objects.
   */
  public boolean hidesNone() throws IOException, LeftToJGit {
    ScannedRefs found = ScannedRefs.of(loose, List.of(RefDatabase.ALL));
    ParsedRefs packed = packed();
    for (Ref ref : found.resolve(RefDatabase.ALL, packed, Transactions.Changes.NONE)) {
      if (packed.contains(ref.getName())) {
        Ref unused = BadRef.check(ref.getLeaf());
      }
    }
    return true;
  }

  // ---- conflicts of names

  /**
   * Returns the names of all folders above a ref, the shortest first; none if the name is too long
   * for a ref, as their size grows with its square.
   */
  public static List<String> parents(String name) {
    List<String> parents = new ArrayList<>();
    int first = RefName.isTooLong(name) ? -1 : name.indexOf('/', 1);
    for (int slash = first; slash > 0; slash = name.indexOf('/', slash + 1)) {
      parents.add(name.substring(0, slash));
    }
    return parents;
  }

  /** Like {@link RefDatabase#isNameConflicting}. */
  public boolean isNameConflicting(String name) throws IOException, LeftToJGit {
    return !conflicting(name, /* evenUnlisted= */ true).isEmpty();
  }

  /** Like {@link RefDatabase#getConflictingNames}. */
  public Collection<String> conflictingNames(String name) throws IOException, LeftToJGit {
    return conflicting(name, /* evenUnlisted= */ false);
  }

  /**
   * Returns the longest folder of a name that is a ref, or else all refs below the name.
   *
   * @param evenUnlisted whether a folder may be a dangling symbolic ref or a ref outside of refs/,
   *     which JGit takes for a conflict and does not list
   */
  private Collection<String> conflicting(String name, boolean evenUnlisted)
      throws IOException, LeftToJGit {
    List<String> parents = parents(name).reversed();
    String prefix = name + '/';
    Transactions.Moment moment = transactions.now();
    List<ResolvedName> above = new ArrayList<>();
    for (String parent : parents) {
      above.add(follow(RefName.of(parent)));
    }
    ScannedRefs below = ScannedRefs.of(loose, List.of(prefix));
    ParsedRefs packed = packed();
    Transactions.Changes changes = moment.changesSince();
    for (int i = 0; i < parents.size(); i++) {
      String parent = parents.get(i);
      Ref ref = above.get(i).resolve(packed, changes);
      boolean isListed =
          ref != null
              && (packed.contains(parent)
                  || (LooseRefs.isListed(parent)
                      && (ref.getObjectId() != null || ref.getLeaf() instanceof BadRef)));
      if (isListed || (evenUnlisted && ref != null)) {
        return List.of(parent);
      }
    }
    // Read as the caller takes them, as there may be very many.
    return Lists.transform(merge(prefix, below, packed, changes), Ref::getName);
  }

  // ---- for writers

  /**
   * The current values of refs, for a writer.
   *
   * @param refs by name; null for a missing ref
   * @param packed the list that was read after the loose files; null if all are loose
   */
  public record ToWrite(NavigableMap<String, Ref> refs, @Nullable ParsedRefs packed) {}

  /** A step that may fail on the disk. */
  public interface Step {
    void run() throws IOException;
  }

  /** What a writer looks for beside refs that are not loose. */
  public interface NotLoose {
    /** Is asked before the list, so that a ref which is packed meanwhile is found in the list. */
    void check(Set<String> names) throws IOException;

    /** Whether the ref of a number is certainly not packed, so that it need not be searched for. */
    default boolean isMissing(ParsedRefs packed, int number) {
      return false;
    }
  }

  /**
   * Reads refs for a writer: the values in the files, whatever transactions show to readers. Fails
   * if there is a file that is no ref.
   */
  public ToWrite refsToWrite(List<String> names, NotLoose notLoose) throws IOException, LeftToJGit {
    List<ResolvedName> found = new ArrayList<>(names.size());
    Set<String> missing = new HashSet<>();
    for (String name : names) {
      ResolvedName each = new ResolvedName(RefName.of(name), loose::findFile);
      found.add(each);
      if (!each.isLoose()) {
        missing.add(name);
      }
    }
    ParsedRefs packed = null;
    if (!missing.isEmpty()) {
      notLoose.check(missing);
      packed = packed();
    }
    NavigableMap<String, Ref> refs = new TreeMap<>();
    for (int i = 0; i < names.size(); i++) {
      ResolvedName each = found.get(i);
      boolean isMissing = !each.isLoose() && !each.isRef() && notLoose.isMissing(packed, i);
      refs.put(
          names.get(i),
          isMissing ? null : BadRef.check(each.resolve(packed, Transactions.Changes.NONE)));
    }
    return new ToWrite(refs, packed);
  }
}
