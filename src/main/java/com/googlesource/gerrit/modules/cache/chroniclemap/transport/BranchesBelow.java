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

import com.google.common.collect.Iterables;
import com.google.gerrit.common.Nullable;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import org.eclipse.jgit.internal.storage.file.ObjectDirectory;
import org.eclipse.jgit.internal.storage.file.ObjectDirectoryPackParser;
import org.eclipse.jgit.internal.storage.file.Pack;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ConnectivityChecker.ConnectivityCheckInfo;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The branches that tell which commits of a push are in a branch already. Gerrit walks from the
 * pushed commits, and leaves out what a visible branch leads to. For this it parses the commits of
 * all visible branches.
 *
 * <p>A commit that is in the received pack, and nowhere else among the objects, was not there
 * before the push, so no branch leads to it. If the other commits, from which the walk goes on, are
 * ancestors of a few visible branches, then these few leave out the same commits as all branches.
 *
 * <p>The cost grows with the push.
 *
 * @param branches visible branches that suffice for the walk
 * @param objects of the repository
 * @param packs that there were
 */
record BranchesBelow(List<Ref> branches, ObjectDirectory objects, List<Pack> packs) {
  /** The commits that are looked at. Each new one is looked up in all packs. */
  private static final int MAX_COMMITS = 128;

  /** The branches that Gerrit's filter is asked for, one by one. */
  private static final int MAX_BRANCHES = 32;

  /**
   * Returns the branches that a push is built on; null if all are needed.
   *
   * @param push its repository filters refs
   * @param unfiltered the refs of the same repository
   */
  @Nullable
  static BranchesBelow of(ConnectivityCheckInfo push, RefDatabase unfiltered) throws IOException {
    Repository repository = push.getRepository();
    // There is no pack if it has the objects of a pack that was there.
    if (!(push.getParser() instanceof ObjectDirectoryPackParser parser)
        || parser.getPack() == null
        || !(repository.getObjectDatabase() instanceof ObjectDirectory objects)
        || !Files.notExists(objects.getDirectory().toPath().resolve(Constants.INFO_ALTERNATES))) {
      return null;
    }
    Set<ObjectId> seen = new HashSet<>();
    Set<String> names = new LinkedHashSet<>(List.of(Constants.HEAD));
    for (ReceiveCommand command : push.getCommands()) {
      if (command.getType() != ReceiveCommand.Type.DELETE) {
        seen.add(command.getNewId());
        addBranch(LocalConnectivityChecker.target(command.getRefName()), names);
      }
    }
    List<Pack> packs = List.copyOf(objects.getPacks());
    Set<ObjectId> older = new HashSet<>();
    Queue<ObjectId> queue = new ArrayDeque<>(seen);
    try (RevWalk walk = new RevWalk(repository)) {
      while (!queue.isEmpty()) {
        ObjectId id = queue.remove();
        if (seen.size() > MAX_COMMITS || !(walk.parseAny(id) instanceof RevCommit commit)) {
          return null;
        }
        if (!isOnlyIn(parser.getPack(), id, packs, objects)) {
          older.add(id);
          continue;
        }
        for (RevCommit parent : commit.getParents()) {
          if (seen.add(parent)) {
            queue.add(parent);
          }
        }
      }
    }
    if (unfiltered.hasFastTipsWithSha1()) {
      for (ObjectId id : older) {
        Set<Ref> tips = RefsByName.below(Constants.R_HEADS, unfiltered.getTipsWithSha1(id));
        Iterables.limit(tips, MAX_BRANCHES - names.size())
            .forEach(tip -> addBranch(tip.getName(), names));
      }
    }
    Map<String, Ref> branches = new TreeMap<>();
    Set<ObjectId> tips = new HashSet<>();
    for (String name : names) {
      Ref ref = repository.getRefDatabase().exactRef(name);
      Ref branch = ref == null ? null : ref.getLeaf(); // of HEAD
      if (branch != null && branch.getObjectId() != null && isBranch(branch.getName())) {
        branches.put(branch.getName(), branch);
        tips.add(branch.getObjectId());
      }
    }
    BranchesBelow found = new BranchesBelow(List.copyOf(branches.values()), objects, packs);
    return found.isCurrent() && LocalConnectivityChecker.areAncestors(tips, older, push)
        ? found
        : null;
  }

  /**
   * Whether no pack has come or gone since. One that another push or gc has brought may have a
   * commit of this push, and a branch may lead to it by now. (Of two pushes that send the same pack
   * at the same moment, JGit keeps one pack, so the other push is not noticed.)
   */
  boolean isCurrent() {
    return List.copyOf(objects.getPacks()).equals(packs);
  }

  private static void addBranch(String name, Set<String> names) {
    if (names.size() < MAX_BRANCHES && isBranch(name)) {
      names.add(name);
    }
  }

  /** Names of targets come from clients. */
  private static boolean isBranch(String name) {
    return name.startsWith(Constants.R_HEADS) && Repository.isValidRefName(name);
  }

  /** Whether a commit is in a pack, and neither in any other one nor loose. */
  private static boolean isOnlyIn(
      Pack received, ObjectId id, Collection<Pack> packs, ObjectDirectory objects)
      throws IOException {
    for (Pack pack : packs) {
      if (pack != received && pack.hasObject(id)) {
        return false;
      }
    }
    return received.hasObject(id) && Files.notExists(objects.fileFor(id).toPath());
  }
}
