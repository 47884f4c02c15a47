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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** A Java virtual machine of its own, so that its end, of whatever kind, is seen and survived. */
public final class ChildJvm implements AutoCloseable {
  private static final Pattern ERROR =
      Pattern.compile("(?m)^.*(Exception|Error\\b|SEVERE|SIGSEGV|SIGBUS).*$");

  private final Process process;
  private final Path errors;
  private final BufferedReader output;

  private ChildJvm(Process process, Path errors) {
    this.process = process;
    this.errors = errors;
    this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
  }

  /**
   * Starts a class of the tests with the flags a server has.
   *
   * @param folder where it works and leaves what it says on standard error
   */
  public static ChildJvm start(Path folder, Class<?> main, Object... arguments) throws IOException {
    return start("-Xmx512m", folder, main, arguments);
  }

  /** The same with another heap, such as {@code -Xmx64m}. */
  public static ChildJvm start(String heap, Path folder, Class<?> main, Object... arguments)
      throws IOException {
    return start(folder, List.of(), List.of(heap), main, arguments);
  }

  /**
   * Starts it within a limit of its memory.
   *
   * @param flags of the JVM, which say how it may use that
   */
  public static ChildJvm startWithin(
      MemoryLimit limit, List<String> flags, Path folder, Class<?> main, Object... arguments)
      throws IOException {
    return start(folder, limit.around(List.of()), flags, main, arguments);
  }

  private static ChildJvm start(
      Path folder, List<String> prefix, List<String> memory, Class<?> main, Object... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(prefix);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(Splitter.on(' ').splitToList(System.getProperty("module.jvm.flags")));
    command.addAll(memory);
    command.addAll(List.of("-XX:-CreateCoredumpOnCrash", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.add(main.getName());
    for (Object argument : arguments) {
      command.add(argument.toString());
    }
    Path errors = Files.createTempFile("child", ".stderr");
    return new ChildJvm(
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectError(errors.toFile())
            .start(),
        errors);
  }

  /**
   * Starts it with a file system in memory of its own, which nobody else sees and which goes with
   * the process.
   *
   * @param size such as 2m
   */
  public static ChildJvm startOnSmallDisk(
      Path folder, String size, Class<?> main, Object... arguments) throws IOException {
    Path disk = Files.createDirectories(folder.resolve("disk"));
    String script = "mount -t tmpfs -o size=" + size + ",mode=700 none \"$0\" && exec \"$@\"";
    List<String> prefix =
        new ArrayList<>(List.of("unshare", "--mount", "--propagation", "private"));
    if (!isRoot()) {
      prefix.add("--map-root-user");
    }
    prefix.addAll(List.of("sh", "-c", script, disk.toString()));
    return start(folder, prefix, List.of("-Xmx512m"), main, arguments);
  }

  private static boolean isRoot() {
    return System.getProperty("user.name").equals("root");
  }

  long pid() {
    return process.pid();
  }

  /** The next line of its standard output; null at the end. */
  public String readLine() throws IOException {
    return output.readLine();
  }

  /** Sends it a line. */
  public void println(String line) throws IOException {
    process.getOutputStream().write((line + "\n").getBytes(UTF_8));
    process.getOutputStream().flush();
  }

  /** All further lines of its standard output, once it has ended as it should. */
  public List<String> finish() throws Exception {
    List<String> lines = new ArrayList<>();
    for (String line = readLine(); line != null; line = readLine()) {
      lines.add(line);
    }
    boolean ended = process.waitFor(60, TimeUnit.SECONDS);
    assertWithMessage("ended, last lines %s", last(lines)).that(ended).isTrue();
    assertWithMessage(
            "exit code; last lines %s; standard error:\n%s", last(lines), Files.readString(errors))
        .that(process.exitValue())
        .isEqualTo(0);
    return lines;
  }

  private static List<String> last(List<String> lines) {
    return lines.subList(Math.max(0, lines.size() - 5), lines.size());
  }

  /** Waits for its end, so long at most; returns its exit status, or empty if it goes on. */
  public OptionalInt awaitEnd(long millis) throws InterruptedException {
    return process.waitFor(millis, TimeUnit.MILLISECONDS)
        ? OptionalInt.of(process.exitValue())
        : OptionalInt.empty();
  }

  /** What it has said on standard error. */
  public String errors() throws IOException {
    return Files.readString(errors);
  }

  /** Whether that names an error, or the end of the JVM by a signal. */
  public boolean saidError() throws IOException {
    return ERROR.matcher(errors()).find();
  }

  /** SIGKILL. What it has said until then can still be read. */
  public void kill() {
    // Not by the process itself, which would close its streams.
    process.toHandle().destroyForcibly();
    process.onExit().join();
  }

  /**
   * As {@link #kill}; returns when the processes have ended that it had started. They are not
   * killed, and go on with what they were at.
   */
  public void killAndAwaitChildren() throws IOException, InterruptedException {
    // Stopped before, so that it starts no more of them.
    var unused = new ProcessBuilder("kill", "-STOP", "" + process.pid()).start().waitFor();
    List<ProcessHandle> children = process.descendants().toList();
    kill();
    for (ProcessHandle child : children) {
      if (isNotStarted(child)) {
        child.destroyForcibly();
      }
      child.onExit().join();
    }
  }

  /**
   * Whether it waits to be told by the JVM what to start. Two of them have each other's pipes open,
   * and would wait for ever.
   */
  private static boolean isNotStarted(ProcessHandle child) {
    return child.info().command().filter(command -> command.endsWith("jspawnhelper")).isPresent();
  }

  @Override
  public void close() throws IOException {
    kill();
    output.close();
    Files.deleteIfExists(errors);
  }
}
