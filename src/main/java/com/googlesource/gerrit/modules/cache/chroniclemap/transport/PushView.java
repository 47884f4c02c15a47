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

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.entities.RefNames;
import com.google.gerrit.server.git.DelegateRefDatabase;
import com.google.gerrit.server.git.DelegateRepository;
import com.google.gerrit.server.git.receive.ReceivePackRefCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.io.IOException;
import java.lang.StackWalker.StackFrame;
import java.lang.invoke.VarHandle;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.aopalliance.intercept.MethodInvocation;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.ConnectivityChecker.ConnectivityCheckInfo;

/**
 * A view of the repository for one push, below Gerrit's filter. It differs from the repository in
 * the answers to questions that Gerrit asks for each commit or each namespace. Those would run the
 * filter for each ref in question, while Gerrit's own cache of all refs runs it once for a push.
 *
 * <ul>
 *   <li>Gerrit wants to know the patch sets with the id of a commit, and asks for all refs with it.
 *       It gets only those of changes, so that no tag is filtered.
 *   <li>For each command, it asks for all branches. It gets those that matter ({@link
 *       BranchesBelow}), or else the filter runs for all of them once.
 *   <li>If a push concerns many patch sets or branches, the filter runs for all of them at once.
 *   <li>All refs but those of changes are filtered in one run ({@link #visible}).
 * </ul>
 *
 * <p>For one push, and one thread at a time.
 */
final class PushView extends DelegateRepository {
  @Nullable private static final VarHandle BELOW = Member.BELOW_FILTER.field();

  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final StackWalker STACK = StackWalker.getInstance();

  /** Between Gerrit's cache and this class are two methods of its filter. */
  private static final int FRAMES = 8;

  /** The branches and refs of changes that are filtered one by one. */
  private static final int MAX_QUESTIONS = 64;

  /** The push's repository above the filter. */
  final DelegateRepository filtering;

  private final RefDatabase refs;
  private int questions;

  /** The refs that {@link #visible} leaves out; none unless it runs. */
  private Set<String> leftOut = Set.of();

  /** The branches that suffice for Gerrit's walk; null if all are needed. */
  @Nullable private BranchesBelow knownBranches;

  /** All branches, and those that are visible; null until Gerrit has asked for them. */
  @Nullable private List<Ref> branches;

  @Nullable private Object visibleBranches;

  /** The namespaces for which the filter has run, and whether their refs are visible, by name. */
  private final Set<String> namespaces = new HashSet<>();

  private final Map<String, Boolean> verdicts = new HashMap<>();

  private PushView(DelegateRepository filtering) {
    super(filtering.delegate());
    this.filtering = filtering;
    refs =
        new DelegateRefDatabase(delegate) {
          @Override
          public Set<Ref> getTipsWithSha1(ObjectId id) throws IOException {
            Set<Ref> tips = super.getTipsWithSha1(id);
            return isForGerritsCache() ? RefsByName.below(RefNames.REFS_CHANGES, tips) : tips;
          }

          @Override
          public List<Ref> getRefsByPrefix(String prefix) throws IOException {
            if (prefix.equals(Constants.R_HEADS) && isForGerritsCache()) {
              if (knownBranches != null
                  && isCalledBy(Member.BRANCHES_OF_PUSH::isAt)
                  && knownBranches.isCurrent()) {
                return knownBranches.branches();
              }
              branches = branches != null ? branches : super.getRefsByPrefix(prefix);
              return branches;
            }
            return prefix.isEmpty() && !leftOut.isEmpty()
                ? getRefsByPrefixWithExclusions(prefix, leftOut)
                : super.getRefsByPrefix(prefix);
          }
        };
  }

  /** Puts a view below the filter of a push's repository; returns null if that can't be done. */
  @Nullable
  static PushView below(DelegateRepository filtering) {
    if (BELOW == null || !(filtering.getRefDatabase() instanceof DelegateRefDatabase filter)) {
      return null;
    }
    PushView view = new PushView(filtering);
    BELOW.set(filter, view);
    return view;
  }

  @Override
  public RefDatabase getRefDatabase() {
    return refs;
  }

  /**
   * Whether Gerrit asks where it may have a cache of one moment instead, and drops all tips but
   * those of patch sets. Others may want them, and want them as they are now.
   */
  private static boolean isForGerritsCache() {
    String gerrits = ReceivePackRefCache.class.getName();
    return isCalledBy(frame -> frame.getClassName().startsWith(gerrits));
  }

  private static boolean isCalledBy(Predicate<StackFrame> caller) {
    return STACK.walk(frames -> frames.limit(FRAMES).anyMatch(caller));
  }

  /** Is told what JGit has received, before Gerrit looks at it. */
  void received(ConnectivityCheckInfo push) {
    try {
      knownBranches = BranchesBelow.of(push, delegate.getRefDatabase());
    } catch (IOException | RuntimeException | LinkageError e) {
      logger.atFine().withCause(e).log("Cannot find the branches of a push; all are used");
    }
  }

  /** Returns the visible refs but those with some prefixes, by one run of the filter. */
  List<Ref> visible(Set<String> without) throws IOException {
    leftOut = without;
    try {
      return filtering.getRefDatabase().getRefsByPrefix(RefDatabase.ALL);
    } finally {
      leftOut = Set.of();
    }
  }

  /** Intercepts Gerrit's filter. */
  static Object filtered(MethodInvocation filter) throws Throwable {
    return filter.getArguments()[1] instanceof PushView view
        ? view.answer(filter)
        : filter.proceed();
  }

  @SuppressWarnings("unchecked") // by the types of the filter
  private Object answer(MethodInvocation filter) throws Throwable {
    Collection<Ref> asked = (Collection<Ref>) filter.getArguments()[0];
    if (asked == branches) {
      visibleBranches = visibleBranches != null ? visibleBranches : filter.proceed();
      return visibleBranches;
    }
    if (asked.size() != 1) {
      return filter.proceed();
    }
    Ref one = Iterables.getOnlyElement(asked);
    String namespace =
        one.getName().startsWith(Constants.R_HEADS) ? Constants.R_HEADS : RefNames.REFS_CHANGES;
    if (!one.getName().startsWith(namespace) || ++questions <= MAX_QUESTIONS) {
      return filter.proceed();
    }
    if (namespaces.add(namespace)) {
      Collection<Ref> all = refs.getRefsByPrefix(namespace);
      filter.getArguments()[0] = all;
      Collection<Ref> visible = (Collection<Ref>) filter.proceed();
      filter.getArguments()[0] = asked;
      all.forEach(ref -> verdicts.put(ref.getName(), false));
      visible.forEach(ref -> verdicts.put(ref.getName(), true));
    }
    Boolean isVisible = verdicts.get(one.getName());
    return isVisible == null
        ? filter.proceed() // created meanwhile
        : isVisible ? ImmutableList.of(one) : ImmutableList.of();
  }
}
