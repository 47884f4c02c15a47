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

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.annotations.Nullable;

/** One who works with native git on one project of one server. */
final class GitWorker {
  /** What git does. */
  enum Operation {
    NEW_CHANGE("push of a new change"),
    PATCH_SET("push of a patch set"),
    TEN_CHANGES("push of ten changes"),
    /** Gerrit moves master and puts {@code git_tags} of the whole project into its cache. */
    SUBMIT("push of a change, submitted at once"),
    NEW_BRANCH("push of a new branch"),
    DELETE_BRANCH("deletion of a branch"),
    FETCH_CHANGE("fetch of a change by ref"),
    /** Without {@code --no-tags}, git lists all tags before. */
    FETCH_CHANGE_ALONE("fetch of a change, --no-tags"),
    /** With {@code --no-tags}, as continuous integration does: git lists all refs otherwise. */
    FETCH_ID("fetch of an id, --no-tags"),
    FETCH_ID_V0("fetch of an id, protocol 0"),
    FETCH_BRANCH("fetch of a branch"),
    LIST_ALL("ls-remote of all"),
    /** For an ordinary user, Gerrit puts {@code changes_by_project} of the whole project. */
    LIST_ALL_AFTER("ls-remote of all after a new change"),
    CLONE("shallow clone of master"),
    REST_CHANGE("new change by REST"),
    REST_REVIEW("review by REST"),
    REST_SUBMIT("submit by REST"),
    REST_DELETION("branch deletion by REST"),
    /** Of a new change, as {@code git-review} does it if nothing is said to it. */
    REVIEW("git review"),
    /** Each of its commands connects anew: that is part of them. */
    CONNECT("git review's connection, ls-remote --heads of master*"),
    UPDATE("git review's remote update"),
    /** Of master, which has moved; and what is looked at before and after. */
    REBASE("git review's rebase"),
    PUSH("git review's push"),
    /** New changes and patch sets by turns. */
    PUSHES("pushes one after the other"),
    PUSHES_MEANWHILE("pushes to another project meanwhile");

    /** Parts of {@link #REVIEW}, in their order. */
    static final ImmutableList<Operation> OF_REVIEW = ImmutableList.of(UPDATE, REBASE, PUSH);

    final String title;

    Operation(String title) {
      this.title = title;
    }

    /** Whether native git's own server is measured, too. */
    boolean isMeasuredNative() {
      return this == NEW_BRANCH || this == FETCH_BRANCH || this == LIST_ALL || needsClone();
    }

    /** Whether the client has a clone with all branches and tags. */
    boolean needsClone() {
      return this == REVIEW || this == CONNECT || OF_REVIEW.contains(this);
    }

    boolean isDeletion() {
      return this == DELETE_BRANCH || this == REST_DELETION;
    }

    /** Whether administrators do it, without git. */
    boolean isByRest() {
      return compareTo(REST_CHANGE) >= 0 && compareTo(REST_DELETION) <= 0;
    }

    /** Whether clients push again and again for a while. */
    boolean isSteady() {
      return this == PUSHES || this == PUSHES_MEANWHILE;
    }
  }

  /** What is measured. */
  interface Call {
    void run() throws IOException;
  }

  private static final Pattern CHANGE = Pattern.compile("/\\+/(\\d+)");
  private static final String BASE = "refs/heads/base";

  private static final String NEXT = "refs/heads/next";
  private static final String REMOTE_MASTER = "refs/remotes/origin/master";
  private static final String MASTER = "refs/heads/master";
  private static final String WORK = "refs/heads/work";

  private final NativeGit client;
  private final NativeGit author;
  private final Path repository;
  @Nullable private final String reviews;
  private final AtomicInteger nextOld;
  @Nullable private final RestUser rest;
  private final String name;

  /** Last change that this one has pushed. */
  @Nullable private String changeId;

  private int count;

  /**
   * Begins to work.
   *
   * @param name for branches
   * @param author somebody else, who pushes what this one fetches
   * @param repository of the server
   * @param reviews a new ref that begins so is pushed to; null for Gerrit's {@code refs/for/master}
   * @param nextOld number of the next branch to be deleted
   * @param rest the same one without git; null where that is not possible
   */
  GitWorker(
      String name,
      NativeGit client,
      NativeGit author,
      Path repository,
      @Nullable String reviews,
      AtomicInteger nextOld,
      @Nullable RestUser rest) {
    this.name = name;
    this.client = client;
    this.author = author;
    this.repository = repository;
    this.reviews = reviews;
    this.nextOld = nextOld;
    this.rest = rest;
  }

  /** Does what is not to be measured; answers with what is. */
  Call prepare(Operation operation) throws IOException {
    if (operation.isByRest()) {
      return rest.prepare(operation);
    }
    List<List<String>> commands = commands(operation);
    return () -> {
      for (List<String> args : commands) {
        client.time(args);
      }
    };
  }

  private List<List<String>> commands(Operation operation) throws IOException {
    Folders.delete(client.folder().resolve("clone-" + count));
    count++;
    return switch (operation) {
      case UPDATE -> {
        // By no push: that would take its own time.
        var unused = commit(author, repository, MASTER, MASTER + "^0", newChangeId());
        yield commands("remote update origin");
      }
      case REBASE -> {
        String tip = checkOutNew();
        yield commands(
            "branch -a",
            "rev-parse HEAD",
            "diff --ignore-submodules --quiet",
            "diff --cached --ignore-submodules --quiet",
            "show-ref --quiet --verify " + REMOTE_MASTER,
            "rebase --rebase-merges -i remotes/origin/master",
            "reset --hard " + tip,
            "log --color=never --decorate --oneline HEAD --not --remotes=origin");
      }
      case PUSH -> {
        var unused = checkOutNew();
        yield commands("push --no-follow-tags origin HEAD" + forMaster());
      }
      case CONNECT -> commands("ls-remote --quiet --heads origin master*");
      case PUSHES -> List.of(command(count % 2 == 1 ? Operation.NEW_CHANGE : Operation.PATCH_SET));
      default -> List.of(command(operation));
    };
  }

  private static List<List<String>> commands(String... lines) {
    return Arrays.stream(lines).map(Splitter.on(' ')::splitToList).toList();
  }

  private List<String> command(Operation operation) throws IOException {
    return switch (operation) {
      case NEW_CHANGE -> {
        Commit commit = commit(client, BASE);
        changeId = commit.changeId();
        yield push(commit.id() + forMaster());
      }
      case PATCH_SET -> {
        if (changeId == null) {
          client.time(command(Operation.NEW_CHANGE));
        }
        yield push(commit(client, client.gitFolder(), NEXT, BASE, changeId).id() + forMaster());
      }
      case TEN_CHANGES -> {
        Commit commit = commit(client, BASE);
        for (int i = 1; i < 10; i++) {
          commit = commit(client, commit.id());
        }
        yield push(commit.id() + forMaster());
      }
      case SUBMIT -> push(commit(client, BASE).id() + forMaster() + "%submit");
      case NEW_BRANCH ->
          push(
              commit(client, BASE).id()
                  + String.format(Locale.ROOT, ":refs/heads/new-%s-%d", name, count));
      case DELETE_BRANCH -> push(":" + GitContents.oldBranch(nextOld.getAndIncrement()));
      case FETCH_CHANGE, FETCH_CHANGE_ALONE -> {
        var unused = pushedByAuthor();
        Matcher number = CHANGE.matcher(author.messages());
        if (!number.find()) {
          throw new IOException("no number of a change: " + author.messages());
        }
        String ref = Gerrit.changeRef(Integer.parseInt(number.group(1)), 1);
        yield operation == Operation.FETCH_CHANGE ? fetch(ref) : fetchAlone(ref);
      }
      case FETCH_ID -> fetchAlone(pushedByAuthor());
      case FETCH_ID_V0 ->
          List.of("-c", "protocol.version=0", "fetch", "--quiet", "origin", pushedByAuthor());
      case FETCH_BRANCH -> {
        author.run("fetch", "--quiet", "--no-tags", "origin", "+" + WORK + ":" + WORK);
        author.time(push(commit(author, WORK).id() + ":" + WORK));
        yield fetch(WORK);
      }
      case LIST_ALL -> List.of("ls-remote", "--quiet", "origin");
      case LIST_ALL_AFTER -> {
        var unused = pushedByAuthor();
        yield command(Operation.LIST_ALL);
      }
      case CLONE ->
          List.of(
              "clone",
              "--quiet",
              "--depth=1",
              "--single-branch",
              "--branch=master",
              client.run("remote", "get-url", "origin"),
              "clone-" + count);
      default -> throw new AssertionError(operation);
    };
  }

  private String forMaster() {
    return ":" + (reviews == null ? "refs/for/master" : reviews + count);
  }

  private String checkOutNew() throws IOException {
    String tip = commit(client, REMOTE_MASTER + "~").id();
    client.run("checkout", "-q", "-B", "topic", tip);
    return tip;
  }

  /** A commit for Gerrit. */
  private record Commit(String id, String changeId) {}

  /** Makes a commit with a file of its own on top of another one. */
  private static Commit commit(NativeGit git, String parent) throws IOException {
    return commit(git, git.gitFolder(), NEXT, parent, newChangeId());
  }

  private static String newChangeId() {
    return "I" + UUID.randomUUID().toString().replace("-", "") + "00000000";
  }

  /** Makes a commit for a change that there may be already, and a branch of it. */
  private static Commit commit(
      NativeGit git, Path repository, String branch, String parent, String changeId)
      throws IOException {
    String text = UUID.randomUUID().toString();
    String message = "Add " + text + "\n\nChange-Id: " + changeId + "\n";
    String id = git.commit(repository, branch, parent, message, Map.of(text + ".txt", text));
    return new Commit(id, changeId);
  }

  private String pushedByAuthor() throws IOException {
    String commit = commit(author, BASE).id();
    author.time(push(commit + ":refs/for/master"));
    return commit;
  }

  private static List<String> push(String what) {
    return List.of("push", "origin", what);
  }

  private static List<String> fetch(String what) {
    return List.of("fetch", "--quiet", "origin", what);
  }

  private static List<String> fetchAlone(String what) {
    return List.of("fetch", "--quiet", "--no-tags", "origin", what);
  }
}
