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
import com.google.gerrit.entities.Project;
import com.google.gerrit.server.git.DelegateRepository;
import com.google.gerrit.server.git.UploadPackInitializer;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.RefFilter;
import org.eclipse.jgit.transport.TransferConfig;
import org.eclipse.jgit.transport.UploadPack;
import org.eclipse.jgit.transport.UploadPack.RequestPolicy;

/**
 * The initializer of each fetch. For a client that asks by object id, {@link WantValidator} looks
 * for a visible ref with that id before JGit reads all refs.
 *
 * <p>Over HTTP it also offers {@code want-ref} to clients, unless {@code uploadpack.allowRefInWant}
 * is set in {@code etc/jgit.config} or in the repository. A client of git 2.18 or later then asks
 * for a ref by its name, and the server reads that ref alone. Over SSH that would save nothing: the
 * client lists the refs that it wants in any case, and asks for their ids in the same connection.
 *
 * <p>Any thread may call.
 */
record FetchInitializer(TransportCounts counts, RecentLists recent)
    implements UploadPackInitializer {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final String SECTION = "uploadpack";
  private static final String REF_IN_WANT = "allowRefInWant";

  @Override
  public void init(Project.NameKey project, UploadPack fetch) {
    try {
      // Anything else is a choice of an administrator or of another module.
      if (fetch.getRequestPolicy() == RequestPolicy.ADVERTISED
          && fetch.getRefFilter() == RefFilter.DEFAULT
          && fetch.getAdvertiseRefsHook() == AdvertiseRefsHook.DEFAULT
          && fetch.getRepository() instanceof DelegateRepository repository
          && repository.getConfig().getStringList(SECTION, null, "hiderefs").length == 0) {
        WantValidator validator = new WantValidator(fetch, repository, counts, project, recent);
        fetch.setAdvertiseRefsHook(validator);
        if (repository.getConfig().getString(SECTION, null, REF_IN_WANT) == null) {
          fetch.setTransferConfig(wantRefOverHttp(fetch, validator));
        }
      }
    } catch (RuntimeException | LinkageError e) {
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "Cannot prepare a fetch from %s; it is left to JGit, which reads all refs", project);
    }
  }

  /**
   * Returns the repository's config, but for want-ref. JGit asks when it tells the client its
   * capabilities in git's protocol 2: the kind of transport is set then, and so are Gerrit's hooks.
   * JGit makes no other call then, so this one also informs {@link WantValidator} of a fetch over
   * SSH.
   *
   * @param validator checks the names; if another module has replaced it or the policy, want-ref is
   *     not offered
   */
  private static TransferConfig wantRefOverHttp(UploadPack fetch, WantValidator validator) {
    return new TransferConfig(fetch.getRepository()) {
      /** JGit filters each list by prefixes that it sends over HTTP. No config hides refs here. */
      @Override
      public RefFilter getRefFilter() {
        return fetch.isBiDirectionalPipe() ? super.getRefFilter() : validator.recordingFilter();
      }

      @Override
      public boolean isAllowRefInWant() {
        if (fetch.isBiDirectionalPipe() && fetch.getAdvertiseRefsHook() == validator) {
          validator.watchLists();
        }
        return !fetch.isBiDirectionalPipe()
            && fetch.getAdvertiseRefsHook() == validator
            && fetch.getRequestPolicy() == RequestPolicy.ADVERTISED;
      }
    };
  }
}
