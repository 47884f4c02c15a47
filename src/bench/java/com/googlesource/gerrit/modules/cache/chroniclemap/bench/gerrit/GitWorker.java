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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RefsProject;
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
  private static final Pattern CHANGE = Pattern.compile("/\\+/(\\d+)");
  private static final String BASE = "refs/heads/base";

  /** Stands for a request that is not made by native git. */
  private static final List<String> LONG_WANTS = List.of("want-ref");

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
  List<String> prepare(GitOperation operation) throws IOException {
    count++;
    return switch (operation) {
      case NEW_CHANGE -> {
        Commit commit = commit(client, BASE);
        changeId = commit.changeId();
        yield push(commit.id() + FOR_MASTER);
      }
      case PATCH_SET -> {
        if (changeId == null) {
          client.time(prepare(GitOperation.NEW_CHANGE));
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
        String ref = RefsProject.changeRef(Integer.parseInt(number.group(1)), 1);
        yield operation == GitOperation.FETCH_CHANGE ? fetch(ref) : fetchAlone(ref);
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
        yield prepare(GitOperation.LIST_ALL);
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
      case FORWARD -> {
        String branch = ":refs/heads/forward-" + name + "-" + count;
        if (!client.tryRun("rev-parse", "--verify", "low").isOk()) {
          client.run("fetch", "-q", "--no-tags", "origin", "refs/tags/v0.000:refs/heads/low");
          if (!client.tryRun("fetch", "-q", "origin", "refs/tags/v0.900:refs/tags/high").isOk()) {
            client.run("fetch", "-q", "origin", "refs/tags/v0.020:refs/tags/high");
          }
        }
        client.time(push("low" + branch));
        yield push("high^{commit}" + branch);
      }
      case LONG_WANTS -> LONG_WANTS;
    };
  }

  /** Runs git; answers with how long it took, from its start to its end. */
  Duration work(List<String> args) throws IOException {
    return args.equals(LONG_WANTS) ? longWants() : client.time(args);
  }

  private Duration longWants() throws IOException {
    StringBuilder request = new StringBuilder(GitWire.packet("command=fetch\n") + "0001");
    for (int i = 0; i < 31; i++) {
      String wanted = "refs/heads/" + "a/".repeat(30_000) + i;
      request.append(GitWire.packet("want-ref " + wanted + "\n"));
    }
    byte[] body = GitWire.bytes(request + GitWire.packet("done\n") + "0000");
    String url = client.run("remote", "get-url", "origin") + "/git-upload-pack";
    String cookie = client.run("config", "http.extraHeader").substring("Cookie: ".length());
    Deadline clock = Deadline.in(Duration.ofMinutes(10));
    var unused =
        GitWire.exchange(
            url, "git-upload-pack", body, "Git-Protocol", "version=2", "Cookie", cookie);
    return clock.elapsed();
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
