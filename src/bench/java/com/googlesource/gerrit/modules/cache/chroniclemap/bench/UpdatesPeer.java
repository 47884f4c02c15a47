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

import com.google.common.base.Joiner;
import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.eclipse.jgit.lib.RefDatabase;

/** Who updates refs: this module, and others beside it. */
enum UpdatesPeer implements Bench.Peer {
  OURS("ours", ""),
  /** That of Gerrit 3.13.5. */
  JGIT_7_4("JGit 7.4", "org.eclipse.jgit-7.4.0.202509020913-r.jar"),
  /** That of Gerrit 3.14.2. */
  JGIT_7_7("JGit 7.7", "org.eclipse.jgit-7.7.1.202607240634-r.jar"),
  GIT("git", "");

  private final String title;
  private final String what;

  UpdatesPeer(String title, String what) {
    this.title = title;
    this.what = what;
  }

  @Override
  public String title() {
    return title;
  }

  /** A home folder for processes that are measured: no setting of the caller gets to them. */
  record Home(Path folder, File log) {
    static Home make(Path folder) throws IOException {
      return new Home(Files.createDirectories(folder), new File(System.getProperty("bench.log")));
    }

    /** Takes all settings of the caller away from a process. */
    ProcessBuilder hermetic(ProcessBuilder process) {
      Map<String, String> environment = process.environment();
      environment.keySet().removeIf(name -> name.startsWith("GIT_"));
      environment.put("HOME", folder.toString());
      environment.put("XDG_CONFIG_HOME", folder.toString());
      environment.put("GIT_CONFIG_NOSYSTEM", "1");
      return process;
    }

    /** Starts one whose input and output are pipes; its errors go to the log. */
    Process start(ProcessBuilder process) throws IOException {
      return hermetic(process).redirectError(ProcessBuilder.Redirect.appendTo(log)).start();
    }
  }

  /** One who updates the refs of one repository, and is told when. */
  interface Contender extends Closeable {
    /** Has it look at the repository, which has been brought back to a state that it knows. */
    void prime() throws IOException;

    /**
     * Has it make runs.
     *
     * @param first number of the first run
     * @param most how many runs there may be
     * @param millis after which none is begun any more; one is made in any case
     */
    Turn run(UpdatesOperation operation, int first, int most, int millis) throws IOException;
  }

  /** Starts it on a repository of its own. */
  Contender open(Home home, UpdatesRepository repository, int writers) throws IOException {
    if (this == GIT) {
      return new GitUpdates(home, repository.folder, repository.input, writers);
    }
    return new WorkerUpdates(
        home,
        this == OURS ? System.getProperty("java.class.path") : jgitClassPath(),
        List.of(
            this == OURS ? UpdatesWorker.OURS : UpdatesWorker.JGIT,
            repository.folder.toString(),
            repository.inputFolder.toString(),
            Integer.toString(writers)));
  }

  /** Another JGit comes first; what JGit itself needs is in Gerrit's jar behind it. */
  private String jgitClassPath() {
    return String.join(
        File.pathSeparator,
        Path.of(System.getProperty("bench.jgit"), what).toString(),
        BuildFolder.jarOf(UpdatesWorker.class).toString(),
        BuildFolder.jarOf(RefDatabase.class).toString());
  }

  /** A contender in Java: an {@link UpdatesWorker} in a process of its own. */
  private static final class WorkerUpdates implements Contender {
    /** Far more than anything should take. */
    private static final int SECONDS_TO_ANSWER = 600;

    private final WorkerProcess process;

    /**
     * Starts the process.
     *
     * @param classPath what it has: a JGit, and {@link UpdatesWorker}
     * @param arguments of {@link UpdatesWorker}
     */
    WorkerUpdates(Home home, String classPath, List<String> arguments) throws IOException {
      List<String> command = new ArrayList<>(WorkerProcess.java());
      command.add("-Duser.home=" + home.folder());
      command.addAll(List.of("-cp", classPath, UpdatesWorker.class.getName()));
      command.addAll(arguments);
      process = new WorkerProcess(home.hermetic(new ProcessBuilder(command)), SECONDS_TO_ANSWER);
    }

    @Override
    public void prime() throws IOException {
      var unused = process.ask(UpdatesWorker.PRIME);
    }

    @Override
    public Turn run(UpdatesOperation operation, int first, int most, int millis)
        throws IOException {
      String answer =
          process.ask(
              Joiner.on(' ').join(UpdatesWorker.RUN, operation.name(), first, most, millis));
      List<Long> numbers = Splitter.on(' ').splitToStream(answer).map(Long::valueOf).toList();
      return new Turn(
          numbers.get(0),
          numbers.get(1),
          OptionalLong.of(numbers.get(2)),
          numbers.subList(3, numbers.size()).stream().mapToLong(Long::longValue).toArray());
    }

    @Override
    public void close() throws IOException {
      process.close();
    }
  }
}
