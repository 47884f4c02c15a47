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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;

/** Makes lists for tests of what keeps them. */
public final class Lists {
  private final PackedRefsReader reader = new PackedRefsReader(Differential.KEY);

  /** Bytes on the heap as a source. */
  static final class Text implements TextSource {
    private final ByteBuffer bytes;

    Text(byte[] bytes) {
      this.bytes = ByteBuffer.wrap(bytes);
    }

    @Override
    public int read(ByteBuffer target) {
      if (!bytes.hasRemaining()) {
        return -1;
      }
      int n = Math.min(target.remaining(), bytes.remaining());
      target.put(bytes.slice().limit(n));
      bytes.position(bytes.position() + n);
      return n;
    }
  }

  /** A repository that holds a list. */
  public static class Holder implements ListMemory.Holder {
    @Nullable volatile ParsedRefs list;
    long lastUse;

    @Override
    public long lastUse() {
      return lastUse;
    }

    @Override
    @Nullable
    public ParsedRefs lastList() {
      return list;
    }

    @Override
    public void onEvicted(ParsedRefs left) {
      if (list == left) {
        list = null;
      }
    }
  }

  /** Direct memory of which only so many bytes are left. */
  public static final class Direct implements IntFunction<ByteBuffer> {
    public final AtomicLong left = new AtomicLong(Long.MAX_VALUE);
    public final AtomicInteger tries = new AtomicInteger();

    @Override
    public ByteBuffer apply(int size) {
      tries.incrementAndGet();
      if (left.addAndGet(-size) < 0) {
        throw new OutOfMemoryError("Cannot reserve direct memory");
      }
      return ByteBuffer.allocateDirect(size);
    }
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
              reader.read(new Text(text), new ListBuilder(memory, null), old).list());
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
