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

import java.nio.IntBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What some threads did with one key of a store, and whether a store that keeps its promises could
 * have answered so.
 *
 * <p>The promise: there is an order of all operations, in which each one stands after those that
 * had ended when it began, and in which each read returns the value last stored, or none if that
 * was removed. A load reads first and stores later; if the key was changed in between, it does not
 * store. With one allowance, for misses only: a read that overlaps a change of its key may find
 * nothing.
 *
 * <p>Keys are looked at one by one: a {@link Store#clear} is a removal of each key, and may come to
 * two keys at different moments.
 *
 * @param threads what each thread did, in its order
 */
record KeyHistory(List<List<Operation>> threads) {
  /** Stands for no value; values are positive. */
  static final int NONE = 0;

  /** What an operation does. */
  enum Kind {
    PUT,
    REMOVE,
    READ,
    LOAD
  }

  /**
   * What an operation did. A load that finds nothing puts a value with the ticket it took before.
   *
   * @param wrote the value that was handed to the store, or NONE
   * @param found the value that was read, or NONE
   * @param current whether after a load that found nothing its ticket was still good
   */
  record Answer(int wrote, int found, boolean current) {
    @Override
    public String toString() {
      return (found != NONE ? "found " + found : "found nothing")
          + (wrote == NONE ? "" : (current ? ", put " : ", perhaps put ") + wrote);
    }
  }

  /**
   * One operation.
   *
   * @param seen how many operations of each thread had ended when this one began
   */
  record Operation(Kind kind, Answer answer, int[] seen) {}

  /** What a load knows between its two steps. */
  private static final int FRESH = 0;

  private static final int MAY_STORE = 1;
  private static final int MUST_NOT_STORE = 2;

  /**
   * Whether the answers are allowed.
   *
   * @param before the value at the beginning, or NONE
   */
  boolean isAllowed(int before) {
    return new Search().isPossible(new int[2 * threads.size()], before);
  }

  /** Tries all orders; a state that was seen before leads nowhere. */
  private final class Search {
    private final Set<IntBuffer> seen = new HashSet<>();

    /**
     * Whether the rest can be ordered.
     *
     * @param at for each thread, the operations it has behind it and what its load knows
     */
    boolean isPossible(int[] at, int value) {
      int[] state = new int[at.length + 1];
      System.arraycopy(at, 0, state, 0, at.length);
      state[at.length] = value;
      if (!seen.add(IntBuffer.wrap(state))) {
        return false;
      }
      boolean all = true;
      for (int thread = 0; thread < threads.size(); thread++) {
        if (at[2 * thread] < threads.get(thread).size()) {
          all = false;
          if (mayBegin(at, thread) && tryNext(at, thread, value)) {
            return true;
          }
        }
      }
      return all;
    }

    private boolean mayBegin(int[] at, int thread) {
      int[] ended = threads.get(thread).get(at[2 * thread]).seen();
      for (int other = 0; other < threads.size(); other++) {
        if (other != thread && at[2 * other] < ended[other]) {
          return false;
        }
      }
      return true;
    }

    private boolean tryNext(int[] at, int thread, int value) {
      int index = at[2 * thread];
      Operation next = threads.get(thread).get(index);
      Answer answer = next.answer();
      return switch (next.kind()) {
        case PUT -> isPossible(changed(at, thread), answer.wrote());
        case REMOVE -> isPossible(changed(at, thread), NONE);
        case READ ->
            (answer.found() == value || (answer.found() == NONE && besideChange(thread, index)))
                && isPossible(done(at, thread), value);
        case LOAD -> tryLoad(at, thread, value, answer);
      };
    }

    private boolean tryLoad(int[] at, int thread, int value, Answer answer) {
      int index = at[2 * thread];
      if (answer.found() != NONE) {
        return answer.found() == value && isPossible(done(at, thread), value);
      }
      boolean stays = mayLeaveOut(thread, index, answer) && at[2 * thread + 1] != FRESH;
      if (stays && isPossible(done(at, thread), value)) {
        return true;
      }
      return switch (at[2 * thread + 1]) {
        case FRESH -> tryMiss(at, thread, value);
        case MAY_STORE -> isPossible(done(at, thread), answer.wrote());
        default -> false;
      };
    }

    private boolean tryMiss(int[] at, int thread, int value) {
      int index = at[2 * thread];
      if (value == NONE || beside(Kind.REMOVE, thread, index)) {
        return isPossible(knowing(at, thread, MAY_STORE), value);
      }
      return beside(Kind.PUT, thread, index)
          && isPossible(knowing(at, thread, MUST_NOT_STORE), value);
    }

    /** A ticket taken in the middle of a put ends with that put, or is none from the beginning. */
    private boolean mayLeaveOut(int thread, int index, Answer answer) {
      return !answer.current() || beside(Kind.PUT, thread, index);
    }

    private int[] done(int[] at, int thread) {
      int[] after = at.clone();
      after[2 * thread]++;
      after[2 * thread + 1] = FRESH;
      return after;
    }

    private int[] knowing(int[] at, int thread, int what) {
      int[] after = at.clone();
      after[2 * thread + 1] = what;
      return after;
    }

    /** After a change: who loads meanwhile must not store. */
    private int[] changed(int[] at, int thread) {
      int[] after = done(at, thread);
      for (int other = 0; other < threads.size(); other++) {
        if (after[2 * other + 1] == MAY_STORE) {
          after[2 * other + 1] = MUST_NOT_STORE;
        }
      }
      return after;
    }
  }

  private boolean besideChange(int thread, int index) {
    return beside(Kind.PUT, thread, index) || beside(Kind.REMOVE, thread, index);
  }

  /** Whether an operation overlaps one of that kind in another thread. */
  private boolean beside(Kind kind, int thread, int index) {
    int[] ended = threads.get(thread).get(index).seen();
    for (int other = 0; other < threads.size(); other++) {
      List<Operation> operations = threads.get(other);
      for (int i = ended[other]; other != thread && i < operations.size(); i++) {
        Operation operation = operations.get(i);
        if (operation.seen()[thread] > index) {
          break;
        }
        if (operation.kind() == kind) {
          return true;
        }
      }
    }
    return false;
  }
}
