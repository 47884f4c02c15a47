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
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PerThreadCache;
import com.google.gerrit.server.git.DelegateRefDatabase;
import com.google.gerrit.server.git.DelegateRepository;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.FileRefDatabase;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Questions about an id that many refs have. */
class RefsByNameTest {
  private static final ObjectId ONE = ObjectId.fromString("1".repeat(40));
  private static final ObjectId TWO = ObjectId.fromString("2".repeat(40));

  @TempDir Path folder;
  @AutoClose private TestRefs files;
  private final SortedSet<Ref> refs = new TreeSet<>(RefComparator.INSTANCE);
  private final Set<String> hidden = new HashSet<>();

  /** The names that were read among those of an id. */
  private final AtomicInteger read = new AtomicInteger();

  @BeforeEach
  void create() throws IOException {
    files = TestRefs.create(folder.resolve("r.git"), null);
  }

  private DelegateRepository repository(Repository below, boolean isFiltered) {
    return new PushAdvertisementTest.Delegating(
        below,
        new DelegateRefDatabase(below) {
          @Override
          @Nullable
          public Ref exactRef(String name) {
            return find(name, isFiltered);
          }

          @Override
          public List<Ref> getRefs() {
            return refs.stream().filter(ref -> find(ref.getName(), isFiltered) != null).toList();
          }

          @Override
          public boolean hasFastTipsWithSha1() {
            return true;
          }

          @Override
          public Set<Ref> getTipsWithSha1(ObjectId id) {
            return new CountedRefs(refs, read);
          }
        });
  }

  @Nullable
  private Ref find(String name, boolean isFiltered) {
    return refs.stream()
        .filter(ref -> ref.getName().equals(name) && !(isFiltered && hidden.contains(name)))
        .findAny()
        .orElse(null);
  }

  private boolean hasTip(ObjectId id) throws IOException {
    RefsByName map = byName(repository(repository(files.repository(), false), true));
    read.set(0);
    return map.hasTip(id);
  }

  private static RefsByName byName(DelegateRepository repository) {
    return new RefsByName(repository) {
      @Override
      public Set<Entry<String, Ref>> entrySet() {
        return Set.of();
      }
    };
  }

  private void add(String name) {
    refs.add(new ObjectIdRef.PeeledTag(Ref.Storage.PACKED, name, ONE, TWO));
  }

  @Test
  void someNamesOfAnIdAreReadHoweverManyHaveIt() throws Exception {
    for (String namespace : List.of("refs/changes/", "refs/heads/", "refs/tags/")) {
      for (boolean isVisible : new boolean[] {true, false}) {
        for (int count : new int[] {26, 2600}) {
          refs.clear();
          hidden.clear();
          for (int i = 0; i < count; i++) {
            add(namespace + i);
            if (!isVisible) {
              hidden.add(namespace + i);
            }
          }
          String what = namespace + " " + count + " " + isVisible;
          assertWithMessage(what).that(hasTip(ONE)).isEqualTo(isVisible);
          assertWithMessage(what).that(read.get()).isAtMost(2 * 26 + 14);
          add("refs/zz");
          assertWithMessage(what).that(hasTip(ONE)).isTrue();
          assertWithMessage(what).that(hasTip(TWO)).isTrue();
          assertWithMessage(what).that(read.get()).isAtMost(2 * 26 + 14);
        }
      }
    }
  }

  /**
   * By the module's own database. Each name that is read is made anew, so what a thread allocates
   * tells how many were: about 100 bytes each.
   */
  @Test
  void ofTheModulesRefsWithAnIdOnlyThoseOfAFolderAreRead() throws Exception {
    long few = bytesToRead(26);
    long many = bytesToRead(26_000);
    assertWithMessage("%s and %s bytes", few, many).that(many).isLessThan(few + 260_000);
  }

  private long bytesToRead(int count) throws Exception {
    List<String> names = new ArrayList<>(List.of("refs/heads/master"));
    for (int i = 0; i < count; i++) {
      names.add("refs/tags/" + (1_000_000 + i));
    }
    files.writePacked(ONE, names.toArray(String[]::new));
    RefDatabase database = files.database(new JGitFallbacks());
    Threads.Act reading =
        () ->
            assertThat(List.copyOf(RefsByName.below("refs/heads/", database.getTipsWithSha1(ONE))))
                .hasSize(1);
    reading.run(); // the list and its index are made
    return Threads.allocated(reading);
  }

  /** Has a database for all and one for the request of a thread, as the module's repositories. */
  private static final class Asked extends DelegateRepository {
    private final FileRefDatabase shared;
    private final RefDatabase request;

    Asked(TestRefs below, PackedRefsFile packed) {
      super(below.repository());
      shared =
          below.database(packed, TestRefs.writes(packed, new RefDisk()), UpdateSettings.DEFAULT);
      request = shared.forRequest();
    }

    @Override
    public RefDatabase getRefDatabase() {
      return PerThreadCache.get() == null ? shared : request;
    }
  }

  /** Under this setting, each lookup outside of a request reads all of packed-refs. */
  @Test
  void manyIdsOfARequestAreFoundByOneReading() throws Exception {
    try (TestRefs never = TestRefs.create(folder.resolve("never.git"), "never")) {
      never.writePacked(never.id(0), "refs/heads/a", "refs/heads/b");
      PackedRefsFile packed = never.packedRefs();
      RefsByName map = byName(new PushAdvertisementTest.Delegating(new Asked(never, packed)));
      PerThreadCache request = RefsByName.beginRequest();
      try (request) {
        for (int i = 0; i < 100; i++) {
          assertThat(map.hasTip(never.id(i % 2))).isEqualTo(i % 2 == 0);
        }
      }
      assertThat(packed.counts.readings.sum()).isEqualTo(1);
    }
  }
}
