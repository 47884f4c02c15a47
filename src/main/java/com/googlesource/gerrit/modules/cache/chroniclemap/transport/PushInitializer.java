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
import com.google.gerrit.entities.Project;
import com.google.gerrit.server.git.DelegateRepository;
import com.google.gerrit.server.git.ReceivePackInitializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import javax.servlet.http.HttpServletRequest;
import org.aopalliance.intercept.MethodInvocation;
import org.eclipse.jgit.http.server.ServletUtils;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.AdvertiseRefsHookChain;
import org.eclipse.jgit.transport.ReceivePack;

/**
 * The initializer of each push. It puts a {@link PushAdvertisement} in front of Gerrit's hook and a
 * {@link LocalConnectivityChecker} in front of JGit's check. Any thread may call.
 */
record PushInitializer(TransportSettings settings, TransportCounts counts)
    implements ReceivePackInitializer {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  @Nullable private static final VarHandle HOOKS = Member.PUSH_HOOKS.field();

  @Override
  public void init(Project.NameKey project, ReceivePack push) {
    try {
      PushView view =
          !settings.everCached
                  && isGerrits(push.getAdvertiseRefsHook())
                  && push.getRepository() instanceof DelegateRepository repository
              ? PushView.below(repository)
              : null;
      if (view == null) {
        LocalConnectivityChecker.install(push, counts, null);
        counts.pushesLeft.increment();
      } else {
        PushAdvertisement ours = new PushAdvertisement(push, view, settings::isAdvertised, counts);
        LocalConnectivityChecker.install(push, counts, ours);
        push.setAdvertiseRefsHook(ours);
      }
    } catch (RuntimeException | LinkageError e) {
      counts.pushesLeft.increment();
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "Cannot prepare a push to %s; it is left to Gerrit, which reads all refs", project);
    }
  }

  /**
   * Whether a hook is the one that Gerrit sets, which is several hooks in a chain. Another module
   * may have put its own hook into such a chain, and that may need all refs.
   */
  private static boolean isGerrits(AdvertiseRefsHook hook) {
    if (HOOKS == null || !(hook instanceof AdvertiseRefsHookChain)) {
      return false;
    }
    return Arrays.stream((AdvertiseRefsHook[]) HOOKS.get(hook))
        .filter(Objects::nonNull)
        .allMatch(each -> each.getClass().getPackageName().startsWith("com.google.gerrit.server"));
  }

  /**
   * Intercepts Gerrit's filter of pushes over HTTP. A push is two requests: the first one lists the
   * refs, as over SSH, and the second one needs no list.
   */
  static Object requested(MethodInvocation filter) throws Throwable {
    if (filter.getArguments()[0] instanceof HttpServletRequest request
        && request.getMethod().equals("POST")
        && request.getAttribute(ServletUtils.ATTRIBUTE_HANDLER) instanceof ReceivePack push
        && push.getAdvertiseRefsHook() instanceof PushAdvertisement advertisement) {
      advertisement.isSecond = true;
    }
    return filter.proceed();
  }
}
