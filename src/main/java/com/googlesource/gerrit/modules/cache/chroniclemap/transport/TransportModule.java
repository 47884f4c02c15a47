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

import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.git.ReceivePackInitializer;
import com.google.gerrit.server.git.UploadPackInitializer;
import com.google.gerrit.server.util.ThreadLocalRequestContext;
import com.google.inject.AbstractModule;
import com.google.inject.Key;
import com.google.inject.TypeLiteral;
import com.google.inject.spi.ProvisionListener;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.util.function.Consumer;
import org.aopalliance.intercept.MethodInterceptor;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.Repository;

/**
 * The module that adds this package's initializers to each push and fetch.
 *
 * <p>Gerrit's injector for servers is a child of the one that this module belongs to, and Gerrit
 * looks for bindings of initializers in the child only. So they are added to Gerrit's sets when
 * these are made. That also works for {@link UploadPackInitializer}, whose set no module of Gerrit
 * 3.13 declares, so that Guice makes a new, empty one for each user of it.
 */
public final class TransportModule extends AbstractModule {
  private static final String PLUGIN = "cache-chroniclemap";

  private final TransportSettings settings;

  /** Makes the module of one Gerrit. */
  public TransportModule(Config config) {
    settings = new TransportSettings(config);
  }

  @Override
  protected void configure() {
    TransportCounts counts = new TransportCounts();
    bind(TransportCounts.class).toInstance(counts);
    RecentLists recent = new RecentLists();
    whenMade(
        Key.get(new TypeLiteral<DynamicSet<ReceivePackInitializer>>() {}),
        set -> set.add(PLUGIN, new PushInitializer(settings, counts)));
    whenMade(
        Key.get(new TypeLiteral<DynamicSet<UploadPackInitializer>>() {}),
        set -> set.add(PLUGIN, new FetchInitializer(counts, recent)));
    whenMade(Key.get(Config.class, GerritServerConfig.class), settings::provided);
    whenMade(Key.get(ThreadLocalRequestContext.class), made -> recent.requests = made);
    intercept(
        Member.REF_FILTER,
        PushView::filtered,
        call -> {
          call.getArguments()[1] = new TaggableRefs((Repository) call.getArguments()[1]);
          return BranchVisibilityCache.during(call, counts);
        });
    intercept(Member.HTTP_PUSH, PushInitializer::requested, FastGzip::filtered);
    intercept(Member.HTTP_FETCH, FastGzip::filtered);
    if (settings.groupsBranches) {
      intercept(Member.BRANCH_CHECK, BranchVisibilityCache::answer);
    }
  }

  private void intercept(Member method, MethodInterceptor... interceptors) {
    bindInterceptor(method::isOf, method::is, interceptors);
  }

  /** Calls an action for each object of a key that Guice makes, here or in a child injector. */
  private <T> void whenMade(Key<T> key, Consumer<T> action) {
    bindListener(
        binding -> binding.getKey().equals(key),
        new ProvisionListener() {
          @Override
          @SuppressWarnings("unchecked") // the matcher has compared the key
          public <P> void onProvision(ProvisionInvocation<P> provision) {
            action.accept((T) provision.provision());
          }
        });
  }
}
