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

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.NewerGit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.eclipse.jgit.errors.ConfigInvalidException;
import org.eclipse.jgit.storage.file.FileBasedConfig;
import org.eclipse.jgit.util.FS;

/**
 * A Gerrit site in a folder of its own, made by Gerrit's own init and then changed as an admin
 * would: edit {@code gerrit.config}, drop the jar into {@code lib/}. Loopback only.
 *
 * <pre>
 * root/site   the site
 * root/home   the home folder of the user it runs as, with the admin's SSH key
 * </pre>
 *
 * Closing it removes the folder; its daemons must be closed first.
 */
final class GerritSite implements AutoCloseable {
  static final String MODULE =
      "com.googlesource.gerrit.modules.cache.chroniclemap.ChronicleMapCacheModule";

  static final String REFS_MODULE =
      "com.googlesource.gerrit.modules.cache.chroniclemap.PackedRefsModule";

  /** What the module asks of the JVM, as an admin adds it to {@code gerrit.config}. */
  static final ImmutableList<String> MODULE_FLAGS =
      ImmutableList.of(
          "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
          "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED");

  private static final Duration INIT_LIMIT = Duration.ofMinutes(3);

  private final Path root;
  private final KeyPair adminKey;
  private final int httpPort = Ports.free();
  private final int sshPort = Ports.free();
  private Path javaHome = Path.of(System.getProperty("java.home"));

  private GerritSite(Path root, KeyPair adminKey) {
    this.root = root;
    this.adminKey = adminKey;
  }

  /** Runs Gerrit's init in a new folder. */
  static GerritSite init(Path root) throws IOException, InterruptedException {
    GerritSite site = new GerritSite(Files.createDirectories(root), SshKeys.generate());
    AtExit.add(site);
    SshKeys.write(site.adminKey, site.home().resolve(".ssh"));
    site.runInit(GerritWar.assemble());
    site.configureAfterInit();
    return site;
  }

  /** A new site like this one, as it is now, on other ports; no daemon may run in this one. */
  GerritSite copyTo(Path otherRoot) throws IOException {
    Folders.copy(root, otherRoot);
    GerritSite copy = new GerritSite(otherRoot, adminKey);
    AtExit.add(copy);
    copy.javaHome = javaHome;
    copy.configureAfterInit();
    return copy;
  }

  private void runInit(Path war) throws IOException, InterruptedException {
    Path tmp = Files.createDirectories(root.resolve("tmp"));
    Path output = root.resolve("init.log");
    ProcessBuilder init =
        command(
                List.of(
                    "-Duser.home=" + home(),
                    "-jar",
                    war.toString(),
                    "init",
                    "--batch",
                    "--no-auto-start",
                    "--dev",
                    "--skip-all-downloads",
                    "--skip-plugins",
                    "-d",
                    path().toString()))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    init.environment().put("GERRIT_TMP", tmp.toString());
    Process process = init.start();
    boolean ended = process.waitFor(INIT_LIMIT.toSeconds(), TimeUnit.SECONDS);
    process.destroyForcibly();
    if (!ended || process.exitValue() != 0) {
      throw new IOException("init of the Gerrit site failed:\n" + Files.readString(output));
    }
    Folders.delete(tmp);
  }

  /** Runs a program of Gerrit on this site, such as {@code reindex}; answers with its output. */
  String runProgram(String name, String... arguments) throws IOException, InterruptedException {
    List<String> line = new ArrayList<>(javaOptions(config()));
    line.addAll(List.of("-jar", path().resolve("bin/gerrit.war").toString(), name));
    line.addAll(List.of("-d", path().toString()));
    line.addAll(List.of(arguments));
    Path tmp = Files.createDirectories(root.resolve("tmp"));
    Path output = root.resolve(name + ".out");
    ProcessBuilder program =
        command(line).redirectErrorStream(true).redirectOutput(output.toFile());
    program.environment().put("GERRIT_TMP", tmp.toString());
    Process process = program.start();
    boolean ended = process.waitFor(INIT_LIMIT.toSeconds(), TimeUnit.SECONDS);
    process.destroyForcibly();
    String said = Files.readString(output);
    if (!ended || process.exitValue() != 0) {
      throw new IOException(name + " failed:\n" + said);
    }
    Folders.delete(tmp);
    return said;
  }

  private void configureAfterInit() throws IOException {
    edit(
        config -> {
          config.setString("gerrit", null, "canonicalWebUrl", url());
          config.setString("httpd", null, "listenUrl", url());
          config.setString("sshd", null, "listenAddress", "127.0.0.1:" + sshPort);
          config.setBoolean("sendemail", null, "enable", false);
          config.setString("container", null, "javaHome", javaHome.toString());
          config.setString("container", null, "heapLimit", "1g");
          // Gerrit itself needs 4 s to stop; gerrit.sh looks after 4 s and then waits for this
          // long.
          config.setString("container", null, "shutdownTimeout", "10 s");
        });
    editJavaOptions(
        options -> {
          options.removeIf(option -> option.startsWith("-Duser.home="));
          options.add("-Duser.home=" + home());
        });
  }

  /** Drops the jar into {@code lib/} and adds the lines to {@code gerrit.config}. */
  void installModule(Path jar) throws IOException {
    Path lib = Files.createDirectories(path().resolve("lib"));
    Files.copy(jar, lib.resolve("cache-chroniclemap.jar"), StandardCopyOption.REPLACE_EXISTING);
    edit(config -> config.setString("gerrit", null, "installModule", MODULE));
    editJavaOptions(
        options -> {
          options.removeAll(MODULE_FLAGS);
          options.addAll(MODULE_FLAGS);
        });
  }

  /** Goes back to H2 as the documentation says: one line less. */
  void goBackToH2() throws IOException {
    edit(config -> config.unset("gerrit", null, "installModule"));
  }

  /** Adds the line for parsed ref lists; the jar is there. */
  void installRefsModule() throws IOException {
    edit(config -> config.setString("gerrit", null, "installDbModule", REFS_MODULE));
  }

  /** Sets the Java that the daemon runs on. */
  void setJavaHome(Path javaHome) throws IOException {
    this.javaHome = javaHome;
    edit(config -> config.setString("container", null, "javaHome", javaHome.toString()));
  }

  /** Changes {@code gerrit.config}; counts from the next start of the daemon. */
  void edit(Consumer<FileBasedConfig> change) throws IOException {
    FileBasedConfig config = config();
    change.accept(config);
    config.save();
  }

  /** Changes the options of the daemon's Java. */
  void editJavaOptions(Consumer<List<String>> change) throws IOException {
    edit(
        config -> {
          List<String> options = new ArrayList<>(javaOptions(config));
          change.accept(options);
          config.setStringList("container", null, "javaOptions", options);
        });
  }

  FileBasedConfig config() throws IOException {
    FileBasedConfig config =
        new FileBasedConfig(path().resolve("etc/gerrit.config").toFile(), FS.DETECTED);
    try {
      config.load();
    } catch (ConfigInvalidException e) {
      throw new IOException(e);
    }
    return config;
  }

  static List<String> javaOptions(FileBasedConfig config) {
    List<String> options = new ArrayList<>();
    for (String line : config.getStringList("container", null, "javaOptions")) {
      options.addAll(Splitter.onPattern("\\s+").omitEmptyStrings().splitToList(line));
    }
    return options;
  }

  /** A command of the site's Java, in an environment that no setting of the caller leaks into. */
  ProcessBuilder command(List<String> args) {
    List<String> line = new ArrayList<>();
    line.add(javaHome.resolve("bin/java").toString());
    line.addAll(args);
    return clean(new ProcessBuilder(line));
  }

  /** Takes out what would steer Gerrit or its start script from outside. */
  ProcessBuilder clean(ProcessBuilder process) {
    for (String name :
        List.of("GERRIT_SITE", "GERRIT_WAR", "JAVA_OPTIONS", "JAVA", "NO_START", "TMP")) {
      process.environment().remove(name);
    }
    process.environment().put("HOME", home().toString());
    return process.directory(root.toFile());
  }

  Path path() {
    return root.resolve("site");
  }

  Path home() {
    return root.resolve("home");
  }

  /** Where outputs of processes go; not in the site's logs, which Gerrit renames and packs. */
  Path outputs() {
    return root;
  }

  /** The folder of a project's repository. */
  Path repository(String project) {
    return path().resolve("git").resolve(project + ".git");
  }

  /**
   * Runs native git in a project's repository, as an administrator's script does, and fails if it
   * fails. Returns its output.
   */
  String git(String project, String... args) throws IOException {
    return run(Reftables.isIn(repository(project)) ? NewerGit.path() : "git", project, args);
  }

  /**
   * Has native git move a project's refs to reftables while no daemon runs. Reflogs are lost, which
   * only git 2.48 or later moves.
   */
  void migrateToReftables(String project) throws IOException {
    Folders.delete(repository(project).resolve("logs"));
    var unused = run(NewerGit.path(), project, "refs", "migrate", "--ref-format=reftable");
    // Or JGit would not look for what native git writes, and could write an old list over it.
    unused = git(project, "config", "reftable.autoRefresh", "true");
    unused = git(project, "config", "core.trustTablesListStat", "never");
  }

  private String run(String git, String project, String... args) throws IOException {
    List<String> command = new ArrayList<>(List.of(git, "--git-dir=" + repository(project)));
    command.addAll(List.of(args));
    Path err = Files.createTempFile(outputs(), "git", ".err");
    try {
      Process process = clean(new ProcessBuilder(command)).redirectError(err.toFile()).start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new IOException(command + " -> " + process.exitValue() + " " + Files.readString(err));
      }
      return output;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } finally {
      Files.delete(err);
    }
  }

  Path cacheFolder() {
    return path().resolve("cache");
  }

  String url() {
    return "http://127.0.0.1:" + httpPort + "/";
  }

  String sshUrl(String user, String project) {
    return "ssh://" + user + "@127.0.0.1:" + sshPort + "/" + project;
  }

  int sshPort() {
    return sshPort;
  }

  KeyPair adminKey() {
    return adminKey;
  }

  /** Copies the daemon's logs to the build folder: they say what went wrong in a test. */
  Path saveLogs(String name) throws IOException {
    Path to = BuildFolder.path().resolve("gerrit-logs").resolve(name);
    Folders.delete(to);
    Files.createDirectories(to.getParent());
    if (Files.isDirectory(path().resolve("logs"))) {
      Folders.copy(path().resolve("logs"), to);
    }
    return to;
  }

  @Override
  public void close() throws IOException {
    Folders.delete(root);
    AtExit.remove(this);
  }

  /** Leaves the folder where it is, also at the end of this process. */
  void keep() {
    AtExit.remove(this);
  }
}
