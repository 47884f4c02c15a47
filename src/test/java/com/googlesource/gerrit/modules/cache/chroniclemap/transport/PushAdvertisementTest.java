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

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.gerrit.server.git.DelegateRefDatabase;
import com.google.gerrit.server.git.DelegateRepository;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.transport.connectivity.IterativeConnectivityChecker;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.transport.AdvertiseRefsHook;
import org.eclipse.jgit.transport.ReceivePack;
import org.eclipse.jgit.transport.RefFilter;
import org.eclipse.jgit.transport.ServiceMayNotContinueException;
import org.eclipse.jgit.transport.UploadPack;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PushAdvertisementTest {
  @TempDir Path folder;

  /** A repository whose refs are those of another one, as a filter's are. */
  static final class Delegating extends DelegateRepository {
    private final RefDatabase refs;

    Delegating(Repository delegate) {
      this(delegate, new DelegateRefDatabase(delegate) {});
    }

    Delegating(Repository delegate, RefDatabase refs) {
      super(delegate);
      this.refs = refs;
    }

    @Override
    public RefDatabase getRefDatabase() {
      return refs;
    }
  }

  /** JGit answers any other exception by an internal error, of which git shows nothing. */
  @Test
  void refsThatCannotBeReadAreAnErrorThatGitShows() throws Exception {
    try (Repository files = new FileRepository(folder.toFile())) {
      files.create(true);
      Files.writeString(folder.resolve("packed-refs"), "no line of a ref\n");
      DelegateRepository repository = new Delegating(files);
      ReceivePack push = new ReceivePack(repository);
      PushAdvertisement hook =
          new PushAdvertisement(
              push, PushView.below(repository), name -> true, new TransportCounts());
      ServiceMayNotContinueException refusal =
          assertThrows(ServiceMayNotContinueException.class, () -> hook.advertiseRefs(push));
      assertThat(refusal).hasCauseThat().isInstanceOf(IOException.class);
    }
  }

  /**
   * JGit would put the id of each into a set, once for each hook, and hooks run twice over HTTP.
   */
  @Test
  void refsAreNotWalkedThroughWhenTheyAreSet() throws Exception {
    Map<String, ObjectId> refs = new LinkedHashMap<>();
    for (int i = 1000; i < 2000; i++) {
      refs.put("refs/heads/" + i, ObjectId.fromString(String.format(Locale.ROOT, "%040x", i)));
    }
    try (Repository files = new FileRepository(folder.toFile())) {
      files.create(true);
      Files.write(folder.resolve("packed-refs"), PackedRefsText.of(refs));
      for (boolean isSecond : new boolean[] {false, true}) {
        ReceivePack push = new ReceivePack(new Delegating(files));
        push.setRefFilter(gerritsFilter());
        AtomicInteger walked = new AtomicInteger();
        push.setAdvertiseRefsHook(gerrits(walked));
        TransportCounts counts = new TransportCounts();
        PushAdvertisement hook =
            new PushAdvertisement(
                push,
                PushView.below((DelegateRepository) push.getRepository()),
                name -> true,
                counts);
        LocalConnectivityChecker.install(push, counts, hook);
        hook.isSecond = isSecond;
        hook.advertiseRefs(push);
        hook.advertiseRefs(push);
        assertThat(walked.get()).isEqualTo(0);
        assertThat(push.getAdvertisedObjects()).hasSize(isSecond ? 0 : 1000);
        assertThat(push.getAdvertisedRefs()).hasSize(1000);
        assertThat(counts.pushesByName.sum()).isEqualTo(isSecond ? 1 : 0);
      }
    }
  }

  /** Such as JGit 7.7's TreeWalkConnectivityChecker, which may not be asked twice. */
  @Test
  void anotherCheckerThanJGitsUsualOneStays() throws Exception {
    class Pushing extends ReceivePack {
      Pushing(Repository repository) {
        super(repository);
        connectivityChecker = new IterativeConnectivityChecker(connectivityChecker);
      }
    }
    try (Repository files = new FileRepository(folder.toFile())) {
      ReceivePack push = new Pushing(files);
      LocalConnectivityChecker.install(push, new TransportCounts(), null);
      assertThat(LocalConnectivityChecker.isInstalled(push)).isFalse();
    }
  }

  /** A hook that does as Gerrit's: it looks at all refs, and sets them with ids of its own. */
  private static AdvertiseRefsHook gerrits(AtomicInteger walked) {
    return new AdvertiseRefsHook() {
      @Override
      public void advertiseRefs(ReceivePack push) throws IOException {
        push.getAdvertisedRefs().keySet().forEach(name -> walked.incrementAndGet());
        push.setAdvertisedRefs(push.getAdvertisedRefs(), Set.of());
      }

      @Override
      public void advertiseRefs(UploadPack fetch) {
        throw new UnsupportedOperationException();
      }
    };
  }

  private static RefFilter gerritsFilter() throws ReflectiveOperationException {
    Constructor<?> constructor =
        Class.forName("com.google.gerrit.server.git.receive.ReceiveRefFilter")
            .getDeclaredConstructor();
    constructor.setAccessible(true);
    return (RefFilter) constructor.newInstance();
  }
}
