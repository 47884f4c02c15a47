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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire.RECEIVE;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire.UPLOAD;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire.bytes;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire.command;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshKeys;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.storage.file.FileBasedConfig;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * What native git is told, given and refused by a Gerrit with this module: the same as by a plain
 * Gerrit with a copy of the same site. By an administrator and by a user who may not see some
 * branches, tags and changes.
 */
@TestInstance(Lifecycle.PER_CLASS)
@TestMethodOrder(OrderAnnotation.class)
class TransportIT {
  /** Tests that leave the servers with other settings come last. */
  private static final int LAST = Integer.MAX_VALUE;

  /** The project that is only read, so that both servers have the same. */
  private static final String PROJECT = "wire";

  /** The project that is pushed to, with the same refs at first. */
  private static final String PUSHED = "pushed";

  /** The project whose rules change. */
  private static final String RULED = "ruled";

  /** The parent of {@link #RULED}, whose rules change too. */
  private static final String PARENT = "ruled-parent";

  private static final String NO_OBJECT = "1234567890123456789012345678901234567890";
  private static final List<String> NAMES =
      List.of(
          "refs/heads/master",
          "refs/heads/hidden",
          "refs/heads/loose",
          "refs/tags/annotated",
          "refs/tags/light",
          "refs/tags/alone",
          "refs/tags/on-hidden",
          "refs/secret/loose",
          "refs/meta/config",
          "refs/changes/19/19/1",
          "refs/changes/20/20/1",
          "refs/changes/21/21/meta");
  private static final List<String> PROTOCOLS = List.of("0", "1", "2");
  private static final List<String> USERS = List.of("admin", "reader");

  private Path tmp;
  private final KeyPair readerKey = SshKeys.generate();
  private final AtomicInteger folders = new AtomicInteger();

  private GerritDaemon ours;
  private GerritDaemon plain;

  /** Ids of objects on the server, by what they are. */
  private final Map<String, String> ids = new LinkedHashMap<>();

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    tmp = folder;
    GerritSite site = SiteTemplate.plainSite(tmp.resolve("plain"));
    try (GerritDaemon daemon = GerritDaemon.start(site)) {
      fill(site, daemon.gerrit());
      daemon.stop();
    }
    GerritSite copy = site.copyTo(tmp.resolve("ours"));
    copy.installModule(BuildFolder.moduleJar());
    copy.installRefsModule();
    bothAtOnce(() -> plain = GerritDaemon.start(site), () -> ours = GerritDaemon.start(copy));
  }

  /** Does something to each server at the same time. */
  private static <T> List<T> bothAtOnce(Callable<T> toPlain, Callable<T> toOurs)
      throws IOException {
    return AtOnce.run(List.of(toPlain, toOurs));
  }

  /** Those that have been started. */
  private List<GerritDaemon> servers() {
    return Stream.of(plain, ours).filter(Objects::nonNull).toList();
  }

  @AfterAll
  void stop() throws Exception {
    GerritDaemon.end(servers(), "TransportIT");
  }

  private NativeGit git(GerritDaemon server, String user) throws IOException {
    KeyPair key = user.equals("admin") ? server.site().adminKey() : readerKey;
    Path folder = Files.createDirectories(tmp.resolve("git-" + folders.incrementAndGet()));
    return new NativeGit(server.site(), user, key, folder);
  }

  /** Makes branches, tags and changes, some of which the reader may not see. */
  private void fill(GerritSite site, Gerrit gerrit) throws Exception {
    gerrit.createUser("reader", readerKey);
    gerrit.createProject(PARENT);
    for (String project : List.of(PUSHED, RULED, PROJECT)) {
      gerrit.createProject(project);
      gerrit.grantToAdministratorsOnly(project, "refs/heads/hidden", "read");
      gerrit.grantToAdministratorsOnly(project, "refs/secret/*", "read");
      for (String permission : List.of("push", "create", "delete", "createTag", "forgeCommitter")) {
        allow(gerrit, project, permission);
      }
      fill(site, project);
    }
    gerrit.rest().put("/projects/" + RULED + "/parent", "{\"parent\": \"" + PARENT + "\"}");
  }

  private void fill(GerritSite site, String project) throws IOException {
    Path folder = Files.createDirectories(tmp.resolve("fill-" + project));
    NativeGit admin = new NativeGit(site, "admin", site.adminKey(), folder);
    String url = admin.http(project);
    String root = admin.fetch(project, "refs/heads/master");
    String first = admin.commit("first", root);
    String master = admin.commit("second", first);
    String belowHidden = admin.commit("below the hidden one", first);
    String hidden = admin.commit("hidden", belowHidden);
    String lost = admin.commit("a tag alone", first);
    admin.run("tag", "-a", "-m", "an annotated tag", "annotated", master);
    admin.run("tag", "-a", "-m", "a hidden tag", "on-hidden", hidden);
    admin.run("tag", "light", first);
    admin.run("tag", "alone", lost);
    admin.run("push", url, master + ":refs/heads/master", master + ":refs/heads/other/one");
    admin.run("push", url, hidden + ":refs/heads/hidden", hidden + ":refs/secret/one");
    admin.run("push", url, "--tags");
    String open = admin.commit("an open change", master);
    String secret = admin.commit("a private change", master);
    String onHidden = admin.commit("a change for the hidden branch", hidden);
    admin.run("push", url, open + ":refs/for/master");
    admin.run("push", url, secret + ":refs/for/master%private");
    admin.run("push", url, onHidden + ":refs/for/hidden");
    // Gerrit looks at the changes of the project as a whole if it is asked for five or more.
    String many = master;
    for (int i = 0; i < 6; i++) {
      many = admin.commit("one of many " + i, many);
    }
    admin.run("push", url, many + ":refs/for/other/one");
    ids.put("tip of a branch", master);
    ids.put("reachable commit", first);
    ids.put("commit that no ref has", root);
    ids.put("tip of a hidden branch", hidden);
    ids.put("hidden commit that no ref has", belowHidden);
    ids.put("tag", admin.run("rev-parse", "annotated"));
    ids.put("hidden tag", admin.run("rev-parse", "on-hidden"));
    ids.put("commit of a tag alone", lost);
    ids.put("open change", open);
    ids.put("private change", secret);
    ids.put("change for a hidden branch", onHidden);
    ids.put("tree", admin.run("rev-parse", master + "^{tree}"));
    ids.put("no object", NO_OBJECT);
    site.git(project, "pack-refs", "--all");
    List<String> more = new ArrayList<>(List.of("push", "-q", url));
    for (int i = 0; i < 40; i++) {
      more.add(first + ":refs/heads/more/" + i);
      more.add(first + ":refs/tags/more-" + i);
    }
    admin.run(more.toArray(String[]::new));
    // Some loose refs over the packed ones.
    admin.run("push", url, master + ":refs/heads/loose", hidden + ":refs/secret/loose");
  }

  private static void allow(Gerrit gerrit, String project, String permission) throws IOException {
    gerrit
        .rest()
        .post(
            "/projects/" + project + "/access",
            String.format(
                Locale.ROOT,
                """
                {"add": {"refs/*": {"permissions": {"%s":
                  {"rules": {"global:Registered-Users": {"action": "ALLOW", "force": true}}}}}}}
                """,
                permission));
  }

  /** A question to one server as one user. */
  @FunctionalInterface
  private interface Question {
    Object ask(GerritDaemon server, NativeGit git) throws Exception;
  }

  /**
   * Asks both servers at once, each as one user after the other, and compares the answers. Returns
   * those of the reader.
   */
  private Object assertSame(String what, Question question) throws Exception {
    List<List<Object>> answers =
        bothAtOnce(() -> askAsAll(plain, question), () -> askAsAll(ours, question));
    for (int i = 0; i < USERS.size(); i++) {
      assertWithMessage("%s, as %s", what, USERS.get(i))
          .that(answers.get(1).get(i))
          .isEqualTo(answers.get(0).get(i));
    }
    return answers.get(1).getLast();
  }

  private List<Object> askAsAll(GerritDaemon server, Question question) throws Exception {
    List<Object> answers = new ArrayList<>();
    for (String user : USERS) {
      answers.add(question.ask(server, git(server, user)));
    }
    return answers;
  }

  // ---- fetches

  /** The ways to ask. Over SSH, a list of refs and a fetch are requests of one connection. */
  private enum Transport {
    HTTP,
    SSH;

    String url(NativeGit git) {
      return this == HTTP ? git.http(PROJECT) : git.ssh(PROJECT);
    }
  }

  @Test
  void listsOfRefsAreTheSame() throws Exception {
    for (String protocol : PROTOCOLS) {
      String version = "protocol.version=" + protocol;
      for (String pattern : List.of("*", "refs/heads/*", "refs/tags/*", "refs/changes/*")) {
        Object seen =
            assertSame(
                "ls-remote " + pattern + ", protocol " + protocol,
                (server, git) -> git.run("-c", version, "ls-remote", git.http(PROJECT), pattern));
        assertThat(seen.toString()).doesNotContain("hidden");
        assertThat(seen.toString()).doesNotContain(ids.get("private change"));
      }
      assertSame(
          "ls-remote over ssh, protocol " + protocol,
          (server, git) -> git.run("-c", version, "ls-remote", git.ssh(PROJECT)));
    }
  }

  /** So many refs that they are not looked up one by one. */
  @Test
  void mirrorsAreTheSame() throws Exception {
    for (Transport transport : Transport.values()) {
      for (String protocol : PROTOCOLS) {
        assertSame(
            "mirror over " + transport + ", protocol " + protocol,
            (server, git) -> {
              String version = "protocol.version=" + protocol;
              String url = transport.url(git);
              git.run("-c", version, "fetch", "-q", url, "+refs/*:refs/copy/*");
              return git.run("for-each-ref");
            });
      }
    }
  }

  @Test
  void requestsOfOneConnectionAreAnsweredAlikeInAnyOrder() throws Exception {
    JsonObject before = ours.refs();
    String heads = command("ls-refs", "ref-prefix refs/heads/");
    String all = command("ls-refs", "symrefs", "peel");
    for (String what :
        List.of(
            "tip of a branch", "tip of a hidden branch", "tag", "open change", "private change")) {
      // Without "done" the server says that it has none of what the client has, and waits.
      String fetch = command("fetch", "want " + ids.get(what), "have " + NO_OBJECT);
      for (String requests :
          List.of(heads + fetch, fetch + heads, heads + fetch + all + fetch, all + fetch + heads)) {
        assertSame(requests, (server, git) -> git.uploadPack(PROJECT, requests + "0000"));
      }
    }
    assertThat(difference(before, ours.refs(), "fetches_by_tip")).isAtLeast(5);
  }

  /** Whether an id can be fetched; both servers have to agree for each. */
  @Test
  void idsAreGivenAndRefusedAlike() throws Exception {
    for (String protocol : List.of("0", "2")) {
      for (Transport transport : Transport.values()) {
        assertIdsAlike(transport, protocol);
      }
    }
  }

  private void assertIdsAlike(Transport transport, String protocol) throws Exception {
    for (Map.Entry<String, String> id : ids.entrySet()) {
      Object given =
          assertSame(
              id.getKey() + " by id over " + transport + ", protocol " + protocol,
              (server, git) -> fetch(git, transport.url(git), protocol, id.getValue()).isOk());
      if (id.getKey().contains("hidden") || id.getKey().contains("private")) {
        assertWithMessage(id.getKey()).that(given).isEqualTo(false);
      }
    }
  }

  @Test
  void withAnyIdAllowedTheModuleAllowsNoMoreThanGerrit() throws Exception {
    for (GerritDaemon server : servers()) {
      setInRepository(server, "uploadpack.allowAnySHA1InWant", "true");
    }
    try {
      for (String what : List.of("reachable commit", "tip of a hidden branch", "no object")) {
        for (String protocol : PROTOCOLS) {
          for (Transport transport : Transport.values()) {
            assertSame(
                what + " by id over " + transport + ", any allowed, protocol " + protocol,
                (server, git) -> fetch(git, transport.url(git), protocol, ids.get(what)).isOk());
          }
        }
      }
    } finally {
      for (GerritDaemon server : servers()) {
        setInRepository(server, "--unset-all", "uploadpack.allowAnySHA1InWant");
      }
    }
  }

  private void setInRepository(GerritDaemon server, String name, String value) throws IOException {
    server.site().git(PROJECT, "config", name, value);
  }

  private static NativeGit.Result fetch(NativeGit git, String url, String protocol, String what)
      throws IOException {
    return git.tryRun("-c", "protocol.version=" + protocol, "fetch", "-q", url, what);
  }

  @Test
  void refsAreGivenAndRefusedAlikeByName() throws Exception {
    for (Transport transport : Transport.values()) {
      for (String protocol : transport == Transport.SSH ? List.of("0", "2") : List.of("2")) {
        assertNamesAlike(transport, protocol);
      }
    }
  }

  private void assertNamesAlike(Transport transport, String protocol) throws Exception {
    for (String name : NAMES) {
      assertSame(
          name + " over " + transport + ", protocol " + protocol,
          (server, git) -> {
            NativeGit.Result result = fetch(git, transport.url(git), protocol, name);
            return result.isOk() ? git.run("rev-parse", "FETCH_HEAD") : "refused";
          });
    }
  }

  @Test
  void oursOffersWantRefUnlessAnAdministratorSetsItOtherwise() throws Exception {
    assertThat(wantsByName(ours)).isTrue();
    assertThat(wantsByName(plain)).isFalse();
    setInRepository(ours, "uploadpack.allowRefInWant", "false");
    try {
      assertThat(wantsByName(ours)).isFalse();
    } finally {
      setInRepository(ours, "--unset-all", "uploadpack.allowRefInWant");
    }
    assertThat(wantsByName(ours)).isTrue();
  }

  private static boolean wantsByName(GerritDaemon server) throws IOException {
    return capabilities(server).contains("ref-in-want");
  }

  private static String capabilities(GerritDaemon server) throws IOException {
    return text(exchange(server, PROJECT, "reader", UPLOAD, "version=2", null));
  }

  /** A client that asks for a hidden ref although it was never listed. */
  @Test
  void aHiddenRefIsRefusedToAWantByName() throws Exception {
    for (String name : List.of("refs/heads/hidden", "refs/changes/20/20/1", "refs/secret/one")) {
      String request = wantByName(name);
      assertThat(answer("reader", request)).doesNotContain("PACK");
      assertThat(answer("admin", request)).contains("PACK");
    }
  }

  // A ref that changes between the list that a client was sent and its fetch by name. Plain Gerrit,
  // which is asked by id, serves what visible refs lead to.

  /** What a user is sent for a name who was told of it before it was changed, or deleted. */
  private String answerToLate(String user, String name, String before, @Nullable String after)
      throws IOException {
    ours.site().git(PROJECT, "update-ref", name, ids.get(before));
    try {
      assertThat(answer(user, command("ls-refs", "ref-prefix " + name))).contains(name);
      if (after != null) {
        ours.site().git(PROJECT, "update-ref", name, ids.get(after));
        return answer(user, wantByName(name));
      }
    } finally {
      ours.site().git(PROJECT, "update-ref", "-d", name);
    }
    return answer(user, wantByName(name));
  }

  private static String wantByName(String... names) {
    Stream<String> wants = Stream.of(names).map(name -> "want-ref " + name);
    return command("fetch", Stream.concat(wants, Stream.of("done")).toArray(String[]::new));
  }

  @Test
  void aMergedBranchThatIsDeletedIsServedToWhoWasSentItsName() throws Exception {
    String gone = "refs/heads/gone";
    assertThat(answerToLate("reader", gone, "reachable commit", null)).contains("PACK");
    assertThat(answer("admin", wantByName(gone))).contains("ERR Invalid ref name");
  }

  /** Plain Gerrit says that the id is not valid; a name says no more. */
  @Test
  void whatNoVisibleRefLeadsToIsRefusedThoughItsNameWasSent() throws Exception {
    String hidden = "hidden commit that no ref has";
    String answer = answerToLate("reader", "refs/heads/unmerged", hidden, null);
    assertThat(answer).contains("want " + ids.get(hidden) + " not valid");
    assertThat(answer).doesNotContain("PACK");
  }

  @Test
  void aBranchThatIsForcedElsewhereIsServedAsItIs() throws Exception {
    String forced = "refs/heads/forced";
    String answer = answerToLate("reader", forced, "reachable commit", "tip of a branch");
    assertThat(answer).contains(ids.get("tip of a branch") + " " + forced);
    assertThat(answer).contains("PACK");
  }

  /** Somebody else, who may see it, was sent a list with it. */
  @Test
  void aNameThatWasNeverToBeSeenSaysNothing() throws Exception {
    String secret = "refs/secret/gone";
    String merged = ids.get("reachable commit");
    assertThat(answerToLate("admin", secret, "reachable commit", null))
        .contains(merged + " " + secret);
    String refused = answer("reader", wantByName(secret));
    assertThat(refused).contains("ERR Invalid ref name");
    assertThat(refused).doesNotContain(merged);
  }

  /** A user may ask for many of them at once. */
  @Test
  void refsThatAreGoneCostNoRunOfTheFilterEach() throws Exception {
    String[] names =
        IntStream.range(0, 32).mapToObj(i -> "refs/tags/gone-" + i).toArray(String[]::new);
    for (String name : names) {
      ours.site().git(PROJECT, "update-ref", name, ids.get("reachable commit"));
    }
    assertThat(answer("reader", command("ls-refs", "ref-prefix refs/tags/"))).contains(names[31]);
    for (String name : names) {
      ours.site().git(PROJECT, "update-ref", "-d", name);
    }
    long before = ours.gerrit().runsOfRefFilter();
    assertThat(answer("reader", wantByName(names)))
        .contains(ids.get("reachable commit") + " " + names[31]);
    // For the refs that must lead to them.
    assertThat(ours.gerrit().runsOfRefFilter() - before).isAtMost(4);
  }

  /** JGit walks through objects to tags that it does not take for advertised ones. */
  @Test
  void tagsAreServedByTheirIdsWithoutAWalkHoweverManyThereAre() throws Exception {
    NativeGit git = git(ours, "admin");
    String commit = git.fetch(PUSHED, "refs/heads/master");
    StringBuilder tags = new StringBuilder();
    for (int i = 0; i < 400; i++) {
      tags.append("tag many-" + i + "\nfrom " + commit + "\ntagger a <a@b.c> 0 +0000\ndata 1\nt\n");
    }
    git.runWith(tags.toString(), "fast-import", "--quiet");
    git.run("push", "-q", ours.site().repository(PUSHED).toString(), "refs/tags/*:refs/tags/*");
    List<String> wants =
        new ArrayList<>(
            NativeGit.lines(git.run("for-each-ref", "--format=want %(objectname)", "refs/tags/")));
    wants.add("done");
    JsonObject before = ours.refs();
    for (int count : List.of(3, 40, 400)) {
      String want = command("fetch", wants.subList(400 - count, 401).toArray(String[]::new));
      HttpResponse<byte[]> answer =
          exchange(ours, PUSHED, "reader", "git-upload-pack", "version=2", bytes(want));
      assertWithMessage("%s tags", count).that(text(answer)).contains("PACK");
    }
    assertThat(difference(before, ours.refs(), "fetches_by_walk")).isEqualTo(0);
  }

  private String answer(String user, String request) throws IOException {
    return text(exchange(ours, PROJECT, user, "git-upload-pack", "version=2", bytes(request)));
  }

  /** Each byte as a character: there may be a pack among them. */
  private static String text(HttpResponse<byte[]> reply) {
    return new String(reply.body(), StandardCharsets.ISO_8859_1);
  }

  /** Names that a filter may take for others, and that lead to a hidden file. */
  @Test
  void noNameLeadsAroundTheFilter() throws Exception {
    for (String name :
        List.of(
            "refs/heads/../secret/loose",
            "refs//secret/loose",
            "refs/heads/./../secret/loose",
            "refs/heads/other/../../secret/loose",
            "refs/heads/../../config",
            "../" + PUSHED + ".git/refs/heads/loose",
            "FETCH_HEAD")) {
      String fetch = wantByName(name);
      String list = command("ls-refs", "ref-prefix " + name);
      for (String want : List.of(fetch, list)) {
        String answer = answer("reader", want);
        assertWithMessage(want).that(answer).doesNotContain("PACK");
        assertWithMessage(want).that(answer).doesNotContain(ids.get("tip of a hidden branch"));
      }
    }
  }

  /** Names and ids in one request. */
  @Test
  void aHiddenIdIsRefusedBesideAVisibleName() throws Exception {
    for (String id : List.of("tip of a hidden branch", "private change", "no object")) {
      String request =
          command("fetch", "want-ref refs/heads/master", "want " + ids.get(id), "done");
      assertThat(answer("reader", request)).doesNotContain("PACK");
    }
  }

  @Test
  void idsOfVisibleRefsAreFoundWithoutReadingAllRefs() throws Exception {
    JsonObject before = ours.refs();
    NativeGit git = git(ours, "reader");
    for (String what : List.of("tip of a branch", "open change", "tag")) {
      assertThat(fetch(git, git.http(PROJECT), "2", ids.get(what)).isOk()).isTrue();
    }
    JsonObject after = ours.refs();
    assertThat(difference(before, after, "fetches_by_tip")).isAtLeast(3);
    assertThat(difference(before, after, "fetches_by_walk")).isEqualTo(0);
  }

  private static long difference(JsonObject before, JsonObject after, String name) {
    return after.get(name).getAsLong() - before.get(name).getAsLong();
  }

  // ---- pushes

  @Test
  void pushesAreToldTheSame() throws Exception {
    JsonObject before = ours.refs();
    for (String user : USERS) {
      assertThat(advertised(ours, PROJECT, user)).isEqualTo(advertised(plain, PROJECT, user));
      assertThat(advertised(ours, PROJECT, user).toString()).contains("refs/heads/loose");
    }
    assertThat(advertised(ours, PROJECT, "reader").toString()).doesNotContain("hidden");
    assertThat(advertised(ours, PROJECT, "reader").toString())
        .doesNotContain(ids.get("private change"));
    JsonObject after = ours.refs();
    assertThat(difference(before, after, "pushes")).isAtLeast(4);
    assertThat(difference(before, after, "pushes_left")).isEqualTo(0);
  }

  private static Set<String> advertised(GerritDaemon server, String project, String user)
      throws IOException {
    return lines(exchange(server, project, user, RECEIVE, "", null));
  }

  /** The lines of an answer, but for the capabilities. */
  private static Set<String> lines(HttpResponse<byte[]> answer) {
    Set<String> lines = new TreeSet<>();
    for (String line : NativeGit.lines(text(answer))) {
      int end = line.indexOf(0);
      lines.add(line.substring(4, end < 0 ? line.length() : end));
    }
    return lines;
  }

  @Test
  void pushesDoTheSame() throws Exception {
    for (String user : USERS) {
      List<String> said = Collections.synchronizedList(new ArrayList<>());
      List<List<String>> both =
          bothAtOnce(() -> pushes(plain, user, said), () -> pushes(ours, user, said));
      List<String> expected = both.get(0);
      List<String> done = both.get(1);
      String message = "as " + user + ", and git has said " + said;
      assertWithMessage(message).that(done).isEqualTo(expected);
      assertWithMessage(message)
          .that(done)
          .containsAtLeast(
              "pushed a change: true",
              "made another change of it: true",
              "pushed over ssh on two changes: true");
    }
  }

  /**
   * Pushes in several ways, and returns which of them were accepted.
   *
   * @param said gets what git prints
   */
  private List<String> pushes(GerritDaemon server, String user, List<String> said)
      throws Exception {
    NativeGit git = git(server, user);
    String url = git.http(PUSHED);
    String base = git.fetch(PUSHED, "refs/heads/master");
    String change = git.commit("a change of " + user, base);
    String amended = git.commit("a change of " + user, git.commit("below it by " + user, base));
    // Nothing may build on a commit that has a name of a change but is none: Gerrit gives what is
    // pushed on top the group of one of the patch sets of the commit below, and fails if that one
    // has no change. Which one it takes depends on the names of all refs in a plain Gerrit, and on
    // chance in one that looks ids up in the ref database, as with this module.
    String alone = git.commit("no change by " + user, base);
    Map<String, String> steps = new LinkedHashMap<>();
    steps.put("pushed a change", change + ":refs/for/master");
    steps.put("pushed it again", change + ":refs/for/master");
    steps.put("pushed a patch set", amended + ":refs/for/master");
    steps.put("pushed it for a branch", amended + ":refs/for/other/one");
    steps.put("made another change of it", change + ":refs/for/other/one%base=" + base);
    steps.put("made a branch", change + ":refs/heads/by/" + user);
    steps.put("moved it", "+" + amended + ":refs/heads/by/" + user);
    steps.put("tagged", change + ":refs/tags/by-" + user);
    steps.put("deleted it", ":refs/heads/by/" + user);
    steps.put("deleted a hidden one", ":refs/heads/hidden-not-there");
    steps.put("wrote a hidden one", change + ":refs/heads/hidden");
    // No change of this test has such a high number.
    steps.put("wrote a change", alone + ":refs/changes/77/1000077/1");
    String other = git.commit("over ssh by " + user, change);
    Map<String, String> overSsh =
        Map.of("pushed over ssh on two changes", other + ":refs/for/master");
    List<String> done = new ArrayList<>();
    push(git, url, steps, done, said);
    push(git, git.ssh(PUSHED), overSsh, done, said);
    return done;
  }

  private static void push(
      NativeGit git, String url, Map<String, String> steps, List<String> done, List<String> said)
      throws IOException {
    for (Map.Entry<String, String> step : steps.entrySet()) {
      NativeGit.Result result = git.tryRun("push", url, step.getValue());
      done.add(step.getKey() + ": " + result.isOk());
      said.add("\n" + url + " " + step.getKey() + ": " + result);
    }
  }

  private static boolean push(NativeGit git, String url, String what) throws IOException {
    return git.tryRun("push", "-q", url, what).isOk();
  }

  @Test
  void aPackThatLacksObjectsIsRefused() throws Exception {
    for (GerritDaemon server : servers()) {
      for (String user : USERS) {
        NativeGit git = git(server, user);
        String base = git.fetch(PUSHED, "refs/heads/master");
        String missing = git.commit("missing", base);
        String tip = git.commit("on top of it", missing);
        // The pack has the tip, but not the commit below it.
        String report = report(server, user, tip, "refs/heads/broken", git.pack(tip, missing));
        assertWithMessage("%s %s", server.name(), user).that(report).doesNotContain("ok refs/");
        assertThat(git.run("ls-remote", git.http(PUSHED))).doesNotContain("broken");
      }
    }
  }

  /** The commit below is on the server, but this user may not see it. */
  @Test
  void aPackThatRefersToAHiddenObjectIsRefused() throws Exception {
    for (GerritDaemon server : servers()) {
      NativeGit admin = git(server, "admin");
      String hidden = admin.fetch(PUSHED, "refs/heads/hidden");
      String tip = admin.commit("on top of what is hidden", hidden);
      byte[] pack = admin.pack(tip, hidden);
      String asReader = report(server, "reader", tip, "refs/heads/spy", pack);
      assertWithMessage(server.name()).that(asReader).doesNotContain("ok refs/");
      String change = report(server, "reader", tip, "refs/for/master", pack);
      assertWithMessage(server.name()).that(change).doesNotContain("ok refs/");
      String asAdmin = report(server, "admin", tip, "refs/heads/by/the-admin", pack);
      assertWithMessage(server.name()).that(asAdmin).contains("ok refs/heads/by/the-admin");
    }
  }

  @Test
  void aPushIsCheckedAgainstTheRefsThatItBuildsOn() throws Exception {
    JsonObject before = ours.refs();
    NativeGit git = git(ours, "reader");
    String change = git.commit("near the tip", git.fetch(PUSHED, "refs/heads/master"));
    assertThat(push(git, git.http(PUSHED), change + ":refs/for/master")).isTrue();
    git.run("tag", "-a", "-m", "a tag", "near", "FETCH_HEAD");
    assertThat(push(git, git.http(PUSHED), "refs/tags/near")).isTrue();
    String older = git.commit("on an older commit", git.run("rev-parse", "FETCH_HEAD~1"));
    assertThat(push(git, git.http(PUSHED), older + ":refs/for/master")).isTrue();
    JsonObject after = ours.refs();
    assertThat(difference(before, after, "checks_near")).isAtLeast(3);
    assertThat(difference(before, after, "checks_full")).isEqualTo(0);
    assertThat(difference(before, after, "pushes_by_name")).isAtLeast(3);
  }

  /**
   * As by a client that does not have the branch which has the commit below. If Gerrit took that
   * commit for a new one, it would make changes of both.
   */
  @Test
  void aCommitOfAnotherBranchThatIsSentAgainIsNotNew() throws Exception {
    for (String user : USERS) {
      for (GerritDaemon server : servers()) {
        NativeGit git = git(server, user);
        String base = git.fetch(PUSHED, "refs/heads/master");
        String merged = git.commit("merged elsewhere by " + user, base);
        String tip = git.commit("on top of it by " + user, merged);
        assertThat(push(git, git.http(PUSHED), tip + ":refs/heads/merged/" + user)).isTrue();
        String change = git.commit("a change of what is merged by " + user, merged);
        byte[] pack = git.pack(change, base);
        assertWithMessage("%s %s", server.name(), user)
            .that(report(server, user, change, "refs/for/master", pack))
            .contains("ng refs/for/master implicit merges detected");
      }
    }
  }

  /** What a client can only send if it makes the request itself. */
  @Test
  void commandsThatDoNotFitTheRefsAreAnsweredAlike() throws Exception {
    String none = "0".repeat(40);
    for (String user : USERS) {
      List<List<String>> answers = new ArrayList<>();
      for (GerritDaemon server : servers()) {
        NativeGit git = git(server, user);
        String base = git.fetch(PUSHED, "refs/heads/master");
        String tip = git.commit("does not fit", base);
        byte[] pack = git.pack(tip, base);
        List<String> reports = new ArrayList<>();
        for (String name :
            List.of(
                "HEAD",
                "refs/heads/master",
                "refs/heads/hidden",
                "refs/heads/nothing",
                "refs/heads/../meta/config",
                "refs/heads/master/",
                "refs/heads",
                "refs/secret/one",
                "refs/meta/config",
                "refs/tags/annotated",
                "refs/tags/on-hidden",
                "refs/users/self",
                "refs/changes/01/1/1",
                "refs/changes/01/1/meta")) {
          reports.add(report(server, user, none, base, name, pack)); // as if it were new
          reports.add(report(server, user, tip, base, name, pack)); // from an id that it has not
          reports.add(report(server, user, tip, none, name, new byte[0])); // deleted likewise
        }
        answers.add(reports.stream().map(TransportIT::withoutTimes).toList());
      }
      assertThat(answers.get(1)).isEqualTo(answers.get(0));
      assertThat(answers.get(0).toString()).contains("ng refs/heads/master");
    }
  }

  private static String withoutTimes(String report) {
    return report.replaceAll("Processing changes[^\n]*", "").replaceAll("[0-9a-f]{40}", "id");
  }

  /** In All-Users, {@code refs/users/self} stands for the user's own ref, which a push may name. */
  @Test
  void ownSettingsArePushedAlike() throws Exception {
    List<Object> answers = new ArrayList<>();
    for (GerritDaemon server : servers()) {
      NativeGit git = git(server, "reader");
      String base = git.fetch("All-Users", "refs/users/self");
      String tip = git.run("commit-tree", base + "^{tree}", "-p", base, "-m", "my settings");
      answers.add(push(git, git.http("All-Users"), tip + ":refs/users/self"));
      answers.add(lines(exchange(server, "All-Users", "reader", RECEIVE, "", null)).size());
    }
    assertThat(answers.subList(2, 4)).isEqualTo(answers.subList(0, 2));
    assertThat(answers.get(0)).isEqualTo(true);
  }

  /** A branch that a user could see at the GET, and not any more at the POST. */
  @Test
  void aRightThatIsLostBetweenAdvertisementAndPushIsLost() throws Exception {
    Gerrit gerrit = ours.gerrit();
    NativeGit git = git(ours, "reader");
    String base = git.fetch(PUSHED, "refs/heads/master");
    assertThat(push(git, git.http(PUSHED), base + ":refs/heads/lost")).isTrue();
    assertThat(advertised(ours, PUSHED, "reader").toString()).contains("refs/heads/lost");
    gerrit.grantToAdministratorsOnly(PUSHED, "refs/heads/lost", "read");
    String tip = git.commit("too late", base);
    String report = report(ours, "reader", base, tip, "refs/heads/lost", git.pack(tip, base));
    assertThat(report).doesNotContain("ok refs/");
    assertThat(fetch(git, git.http(PUSHED), "2", "refs/heads/lost").isOk()).isFalse();
  }

  /**
   * Over HTTP, git's client compares each pushed name with each of its refs, so that more than a
   * few thousand refs keep the client busy and not the server.
   */
  @Test
  void thousandsOfRefsArePushedAtOnce() throws Exception {
    int count = Integer.getInteger("transport.refs", 2000);
    NativeGit git = git(ours, "admin");
    String base = git.fetch(PUSHED, "refs/heads/master");
    StringBuilder refs = new StringBuilder();
    for (int i = 0; i < count; i++) {
      refs.append(base).append(" refs/many/").append(i).append('\n');
    }
    Files.writeString(git.gitFolder().resolve("packed-refs"), refs.toString());
    git.run("push", "-q", git.http(PUSHED), "refs/many/*:refs/many/*");
    assertThat(NativeGit.lines(git.run("ls-remote", git.http(PUSHED), "refs/many/*")))
        .hasSize(count);
    assertCompressed(ours, PUSHED, RECEIVE);
    assertCompressed(ours, PUSHED, UPLOAD);
    git.run("push", "-q", "--prune", git.http(PUSHED), "refs/none/*:refs/many/*");
    assertThat(git.run("ls-remote", git.http(PUSHED), "refs/many/*")).isEmpty();
  }

  /** A list of refs to a client that does not accept compression, and to one that does. */
  private static void assertCompressed(GerritDaemon server, String project, String list)
      throws IOException {
    HttpResponse<byte[]> plainly = exchange(server, project, "admin", list, "version=0", null);
    HttpResponse<byte[]> compressed = acceptingGzip(server, project, "admin", list);
    assertThat(plainly.headers().firstValue("Content-Encoding")).isEmpty();
    assertThat(compressed.headers().firstValue("Content-Encoding")).hasValue("gzip");
    try (InputStream gzip = new GZIPInputStream(new ByteArrayInputStream(compressed.body()))) {
      assertThat(gzip.readAllBytes()).isEqualTo(plainly.body());
    }
    ByteArrayOutputStream usual = new ByteArrayOutputStream();
    try (OutputStream gzip = new GZIPOutputStream(usual)) {
      gzip.write(plainly.body());
    }
    // The level is seen by the size.
    assertThat(usual.size() < compressed.body().length).isEqualTo(server.name().equals("ours"));
  }

  private static HttpResponse<byte[]> acceptingGzip(
      GerritDaemon server, String project, String user, String what) throws IOException {
    return GitWire.exchange(
        server.site(), project, user, what, null, "Accept-Encoding", "deflate, gzip");
  }

  @Test
  void listsAreCompressedForWhoAcceptsIt() throws Exception {
    for (GerritDaemon server : servers()) {
      for (String list : List.of(RECEIVE, UPLOAD)) {
        assertCompressed(server, PROJECT, list);
      }
      HttpResponse<byte[]> refused = acceptingGzip(server, "nowhere", "reader", RECEIVE);
      assertThat(refused.statusCode()).isEqualTo(403);
      assertThat(text(refused)).contains("nowhere");
    }
    HttpResponse<byte[]> list = acceptingGzip(ours, PROJECT, "admin", RECEIVE);
    assertThat(list.headers().firstValueAsLong("Content-Length").orElse(0))
        .isEqualTo(list.body().length);
  }

  // ---- settings

  @Test
  @Order(LAST - 1)
  void anAdministratorMayHaveFewerRefsAdvertisedOrAllReadByGerrit() throws Exception {
    Set<String> all = advertised(plain, PROJECT, "reader");
    JsonObject atFirst = ours.refs();
    assertThat(advertised(ours, PROJECT, "reader")).isEqualTo(all);
    assertThat(difference(atFirst, ours.refs(), "branches_by_rules")).isGreaterThan(0);
    restartOurs(
        config -> config.setString("cache-chroniclemap", null, "advertiseRefs", "refs/heads/o"));
    Set<String> some = advertised(ours, PROJECT, "reader");
    some.removeIf(line -> !line.contains(" refs/"));
    assertThat(some).hasSize(1);
    assertThat(some.toString()).contains("refs/heads/other/one");
    restartOurs(
        config -> {
          config.unset("cache-chroniclemap", null, "advertiseRefs");
          config.setBoolean("receive", null, "enableInMemoryRefCache", true);
        });
    JsonObject before = ours.refs();
    assertThat(advertised(ours, PROJECT, "reader")).isEqualTo(all);
    assertThat(difference(before, ours.refs(), "pushes_left")).isEqualTo(1);
    restartOurs(
        config -> {
          config.unset("receive", null, "enableInMemoryRefCache");
          config.setBoolean("cache-chroniclemap", null, "groupBranches", false);
        });
    assertThat(advertised(ours, PROJECT, "reader")).isEqualTo(all);
    assertThat(ours.refs().get("branches_by_rules").getAsLong()).isEqualTo(0);
  }

  private void restartOurs(Consumer<FileBasedConfig> change) throws Exception {
    ours = restart(ours, change);
  }

  private static GerritDaemon restart(GerritDaemon server, Consumer<FileBasedConfig> change)
      throws Exception {
    server.stop();
    server.site().edit(change);
    return GerritDaemon.start(server.site());
  }

  /** A replica serves fetches only. */
  @Test
  @Order(LAST)
  void replicasAnswerAlike() throws Exception {
    List<String> options = List.of("--replica", "--enable-httpd");
    restartAll(
        config -> {
          config.unset("cache-chroniclemap", null, "groupBranches");
          config.setStringList("container", null, "daemonOpt", options);
        });
    assertThat(exchange(ours, PROJECT, "admin", RECEIVE, "", null).statusCode()).isEqualTo(403);
    JsonObject before = ours.refs();
    listsOfRefsAreTheSame();
    assertIdsAlike(Transport.HTTP, "2");
    assertNamesAlike(Transport.HTTP, "2");
    assertThat(difference(before, ours.refs(), "fetches_by_tip")).isGreaterThan(0);
  }

  private void restartAll(Consumer<FileBasedConfig> change) throws Exception {
    bothAtOnce(() -> plain = restart(plain, change), () -> ours = restart(ours, change));
  }

  // ---- rules of access

  /** What a reader is shown under random rules, with both servers. */
  @Test
  void randomRulesShowTheSameRefs() throws Exception {
    long seed = Long.getLong("transport.seed", 1);
    Random random = new Random(seed);
    Map<GerritDaemon, String> sessions = new LinkedHashMap<>();
    for (GerritDaemon server : servers()) {
      sessions.put(server, server.gerrit().signIn(Gerrit.ADMIN_ID + 1));
    }
    Set<Object> different = new HashSet<>();
    JsonObject before = ours.refs();
    for (int i = 0; i < Integer.getInteger("transport.rules", 25); i++) {
      String rules = randomRules(random);
      String inherited = randomRules(random);
      List<List<Set<String>>> shown =
          bothAtOnce(
              () -> shownUnder(rules, inherited, plain, sessions.get(plain)),
              () -> shownUnder(rules, inherited, ours, sessions.get(ours)));
      assertWithMessage("seed %s, rules %s: %s, parent: %s", seed, i, rules, inherited)
          .that(shown.get(1))
          .isEqualTo(shown.get(0));
      different.add(shown.get(0));
    }
    // The rules are of use.
    assertThat(different.size()).isAtLeast(5);
    assertThat(difference(before, ours.refs(), "branches_by_rules")).isAtLeast(100);
  }

  private static List<Set<String>> shownUnder(
      String rules, String inherited, GerritDaemon server, String session) throws IOException {
    RestClient admin = server.gerrit().rest();
    admin.post("/projects/" + RULED + "/access", rules);
    admin.post("/projects/" + PARENT + "/access", inherited);
    return shown(server, session);
  }

  private static String randomRules(Random random) {
    List<String> patterns =
        List.of(
            "refs/*",
            "refs/heads/*",
            "refs/heads/hidden",
            "refs/heads/other/*",
            "refs/heads/master",
            "refs/tags/*",
            "refs/secret/*",
            "refs/meta/config",
            "^refs/heads/(loose|o.*)",
            "^refs/heads/more/[0-4]",
            "refs/heads/more/*",
            "refs/heads/more/5",
            "refs/heads/${username}/*",
            "refs/heads/more/${username}");
    List<String> groups =
        List.of("global:Registered-Users", "global:Anonymous-Users", "global:Project-Owners");
    JsonObject removed = new JsonObject();
    JsonObject added = new JsonObject();
    for (String pattern : patterns) {
      removed.add(pattern, JsonParser.parseString("{\"permissions\": {}}"));
      if (random.nextInt(3) == 0) {
        String action = List.of("ALLOW", "DENY", "BLOCK").get(random.nextInt(3));
        String group = groups.get(random.nextInt(groups.size()));
        added.add(pattern, section("read", group, action, random.nextInt(3) == 0));
      }
    }
    added.add("refs/for/*", section("push", groups.get(0), "ALLOW", false));
    JsonObject input = new JsonObject();
    input.add("remove", removed);
    input.add("add", added);
    return input.toString();
  }

  private static JsonObject section(
      String permission, String group, String action, boolean exclusive) {
    return JsonParser.parseString(
            String.format(
                Locale.ROOT,
                """
                {"permissions": {"%s": {"exclusive": %s, "rules": {"%s": {"action": "%s"}}}}}
                """,
                permission,
                exclusive,
                group,
                action))
        .getAsJsonObject();
  }

  /**
   * All refs, each tag by itself, and what a push is told; without the id of the project's config,
   * which has times in it.
   */
  private static List<Set<String>> shown(GerritDaemon server, String session) throws IOException {
    List<HttpResponse<byte[]>> answers = new ArrayList<>();
    for (String prefix : List.of("", "refs/tags/light", "refs/tags/on-hidden", "refs/tags/alone")) {
      String request =
          prefix.isEmpty()
              ? command("ls-refs", "peel")
              : command("ls-refs", "peel", "ref-prefix " + prefix);
      answers.add(withSession(server, session, "git-upload-pack", bytes(request)));
    }
    answers.add(withSession(server, session, RECEIVE, null));
    List<Set<String>> shown = new ArrayList<>();
    for (HttpResponse<byte[]> answer : answers) {
      Set<String> lines = new TreeSet<>();
      lines(answer)
          .forEach(line -> lines.add(line.endsWith("refs/meta/config") ? "the config" : line));
      shown.add(lines);
    }
    return shown;
  }

  // ---- git's protocol by hand

  private static String report(
      GerritDaemon server, String user, String tip, String ref, byte[] pack) throws IOException {
    return report(server, user, "0".repeat(40), tip, ref, pack);
  }

  /** Pushes a pack; returns what the server reports, or its refusal. */
  private static String report(
      GerritDaemon server, String user, String old, String tip, String ref, byte[] pack)
      throws IOException {
    return GitWire.report(server.site(), PUSHED, user, old, tip, ref, pack);
  }

  private static HttpResponse<byte[]> exchange(
      GerritDaemon server, String project, String user, String what, String protocol, byte[] body)
      throws IOException {
    return GitWire.exchange(server.site(), project, user, what, protocol, body);
  }

  /** The same by a user who is signed in, which costs the server less, and by protocol 2. */
  private static HttpResponse<byte[]> withSession(
      GerritDaemon server, String session, String what, byte[] body) throws IOException {
    String url = server.site().url() + RULED + "/" + what;
    return GitWire.exchange(url, what, body, "Cookie", session, "Git-Protocol", "version=2");
  }
}
