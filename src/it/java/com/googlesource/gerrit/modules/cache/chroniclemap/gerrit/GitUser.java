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

import com.google.common.hash.Hashing;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.dircache.DirCache;
import org.eclipse.jgit.dircache.DirCacheBuilder;
import org.eclipse.jgit.dircache.DirCacheEntry;
import org.eclipse.jgit.internal.storage.dfs.DfsRepositoryDescription;
import org.eclipse.jgit.internal.storage.dfs.InMemoryRepository;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.FileMode;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.ObjectReader;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.FetchConnection;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RefSpec;
import org.eclipse.jgit.transport.RemoteRefUpdate;
import org.eclipse.jgit.transport.Transport;
import org.eclipse.jgit.transport.TransportHttp;
import org.eclipse.jgit.transport.URIish;
import org.eclipse.jgit.transport.UsernamePasswordCredentialsProvider;

/** A Git repository in memory from which one user pushes to one project over HTTP. */
final class GitUser implements AutoCloseable {
  private final InMemoryRepository repository =
      new InMemoryRepository(new DfsRepositoryDescription("work"));

  private final URIish remote;
  @Nullable private final UsernamePasswordCredentialsProvider password;
  @Nullable private final String cookie;
  private final PersonIdent person;

  GitUser(String url, String project, String user, String email, String password)
      throws IOException {
    this(
        url,
        project,
        user,
        email,
        new UsernamePasswordCredentialsProvider(user, password),
        /* cookie= */ null);
  }

  private GitUser(
      String url,
      String project,
      String user,
      String email,
      @Nullable UsernamePasswordCredentialsProvider password,
      @Nullable String cookie)
      throws IOException {
    HermeticGit.install();
    try {
      this.remote = new URIish(url + "a/" + project);
    } catch (java.net.URISyntaxException e) {
      throw new IOException(e);
    }
    this.password = password;
    this.cookie = cookie;
    this.person = new PersonIdent(user, email, Instant.now(), ZoneOffset.UTC);
  }

  /** One who is signed in already: no password is hashed for each request. */
  static GitUser withCookie(String url, String project, String user, String cookie)
      throws IOException {
    return new GitUser(url, project, user, user + "@example.com", null, cookie);
  }

  /** A file of a commit. */
  record Content(String path, String text) {}

  /** The branch as it is on the server. */
  ObjectId fetch(String branch) throws IOException {
    try (Transport transport = open()) {
      transport.fetch(
          NullProgressMonitor.INSTANCE, List.of(new RefSpec("+" + branch + ":" + branch)));
    } catch (org.eclipse.jgit.errors.TransportException e) {
      throw new IOException("fetch " + branch, e);
    }
    return repository.exactRef(branch).getObjectId();
  }

  /** All refs that the server shows, but HEAD. */
  Map<String, ObjectId> refs() throws IOException {
    Map<String, ObjectId> refs = new HashMap<>();
    try (Transport transport = open();
        FetchConnection connection = transport.openFetch()) {
      for (Ref ref : connection.getRefs()) {
        if (ref.getName().startsWith(Constants.R_REFS)) {
          refs.put(ref.getName(), ref.getObjectId());
        }
      }
    } catch (org.eclipse.jgit.errors.TransportException e) {
      throw new IOException("list refs", e);
    }
    return refs;
  }

  /** A commit on top of another, with files added or replaced and a Change-Id of its own. */
  ObjectId commit(ObjectId parent, String subject, List<Content> files) throws IOException {
    String changeId = "I" + Hashing.sha256().hashString(subject, StandardCharsets.UTF_8).toString();
    return commit(parent, subject, changeId.substring(0, 41), files);
  }

  /** A commit on top of another, for a change that there may be already. */
  ObjectId commit(ObjectId parent, String subject, String changeId, List<Content> files)
      throws IOException {
    try (ObjectInserter inserter = repository.newObjectInserter();
        RevWalk walk = new RevWalk(repository)) {
      CommitBuilder commit = new CommitBuilder();
      commit.setParentId(parent);
      commit.setTreeId(
          tree(walk.getObjectReader(), inserter, walk.parseCommit(parent).getTree(), files));
      commit.setAuthor(person);
      commit.setCommitter(person);
      commit.setMessage(subject + "\n\nChange-Id: " + changeId + "\n");
      ObjectId id = inserter.insert(commit);
      inserter.flush();
      return id;
    }
  }

  private static ObjectId tree(
      ObjectReader reader, ObjectInserter inserter, ObjectId base, List<Content> files)
      throws IOException {
    DirCache index = DirCache.newInCore();
    Map<String, String> texts =
        files.stream().collect(java.util.stream.Collectors.toMap(Content::path, Content::text));
    DirCacheBuilder old = index.builder();
    old.addTree(new byte[0], DirCacheEntry.STAGE_0, reader, base);
    old.finish();
    DirCacheBuilder merged = index.builder();
    for (int i = 0; i < index.getEntryCount(); i++) {
      if (!texts.containsKey(index.getEntry(i).getPathString())) {
        merged.add(index.getEntry(i));
      }
    }
    for (Content file : files) {
      DirCacheEntry entry = new DirCacheEntry(file.path());
      entry.setFileMode(FileMode.REGULAR_FILE);
      entry.setObjectId(
          inserter.insert(Constants.OBJ_BLOB, file.text().getBytes(StandardCharsets.UTF_8)));
      merged.add(entry);
    }
    merged.finish();
    return index.writeTree(inserter);
  }

  /** Fetches all refs that the server shows, as a mirror does; answers with what is here then. */
  Map<String, ObjectId> mirror() throws IOException {
    try (Transport transport = open()) {
      transport.setRemoveDeletedRefs(true);
      transport.fetch(NullProgressMonitor.INSTANCE, List.of(new RefSpec("+refs/*:refs/*")));
    } catch (org.eclipse.jgit.errors.TransportException e) {
      throw new IOException("fetch all refs", e);
    }
    Map<String, ObjectId> refs = new HashMap<>();
    for (Ref ref : repository.getRefDatabase().getRefsByPrefix(Constants.R_REFS)) {
      refs.put(ref.getName(), ref.getObjectId());
    }
    return refs;
  }

  /** Pushes a commit, and fails if the server refuses it; answers with what the server said. */
  String push(ObjectId commit, String ref) throws IOException {
    Pushed pushed = tryPush(commit, ref);
    if (pushed.status() != RemoteRefUpdate.Status.OK) {
      throw new IOException("push to " + ref + " -> " + pushed);
    }
    return pushed.messages();
  }

  /**
   * What came of a push.
   *
   * @param reason of a refusal; may be null
   * @param messages that the server has for the user
   */
  record Pushed(RemoteRefUpdate.Status status, @Nullable String reason, String messages) {}

  /** Pushes a commit, or deletes the ref where the commit is null; the server may refuse it. */
  Pushed tryPush(@Nullable ObjectId commit, String ref) throws IOException {
    RemoteRefUpdate update =
        new RemoteRefUpdate(
            repository,
            null,
            commit == null ? ObjectId.zeroId() : commit,
            ref,
            /* forceUpdate= */ commit == null,
            null,
            null);
    try (Transport transport = open()) {
      PushResult result = transport.push(NullProgressMonitor.INSTANCE, List.of(update));
      RemoteRefUpdate done = result.getRemoteUpdate(ref);
      return new Pushed(done.getStatus(), done.getMessage(), result.getMessages());
    }
  }

  private Transport open() throws IOException {
    Transport transport = Transport.open(repository, remote);
    if (cookie == null) {
      transport.setCredentialsProvider(password);
    } else {
      ((TransportHttp) transport).setAdditionalHeaders(Map.of("Cookie", cookie));
    }
    return transport;
  }

  @Override
  public void close() {
    repository.close();
  }
}
