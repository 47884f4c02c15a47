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

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;

/**
 * The transactions of one repository that are under way in this process. Readers see the old values
 * of all refs of a transaction until its last file has been renamed, then all the new ones at once.
 *
 * <p>How: each transaction, before it changes a ref, appends a link with the old values to a chain.
 * A reader notes the end of the chain before it reads files. Afterwards it undoes what may have
 * changed meanwhile: the refs of the transactions that were under way at that moment, and of those
 * that have been appended since. So it answers as of the moment it began, however long it takes,
 * and nobody waits for anybody. Readers alone hold the chain: a link that no reader needs is
 * garbage.
 *
 * <p>One instance serves each repository folder in a process. Any thread may call. Where no
 * transaction is under way a reader pays for two reads of memory. Otherwise a question for one ref
 * costs a search in each link, and one for a list grows with the refs that it asks for.
 */
public final class Transactions {
  /** A transaction that has begun. */
  public static final class Link {
    private final NavigableMap<String, Ref> oldValues;
    @Nullable private volatile Link next;

    private Link(NavigableMap<String, Ref> oldValues) {
      this.oldValues = oldValues;
    }

    /** The value of a ref before the transaction, which changes it; null if there was no ref. */
    @Nullable
    Ref oldValue(String name) {
      return oldValues.get(name);
    }
  }

  /**
   * A moment.
   *
   * @param last the transaction that had begun last
   * @param underWay those that had begun and not ended
   */
  record Moment(Link last, List<Link> underWay) {
    /** What may have changed since; to be asked for when all files have been read. */
    Changes changesSince() {
      Link next = last.next;
      if (next == null) {
        return underWay.isEmpty() ? Changes.NONE : new Changes(underWay);
      }
      List<Link> links = new ArrayList<>(underWay);
      for (; next != null; next = next.next) {
        links.add(next);
      }
      return new Changes(links);
    }
  }

  /**
   * What transactions may have changed since a moment.
   *
   * @param links in the order in which they began: the first to change a ref knows its value of the
   *     moment
   */
  record Changes(List<Link> links) {
    static final Changes NONE = new Changes(List.of());

    /** The first transaction to change a ref; null if none does. */
    @Nullable
    Link firstToChange(String name) {
      // By index: nearly always there is no link, and no iterator is needed.
      for (int i = 0; i < links.size(); i++) {
        if (links.get(i).oldValues.containsKey(name)) {
          return links.get(i);
        }
      }
      return null;
    }

    /**
     * Returns the refs whose names start with a prefix as they were at the moment, in the order of
     * names. Where there was none, a ref without an object stands for it.
     */
    List<Ref> oldRefs(String prefix) {
      if (links.isEmpty()) {
        return List.of();
      }
      NavigableMap<String, Ref> old = new TreeMap<>();
      for (Link link : links.reversed()) {
        for (Map.Entry<String, Ref> entry : link.oldValues.tailMap(prefix, true).entrySet()) {
          String name = entry.getKey();
          if (!name.startsWith(prefix)) {
            break;
          }
          Ref ref = entry.getValue();
          old.put(name, ref != null ? ref : new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null));
        }
      }
      return List.copyOf(old.values());
    }
  }

  /** Replaced under this object's lock. */
  private volatile Moment now = new Moment(new Link(new TreeMap<>()), List.of());

  /** What a reader notes before it reads anything. */
  Moment now() {
    return now;
  }

  /**
   * Begins a transaction: until it ends readers see these values.
   *
   * @param oldValues by name, all names of the transaction; null where there is no ref; must not be
   *     changed any more
   */
  public synchronized Link begin(NavigableMap<String, Ref> oldValues) {
    Link link = new Link(oldValues);
    List<Link> underWay = new ArrayList<>(now.underWay);
    underWay.add(link);
    // Readers that began before find it from the link that they have.
    now.last.next = link;
    now = new Moment(link, List.copyOf(underWay));
    return link;
  }

  /** Ends a transaction: whoever asks from now on sees what the files say. */
  public synchronized void end(Link link) {
    List<Link> underWay = new ArrayList<>(now.underWay);
    underWay.remove(link);
    now = new Moment(now.last, List.copyOf(underWay));
  }
}
