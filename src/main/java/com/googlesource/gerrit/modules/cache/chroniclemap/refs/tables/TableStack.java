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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.SymbolicRef;

/**
 * The refs of a repository at one moment: a stack of tables, in which a record hides those of the
 * same name in lower tables, and a deletion is a record, too.
 *
 * <p>Immutable. Any thread may read, without waiting. A lookup searches each table at most.
 */
final class TableStack {
  /** About what a ref of a change takes in a table, 20 bytes of it for its id. */
  private static final int LIKELY_BYTES = 30;

  /** By file name, from the lowest to the highest. */
  final Map<String, Table> byName;

  private final Table[] tables;

  /**
   * Makes a stack.
   *
   * @param byName by file name, from the lowest to the highest
   * @throws IOException if a higher table is older than a lower one, as JGit then lets the record
   *     with the higher update index hide the other one
   */
  TableStack(Map<String, Table> byName) throws IOException {
    this.byName = byName;
    this.tables = byName.values().toArray(new Table[0]);
    for (int i = 1; i < tables.length; i++) {
      if (tables[i].minUpdateIndex < tables[i - 1].maxUpdateIndex) {
        throw tables[i].broken("order of update indexes");
      }
    }
  }

  /** Returns the ref of that name, or null. A dangling symbolic ref has no object. */
  @Nullable
  Ref exactRef(String name) throws IOException {
    Ref ref = read(name);
    return ref == null ? null : resolve(ref, 0);
  }

  /** Returns whether there is a ref of that name, which may be dangling. */
  boolean contains(String name) throws IOException {
    return read(name) != null;
  }

  @Nullable
  private Ref read(String name) throws IOException {
    byte[] key = name.getBytes(UTF_8);
    for (int i = tables.length - 1; i >= 0; i--) {
      Cursor cursor = tables[i].refs();
      if (cursor != null && cursor.search(key, key.length) == 0) {
        return cursor.ref(name);
      }
    }
    return null;
  }

  /** Follows a symbolic ref. Returns null if it leads through too many others. */
  @Nullable
  private Ref resolve(Ref ref, int depth) throws IOException {
    if (!ref.isSymbolic()) {
      return ref;
    }
    if (depth == RefDatabase.MAX_SYMBOLIC_REF_DEPTH) {
      return null;
    }
    Ref target = read(ref.getTarget().getName());
    if (target == null) {
      return ref;
    }
    Ref leaf = resolve(target, depth + 1);
    return leaf == null ? null : new SymbolicRef(ref.getName(), leaf, ref.getUpdateIndex());
  }

  /** Returns the refs whose names start with a prefix, in order, without dangling ones. */
  List<Ref> refs(String prefix) throws IOException {
    return refs(prefix, Set.of());
  }

  /**
   * Like {@link #refs(String)}, without those that start with other prefixes, which cost little.
   */
  List<Ref> refs(String prefix, Set<String> excludes) throws IOException {
    boolean isAll = prefix.isEmpty() && excludes.isEmpty();
    long bytes = isAll ? Arrays.stream(tables).mapToLong(Table::refBytes).sum() : 0;
    List<Ref> refs = new ArrayList<>((int) (bytes / LIKELY_BYTES));
    Iterator<byte[]> excluded =
        excludes.stream()
            .map(name -> name.getBytes(UTF_8))
            .sorted(Arrays::compareUnsigned)
            .iterator();
    byte[] exclude = excluded.hasNext() ? excluded.next() : null;
    byte[] passed = null;
    byte[] start = prefix.getBytes(UTF_8);
    MergedCursor cursor = new MergedCursor(tables, start, start);
    while (cursor.next()) {
      while (exclude != null && cursor.isBehind(exclude)) {
        exclude = excluded.hasNext() ? excluded.next() : null;
      }
      if (exclude != null && cursor.startsWith(exclude)) {
        // A name that is not UTF-8 may be behind that, too. It is left out one by one.
        if (exclude != passed) {
          passed = exclude;
          cursor = new MergedCursor(tables, start, behind(exclude));
        }
        continue;
      }
      Ref ref = resolve(cursor.ref(), 0);
      if (ref != null && ref.getObjectId() != null) {
        refs.add(ref);
      }
    }
    return Collections.unmodifiableList(refs);
  }

  /** Returns what is greater than all names with a prefix, as no UTF-8 has this byte. */
  private static byte[] behind(byte[] prefix) {
    byte[] bytes = Arrays.copyOf(prefix, prefix.length + 1);
    bytes[prefix.length] = (byte) 0xff;
    return bytes;
  }

  /** Returns whether there is a ref whose name starts with a prefix, which may be dangling. */
  boolean hasRefs(String prefix) throws IOException {
    byte[] start = prefix.getBytes(UTF_8);
    return new MergedCursor(tables, start, start).next();
  }

  /** Whether {@link #tips} has an index in each table. */
  boolean hasFastTips() {
    return Arrays.stream(tables).allMatch(Table::hasIdIndex);
  }

  /**
   * Returns the refs with an id or peeled id, and the symbolic refs that lead to them. The first
   * call for a table without an index of ids reads all of it, and so does the first call for any
   * table, to find its symbolic refs.
   */
  Set<Ref> tips(AnyObjectId id) throws IOException {
    Set<String> names = new HashSet<>();
    for (Table table : tables) {
      table.addNamesOf(id, names);
      names.addAll(table.symbolicNames());
    }
    Set<Ref> tips = new HashSet<>();
    for (String name : names) {
      // A higher table may have another value.
      Ref ref = exactRef(name);
      if (ref != null && (id.equals(ref.getObjectId()) || id.equals(ref.getPeeledObjectId()))) {
        tips.add(ref);
      }
    }
    return tips;
  }
}
