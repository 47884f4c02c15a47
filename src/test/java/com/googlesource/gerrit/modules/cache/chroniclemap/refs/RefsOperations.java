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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/** All that can happen to refs, at random. */
final class RefsOperations {
  private final TestRefs repository;
  private final RefDirectory peer;
  private final Random random;

  /** Whether the last operation was one through the database under test. */
  private boolean byOurs;

  RefsOperations(TestRefs repository, Random random) {
    this.repository = repository;
    this.peer = repository.peer();
    this.random = random;
  }

  boolean byOurs() {
    return byOurs;
  }

  private <T> T any(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private String anyName() {
    return RefsComparison.NAMES.get(random.nextInt(RefsComparison.NAMES.size()));
  }

  private ObjectId anyObject() {
    return random.nextInt(3) == 0 ? any(repository.tags()) : any(repository.commits());
  }

  /**
   * JGit throws where a folder that it needs for a lock is a file, and where it is to pack a ref
   * whose object is not there.
   */
  private static String tried(RefsComparison.Answer attempt) {
    return RefsComparison.of(attempt).toString();
  }

  /** Changes something, here, by JGit elsewhere, by native git or by hand. */
  String operate(RefDatabase refs) throws Exception {
    RefDatabase by = random.nextBoolean() ? refs : peer;
    String name = anyName();
    int what = random.nextInt(12);
    byOurs = by == refs && (what < 7 || what == 9);
    switch (what) {
      case 0, 1, 2, 3 -> {
        return "update "
            + name
            + " "
            + tried(
                () -> {
                  RefUpdate update = by.newUpdate(name, random.nextBoolean());
                  update.setNewObjectId(anyObject());
                  update.setForceUpdate(true);
                  return update.update();
                });
      }
      case 4, 5 -> {
        return "delete "
            + name
            + " "
            + tried(
                () -> {
                  RefUpdate update = by.newUpdate(name, random.nextInt(4) == 0);
                  update.setForceUpdate(true);
                  return update.delete();
                });
      }
      case 6 -> {
        String target = anyName();
        if (target.startsWith("refs/") && (name.equals("HEAD") || name.startsWith("refs/sym/"))) {
          RefUpdate update = by.newUpdate(name, false);
          return "link " + name + " " + tried(() -> update.link(target));
        }
        return "nothing";
      }
      case 7 -> {
        List<String> pack = new ArrayList<>();
        for (Ref ref : peer.getRefsByPrefix("refs/")) {
          if (!ref.isSymbolic() && random.nextBoolean()) {
            pack.add(ref.getName());
          }
        }
        return "pack "
            + pack
            + " "
            + tried(
                () -> {
                  peer.pack(pack);
                  return "done";
                });
      }
      case 8 -> {
        repository.tryGit("pack-refs", "--all", random.nextBoolean() ? "--prune" : "--no-prune");
        return "git pack-refs";
      }
      case 9 -> {
        BatchRefUpdate batch = by.newBatchUpdate();
        batch.setAtomic(random.nextBoolean());
        batch.setAllowNonFastForwards(true);
        for (int i = 0; i < 3; i++) {
          String one = "refs/changes/01/1/" + (char) ('1' + i);
          Ref old = by.exactRef(one);
          batch.addCommand(
              new ReceiveCommand(
                  old == null ? ObjectId.zeroId() : old.getObjectId(), anyObject(), one));
        }
        try (RevWalk walk = new RevWalk(repository.repository())) {
          batch.execute(walk, NullProgressMonitor.INSTANCE);
        }
        return "batch";
      }
      case 10 -> {
        String[] contents = {"ref: refs/heads/none\n", "ref: refs/sym/one\n"};
        Path file = repository.folder().resolve("refs/heads/odd");
        Files.writeString(file, contents[random.nextInt(contents.length)]);
        return "odd file";
      }
      default -> {
        Path file = repository.folder().resolve("packed-refs");
        if (!Files.exists(file)) {
          return "nothing";
        }
        // As an editor would: without the header, or without the last line feed.
        String text = Files.readString(file, UTF_8);
        String edited =
            random.nextBoolean() ? text.replaceAll("(?m)^#.*\n", "") : text.replaceAll("\n$", "");
        Path next = repository.folder().resolve("edited");
        Files.writeString(next, edited);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        return "edited packed-refs";
      }
    }
  }
}
