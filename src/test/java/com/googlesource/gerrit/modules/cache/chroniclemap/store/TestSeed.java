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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.io.IOException;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/** A seed with values of numbered keys, which calls a hook at each of its steps. */
final class TestSeed implements Seed {
  /** The steps at which a process may be killed, in their order. */
  enum Step {
    BEGINS,
    HALF_READ,
    READ,
    MOVED
  }

  private final int count;
  private final IntFunction<byte[]> values;

  /** When the values were made. */
  long created = System.currentTimeMillis();

  long changed = Long.MAX_VALUE;
  Consumer<Step> hook = step -> {};
  volatile boolean isMoved;

  /** How often it cannot be read yet. */
  int inUse;

  TestSeed(int count, IntFunction<byte[]> values) {
    this.count = count;
    this.values = values;
  }

  /** Has each of its steps fail from now on, until it has another hook. */
  void fail() {
    hook =
        step -> {
          throw new IllegalStateException("on purpose");
        };
  }

  /** What a store is opened with: none of what was moved aside before. */
  Optional<Seed> unlessMoved() {
    return isMoved ? Optional.empty() : Optional.of(this);
  }

  /** The same seed as it is now. */
  TestSeed copy() {
    TestSeed copy = new TestSeed(count, values);
    copy.created = created;
    copy.changed = changed;
    copy.isMoved = isMoved;
    copy.inUse = inUse;
    return copy;
  }

  @Override
  public boolean isThere() {
    return !isMoved;
  }

  @Override
  public long changed() {
    return changed;
  }

  @Override
  public long bytes() {
    return (long) count * values.apply(0).length;
  }

  @Override
  public void fill(Sink sink, boolean mayNotFit) throws IOException {
    if (inUse-- > 0) {
      throw new IOException("in use by another process");
    }
    hook.accept(Step.BEGINS);
    boolean goesOn = true;
    for (int i = 0; i < count && goesOn; i++) {
      if (i == count / 2) {
        hook.accept(Step.HALF_READ);
      }
      boolean unused = sink.take(TestStores.key(i), values.apply(i), created - i * 60_000L);
      goesOn = sink.goesOn();
    }
  }

  @Override
  public void moveAside(Next next) throws IOException {
    hook.accept(Step.READ);
    isMoved = true;
    next.run();
    hook.accept(Step.MOVED);
  }
}
