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

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.logging.LoggingContext;
import com.google.gerrit.server.permissions.ProjectControl;
import com.google.gerrit.server.project.RefPattern;
import com.google.gerrit.server.project.RefPatternMatcher.ExpandParameters;
import com.google.gerrit.server.project.SectionMatcher;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.aopalliance.intercept.MethodInvocation;
import org.eclipse.jgit.lib.Constants;

/**
 * A cache, for one run of Gerrit's filter, of whether the user may read a branch. Gerrit is asked
 * once for all branches that are subject to the same access sections.
 *
 * <p>The name of a branch decides only which sections apply: those whose pattern matches it. A
 * pattern that ends in {@code /*} matches all names below a folder. So the names that match no
 * other pattern and have the same longest such folder match the same sections. Gerrit sorts these
 * by the distance of the pattern from the name, which puts the longer folder first whatever the
 * rest of the name is. For a name that equals a section's, matches a regular expression or may
 * match a pattern with a parameter, Gerrit is always asked.
 *
 * <p>The sections are those that the {@link ProjectControl} in question has read for itself, not
 * the current ones, so a change of the rules during the run never mixes old and new ones.
 *
 * <p>For one thread.
 */
final class BranchVisibilityCache {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The sections are read when Gerrit is asked for so many branches, and not for fewer. */
  private static final int MIN_BRANCHES = 17;

  private static final String BELOW = "/*";

  @Nullable private static final Method SECTIONS = (Method) Member.BRANCH_RULES.find();

  /** The cache of the run of the filter that the thread is in. */
  private static final ThreadLocal<BranchVisibilityCache> CURRENT = new ThreadLocal<>();

  private final TransportCounts counts;

  /** Those of each control: the filter has one for branches, and one for changes. */
  private final IdentityHashMap<ProjectControl, Sections> sections = new IdentityHashMap<>();

  private BranchVisibilityCache(TransportCounts counts) {
    this.counts = counts;
  }

  /** Runs Gerrit's filter with a cache of its own, which ends with the run. */
  static Object during(MethodInvocation filter, TransportCounts counts) throws Throwable {
    BranchVisibilityCache outer = CURRENT.get();
    CURRENT.set(new BranchVisibilityCache(counts));
    try {
      return filter.proceed();
    } finally {
      CURRENT.set(outer);
    }
  }

  /** Intercepts Gerrit's method that decides whether a user may read a ref. */
  static Object answer(MethodInvocation gerrits) throws Throwable {
    BranchVisibilityCache cache = CURRENT.get();
    String name = (String) gerrits.getArguments()[1];
    if (cache == null || !name.startsWith(Constants.R_HEADS)) {
      return gerrits.proceed();
    }
    ProjectControl asking = (ProjectControl) gerrits.getArguments()[0];
    Sections these = cache.sections.computeIfAbsent(asking, unused -> new Sections());
    String folder = these.folder(name, asking);
    Boolean known = folder == null ? null : these.answers.get(folder);
    if (known == null) {
      known = (Boolean) gerrits.proceed();
      if (folder != null) {
        these.answers.put(folder, known);
      }
    } else {
      cache.counts.branchesByRules.increment();
    }
    return known;
  }

  /** The access sections that one object of Gerrit's decides by. */
  private static final class Sections {
    private int asked;
    private boolean isRead;

    /** The patterns with {@code /*} at their end, without the asterisk. */
    private final Set<String> folders = new HashSet<>();

    private final Set<String> names = new HashSet<>();
    private final List<SectionMatcher> others = new ArrayList<>();

    /** By the longest folder of {@link #folders}, or the empty text if there is none. */
    private final Map<String, Boolean> answers = new HashMap<>();

    /** Returns the longest folder that has a branch, or null if Gerrit must be asked. */
    @Nullable
    String folder(String name, ProjectControl asking) {
      try {
        // An administrator who has each decision logged wants to see each.
        if (++asked == MIN_BRANCHES
            && SECTIONS != null
            && !LoggingContext.getInstance().isAclLogging()) {
          for (Object section : (List<?>) SECTIONS.invoke(asking)) {
            add((SectionMatcher) section);
          }
          isRead = true;
        }
        return isRead && !matchesByItself(name) ? longestFolder(name) : null;
      } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
        logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
            "Cannot read the access sections of a project; Gerrit is asked for each branch");
        isRead = false;
        return null;
      }
    }

    private void add(SectionMatcher section) {
      String pattern = section.getSection().getName();
      if (RefPattern.isRE(pattern) || RefPattern.containsParameters(pattern)) {
        others.add(section);
      } else if (pattern.endsWith(BELOW)) {
        folders.add(pattern.substring(0, pattern.length() - 1));
      } else {
        names.add(pattern);
      }
    }

    private boolean matchesByItself(String name) {
      if (names.contains(name)) {
        return true;
      }
      for (SectionMatcher other : others) {
        if (other.getMatcher() instanceof ExpandParameters parameters
            ? parameters.matchPrefix(name)
            : other.match(name, null)) {
          return true;
        }
      }
      return false;
    }

    private String longestFolder(String name) {
      for (int slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
        String folder = name.substring(0, slash + 1);
        if (folders.contains(folder)) {
          return folder;
        }
      }
      return "";
    }
  }
}
