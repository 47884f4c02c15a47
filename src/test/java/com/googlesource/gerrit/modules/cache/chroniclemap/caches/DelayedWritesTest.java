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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;

import com.google.common.cache.Cache;
import com.google.common.cache.LoadingCache;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.google.gerrit.server.cache.serialize.StringCacheSerializer;
import com.google.inject.Key;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Values that are written a while after they were put. */
class DelayedWritesTest extends SiteTest {
  private final List<String> serialized = new CopyOnWriteArrayList<>();
  private int deserialized;

  /** Notes what it serializes, after something was done. */
  private CacheSerializer<String> serializer(Consumer<String> before) {
    return TestCacheDef.serializer(
        value -> {
          before.accept(value);
          serialized.add(value);
        },
        value -> {
          deserialized++;
          return value;
        });
  }

  private final CacheSerializer<String> serializer = serializer(value -> {});

  @Override
  TestCacheDef<String> def() {
    return TestCacheDef.of("git_tags").valueSerializer(serializer);
  }

  private Cache<String, String> plain() {
    return site.build(def());
  }

  /** A cache of whose values none is serialized before something is done with it. */
  private Cache<String, String> cacheWith(TestCacheDef<String> def, Consumer<String> before) {
    return site.build(def.valueSerializer(serializer(before)));
  }

  @Test
  void onlyTheLastOfManyIsWritten() {
    Cache<String, String> cache = plain();
    for (int i = 0; i < 100; i++) {
      cache.put("a", "v" + i);
    }
    assertThat(serialized).isEmpty();
    site.restart();
    assertThat(serialized).containsExactly("v99");
    assertThat(plain().getIfPresent("a")).isEqualTo("v99");
  }

  @Test
  void aValueThatTheHeapDoesNotKeepIsFoundBeforeItIsWritten() throws Exception {
    site.config().setInt("cache", "git_tags", "memoryLimit", 0);
    LoadingCache<String, String> cache = site.loading(def().loader(loader));
    cache.put("a", "v");
    assertThat(cache.get("a")).isEqualTo("v");
    assertThat(cache.get("b")).isEqualTo("loaded b");
    assertThat(cache.get("b")).isEqualTo("loaded b");
    assertThat(serialized).isEmpty();
    assertThat(deserialized).isEqualTo(0);
    assertThat(loader.loads).containsExactly("b");
  }

  /** Here the thread that writes is held up, while more is put than may wait. */
  @Test
  void valuesAreSerializedInTheBackgroundUnlessManyKeysWait() throws Exception {
    int many = DelayedWrites.MAX_WAITING + 10;
    site.config().setInt("cache", "git_tags", "memoryLimit", 0);
    CountDownLatch goOn = new CountDownLatch(1);
    Thread putting = Thread.currentThread();
    List<String> byPutting = new ArrayList<>();
    Cache<String, String> cache =
        cacheWith(
            def(),
            value -> {
              if (Thread.currentThread() == putting) {
                byPutting.add(value);
              } else {
                awaitUninterruptibly(goOn);
              }
            });
    for (int i = 0; i < many; i++) {
      cache.put("key" + i, "old " + i);
      site.settle();
    }
    byPutting.clear();
    for (int i = 0; i < many; i++) {
      String value = "new " + i;
      if (i % 2 == 0) {
        cache.put("key" + i, value);
      } else {
        cache.invalidate("key" + i);
        assertThat(cache.get("key" + i, () -> value)).isEqualTo(value);
      }
    }
    assertThat(byPutting)
        .containsExactlyElementsIn(
            IntStream.range(DelayedWrites.MAX_WAITING, many).mapToObj(i -> "new " + i).toList());
    goOn.countDown();
    for (int i = 0; i < many; i++) {
      assertThat(cache.getIfPresent("key" + i)).isEqualTo("new " + i);
    }
    site.restart();
    for (int i = 0; i < many; i++) {
      assertThat(plain().getIfPresent("key" + i)).isEqualTo("new " + i);
    }
  }

  @Test
  void anInvalidationIsForGoodBeforeAndAfterTheWrite() {
    for (int memoryLimit : new int[] {0, 10}) {
      site.config().setInt("cache", "git_tags", "memoryLimit", memoryLimit);
      Cache<String, String> cache = plain();
      cache.put("a", "old");
      cache.put("b", "old");
      site.settle();
      cache.put("a", "v");
      cache.invalidate("a");
      assertThat(cache.getIfPresent("a")).isNull();
      cache.put("b", "v");
      cache.invalidateAll();
      assertThat(cache.getIfPresent("b")).isNull();
      site.settle();
      assertThat(cache.getIfPresent("a")).isNull();
      assertThat(cache.getIfPresent("b")).isNull();
      site.restart();
      assertThat(plain().getIfPresent("a")).isNull();
      assertThat(plain().getIfPresent("b")).isNull();
      site.restart();
    }
  }

  @Test
  void aPutDuringALoadWins() throws Exception {
    Cache<String, String> cache = plain();
    assertThat(
            cache.get(
                "a",
                () -> {
                  cache.put("a", "put");
                  return "loaded";
                }))
        .isEqualTo("put");
    assertThat(cache.getIfPresent("a")).isEqualTo("put");
    site.restart();
    assertThat(plain().getIfPresent("a")).isEqualTo("put");
  }

  /**
   * As of a project that gets changes faster than its value is serialized. Who puts one, on another
   * thread, does not wait for that.
   */
  @Test
  void aValueThatIsPutDuringEachWriteIsWrittenNevertheless() {
    AtomicReference<Runnable> during = new AtomicReference<>(() -> {});
    Cache<String, String> cache = cacheWith(def(), value -> during.get().run());
    DiskKey<String> key = ((ChronicleMapCache<String, String>) cache).disk.key("a");
    AtomicInteger puts = new AtomicInteger();
    Runnable put = () -> cache.put("a", "v" + puts.incrementAndGet());
    during.set(() -> CompletableFuture.runAsync(put).join());
    cache.put("a", "v0");
    for (int i = 0; i < 3; i++) {
      site.settle();
      // As after a kill.
      assertThat(storeOf(cache).read(key.bytes()).bytes())
          .isEqualTo(StringCacheSerializer.INSTANCE.serialize("v" + i));
      assertThat(cache.getIfPresent("a")).isEqualTo("v" + (i + 1));
    }
    during.set(() -> {});
    site.restart();
    assertThat(plain().getIfPresent("a")).isEqualTo("v3");
  }

  @Test
  void aRemovalDuringTheWriteIsForGood() throws Exception {
    List<Runnable> during = new ArrayList<>();
    Cache<String, String> cache =
        cacheWith(
            def(),
            value -> {
              if (value.equals("removed")) {
                during.forEach(Runnable::run);
              }
            });
    during.add(() -> cache.invalidate("a"));
    during.add(() -> cache.put("a", "newer"));
    cache.put("a", "removed");
    site.settle();
    // As after a kill.
    DiskKey<String> key = ((ChronicleMapCache<String, String>) cache).disk.key("a");
    assertThat(storeOf(cache).read(key.bytes())).isNull();
    assertThat(cache.getIfPresent("a")).isEqualTo("newer");
    site.settle();
    assertThat(storeOf(cache).read(key.bytes())).isNotNull();
  }

  /** Here a value takes its time on purpose, as one of millions of changes does. */
  @Test
  void aValueThatTakesLongWaitsLongerAndHoldsUpNoOther() {
    Cache<String, String> cache =
        cacheWith(
            def(),
            value -> {
              long begun = System.nanoTime();
              while (value.startsWith("large") && System.nanoTime() - begun < 700_000_000L) {
                Thread.onSpinWait();
              }
            });
    cache.put("a", "large 1");
    cache.put("b", "small 1");
    site.settle();
    assertThat(serialized).containsExactly("large 1", "small 1");
    cache.put("a", "large 2");
    cache.put("b", "small 2");
    site.settle();
    assertThat(serialized).containsExactly("large 1", "small 1", "small 2");
    site.restart();
    assertThat(serialized).contains("large 2");
  }

  @Test
  void valuesWaitWhileTheDiskIsReadOnly() {
    Cache<String, String> cache = plain();
    cache.put("a", "old");
    site.settle();
    cache.put("a", "v");
    site.readOnly().set(true);
    site.settle();
    assertThat(cache.getIfPresent("a")).isEqualTo("v");
    site.restart();
    // As after a kill.
    assertThat(plain().getIfPresent("a")).isEqualTo("old");
    assertThat(serialized).containsExactly("old");
  }

  /** As in a cache whose values are written at once: what is on such a disk stays there. */
  @Test
  void anInvalidationOfAReadOnlyDiskUncoversNoOlderValue() {
    site.config().setInt("cache", "git_tags", "memoryLimit", 0);
    Cache<String, String> cache = plain();
    cache.put("a", "old");
    site.settle();
    cache.put("a", "v");
    site.readOnly().set(true);
    cache.invalidate("a");
    assertThat(cache.getIfPresent("a")).isEqualTo("v");
    cache.invalidateAll();
    assertThat(cache.getIfPresent("a")).isEqualTo("v");
  }

  /** The clock may have been set back, so that the newer value seems too old. */
  @Test
  void aWaitingValueThatIsTooOldUncoversNoOlderOne() throws Exception {
    site.config().setInt("cache", "git_tags", "memoryLimit", 0);
    site.config().setString("cache", "git_tags", "maxAge", "1 hour");
    ChronicleMapCache<String, String> cache = (ChronicleMapCache<String, String>) plain();
    cache.put("a", "old");
    site.settle();
    DiskKey<String> key = cache.disk.key("a");
    cache.disk.delayed.put(key, "v", System.currentTimeMillis() + 7_200_000);
    assertThat(cache.getIfPresent("a")).isNull();
  }

  @Test
  void aValueThatCannotBeWrittenLeavesNoOlderOne() {
    site.config().setInt("cache", "git_tags", "memoryLimit", 0);
    Cache<String, String> cache =
        cacheWith(
            def().diskLimit(1 << 20),
            value -> {
              if (value.equals("bad")) {
                throw new IllegalStateException("a test");
              }
            });
    for (String key : new String[] {"a", "b", "c"}) {
      cache.put(key, "old");
    }
    site.settle();
    cache.put("a", "bad");
    cache.put("b", "x".repeat(1 << 20));
    cache.put("c", "good");
    site.settle();
    assertThat(cache.getIfPresent("a")).isNull();
    assertThat(cache.getIfPresent("b")).isNull();
    assertThat(cache.getIfPresent("c")).isEqualTo("good");
  }

  @Test
  void anErrorKeepsNoOtherValueFromTheDisk() {
    Cache<String, String> cache =
        cacheWith(
            def(),
            value -> {
              if (value.equals("bad")) {
                throw new OutOfMemoryError("a test");
              }
            });
    for (int i = 0; i < DelayedWrites.MAX_WAITING; i++) {
      cache.put("key" + i, i % 2 == 0 ? "bad" : "good");
    }
    site.settle();
    // Not written, and so not lost yet.
    assertThat(cache.getIfPresent("key0")).isEqualTo("bad");
    site.restart();
    for (int i = 1; i < DelayedWrites.MAX_WAITING; i += 2) {
      assertThat(plain().getIfPresent("key" + i)).isEqualTo("good");
    }
  }

  @Test
  void valuesAreWrittenOnceTheDelayIsOver() {
    Cache<String, String> cache = plain();
    cache.put("a", "v");
    Runnable task = site.get(Key.get(ChronicleMapCacheFactory.class)).timer.getQueue().peek();
    assertThat(((RunnableScheduledFuture<?>) task).isPeriodic()).isTrue();
    assertThat(((RunnableScheduledFuture<?>) task).getDelay(TimeUnit.SECONDS))
        .isAtMost(DelayedWrites.DELAY_SECONDS);
    assertThat(serialized).isEmpty();
    task.run();
    assertThat(serialized).containsExactly("v");
    cache.put("a", "w");
    // What cannot be written yet is tried again.
    site.readOnly().set(true);
    task.run();
    site.readOnly().set(false);
    task.run();
    assertThat(serialized).containsExactly("v", "w");
  }

  /** As if there were no memory to log that there is none to serialize a value. */
  @Test
  void aTickThatFailsIsNotTheLast() {
    Consumer<String> fail =
        value -> {
          throw new Unloggable();
        };
    cacheWith(def(), fail).put("a", "v");
    Runnable task = site.get(Key.get(ChronicleMapCacheFactory.class)).timer.getQueue().peek();
    task.run();
    assertThat(((RunnableScheduledFuture<?>) task).isDone()).isFalse();
  }

  private static final class Unloggable extends OutOfMemoryError {
    private static final long serialVersionUID = 1L;

    @Override
    public String toString() {
      throw new OutOfMemoryError("a test");
    }

    @Override
    public String getMessage() {
      throw new OutOfMemoryError("a test");
    }
  }

  /** Requests may go on for a moment while a server stops. */
  @Test
  void aPutAfterTheLastWriteIsWrittenAtOnce() {
    Store store = storeOf(plain());
    DelayedWrites<Integer, String> writes =
        new DelayedWrites<>(store, serializer::serialize, new AtomicBoolean(), () -> {});
    writes.put(key(1), "a", 1).close();
    writes.putIfCurrent(key(2), "b", 1, store.ticket(key(2).bytes()));
    writes.writeAll(/* isLast= */ true);
    writes.put(key(1), "c", 2).close();
    writes.putIfCurrent(key(2), "d", 2, store.ticket(key(2).bytes()));
    for (int i = 1; i <= 2; i++) {
      assertThat(store.read(key(i).bytes()).created()).isEqualTo(2);
      assertThat(writes.get(key(i), store.ticket(key(i).bytes()))).isNull();
    }
  }

  /** If many wait, the thread that has loaded a value writes it. */
  @Test
  void aLoadedValueThatCannotBeWrittenLeavesNoOlderOneThoughManyWait() {
    Store store = storeOf(plain());
    DelayedWrites<Integer, String> writes =
        new DelayedWrites<>(store, value -> null, new AtomicBoolean(), () -> {});
    for (int i = 0; i < DelayedWrites.MAX_WAITING; i++) {
      writes.put(key(i), "waits", 1).close();
    }
    byte[] last = key(DelayedWrites.MAX_WAITING).bytes();
    store.put(last, new byte[1], System.currentTimeMillis());
    assertThat(store.read(last)).isNotNull();
    writes.putIfCurrent(key(DelayedWrites.MAX_WAITING), "new", 1, store.ticket(last));
    assertThat(store.read(last)).isNull();
  }

  /** It may come while the last writes are under way, on another thread. */
  @Test
  void aPutDuringTheLastWriteIsWritten() {
    Store store = storeOf(plain());
    AtomicReference<Runnable> during = new AtomicReference<>();
    DelayedWrites<Integer, String> writes =
        new DelayedWrites<>(
            store,
            value -> {
              during.getAndSet(() -> {}).run();
              return serializer.serialize(value);
            },
            new AtomicBoolean(),
            () -> {});
    during.set(
        () -> {
          for (int i = 1; i < DelayedWrites.MAX_WAITING; i++) {
            writes.put(key(i), "new", 2).close();
          }
        });
    writes.put(key(1), "old", 1).close();
    writes.writeAll(/* isLast= */ true);
    for (int i = 1; i < DelayedWrites.MAX_WAITING; i++) {
      assertThat(store.read(key(i).bytes()).created()).isEqualTo(2);
    }
  }

  /**
   * While a flush is under way, a put is not dropped from what waits: until the flush comes to the
   * file, that has the older value, which would be found again.
   */
  @Test
  void aPutDuringAFlushUncoversNoOlderValue() {
    Store store = storeOf(plain());
    AtomicReference<Runnable> during = new AtomicReference<>(() -> {});
    DelayedWrites<Object, String> writes =
        new DelayedWrites<>(store, serializer::serialize, new AtomicBoolean(), () -> {});
    DiskKey<Object> late = new DiskKey<>(1, new byte[] {1}, /* isStored= */ true);
    Object flushed =
        new Object() {
          @Override
          public int hashCode() {
            during.getAndSet(() -> {}).run();
            return 500;
          }
        };
    writes.put(late, "older", 1).close();
    writes.writeAll(/* isLast= */ false);
    writes.put(new DiskKey<>(flushed, new byte[] {2}, true), "v", 1).close();
    during.set(() -> writes.put(late, "newer", 2).close());
    writes.clear();
    assertThat(writes.get(late, store.ticket(late.bytes())).value).isEqualTo("newer");
    assertThat(store.read(late.bytes())).isNull();
  }

  private static DiskKey<Integer> key(int id) {
    return new DiskKey<>(id, new byte[] {(byte) id}, /* isStored= */ true);
  }
}
