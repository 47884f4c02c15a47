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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;

/**
 * What readers of this process are told while several refs change together: the old values of all
 * of them until the last file has been renamed, then all the new ones at once.
 *
 * <p>How: each transaction, before it touches a ref, hangs a link with the old values at the end of
 * a chain; a reader notes the end of the chain before it reads files, and afterwards undoes what
 * the transactions hung there since, and those that were under way, may have changed under it. So
 * it answers as of the moment it began, however long it takes, and nobody waits for anybody. The
 * chain is held by readers alone: a link that no reader needs is garbage.
 *
 * <p>One for each repository folder in a process. Any thread may call. A look costs two reads of
 * memory where no transaction is under way.
 */
public final class Transactions {
  /** A transaction that has begun. */
  public static final class Link {
    private final Map<String, Ref> oldValues;
    @Nullable private volatile Link next;

    private Link(Map<String, Ref> oldValues) {
      this.oldValues = oldValues;
    }
  }

  /**
   * A moment.
   *
   * @param last the transaction that had begun last
   * @param underWay those that had begun and not ended
   */
  record Moment(Link last, List<Link> underWay) {}

  /** Replaced under this object's lock. */
  private volatile Moment now = new Moment(new Link(Map.of()), List.of());

  /** What a reader notes before it reads anything. */
  Moment now() {
    return now;
  }

  /**
   * Begins a transaction: until it ends readers are told these values.
   *
   * @param oldValues by name, all names of the transaction; null where there is no ref
   */
  public synchronized Link begin(Map<String, Ref> oldValues) {
    Link link = new Link(oldValues);
    List<Link> underWay = new ArrayList<>(now.underWay);
    underWay.add(link);
    // Readers of before find it from the link that they have.
    now.last.next = link;
    now = new Moment(link, List.copyOf(underWay));
    return link;
  }

  /** Ends a transaction: who asks from now on sees what the files say. */
  public synchronized void end(Link link) {
    List<Link> underWay = new ArrayList<>(now.underWay);
    underWay.remove(link);
    now = new Moment(now.last, List.copyOf(underWay));
  }

  /**
   * Returns the values, as of a moment, of the refs that may have been changed by transactions
   * since; null where there are none. A null value means that there was no ref.
   *
   * @param since noted before any file was read
   */
  @Nullable
  static Map<String, Ref> undo(Moment since) {
    Link next = since.last.next;
    if (next == null && since.underWay.isEmpty()) {
      return null;
    }
    Map<String, Ref> values = new HashMap<>();
    since.underWay.forEach(link -> values.putAll(link.oldValues));
    for (; next != null; next = next.next) {
      // The first to change a ref knows its value of then. A null counts, so no putIfAbsent.
      for (Map.Entry<String, Ref> entry : next.oldValues.entrySet()) {
        if (!values.containsKey(entry.getKey())) {
          values.put(entry.getKey(), entry.getValue());
        }
      }
    }
    return values;
  }
}
