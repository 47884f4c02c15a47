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
 */
final class LocalConnectivityChecker implements ConnectivityChecker {
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

  private final ConnectivityChecker full;
  private final TransportCounts counts;

  /** Is notified of what was received; null for none. */
  @Nullable private final PushView view;

  /** Finds the advertised refs by name; null if JGit has all of them. */
  @Nullable private PushAdvertisement advertisement;

  private LocalConnectivityChecker(
      ConnectivityChecker full, TransportCounts counts, @Nullable PushView view) {
    this.full = full;
    this.counts = counts;
    this.view = view;
  }

  /**
   * Installs this checker for a push, unless it has another checker than JGit's usual one. JGit 7.7
   * also has TreeWalkConnectivityChecker, which neither it nor Gerrit uses. That may not be asked
   * twice: it walks in the walk of the push, so what it has seen and refused the first time, it
   * would not look at and accept the second time.
   *
   * @param view is notified of what the push has received; null for none
   */
  static void install(ReceivePack push, TransportCounts counts, @Nullable PushView view) {
    Object checker = CHECKER == null ? null : CHECKER.get(push);
    if (checker instanceof FullConnectivityChecker full) {
      CHECKER.set(push, new LocalConnectivityChecker(full, counts, view));
    } else if (checker != null) {
      logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
          "Pushes are checked by %s against all advertised refs", checker.getClass().getName());
    }
  }

  /**
   * Has the advertised refs of a push looked up by name, unless it has another checker than this
   * one. JGit's checker and those of other modules need all of them.
   */
  static void lookUpByName(ReceivePack push, PushAdvertisement advertisement, boolean isList) {
    if (CHECKER != null && CHECKER.get(push) instanceof LocalConnectivityChecker check) {
      advertisement.lookUpByName(push, isList);
      check.advertisement = advertisement;
    }
  }

  @Override
  public void checkConnectivity(
      ConnectivityCheckInfo push, Set<ObjectId> advertised, ProgressMonitor progress)
      throws MissingObjectException, IOException {
    if (view != null) {
      view.received(push);
    }
    try {
      Set<ObjectId> base = baseFromOneScan(push, advertised);
      if (!base.isEmpty() && (isByName() || base.size() < advertised.size())) {
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
    Set<ObjectId> all = isByName() ? Sets.union(advertised, advertisement.ids()) : advertised;
    full.checkConnectivity(push, all, progress);
  }

  private boolean isByName() {
    return advertisement != null && advertisement.isByName();
  }

  private Set<ObjectId> baseFromOneScan(ConnectivityCheckInfo push, Set<ObjectId> advertised)
      throws IOException {
    PerThreadCache request = isByName() ? RefsByName.beginRequest() : null;
    try (request) {
      return base(push, advertised);
    }
  }

  /** Returns the advertised commits that the push builds on; empty if they do not suffice. */
  private Set<ObjectId> base(ConnectivityCheckInfo push, Set<ObjectId> advertised)
      throws IOException {
    Set<ObjectId> base = new HashSet<>();
    Queue<ObjectId> queue = new ArrayDeque<>();
    Set<String> targets = new HashSet<>();
    for (ReceiveCommand command : push.getCommands()) {
      if (command.getType() != ReceiveCommand.Type.DELETE) {
        queue.add(command.getNewId());
        addIfAdvertised(command.getRefName(), command.getOldId(), advertised, base);
        if (targets.size() < MAX_TARGETS) {
          targets.add(target(command.getRefName()));
        }
      }
    }
    for (String name : targets) {
      Ref target = push.getRepository().exactRef(name);
      if (target != null) {
        addIfAdvertised(name, target.getObjectId(), advertised, base);
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
        if (!isSent && addIfAdvertised(id, advertised, base)) {
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
    return areAncestors(base, below, push) ? base : Set.of();
  }

  /** Adds the id that a ref is known to have had. */
  private void addIfAdvertised(
      String name, @Nullable ObjectId id, Set<ObjectId> advertised, Set<ObjectId> base)
      throws IOException {
    if (id == null || id.equals(ObjectId.zeroId()) || base.contains(id)) {
      return;
    }
    if (isByName() && advertisement.isTip(name, id)) {
      base.add(id.copy());
    } else {
      addIfAdvertised(id, advertised, base);
    }
  }

  private boolean addIfAdvertised(ObjectId id, Set<ObjectId> advertised, Set<ObjectId> base)
      throws IOException {
    boolean isAdvertised =
        base.contains(id) || advertised.contains(id) || (isByName() && advertisement.isTip(id));
    if (isAdvertised) {
      base.add(id.copy());
    }
    return isAdvertised;
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
