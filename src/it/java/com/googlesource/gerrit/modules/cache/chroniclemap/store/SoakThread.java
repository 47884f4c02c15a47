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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Changes and reads some stores at random, and compares each answer with a {@link SoakModel}. */
final class SoakThread {
  /** Values made so long before they are put, at most, that they are too old soon. */
  private static final int OLD_MILLIS = 2000;

  private final SoakModel model;
  private final List<Store> stores;
  private final SoakPlan plan;
  private final int number;
  private final boolean crashed;
  private final Random random;
  private final Thread thread;

  /** So many bytes a value has at most. */
  int longest;

  private volatile boolean over;
  private volatile String doing = "nothing";

  /**
   * One that has not begun.
   *
   * @param number less than {@link SoakModel#THREADS}; no other thread has it
   * @param crashed whether a crash of the machine may have left something damaged
   */
  SoakThread(
      SoakModel model, List<Store> stores, SoakPlan plan, int number, boolean crashed, long seed) {
    this.model = model;
    this.stores = stores;
    this.plan = plan;
    this.number = number;
    this.crashed = crashed;
    this.random = new Random(seed);
    this.thread = new Thread(this::run, "soak " + number);
  }

  void begin() {
    thread.start();
  }

  /** Ends it; returns false if it does not in so many seconds. */
  boolean end(long seconds) throws InterruptedException {
    over = true;
    thread.join(TimeUnit.SECONDS.toMillis(seconds));
    return !thread.isAlive();
  }

  @Override
  public String toString() {
    return thread.getName() + ": " + doing;
  }

  private void run() {
    while (!over) {
      int store = random.nextInt(plan.stores());
      // Some keys are used by all threads at once.
      int key = (int) (plan.keys() * Math.pow(random.nextDouble(), 3));
      int what = random.nextInt(10_000);
      if (plan.isLoadedOnly(store)) {
        // Or else two threads could load two values, of which one is put in the other's place.
        key += number - key % SoakModel.THREADS;
      }
      doing = what + " store " + store + " key " + key;
      operate(store, key, what);
      model.add(SoakModel.Count.OPERATIONS, 1);
    }
  }

  private void operate(int store, int key, int what) {
    if (what < 4400) {
      int version = read(store, key);
      model.add(SoakModel.Count.READS, 1);
      model.add(SoakModel.Count.FOUND, version == 0 ? 0 : 1);
    } else if (what < 6400 || (what < 9970 && plan.isLoadedOnly(store))) {
      load(store, key);
    } else if (what < 8970) {
      put(store, key);
    } else if (what < 9970) {
      remove(store, key);
    } else if (what < 9990) {
      stores.get(store).flush();
    } else if (what < 9993 && !plan.isLoadedOnly(store)) {
      clear(store);
    } else {
      verify(store);
    }
  }

  private void verify(int store) {
    try {
      VerifyReport report = stores.get(store).verify(random.nextBoolean(), Progress.NONE);
      if (report.damaged() > 0 && !SoakMain.mayBeDamaged(stores.get(store), crashed)) {
        SoakMain.fail("store " + store + " has damaged entries: " + report);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private long created() {
    return System.currentTimeMillis() - (random.nextInt(8) == 0 ? random.nextInt(OLD_MILLIS) : 0);
  }

  private int length() {
    return random.nextInt(random.nextInt(longest) + 1);
  }

  void remove(int store, int key) {
    long begun = model.beginRemove(number, store, key);
    stores.get(store).remove(SoakValues.key(store, key));
    model.endRemove(number, store, key, begun);
  }

  void clear(int store) {
    long begun = model.beginClear(number, store);
    stores.get(store).clear();
    model.endClear(number, store, begun);
  }

  void put(int store, int key) {
    int version = model.newVersion(number);
    if (version == 0) {
      return;
    }
    // Of values without bytes there must be one at a time, to know which one it is.
    boolean empty = number == 0 && random.nextInt(16) == 0;
    long created = created();
    byte[] value = empty ? new byte[0] : SoakValues.of(store, key, version, created, length());
    long begun = model.beginPut(number, store, key, version, empty);
    stores.get(store).put(SoakValues.key(store, key), value, created);
    model.endPut(number, store, key, version, begun);
  }

  void load(int store, int key) {
    int version = model.newVersion(number);
    if (version == 0) {
      return;
    }
    byte[] bytes = SoakValues.key(store, key);
    // First: a change that returns before the ticket is taken does not concern the load.
    Ticket ticket = stores.get(store).ticket(bytes);
    model.beginLoad(number, store, key, version);
    if (read(store, key) == 0) {
      long created = created();
      byte[] value = SoakValues.of(store, key, version, created, length());
      stores.get(store).putIfCurrent(bytes, value, created, ticket);
    }
    ticket.close();
    model.endLoad(number, store, key, version);
  }

  /** Reads and compares; returns the version found, or 0. */
  int read(int store, int key) {
    long last = model.lastChange(store, key);
    long now = System.currentTimeMillis();
    Value value = stores.get(store).read(SoakValues.key(store, key));
    if (value == null) {
      return 0;
    }
    int version =
        value.bytes().length == 0
            ? model.lastEmpty(store, key)
            : SoakValues.versionOf(store, key, value);
    long age = plan.ages().get(store);
    boolean isAnyRight = plan.kinds().get(store) == OldValues.PURE && version != SoakValues.BROKEN;
    if (!isAnyRight && !model.isAllowed(version, last)) {
      SoakMain.fail(
          String.format(
              Locale.ROOT,
              "store %d key %d: found %s (%d bytes, created %d), allowed is what is good after %d%n%s",
              store,
              key,
              version == SoakValues.BROKEN
                  ? "a value that was never put"
                  : model.describeVersion(version),
              value.bytes().length,
              value.created(),
              last,
              model.describe(store, key)));
    }
    if (age != 0 && now - value.created() > age) {
      SoakMain.fail(
          String.format(
              Locale.ROOT,
              "store %d key %d: found a value of %d ms, %d are allowed",
              store,
              key,
              now - value.created(),
              age));
    }
    return version;
  }
}
