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
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.InvalidObjectIdException;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.util.StringUtils;

/**
 * Reads the refs of a repository that keeps them in files: loose files, and the parsed list of
 * {@code packed-refs}.
 *
 * <p>A look at a ref goes to its loose file first and to {@code packed-refs} second. That order
 * matters: packing writes {@code packed-refs} and then deletes the loose files, so a ref that is
 * not loose any more is seen to be packed. Last, what transactions of this process have changed in
 * between is undone ({@link Transactions}): so an answer has all of a transaction or nothing.
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

  private ParsedRefs packed() throws IOException, LeftToJGit {
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
    FollowedRef found = followLoose(name);
    ParsedRefs packed = found != null && found.isLoose() ? null : packed();
    return looseOrPacked(name, found, packed, Transactions.undo(moment));
  }

  public Map<String, Ref> exactRef(String... names) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    FollowedRef[] found = new FollowedRef[names.length];
    for (int i = 0; i < names.length; i++) {
      found[i] = followLoose(names[i]);
    }
    ParsedRefs packed = packed();
    Map<String, Ref> undo = Transactions.undo(moment);
    Map<String, Ref> refs = HashMap.newHashMap(names.length);
    for (int i = 0; i < names.length; i++) {
      Ref ref = looseOrPacked(names[i], found[i], packed, undo);
      if (ref != null) {
        refs.put(names[i], ref);
      }
    }
    return refs;
  }

  @Nullable
  public Ref firstExactRef(String... names) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
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
    ParsedRefs packed = packed();
    Map<String, Ref> undo = Transactions.undo(moment);
    for (int i = 0; i < names.length; i++) {
      if (failure[i] != null) {
        throw failure[i];
      }
      Ref ref = looseOrPacked(names[i], found[i], packed, undo);
      if (ref != null) {
        return ref;
      }
    }
    return null;
  }

  @Nullable
  private static Ref looseOrPacked(
      String name,
      @Nullable FollowedRef found,
      @Nullable ParsedRefs packed,
      @Nullable Map<String, Ref> undo) {
    if (found != null) {
      return found.resolve(packed, undo);
    }
    return undo != null && undo.containsKey(name) ? undo.get(name) : packed.exactRef(name);
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

  // ---- many refs

  public List<Ref> refs(String prefix) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, prefix);
    if (prefix.isEmpty() || prefix.equals(Constants.R_REFS)) {
      counted.accept(found.size());
    }
    ParsedRefs packed = packed();
    return merge(prefix, found, packed, Transactions.undo(moment));
  }

  private static List<Ref> merge(
      String prefix, ScannedRefs found, ParsedRefs packed, @Nullable Map<String, Ref> undo) {
    List<Ref> over = found.resolve(prefix, packed, undo);
    List<Ref> under = packed.refs(prefix);
    List<Ref> merged = under;
    if (!over.isEmpty()) {
      int first = packed.rank(prefix);
      int[] places = new int[over.size()];
      for (int i = 0; i < places.length; i++) {
        String name = over.get(i).getName();
        int place = packed.rank(name) - first;
        places[i] = packed.contains(name) ? place : -1 - place;
      }
      merged = Collections.unmodifiableList(new MergedRefs(over, places, under));
    }
    return undo == null ? merged : undone(prefix, merged, undo);
  }

  /** A list of now as it was: refs that have come are left out, others have their old values. */
  private static List<Ref> undone(String prefix, List<Ref> refs, Map<String, Ref> undo) {
    List<String> names =
        undo.keySet().stream().filter(name -> name.startsWith(prefix)).sorted().toList();
    if (names.isEmpty()) {
      return refs;
    }
    List<Ref> back = new ArrayList<>();
    List<Integer> places = new ArrayList<>();
    List<Ref> left = refs;
    // From the end, so that places stay what they are.
    for (String name : names.reversed()) {
      int place = place(left, name);
      Ref old = undo.get(name);
      if (old != null) {
        back.addFirst(old);
        places.addFirst(place);
      } else if (place >= 0) {
        left = without(left, place);
        places.replaceAll(p -> p >= 0 ? p - 1 : p + 1);
      }
    }
    int[] all = places.stream().mapToInt(Integer::intValue).toArray();
    return Collections.unmodifiableList(new MergedRefs(back, all, left));
  }

  private static int place(List<Ref> refs, String name) {
    int low = 0;
    int high = refs.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      int order = refs.get(middle).getName().compareTo(name);
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return -1 - low;
  }

  private static List<Ref> without(List<Ref> refs, int place) {
    return new AbstractList<>() {
      @Override
      public int size() {
        return refs.size() - 1;
      }

      @Override
      public Ref get(int index) {
        return refs.get(index < place ? index : index + 1);
      }
    };
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
    Map<String, Ref> undo = Transactions.undo(moment);
    List<Ref> refs = new ArrayList<>();
    for (String prefix : apart) {
      refs.addAll(merge(prefix, found, packed, undo));
    }
    return Collections.unmodifiableList(refs);
  }

  /** Returns the refs whose id or peeled id is this one. */
  public Set<Ref> tips(ObjectId id) throws IOException, LeftToJGit {
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, RefDatabase.ALL);
    ParsedRefs packed = packed();
    Map<String, Ref> undo = Transactions.undo(moment);
    List<Ref> over = new ArrayList<>(found.resolve(RefDatabase.ALL, packed, undo));
    Set<String> hiding = over.stream().map(Ref::getName).collect(Collectors.toSet());
    if (undo != null) {
      hiding.addAll(undo.keySet());
      over.removeIf(ref -> undo.containsKey(ref.getName()));
      undo.values().stream().filter(ref -> ref != null).forEach(over::add);
    }
    Set<Ref> tips = new HashSet<>();
    for (Ref ref : over) {
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
  }

  // ---- conflicts of names

  public Collection<String> conflictingNames(String name) throws IOException, LeftToJGit {
    List<String> parents = new ArrayList<>();
    for (int slash = name.indexOf('/', 1); slash > 0; slash = name.indexOf('/', slash + 1)) {
      parents.add(name.substring(0, slash));
    }
    String prefix = name + '/';
    Transactions.Moment moment = transactions.now();
    ScannedRefs found = ScannedRefs.of(loose, parents, List.of(prefix), RefDatabase.ALL);
    ParsedRefs packed = packed();
    Map<String, Ref> undo = Transactions.undo(moment);
    Set<String> listed = new HashSet<>();
    for (Ref ref : found.resolve(RefDatabase.ALL, packed, undo)) {
      listed.add(ref.getName());
    }
    // The longest first.
    for (String parent : parents.reversed()) {
      boolean undone = undo != null && undo.containsKey(parent);
      if (undone ? undo.get(parent) != null : listed.contains(parent) || packed.contains(parent)) {
        return Collections.singletonList(parent);
      }
    }
    return merge(prefix, found, packed, undo).stream().map(Ref::getName).toList();
  }

  // ---- for writers

  /**
   * Reads a ref as a writer of it must: as the files say, whatever readers are told, and failing
   * where there is a file that is no ref.
   */
  @Nullable
  public Ref refToWrite(String name) throws IOException, LeftToJGit {
    Ref ref = loose.readFile(name);
    if (ref == null) {
      return packed().exactRef(name);
    }
    FollowedRef followed = FollowedRef.of(ref, loose::readFile);
    return followed.resolve(followed.isLoose() ? null : packed(), null);
  }

  /** The loose refs, and the list of now for those that are not. */
  public LooseRefs loose() {
    return loose;
  }

  /** The list of now; to be asked for after loose refs were looked for. */
  public ParsedRefs packedNow() throws IOException, LeftToJGit {
    return packed();
  }
}
