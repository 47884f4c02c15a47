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
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gerrit.entities.Project;
import com.google.gerrit.extensions.api.access.CoreOrPluginProjectPermission;
import com.google.gerrit.extensions.conditions.BooleanCondition;
import com.google.gerrit.server.CurrentUser;
import com.google.gerrit.server.account.GroupMembership;
import com.google.gerrit.server.git.PermissionAwareRepositoryManager;
import com.google.gerrit.server.permissions.PermissionBackend;
import com.google.gerrit.server.permissions.PermissionBackend.RefFilterOptions;
import com.google.gerrit.server.util.ThreadLocalRequestContext;
import com.google.inject.Guice;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.TagBuilder;
import org.eclipse.jgit.transport.PacketLineOut;
import org.eclipse.jgit.transport.RefAdvertiser.PacketLineOutRefAdvertiser;
import org.eclipse.jgit.transport.UploadPack;
import org.eclipse.jgit.transport.UploadPackInternalServerErrorException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Refs that change between native git's list of refs and its fetch, which is by name ({@code
 * want-ref}). Plain Gerrit, which is asked by id, serves what visible refs lead to.
 */
class RefGoneDuringFetchTest {
  private static final String GONE = "refs/heads/gone";

  @TempDir Path folder;
  private final RecentLists recent = new RecentLists();
  private final FetchInitializer fetches = new FetchInitializer(new TransportCounts(), recent);
  private final ThreadLocalRequestContext requests = injected(ThreadLocalRequestContext.class);
  private TestRefs refs;
  private HttpServer server;

  /** How often the filter has run, which costs a walk for each tag. */
  private int runs;

  /** Runs once, before the next fetch is read. */
  private final AtomicReference<Runnable> beforeFetch = new AtomicReference<>();

  /** A merged commit, the branch that it is in, and a commit that is in no branch yet. */
  private List<ObjectId> commits;

  @BeforeEach
  void start() throws IOException {
    refs = TestRefs.create(folder.resolve("r.git"), null);
    commits = refs.chain();
    set("refs/heads/master", commits.get(1));
    recent.requests = requests;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
    refs.close();
  }

  /** Gerrit's constructor is not public. */
  private static <T> T injected(Class<T> type) {
    return Guice.createInjector(binder -> binder.bind(type)).getInstance(type);
  }

  private void set(String name, ObjectId id) {
    try {
      RefUpdate update = refs.repository().updateRef(name);
      update.setForceUpdate(true);
      if (id == null) {
        assertThat(update.delete()).isEqualTo(RefUpdate.Result.FORCED);
      } else {
        update.setNewObjectId(id);
        assertThat(update.update()).isAnyOf(RefUpdate.Result.NEW, RefUpdate.Result.FORCED);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Everybody but the administrator sees no ref below {@code refs/secret/}. */
  private final class Rules extends PermissionBackend.ForProject {
    private final boolean isAdmin;

    Rules(boolean isAdmin) {
      this.isAdmin = isAdmin;
    }

    @Override
    public Collection<Ref> filter(Collection<Ref> all, Repository of, RefFilterOptions options) {
      runs++;
      return all.stream()
          .filter(ref -> isAdmin || !ref.getName().startsWith("refs/secret/"))
          .toList();
    }

    @Override
    public String resourcePath() {
      throw new UnsupportedOperationException();
    }

    @Override
    public PermissionBackend.ForRef ref(String name) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void check(CoreOrPluginProjectPermission permission) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T extends CoreOrPluginProjectPermission> Set<T> test(Collection<T> permissions) {
      throw new UnsupportedOperationException();
    }

    @Override
    public BooleanCondition testCond(CoreOrPluginProjectPermission permission) {
      throw new UnsupportedOperationException();
    }
  }

  /** A user; one of the same group is another one. */
  private static final class User extends CurrentUser {
    private final String name;

    User(String name) {
      this.name = name;
    }

    @Override
    public GroupMembership getEffectiveGroups() {
      return GroupMembership.EMPTY;
    }

    @Override
    public Object getCacheKey() {
      return name;
    }
  }

  private UploadPack fetch(boolean isAdmin) {
    var unused = requests.setContext(() -> new User(isAdmin ? "admin" : "reader"));
    UploadPack fetch =
        new UploadPack(
            PermissionAwareRepositoryManager.wrap(refs.repository(), new Rules(isAdmin)));
    fetch.setBiDirectionalPipe(false);
    fetch.setExtraParameters(List.of("version=2"));
    fetches.init(Project.nameKey("project"), fetch);
    return fetch;
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      boolean isGet = exchange.getRequestMethod().equals("GET");
      String type = isGet ? "advertisement" : "result";
      exchange.getResponseHeaders().set("Content-Type", "application/x-git-upload-pack-" + type);
      InputStream in = exchange.getRequestBody();
      if ("gzip".equals(exchange.getRequestHeaders().getFirst("Content-Encoding"))) {
        in = new GZIPInputStream(in);
      }
      byte[] request = in.readAllBytes();
      Runnable change =
          new String(request, ISO_8859_1).contains("command=fetch")
              ? beforeFetch.getAndSet(null)
              : null;
      if (change != null) {
        change.run();
      }
      exchange.sendResponseHeaders(200, 0);
      try (OutputStream out = exchange.getResponseBody()) {
        if (isGet) {
          fetch(false)
              .sendAdvertisedRefs(
                  new PacketLineOutRefAdvertiser(new PacketLineOut(out)), "git-upload-pack");
        } else {
          out.write(upload(request, false));
        }
      }
    }
  }

  private byte[] upload(byte[] request, boolean isAdmin) throws IOException {
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    try {
      fetch(isAdmin).upload(new ByteArrayInputStream(request), answer, null);
    } catch (UploadPackInternalServerErrorException e) {
      // JGit has sent the reason to the client.
    }
    return answer.toByteArray();
  }

  /** Runs git in a new repository, and returns what it said, and what it has then. */
  private String fetch(Runnable change, String... arguments) throws Exception {
    Path clone = folder.resolve("clone" + System.nanoTime());
    run(folder, "git", "init", "-q", clone.toString());
    beforeFetch.set(change);
    String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/project";
    List<String> command =
        new ArrayList<>(List.of("git", "-c", "protocol.version=2", "fetch", url));
    command.addAll(List.of(arguments));
    String said = run(clone, command.toArray(String[]::new));
    assertWithMessage(said).that(beforeFetch.get()).isNull();
    return said + run(clone, "git", "for-each-ref", "--format=%(objectname) %(refname)");
  }

  private static String run(Path folder, String... command) throws Exception {
    ProcessBuilder git =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
    git.environment().put("GIT_CONFIG_NOSYSTEM", "1");
    git.environment().put("GIT_TERMINAL_PROMPT", "0");
    Process process = git.start();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    return process.waitFor() == 0 ? said : "FAILED " + said;
  }

  @Test
  void whatVisibleRefsLeadToIsServed() throws Exception {
    String merged = commits.get(0).name();
    for (List<String> arguments :
        List.of(
            List.of("+refs/heads/*:refs/x/*"),
            List.of("refs/heads/gone:refs/x/gone"),
            List.of("--depth=1", "refs/heads/gone:refs/x/gone"))) {
      set(GONE, commits.get(0));
      String seen = fetch(() -> set(GONE, null), arguments.toArray(String[]::new));
      assertWithMessage(seen).that(seen).doesNotContain("FAILED");
      assertThat(seen).contains(merged + " refs/x/gone");
    }
  }

  /** Plain Gerrit says that the id is not valid; a name says no more. */
  @Test
  void whatNoRefLeadsToIsRefused() throws Exception {
    set(GONE, commits.get(2));
    String seen = fetch(() -> set(GONE, null), "+refs/heads/*:refs/x/*");
    assertThat(seen).contains("want " + commits.get(2).name() + " not valid");
    assertThat(seen).doesNotContain("refs/x/");
  }

  @Test
  void aBranchThatIsForcedElsewhereIsServedAsItIs() throws Exception {
    set(GONE, commits.get(0));
    String seen = fetch(() -> set(GONE, commits.get(2)), "+refs/heads/*:refs/x/*");
    assertThat(seen).contains(commits.get(2).name() + " refs/x/gone");
  }

  /** Somebody else, who may see it, was sent a list with it. */
  @Test
  void aNameThatWasNeverToBeSeenSaysNothing() throws Exception {
    set("refs/secret/gone", commits.get(0));
    String list = packet("command=ls-refs") + "0001" + packet("ref-prefix refs/") + "0000";
    assertThat(new String(upload(list.getBytes(UTF_8), true), UTF_8)).contains("refs/secret/gone");
    set("refs/secret/gone", null);
    String want = request("want-ref refs/secret/gone");
    String answer = new String(upload(want.getBytes(UTF_8), true), ISO_8859_1);
    assertThat(answer).contains(commits.get(0).name() + " refs/secret/gone");
    String refused = new String(upload(want.getBytes(UTF_8), false), ISO_8859_1);
    assertThat(refused).contains("ERR Invalid ref name");
    assertThat(refused).doesNotContain(commits.get(0).name());
  }

  /** A user may ask for many of them at once. */
  @Test
  void refsThatAreGoneCostNoRunOfTheFilterEach() throws Exception {
    List<String> names = IntStream.range(0, 32).mapToObj(i -> "refs/tags/t" + i).toList();
    names.forEach(name -> set(name, commits.get(0)));
    String list = packet("command=ls-refs") + "0001" + packet("ref-prefix refs/") + "0000";
    assertThat(new String(upload(list.getBytes(UTF_8), false), UTF_8)).contains("refs/tags/t31");
    names.forEach(name -> set(name, null));
    String[] wants = names.stream().map(name -> "want-ref " + name).toArray(String[]::new);
    runs = 0;
    String answer = new String(upload(request(wants).getBytes(UTF_8), false), ISO_8859_1);
    assertThat(answer).contains(commits.get(0).name() + " refs/tags/t31");
    assertThat(runs).isAtMost(2); // for the refs that must lead to them
  }

  /** JGit walks through objects to tags that it does not take for advertised ones. */
  @Test
  void tagsAreServedByTheirIdsWithoutAWalkHoweverManyThereAre() throws Exception {
    List<String> wants = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      try (ObjectInserter inserter = refs.repository().newObjectInserter()) {
        TagBuilder tag = new TagBuilder();
        tag.setObjectId(commits.get(0), Constants.OBJ_COMMIT);
        tag.setTag("t" + i);
        tag.setMessage("t");
        ObjectId id = inserter.insert(tag);
        inserter.flush();
        set("refs/tags/t" + i, id);
        wants.add("want " + id.name());
      }
    }
    for (int count : List.of(3, 40, 400)) {
      String request = request(wants.subList(0, count).toArray(String[]::new));
      String answer = new String(upload(request.getBytes(UTF_8), false), ISO_8859_1);
      assertWithMessage("%s tags", count).that(answer).contains("PACK");
      assertWithMessage("%s tags", count).that(fetches.counts().walks.sum()).isEqualTo(0);
    }
  }

  private static String request(String... wants) {
    StringBuilder lines = new StringBuilder(packet("command=fetch") + "0001");
    Stream.of(wants).map(RefGoneDuringFetchTest::packet).forEach(lines::append);
    return lines + packet("done") + "0000";
  }

  private static String packet(String line) {
    String length = Integer.toHexString(line.length() + 5);
    return "0".repeat(4 - length.length()) + length + line + "\n";
  }
}
