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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.common.collect.Iterables;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.MemoryLimit;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.SoakRun;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.SoakValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;

/**
 * Has a process in a container of 4 GB use more values and refs than that, as large.md advises to
 * set it; see {@code bin/soak --help}.
 */
public final class MemorySoak extends SoakRun {
  private static final long CONTAINER_BYTES = 4L << 30;

  /** A heap, all of it in use. */
  private static final List<String> FLAGS = List.of("-Xms2g", "-Xmx2g", "-XX:+AlwaysPreTouch");

  private MemorySoak(long seed, Path folder, PrintStream out) {
    super(seed, folder, out);
  }

  /** Folder, seconds, seed. */
  public static void main(String[] args) throws Exception {
    main(args, MemorySoak::new);
  }

  @Override
  public void run(long nanos) throws IOException, InterruptedException, WrongException {
    beginFolder();
    out.printf(Locale.ROOT, "memory, seed %d%n", seed);
    long most = 0;
    try (MemoryLimit container = new MemoryLimit(CONTAINER_BYTES);
        ChildJvm child =
            ChildJvm.startWithin(
                container,
                FLAGS,
                folder,
                Child.class,
                folder,
                seed,
                TimeUnit.NANOSECONDS.toMillis(nanos),
                CONTAINER_BYTES)) {
      for (String line = child.readLine(); line != null; line = child.readLine()) {
        out.println(line + "; " + container.report());
        most = Math.max(most, container.anonymous());
      }
      OptionalInt status = child.awaitEnd(SPARE_MILLIS);
      if (container.kills() > 0) {
        throw new WrongException("WRONG: killed by the kernel for want of memory");
      }
      if (!status.equals(OptionalInt.of(0)) || child.saidError()) {
        throw new WrongException("WRONG: a process ended with " + status + "\n" + child.errors());
      }
      out.printf(
          Locale.ROOT,
          "%nIn a container of %,d MB, no process was killed, no answer was wrong.%n"
              + "%s at the end; most anon %,d MB%n",
          CONTAINER_BYTES >> 20,
          container.report(),
          most >> 20);
    }
    deleteFolder();
  }

  /**
   * Uses six full stores and parsed lists at their limit, until its time is over; run by {@link
   * MemorySoak}. Each key and each repository is changed by one thread, which so knows what an
   * answer must be.
   */
  static final class Child {
    private static final int CACHE_THREADS = 4;
    private static final int LIST_THREADS = 2;
    private static final int STORE_BYTES = 1 << 30;

    /** What values of each store have about. */
    private static final int[] VALUE_BYTES = {250, 1 << 10, 5 << 10, 10 << 10, 50 << 10, 400 << 10};

    /** The values of each store take more than it has by so much. */
    private static final double OVERFILLED = 1.4;

    /** The default in a small container. */
    private static final long LISTS_BYTES = 256 << 20;

    /** Together a quarter more than that. */
    private static final int REPOSITORIES = 20;

    private static final int REFS = 500_000;
    private static final int REFS_A_SAMPLE = 1000;

    /**
     * What Gerrit has beside heap, direct memory and page cache: classes, compiled code, stacks.
     */
    private static final int REST_OF_GERRIT_MB = 400;

    private static final int REPORT_SECONDS = 10;

    private final List<Store> stores = new ArrayList<>();

    /** The version that each key has; 0 for none. */
    private final List<int[]> versions = new ArrayList<>();

    private final LongAdder reads = new LongAdder();
    private final LongAdder found = new LongAdder();
    private final LongAdder refsRead = new LongAdder();
    private final LongAdder rewrites = new LongAdder();

    private Child() {}

    /** Folder, seed, milliseconds, bytes of the container. */
    public static void main(String[] args) {
      try {
        new Child()
            .run(
                Path.of(args[0]),
                new Random(Long.parseLong(args[1])),
                Long.parseLong(args[2]),
                Long.parseLong(args[3]));
      } catch (Exception | AssertionError e) {
        fail(e);
      }
    }

    /** The first caller tells, and ends the process. */
    private static synchronized void fail(Throwable cause) {
      cause.printStackTrace();
      System.out.println("WRONG: " + cause);
      System.out.flush();
      Runtime.getRuntime().halt(1);
    }

    private void run(Path folder, Random random, long millis, long container) throws Exception {
      ByteBuffer rest = ByteBuffer.allocateDirect(REST_OF_GERRIT_MB << 20);
      RefsSettings settings =
          new RefsSettings(LISTS_BYTES, 1 << 30, Optional.of(folder.resolve("lists")));
      try (StoreDirectory directory =
              StoreDirectory.open(Files.createDirectories(folder.resolve("caches")));
          PackedRefsCache lists = new PackedRefsCache(settings, UpdateSettings.DEFAULT)) {
        List<CacheUser> cacheUsers = new ArrayList<>();
        for (int i = 0; i < CACHE_THREADS; i++) {
          cacheUsers.add(new CacheUser(i, new Random(random.nextLong())));
        }
        for (int i = 0; i < VALUE_BYTES.length; i++) {
          stores.add(
              directory.openStore(
                  new StoreSettings("memory" + i, 1, STORE_BYTES, Optional.empty())));
          versions.add(new int[(int) (OVERFILLED * STORE_BYTES / (VALUE_BYTES[i] + 100))]);
        }
        Threads.together(CACHE_THREADS, number -> cacheUsers.get(number).fill());
        System.out.println("six caches filled");
        lists.start();
        List<ListUser> listUsers = new ArrayList<>();
        String[] names = RefsFile.names(REFS);
        for (int i = 0; i < REPOSITORIES; i++) {
          // Other ids for each number of names.
          String[] some = Arrays.copyOf(names, REFS - i);
          listUsers.add(
              new ListUser(lists, folder.resolve(i + ".git"), some, new Random(random.nextLong())));
        }
        System.out.println("repositories made");
        Threads.meanwhile(
            CACHE_THREADS + LIST_THREADS,
            number -> step(number, cacheUsers, listUsers),
            () -> reportUntil(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis), lists));
        checkAtEnd(container);
      } finally {
        Reference.reachabilityFence(rest);
      }
    }

    private static void step(int number, List<CacheUser> cacheUsers, List<ListUser> listUsers) {
      try {
        if (number < CACHE_THREADS) {
          cacheUsers.get(number).step();
        } else {
          int each = REPOSITORIES / LIST_THREADS;
          ListUser any = listUsers.get((number - CACHE_THREADS) * each);
          listUsers.get((number - CACHE_THREADS) * each + any.random.nextInt(each)).step();
        }
      } catch (Exception | Error e) {
        // At once, not when the time is over.
        fail(e);
      }
    }

    private void reportUntil(long end, PackedRefsCache lists) throws InterruptedException {
      long begun = System.nanoTime();
      for (long left = end - begun; left > 0; left = end - System.nanoTime()) {
        // Not for anything to happen: this is how long the threads have.
        TimeUnit.NANOSECONDS.sleep(Math.min(left, TimeUnit.SECONDS.toNanos(REPORT_SECONDS)));
        System.out.printf(
            Locale.ROOT,
            "%d s: %,d reads of values, %,d found, %,d of refs, %,d lists changed, %,d MB of lists,"
                + " heap %,d MB%n",
            TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun),
            reads.sum(),
            found.sum(),
            refsRead.sum(),
            rewrites.sum(),
            lists.totals().memory().bytes() >> 20,
            ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 20);
      }
    }

    private void checkAtEnd(long container) {
      long disk = 0;
      for (Store store : stores) {
        StoreStats stats = store.stats();
        assertWithMessage("%s", stats).that(stats.counts().evicted.sum()).isGreaterThan(0);
        assertWithMessage("%s", stats).that(stats.counts().damaged.sum()).isEqualTo(0);
        assertWithMessage("%s", stats).that(stats.counts().faults.sum()).isEqualTo(0);
        disk += stats.diskBytes();
      }
      assertThat(disk).isGreaterThan(container);
    }

    /** A thread that asks for values, and puts those of its keys. */
    private final class CacheUser {
      private final int number;
      private final Random random;
      private int lastVersion;

      CacheUser(int number, Random random) {
        this.number = number;
        this.random = random;
      }

      void fill() {
        for (int store = 0; store < stores.size(); store++) {
          for (int key = number; key < versions.get(store).length; key += CACHE_THREADS) {
            put(store, key);
          }
        }
      }

      private void put(int store, int key) {
        lastVersion++;
        int length = VALUE_BYTES[store] / 2 + random.nextInt(VALUE_BYTES[store]);
        long created = System.currentTimeMillis();
        byte[] value = SoakValues.of(store, key, lastVersion, created, length);
        stores.get(store).put(SoakValues.key(store, key), value, created);
        versions.get(store)[key] = lastVersion;
      }

      /** Some keys are asked for more than others; what is not found is put, as after a load. */
      void step() {
        int store = random.nextInt(stores.size());
        int[] known = versions.get(store);
        int some = (int) (known.length * Math.pow(random.nextDouble(), 3));
        int key = Math.max(0, some - CACHE_THREADS) / CACHE_THREADS * CACHE_THREADS + number;
        switch (random.nextInt(20)) {
          case 0 -> put(store, key);
          case 1 -> {
            stores.get(store).remove(SoakValues.key(store, key));
            known[key] = 0;
          }
          default -> {
            Value value = stores.get(store).read(SoakValues.key(store, key));
            reads.increment();
            if (value == null) {
              put(store, key);
            } else {
              assertWithMessage("version of key %s in store %s", key, store)
                  .that(SoakValues.versionOf(store, key, value))
                  .isEqualTo(known[key]);
              found.increment();
            }
          }
        }
      }
    }

    /**
     * Who asks for refs of a repository, and changes them as git would. For one thread at a time.
     */
    private final class ListUser {
      private final Random random;
      private final Path packedRefs;
      private final FileRefDatabase refs;

      /** Each thousandth ref, where its line begins in the file, and its object. */
      private final List<String> names = new ArrayList<>();

      private final List<Long> offsets = new ArrayList<>();
      private final List<ObjectId> ids = new ArrayList<>();

      ListUser(PackedRefsCache lists, Path folder, String[] all, Random random) throws IOException {
        this.random = random;
        packedRefs = folder.resolve(Constants.PACKED_REFS);
        FileRepository repository = new FileRepository(folder.toFile());
        repository.create(/* bare= */ true);
        RefsFile.write(packedRefs, all, 0);
        refs = lists.of(repository, (RefDirectory) repository.getRefDatabase());
        long offset = 0;
        for (String line : Files.readAllLines(packedRefs, US_ASCII)) {
          int space = Constants.OBJECT_ID_STRING_LENGTH;
          if (random.nextInt(REFS_A_SAMPLE) == 0 && line.indexOf(" refs/") == space) {
            names.add(line.substring(space + 1));
            offsets.add(offset);
            ids.add(ObjectId.fromString(line.substring(0, space)));
          }
          offset += line.length() + 1;
        }
      }

      void step() throws IOException {
        int any = random.nextInt(names.size());
        String name = names.get(any);
        int what = random.nextInt(10_000);
        if (what == 0) {
          change(any);
        } else if (what < 200) {
          assertThat(Iterables.transform(refs.getTipsWithSha1(ids.get(any)), Ref::getName))
              .contains(name);
        } else if (what < 400) {
          String folder = name.substring(0, name.lastIndexOf('/') + 1);
          assertThat(Iterables.transform(refs.getRefsByPrefix(folder), Ref::getName))
              .contains(name);
        } else {
          assertThat(refs.exactRef(name).getObjectId()).isEqualTo(ids.get(any));
          assertThat(refs.exactRef(name + "x")).isNull();
        }
        refsRead.increment();
      }

      private void change(int index) throws IOException {
        byte[] id = new byte[Constants.OBJECT_ID_LENGTH];
        random.nextBytes(id);
        ObjectId next = ObjectId.fromRaw(id);
        Path lock = packedRefs.resolveSibling(Constants.PACKED_REFS + ".lock");
        Files.copy(packedRefs, lock);
        try (FileChannel file = FileChannel.open(lock, StandardOpenOption.WRITE)) {
          int unused =
              file.write(ByteBuffer.wrap(next.name().getBytes(US_ASCII)), offsets.get(index));
        }
        Files.move(lock, packedRefs, StandardCopyOption.ATOMIC_MOVE);
        ids.set(index, next);
        rewrites.increment();
      }
    }
  }
}
