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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour;

import com.google.gerrit.entities.Project;
import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.server.git.ReceivePackInitializer;
import com.google.gerrit.server.git.UploadPackInitializer;
import com.google.inject.AbstractModule;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.AdvertiseRefsHookChain;
import org.eclipse.jgit.transport.ReceivePack;
import org.eclipse.jgit.transport.ServiceMayNotContinueException;
import org.eclipse.jgit.transport.UploadPack;

/**
 * A module or plugin that hides some more branches from pushes and fetches, by a hook after the one
 * that is there.
 */
public final class VeilModule extends AbstractModule {
  public static final String VEILED = "refs/heads/veiled/";

  @Override
  protected void configure() {
    DynamicSet.bind(binder(), ReceivePackInitializer.class).to(Veil.class);
    DynamicSet.bind(binder(), UploadPackInitializer.class).to(Veil.class);
  }

  /** Gerrit looks for initializers of fetches, and leaves it to others to declare their set. */
  public static final class Sets extends AbstractModule {
    @Override
    protected void configure() {
      DynamicSet.setOf(binder(), UploadPackInitializer.class);
    }
  }

  private static final class Veil
      implements AdvertiseRefsHook, ReceivePackInitializer, UploadPackInitializer {
    @Override
    public void init(Project.NameKey project, ReceivePack push) {
      push.setAdvertiseRefsHook(
          AdvertiseRefsHookChain.newChain(List.of(push.getAdvertiseRefsHook(), this)));
    }

    @Override
    public void init(Project.NameKey project, UploadPack fetch) {
      fetch.setAdvertiseRefsHook(
          AdvertiseRefsHookChain.newChain(List.of(fetch.getAdvertiseRefsHook(), this)));
    }

    @Override
    public void advertiseRefs(ReceivePack push) throws IOException {
      push.setAdvertisedRefs(veiled(push.getAdvertisedRefs()), push.getAdvertisedObjects());
    }

    @Override
    public void advertiseRefs(UploadPack fetch) throws ServiceMayNotContinueException {
      try {
        Map<String, Ref> refs = fetch.getAdvertisedRefs();
        if (refs == null) {
          refs = new HashMap<>();
          for (Ref ref : fetch.getRepository().getRefDatabase().getRefs()) {
            refs.put(ref.getName(), ref);
          }
        }
        fetch.setAdvertisedRefs(veiled(refs));
      } catch (IOException e) {
        throw new ServiceMayNotContinueException(e);
      }
    }

    private static Map<String, Ref> veiled(Map<String, Ref> refs) {
      Map<String, Ref> rest = new HashMap<>(refs);
      rest.keySet().removeIf(name -> name.startsWith(VEILED));
      return rest;
    }
  }
}
