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
      AdvertiseRefsHook gerrits = push.getAdvertiseRefsHook();
      if (!settings.everCached
          && isGerrits(gerrits)
          && push.getRepository() instanceof DelegateRepository repository) {
        PushView view = PushView.below(repository);
        LocalConnectivityChecker.install(push, counts, view);
        push.setAdvertiseRefsHook(
            new PushAdvertisement(gerrits, repository, view, settings::isAdvertised, counts));
      } else {
        LocalConnectivityChecker.install(push, counts, null);
        counts.pushesLeft.increment();
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
   * Intercepts Gerrit's factory of pushes over HTTP, which makes one object for the list of refs
   * and one for the push itself. No list has to be walked through when it is set, and the second
   * one needs none.
   */
  static Object created(MethodInvocation factory) throws Throwable {
    Object made = factory.proceed();
    try {
      if (made instanceof ReceivePack push
          && push.getAdvertiseRefsHook() instanceof PushAdvertisement advertisement
          && factory.getArguments()[0] instanceof HttpServletRequest request) {
        boolean isList = !request.getMethod().equals("POST");
        LocalConnectivityChecker.lookUpByName(push, advertisement, isList);
      }
    } catch (RuntimeException | LinkageError e) {
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "Cannot look up the advertised refs of a push by name; all are read twice");
    }
    return made;
  }
}
