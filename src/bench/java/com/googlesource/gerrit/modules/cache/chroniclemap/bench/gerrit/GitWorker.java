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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
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
    LIST_SOME("ls-remote --heads of master*"),
    CLONE("shallow clone of master");

    private final String title;

    Operation(String title) {
      this.title = title;
    }

    String title() {
      return title;
    }

    /** Whether native git's own server is measured, too. */
    boolean isMeasuredNative() {
      return this == NEW_BRANCH || this == FETCH_BRANCH || this == LIST_ALL;
    }
  }

  private static final Pattern CHANGE = Pattern.compile("/\\+/(\\d+)");
  private static final String BASE = "refs/heads/base";

  private static final String FOR_MASTER = ":refs/for/master";
  private static final String WORK = "refs/heads/work";

  private final NativeGit client;
  private final NativeGit author;
  private final AtomicInteger nextOld;
  private final String name;

  /** Last change that this one has pushed. */
  @Nullable private String changeId;

  private int count;

  /**
   * Begins to work.
   *
   * @param name for branches
   * @param author somebody else, who pushes what this one fetches
   * @param nextOld number of the next branch to be deleted
   */
  GitWorker(String name, NativeGit client, NativeGit author, AtomicInteger nextOld) {
    this.name = name;
    this.client = client;
    this.author = author;
    this.nextOld = nextOld;
  }

  /** Does what is not to be measured; answers with the arguments for git. */
  List<String> prepare(Operation operation) throws IOException {
    count++;
    return switch (operation) {
      case NEW_CHANGE -> {
        Commit commit = commit(client, BASE);
        changeId = commit.changeId();
        yield push(commit.id() + FOR_MASTER);
      }
      case PATCH_SET -> {
        if (changeId == null) {
          client.time(prepare(Operation.NEW_CHANGE));
        }
        yield push(commit(client, BASE, changeId).id() + FOR_MASTER);
      }
      case TEN_CHANGES -> {
        Commit commit = commit(client, BASE);
        for (int i = 1; i < 10; i++) {
          commit = commit(client, commit.id());
        }
        yield push(commit.id() + FOR_MASTER);
      }
      case SUBMIT -> push(commit(client, BASE).id() + FOR_MASTER + "%submit");
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
        yield prepare(Operation.LIST_ALL);
      }
      case LIST_SOME -> List.of("ls-remote", "--quiet", "--heads", "origin", "master*");
      case CLONE ->
          List.of(
              "clone",
              "--quiet",
              "--depth=1",
              "--single-branch",
              "--branch=master",
              client.run("remote", "get-url", "origin"),
              "clone-" + count);
    };
  }

  /** Runs git; answers with how long it took, from its start to its end. */
  Duration work(List<String> args) throws IOException {
    return client.time(args);
  }

  /** Removes what {@link #work} leaves. */
  void tidy() throws IOException {
    Folders.delete(client.folder().resolve("clone-" + count));
  }

  /** A commit for Gerrit. */
  private record Commit(String id, String changeId) {}

  /** Makes a commit with a file of its own on top of another one. */
  private static Commit commit(NativeGit git, String parent) throws IOException {
    return commit(git, parent, "I" + UUID.randomUUID().toString().replace("-", "") + "00000000");
  }

  /** Makes a commit for a change that there may be already. */
  private static Commit commit(NativeGit git, String parent, String changeId) throws IOException {
    String text = UUID.randomUUID().toString();
    String message = "Add " + text + "\n\nChange-Id: " + changeId + "\n";
    String id =
        git.runWith(
            String.format(
                Locale.ROOT,
                """
            reset refs/heads/next
            from %s

            commit refs/heads/next
            mark :1
            committer %s <%s@example.com> now
            data %d
            %s
            M 100644 inline %s.txt
            data %d
            %s

            get-mark :1
            """,
                parent,
                git.user(),
                git.user(),
                message.length(),
                message,
                text,
                text.length(),
                text),
            "fast-import",
            "--quiet",
            "--force",
            "--date-format=now");
    return new Commit(id, changeId);
  }

  private String pushedByAuthor() throws IOException {
    String commit = commit(author, BASE).id();
    author.time(push(commit + FOR_MASTER));
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
