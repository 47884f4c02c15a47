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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.common.hash.Hashing;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.PackInserter;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.TagBuilder;
import org.eclipse.jgit.lib.TreeFormatter;
import org.eclipse.jgit.revwalk.RevWalk;

/**
 * What the repository of a new project is filled with: as many packed refs as asked for, each with
 * a commit of its own in one pack. Some of the changes are real ones, with the commits that Gerrit
 * writes to their meta refs. Of the others there are the patch sets alone: a meta ref that cannot
 * be loaded would cost an exception in each request of one who may not see all. The tags are on one
 * branch, so that all can see them. No daemon may run meanwhile.
 */
final class GitContents {
  /** Of which refs the repository mainly consists. */
  enum Kind {
    /** Refs of changes, but for 2.5 % tags and at most {@link #BRANCHES} branches. */
    CHANGES,
    /** Tags. */
    TAGS
  }

  private static final int BRANCHES = 200;
  private static final int COMMITS_OF_MASTER = 1000;

  /** One in so many real changes is private. */
  private static final int PRIVATE = 20;

  /** One in so many real changes is open, and the others are merged. */
  private static final int OPEN = 4;

  private static final Instant BEGIN = Instant.parse("2025-01-01T00:00:00Z");

  private final PackInserter objects;
  private final String serverId;
  private final ObjectId tree;
  private final ObjectId noTree;
  private final List<ObjectId> master = new ArrayList<>();
  private final Map<String, ObjectId> refs = new TreeMap<>();
  private final Map<ObjectId, ObjectId> peeled = new HashMap<>();
  private int commits;

  private GitContents(FileRepository repository, PackInserter objects, String serverId)
      throws IOException {
    this.objects = objects;
    this.serverId = serverId;
    this.noTree = objects.insert(new TreeFormatter());
    try (RevWalk walk = new RevWalk(repository)) {
      ObjectId first = repository.resolve(Constants.R_HEADS + Constants.MASTER);
      this.tree = walk.parseCommit(first).getTree().copy();
      master.add(first);
    }
  }

  /**
   * Fills it.
   *
   * @param old so many more branches there are, to be deleted
   * @param owner account of those changes that are not the administrator's
   */
  static void fill(Path folder, String serverId, GitServer.Project project, int old, int owner)
      throws IOException {
    try (FileRepository repository = new FileRepository(folder.toFile());
        PackInserter inserter = repository.getObjectDatabase().newPackInserter()) {
      inserter.checkExisting(false);
      GitContents contents = new GitContents(repository, inserter, serverId);
      contents.addBranches(old, "old-%06d");
      int count = project.refs();
      if (project.kind() == Kind.TAGS) {
        contents.addTags(count);
      } else {
        int tags = count / 40;
        int branches = Math.min(BRANCHES, count / 50);
        contents.addTags(tags);
        contents.addBranches(branches, "team/feature-%06d");
        contents.addChanges(project, (count - tags - branches) / 2, owner);
      }
      inserter.flush();
      contents.writePackedRefs(folder.resolve(Constants.PACKED_REFS));
    }
    Files.delete(folder.resolve(Constants.R_HEADS + Constants.MASTER));
  }

  static String oldBranch(int number) {
    return Constants.R_HEADS + String.format(Locale.ROOT, "old-%06d", number);
  }

  private void addBranches(int count, String name) throws IOException {
    while (master.size() < COMMITS_OF_MASTER) {
      master.add(commit(master.getLast(), "commit " + master.size()));
    }
    for (String branch : List.of("master", "work")) {
      refs.put(Constants.R_HEADS + branch, master.getLast());
    }
    refs.put(Constants.R_HEADS + "hidden", commit(master.getLast(), "hidden"));
    for (int i = 0; i < count; i++) {
      refs.put(
          Constants.R_HEADS + String.format(Locale.ROOT, name, i),
          commit(base(i), String.format(Locale.ROOT, name, i)));
    }
  }

  /** Every other one is annotated. */
  private void addTags(int count) throws IOException {
    ObjectId tip = master.getLast();
    for (int i = 0; i < count; i++) {
      tip = commit(tip, "released " + i);
      ObjectId target = tip;
      if (i % 2 == 1) {
        TagBuilder tag = new TagBuilder();
        tag.setObjectId(tip, Constants.OBJ_COMMIT);
        tag.setTag("v" + i);
        tag.setTagger(who("A", "a@example.com", commits));
        tag.setMessage("version " + i);
        target = objects.insert(tag);
        peeled.put(target, tip);
      }
      refs.put(
          Constants.R_TAGS + String.format(Locale.ROOT, "v%d.%03d", i / 1000, i % 1000), target);
    }
    refs.put(Constants.R_HEADS + "history", tip);
  }

  private void addChanges(GitServer.Project project, int count, int owner) throws IOException {
    for (int i = 0; i < count; i++) {
      int number = project.firstChange() + i;
      String id =
          "I"
              + Hashing.sha256()
                  .hashString("change " + number, StandardCharsets.UTF_8)
                  .toString()
                  .substring(0, 40);
      String subject = "change " + number;
      ObjectId patchSet = commit(base(i), subject + "\n\nChange-Id: " + id + "\n");
      refs.put(Gerrit.changeRef(number, 1), patchSet);
      if (i >= project.real()) {
        refs.put(Gerrit.changeRef(number, 2), commit(base(i), "again " + subject));
        continue;
      }
      int account = i % 2 == 0 || i % PRIVATE == 1 ? Gerrit.ADMIN_ID : owner;
      CommitBuilder meta = new CommitBuilder();
      meta.setTreeId(noTree);
      meta.setAuthor(who("Gerrit User " + account, account + "@" + serverId, i));
      meta.setCommitter(who("Gerrit Code Review", "gerrit@localhost", i));
      meta.setMessage(
          String.format(
              Locale.ROOT,
              """
          Create change

          Uploaded patch set 1.

          Patch-set: 1
          Change-id: %s
          Subject: %s
          Branch: refs/heads/master
          Status: %s
          Commit: %s
          Tag: autogenerated:gerrit:newPatchSet
          Groups: %s
          Private: %s
          Work-in-progress: false
          """,
              id,
              subject,
              i % OPEN == 0 ? "new" : "merged",
              patchSet.name(),
              patchSet.name(),
              i % PRIVATE == 1));
      refs.put(Gerrit.changeRef(number, "meta"), objects.insert(meta));
    }
  }

  private ObjectId base(int number) {
    return master.get(1 + number * 7 % (COMMITS_OF_MASTER - 1));
  }

  /**
   * A second after the one before: of many commits of one time, JGit's queue would be searched to
   * its end for each.
   */
  private ObjectId commit(ObjectId parent, String message) throws IOException {
    commits++;
    PersonIdent writer = who("A", "a@example.com", commits);
    CommitBuilder commit = new CommitBuilder();
    commit.setTreeId(tree);
    commit.setParentId(parent);
    commit.setAuthor(writer);
    commit.setCommitter(writer);
    commit.setMessage(message);
    return objects.insert(commit);
  }

  private static PersonIdent who(String name, String email, int second) {
    return new PersonIdent(name, email, BEGIN.plusSeconds(second), ZoneOffset.UTC);
  }

  private void writePackedRefs(Path file) throws IOException {
    try (BufferedWriter out = Files.newBufferedWriter(file, US_ASCII)) {
      out.write("# pack-refs with: peeled fully-peeled sorted \n");
      for (Map.Entry<String, ObjectId> ref : refs.entrySet()) {
        out.write(ref.getValue().name() + " " + ref.getKey() + "\n");
        if (peeled.containsKey(ref.getValue())) {
          out.write("^" + peeled.get(ref.getValue()).name() + "\n");
        }
      }
    }
  }
}
