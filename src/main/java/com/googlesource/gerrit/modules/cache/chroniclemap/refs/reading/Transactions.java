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
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;

/**
 * The transactions of one repository in this process. Readers see the old values of all refs of a
 * transaction until its last file was renamed, and then all new values at once.
 *
 * <p>How: before a transaction changes a ref, it appends a link with all old values to a chain. A
 * reader notes the end of the chain before it reads files. Afterwards the reader restores the old
 * values of the transactions that were under way at that moment or have been appended since. Its
 * answer is thus that of the moment at which it began, and no thread waits. Only readers hold the
 * chain, so a link that no reader needs is garbage.
 *
 * <p>Each repository folder has one instance in a process. Safe for any thread. Without a
 * transaction, a reader only pays for two reads of memory. Otherwise, the lookup of a ref costs a
 * search in each link, and the lookup of a list grows with the requested refs.
 */
public final class Transactions {
  /** A transaction that has begun. */
  public static final class Link {
    final NavigableMap<String, Ref> oldValues;
    @Nullable private volatile Link next;

    private Link(NavigableMap<String, Ref> oldValues) {
      this.oldValues = oldValues;
    }
  }

  /**
   * A moment at which a reader began.
   *
   * @param last the transaction that had begun last
   * @param underWay the transactions that had begun and not ended
   */
  record Moment(Link last, List<Link> underWay) {
    /** Returns the changes since this moment. Must be called after all files were read. */
    Changes changesSince() {
      Link next = last.next;
      if (next == null) {
        return underWay.isEmpty() ? Changes.NONE : new Changes(underWay);
      }
      List<Link> links = new ArrayList<>(underWay);
      for (; next != null; next = next.next) {
        if (!next.oldValues.isEmpty()) {
          links.add(next);
        }
      }
      return new Changes(links);
    }
  }

  /**
   * The possible changes since a moment.
   *
   * @param links in the order in which they began, as the first link with a ref has its value at
   *     the moment
   */
  record Changes(List<Link> links) {
    static final Changes NONE = new Changes(List.of());

    /** The first transaction to change a ref; null if none does. */
    @Nullable
    Link firstToChange(String name) {
      // The loop needs no iterator, as there is almost never a link.
      for (int i = 0; i < links.size(); i++) {
        if (links.get(i).oldValues.containsKey(name)) {
          return links.get(i);
        }
      }
      return null;
    }

    /**
     * Returns the changed refs with a prefix as they were at the moment, in the order of names. A
     * ref without an object stands for a missing ref.
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
  private volatile Moment now = new Moment(new Link(Collections.emptyNavigableMap()), List.of());

  /** Returns the current moment, which a reader has to note before it reads anything. */
  Moment now() {
    return now;
  }

  /**
   * Begins a transaction. Readers see the old values until it ends.
   *
   * @param oldValues the values of all refs of the transaction by name, null for a missing ref.
   *     Must not be changed any more
   */
  public synchronized Link begin(NavigableMap<String, Ref> oldValues) {
    Link link = new Link(oldValues);
    List<Link> underWay = new ArrayList<>(now.underWay);
    underWay.add(link);
    // Readers that began before find the new link from the link that they hold.
    now.last.next = link;
    now = new Moment(link, List.copyOf(underWay));
    return link;
  }

  /** Ends a transaction. Readers that begin from now on see the values in the files. */
  public synchronized void end(Link link) {
    List<Link> underWay = new ArrayList<>(now.underWay);
    underWay.remove(link);
    // An empty link at the end, or the last transaction's values would stay until the next one.
    Link end = new Link(Collections.emptyNavigableMap());
    now.last.next = end;
    now = new Moment(end, List.copyOf(underWay));
  }
}
