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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.OurRefs;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.file.Path;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

/** Who answers questions about refs. */
public enum RefsPeer implements Bench.Peer {
  /** This module. */
  OURS("ours") {
    @Override
    RefReader open(Path repository, OurRefs ours) throws IOException {
      FileRepository files = new FileRepository(repository.toFile());
      return new JGitRefReader(files, ours.open(files));
    }
  },

  /** JGit on the same files. */
  REF_DIRECTORY("RefDirectory") {
    @Override
    RefReader open(Path repository, OurRefs ours) throws IOException {
      FileRepository files = new FileRepository(repository.toFile());
      return new JGitRefReader(files, files.getRefDatabase());
    }
  },

  /** Native git on the same files, in a process that is kept. */
  GIT("git") {
    @Override
    RefReader open(Path repository, OurRefs ours) throws IOException {
      return new GitRefReader(repository);
    }
  };

  private final String title;

  RefsPeer(String title) {
    this.title = title;
  }

  @Override
  public String title() {
    return title;
  }

  /**
   * Opens a repository of which this process knows nothing.
   *
   * @param ours only for this module
   */
  abstract RefReader open(Path repository, OurRefs ours) throws IOException;

  /** Asks a database of JGit's kind, this module's among them. */
  private static final class JGitRefReader implements RefReader {
    private final FileRepository repository;
    private final RefDatabase refs;

    JGitRefReader(FileRepository repository, RefDatabase refs) {
      this.repository = repository;
      this.refs = refs;
    }

    @Override
    public boolean exactRef(String name) throws IOException {
      Ref ref = refs.exactRef(name);
      return ref != null && ref.getObjectId() != null;
    }

    @Override
    public int prefix(String prefix) throws IOException {
      return count(refs.getRefsByPrefix(prefix));
    }

    @Override
    public int all() throws IOException {
      return count(refs.getRefs());
    }

    private static int count(Iterable<Ref> some) {
      int count = 0;
      for (Ref ref : some) {
        count += ref.getName().isEmpty() ? 0 : 1;
      }
      return count;
    }

    @Override
    public int conflictingNames(String name) throws IOException {
      return refs.getConflictingNames(name).size();
    }

    @Override
    public int tips(ObjectId id) throws IOException {
      return refs.getTipsWithSha1(id).size();
    }

    @Override
    public void close() {
      repository.close();
    }
  }

  /**
   * Asks native git: for single refs one process that is kept running, one request after the other;
   * for all refs a process each time. It reports the type and size of the object too, which it
   * looks up in the one pack there is.
   */
  private static final class GitRefReader implements RefReader {
    private final Path repository;
    private final Process process;
    private final BufferedWriter requests;
    private final BufferedReader answers;

    GitRefReader(Path repository) throws IOException {
      this.repository = repository;
      process = start(repository, "cat-file", "--batch-check");
      requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), UTF_8));
      answers = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    }

    private static Process start(Path repository, String... command) throws IOException {
      ProcessBuilder git = new ProcessBuilder("git", "--git-dir", repository.toString());
      for (String word : command) {
        git.command().add(word);
      }
      return git.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    @Override
    public boolean exactRef(String name) throws IOException {
      requests.write(name);
      requests.write('\n');
      requests.flush();
      String answer = answers.readLine();
      if (answer == null) {
        throw new IOException("git has ended");
      }
      return !answer.endsWith(" missing");
    }

    @Override
    public int all() throws IOException {
      Process listing = start(repository, "for-each-ref");
      int count = 0;
      try (BufferedReader lines =
          new BufferedReader(new InputStreamReader(listing.getInputStream(), UTF_8))) {
        while (lines.readLine() != null) {
          count++;
        }
      }
      return count;
    }

    @Override
    public void close() throws IOException {
      requests.close();
      process.destroy();
    }
  }
}
