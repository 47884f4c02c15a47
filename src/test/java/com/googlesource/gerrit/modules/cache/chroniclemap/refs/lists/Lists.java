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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static com.google.common.truth.Truth.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;

/** Makes lists for tests of what keeps them. */
public final class Lists {
  private final PackedRefsReader reader = new PackedRefsReader(Differential.KEY);

  /** A repository that holds a list, and does nothing when it is told of it. */
  public static final class Holder implements ListMemory.Holder {
    @Nullable ParsedRefs list;

    @Override
    public long lastUse() {
      return 0;
    }

    @Override
    @Nullable
    public ParsedRefs lastList() {
      return list;
    }

    @Override
    public void onEvicted(ParsedRefs list) {}
  }

  /** Tiers without a store. */
  public static ListTiers tiers(ListMemory memory) {
    return new ListTiers(Differential.KEY, memory, Optional.empty(), System::nanoTime);
  }

  /** The same with direct memory and a clock that a test controls. */
  public static ListTiers tiers(IntFunction<ByteBuffer> allocator, LongSupplier nanoTime) {
    ListMemory memory = new ListMemory(1 << 30, allocator);
    return new ListTiers(Differential.KEY, memory, Optional.empty(), nanoTime);
  }

  /** The list of a text, which is the old one if that has the same text. */
  public ParsedRefs parse(ListMemory memory, byte[] text, @Nullable ParsedRefs old) {
    try {
      ParsedRefs list =
          Objects.requireNonNull(
              reader.read(new MemoryText(text), new ListBuilder(memory, null), old).list());
      return old != null && old.digest().equals(list.digest()) ? old : list;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A list in memory of its own. */
  public static ParsedRefs of(Map<String, ObjectId> refs) {
    return new Lists().parse(new ListMemory(1 << 30), PackedRefsText.of(refs), null);
  }

  public static byte[] text(int seed, int refs) {
    return PackedRefsText.text(PackedRefsText.gerrit(new Random(seed), refs));
  }

  /** The same with one more ref. */
  public static byte[] textWith(int seed, int refs, String name) {
    SortedMap<String, String> lines = PackedRefsText.gerrit(new Random(seed), refs);
    lines.put(name, PackedRefsText.line(new Random(99), name));
    return PackedRefsText.text(lines);
  }

  /** All that a list says, in one way to ask. */
  public static List<String> all(ParsedRefs list) {
    List<String> all = new ArrayList<>();
    for (Ref ref : list.refs()) {
      all.add(ref.getName() + " " + ref.getObjectId().name() + " " + ref.getPeeledObjectId());
    }
    return all;
  }

  /** Asserts that a list has the refs of a text. */
  public void assertIs(ParsedRefs list, byte[] text) {
    ParsedRefs expected = parse(new ListMemory(1 << 30), text, null);
    assertThat(all(list)).isEqualTo(all(expected));
    assertThat(list.digest()).isEqualTo(expected.digest());
    if (list.size() > 0) {
      Ref last = expected.refs().get(expected.size() - 1);
      assertThat(list.exactRef(last.getName()).getObjectId()).isEqualTo(last.getObjectId());
    }
  }
}
