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

package com.googlesource.gerrit.modules.cache.chroniclemap.transport;

import com.google.common.collect.Sets;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.entities.RefNames;
import com.google.gerrit.server.cache.PerThreadCache;
import com.google.gerrit.server.util.MagicBranch;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.errors.IncorrectObjectTypeException;
import org.eclipse.jgit.errors.MissingObjectException;
import org.eclipse.jgit.internal.transport.connectivity.FullConnectivityChecker;
import org.eclipse.jgit.lib.EmptyProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdSubclassMap;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.revwalk.RevObject;
import org.eclipse.jgit.revwalk.RevTag;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ConnectivityChecker;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.eclipse.jgit.transport.ReceivePack;

/**
 * A connectivity checker for pushes that walks from the new commits to those which the push builds
 * on, where JGit's checker parses all advertised refs.
 *
 * <p>JGit's check walks from the new commits until it meets what is reachable from the advertised
 * refs. It refuses the push if an object on the way is missing or, for users who may not read all
 * refs, is neither in the push nor reachable. This checker runs the same check with a few of the
 * advertised refs. Less is reachable from them, so it accepts nothing that is missing or hidden. If
 * it refuses the push, fails, or walks through too many objects, the check with all refs decides.
 *
 * <p>The cost grows with the push. For one push, and one thread at a time.
 *
 * @param full JGit's checker
 * @param advertisement of the push; null if it is Gerrit's own
 */
record LocalConnectivityChecker(
    ConnectivityChecker full, TransportCounts counts, @Nullable PushAdvertisement advertisement)
    implements ConnectivityChecker {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The target branches of a push that are looked up. */
  private static final int MAX_TARGETS = 32;

  /** The commits that are searched for an advertised one. */
  private static final int MAX_COMMITS = 128;

  /** The ancestors of advertised commits that are searched for one that the push builds on. */
  private static final int MAX_ANCESTORS = 1024;

  /** The objects, besides those of the push, that may be walked before the check gives up. */
  private static final int SPARE_OBJECTS = 10_000;

  @Nullable private static final VarHandle CHECKER = Member.PUSH_CHECKER.field();

  /**
   * Installs this checker for a push, unless it has another checker than JGit's usual one. JGit 7.7
   * also has TreeWalkConnectivityChecker, which neither it nor Gerrit uses. That may not be asked
   * twice: it walks in the walk of the push, so what it has seen and refused the first time, it
   * would not look at and accept the second time.
   */
  static void install(
      ReceivePack push, TransportCounts counts, @Nullable PushAdvertisement advertisement) {
    Object checker = CHECKER == null ? null : CHECKER.get(push);
    if (checker instanceof FullConnectivityChecker full) {
      CHECKER.set(push, new LocalConnectivityChecker(full, counts, advertisement));
    } else if (checker != null) {
      logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
          "Pushes are checked by %s against all advertised refs", checker.getClass().getName());
    }
  }

  /** Whether a push has this checker. JGit's, and those of other modules, need all refs. */
  static boolean isInstalled(ReceivePack push) {
    return CHECKER != null && CHECKER.get(push) instanceof LocalConnectivityChecker;
  }

  @Override
  public void checkConnectivity(
      ConnectivityCheckInfo push, Set<ObjectId> advertised, ProgressMonitor progress)
      throws MissingObjectException, IOException {
    PerThreadCache request = RefsByName.beginRequest();
    RefsByName refs = null;
    try (request) {
      refs = advertisement == null ? null : advertisement.received(push);
      Set<ObjectId> base = new Base(push, advertised, refs, new HashSet<>()).find();
      if (!base.isEmpty() && (refs != null || base.size() < advertised.size())) {
        long maxObjects =
            (long) push.getParser().getObjectCount() + advertised.size() + SPARE_OBJECTS;
        full.checkConnectivity(push, base, new Limit(maxObjects));
        counts.localChecks.increment();
        return;
      }
    } catch (IOException | RuntimeException e) {
      // Also if this check finds damage that the check of all refs does not reach.
      logger.atFine().withCause(e).log(
          "Cannot check a push against a few refs; all advertised refs are used");
    }
    counts.fullChecks.increment();
    Set<ObjectId> all = refs == null ? advertised : Sets.union(advertised, refs.ids());
    full.checkConnectivity(push, all, progress);
  }

  /**
   * The advertised commits that a push builds on.
   *
   * @param refs among which to look for ids; null if all advertised ids are known
   */
  private record Base(
      ConnectivityCheckInfo push,
      Set<ObjectId> advertised,
      @Nullable RefsByName refs,
      Set<ObjectId> found) {
    /** Finds them; returns none if they do not suffice. */
    Set<ObjectId> find() throws IOException {
      Queue<ObjectId> queue = new ArrayDeque<>();
      Set<String> targets = new HashSet<>();
      for (ReceiveCommand command : push.getCommands()) {
        if (command.getType() != ReceiveCommand.Type.DELETE) {
          queue.add(command.getNewId());
          add(command.getRefName(), command.getOldId());
          if (targets.size() < MAX_TARGETS) {
            targets.add(target(command.getRefName()));
          }
        }
      }
      for (String name : targets) {
        Ref target = push.getRepository().exactRef(name);
        if (target != null) {
          add(name, target.getObjectId());
        }
      }
      // A check of references sorts all commits that it walks through before it can be limited, so
      // each commit below the new ones must be known to be reachable.
      ObjectIdSubclassMap<ObjectId> sent =
          push.isCheckObjects() ? push.getParser().getNewObjectIds() : null;
      Set<ObjectId> seen = new HashSet<>(queue);
      Set<ObjectId> below = new HashSet<>();
      int left = MAX_COMMITS + queue.size();
      // A walk of its own, as the walk of the push keeps the parsed commits.
      try (RevWalk walk = new RevWalk(push.getRepository())) {
        walk.setRetainBody(false);
        while (!queue.isEmpty() && (sent != null || left-- > 0)) {
          ObjectId id = queue.remove();
          // What was sent is new, in nearly all cases. If it is not, less counts as advertised, and
          // the check is stricter.
          boolean isSent = sent != null && sent.contains(id);
          if (!isSent && add(id)) {
            continue;
          }
          if (sent != null && !isSent) {
            below.add(id.copy());
            continue;
          }
          for (ObjectId next : below(walk, id)) {
            if (seen.add(next)) {
              queue.add(next);
            }
          }
        }
      }
      return areAncestors(found, below, push) ? found : Set.of();
    }

    /** Adds the id that a ref is known to have had. */
    private void add(String name, @Nullable ObjectId id) throws IOException {
      if (id == null || id.equals(ObjectId.zeroId()) || found.contains(id)) {
        return;
      }
      Ref ref = refs == null ? null : refs.get(name);
      if (ref != null && id.equals(ref.getObjectId())) {
        found.add(id.copy());
      } else {
        add(id);
      }
    }

    /** Adds an id if it is advertised, and returns whether it is. */
    private boolean add(ObjectId id) throws IOException {
      boolean isAdvertised =
          found.contains(id) || advertised.contains(id) || (refs != null && refs.hasTip(id));
      if (isAdvertised) {
        found.add(id.copy());
      }
      return isAdvertised;
    }
  }

  /** Whether all of some commits are close ancestors of the tips. */
  static boolean areAncestors(Set<ObjectId> tips, Set<ObjectId> commits, ConnectivityCheckInfo push)
      throws IOException {
    Set<ObjectId> missing = new HashSet<>(commits);
    if (missing.isEmpty()) {
      return true;
    }
    try (RevWalk walk = new RevWalk(push.getRepository())) {
      walk.setRetainBody(false);
      for (ObjectId tip : tips) {
        if (walk.peel(walk.parseAny(tip)) instanceof RevCommit commit) {
          walk.markStart(commit);
        }
      }
      RevCommit next;
      for (int i = -tips.size(); i < MAX_ANCESTORS && (next = walk.next()) != null; i++) {
        if (missing.remove(next) && missing.isEmpty()) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns the parents of a commit, or the object of a tag. */
  private static List<? extends ObjectId> below(RevWalk walk, ObjectId id) throws IOException {
    try {
      RevObject object = walk.parseAny(id);
      return object instanceof RevTag tag
          ? List.of(tag.getObject())
          : object instanceof RevCommit commit ? List.of(commit.getParents()) : List.of();
    } catch (MissingObjectException | IncorrectObjectTypeException e) {
      return List.of(); // the check itself reports it
    }
  }

  /** The target branch of a push. */
  static String target(String pushed) {
    String prefix = MagicBranch.getMagicRefNamePrefix(pushed);
    if (prefix == null || prefix.isEmpty()) {
      return pushed;
    }
    String branch = pushed.substring(prefix.length());
    int options = branch.indexOf('%');
    return RefNames.fullName(options < 0 ? branch : branch.substring(0, options));
  }

  /**
   * A monitor that stops the check after a number of objects, by an exception: JGit's check never
   * asks a monitor whether it is cancelled.
   */
  private static final class Limit extends EmptyProgressMonitor {
    private long left;

    Limit(long maxObjects) {
      left = maxObjects;
    }

    @Override
    public void update(int completed) {
      left -= completed;
      if (left < 0) {
        throw new CancellationException("the limit of objects is exceeded");
      }
    }
  }
}
