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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * The disk of this machine, and what of it might be left had the machine stopped at a moment: of
 * each page of 4 KB either what it was when its file was last forced, or what it is, and of what
 * was made, moved and deleted in the folder a part in its order, all of it up to the last sync.
 *
 * <p>Notes all that beside the folder, so that another process can let the machine stop when this
 * one was killed.
 */
final class CrashingDisk extends Disk {
  private static final int PAGE = 4096;

  private final Path shadows;
  private final String boot;

  /** What was done with names since the start: the shadow of each file. */
  private final List<Map<String, String>> folders = new ArrayList<>();

  private int synced;

  /** A copy of what each file held when it was last forced, by its shadow. */
  private final Map<String, String> forced = new HashMap<>();

  private int shadowed;

  /**
   * Begins with a folder as it is.
   *
   * @param shadows an empty folder beside it, where all files stay that were ever made
   */
  CrashingDisk(Path folder, Path shadows, String boot) throws IOException {
    this.shadows = shadows;
    this.boot = boot;
    Files.createDirectories(shadows);
    Map<String, String> names = new HashMap<>();
    if (Files.exists(folder)) {
      for (Path file : Disk.REAL.list(folder)) {
        String shadow = shadow(file);
        names.put(file.getFileName().toString(), shadow);
        copyForced(shadow);
      }
    }
    addFolder(names);
    note("synced");
  }

  /** Takes up what another process noted that is no more. */
  CrashingDisk(Path shadows) throws IOException {
    this.shadows = shadows;
    this.boot = "";
    String all = Files.readString(log(), UTF_8);
    // The last line may have been cut off.
    for (String line : all.substring(0, all.lastIndexOf('\n')).split("\n", -1)) {
      List<String> words = Splitter.on('\t').splitToList(line);
      switch (words.get(0)) {
        case "names" -> {
          Map<String, String> names = new HashMap<>();
          for (int i = 1; i + 1 < words.size(); i += 2) {
            names.put(words.get(i), words.get(i + 1));
          }
          folders.add(names);
        }
        case "synced" -> synced = folders.size() - 1;
        case "forced" -> forced.put(words.get(1), words.get(2));
        default -> throw new IOException("what is this: " + line);
      }
    }
  }

  private Path log() {
    return shadows.resolve("log");
  }

  /** Notes something in one go, so that a kill leaves whole lines. */
  private void note(String line) throws IOException {
    Path unused =
        Files.writeString(log(), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  private void addFolder(Map<String, String> names) throws IOException {
    StringBuilder line = new StringBuilder("names");
    names.forEach((name, shadow) -> line.append('\t').append(name).append('\t').append(shadow));
    note(line.toString());
    folders.add(names);
  }

  private String shadow(Path file) throws IOException {
    String name = file.getFileName() + "-" + shadowed++;
    Files.createLink(shadows.resolve(name), file);
    return name;
  }

  private void copyForced(String shadow) throws IOException {
    String copy = shadow + "-forced-" + shadowed++;
    Files.copy(shadows.resolve(shadow), shadows.resolve(copy));
    note("forced\t" + shadow + "\t" + copy);
    String before = forced.put(shadow, copy);
    if (before != null) {
      Files.delete(shadows.resolve(before));
    }
  }

  @Override
  public String boot(Path file) {
    return boot;
  }

  /** The files have been copied since: that is no part of the play. */
  @Override
  public boolean hasKey(Path file, String key) {
    return true;
  }

  private Map<String, String> now() {
    return folders.get(folders.size() - 1);
  }

  private interface Change {
    void to(Map<String, String> names) throws IOException;
  }

  private synchronized void change(Change change) throws IOException {
    Map<String, String> names = new HashMap<>(now());
    change.to(names);
    addFolder(names);
  }

  @Override
  public synchronized void create(Path file) throws IOException {
    super.create(file);
    change(names -> names.put(file.getFileName().toString(), shadow(file)));
  }

  @Override
  public synchronized void delete(Path file) throws IOException {
    super.delete(file);
    change(names -> names.remove(file.getFileName().toString()));
  }

  @Override
  public synchronized void move(Path from, Path to) throws IOException {
    super.move(from, to);
    change(
        names ->
            names.put(to.getFileName().toString(), names.remove(from.getFileName().toString())));
  }

  @Override
  public synchronized void sync(Path folder) throws IOException {
    note("synced");
    synced = folders.size() - 1;
  }

  @Override
  public synchronized void force(Path file, FileChannel open) throws IOException {
    String shadow = now().get(file.getFileName().toString());
    if (shadow == null) {
      throw new NoSuchFileException(file.toString());
    }
    copyForced(shadow);
  }

  /** Writes what might be left into an empty folder. */
  synchronized void crash(Path into, Random random) throws IOException {
    Map<String, String> names = folders.get(synced + random.nextInt(folders.size() - synced));
    Files.createDirectories(into);
    for (Map.Entry<String, String> name : names.entrySet()) {
      Path shadow = shadows.resolve(name.getValue());
      byte[] left = Files.readAllBytes(shadow);
      String copy = forced.get(name.getValue());
      byte[] before = copy == null ? new byte[0] : Files.readAllBytes(shadows.resolve(copy));
      // Of some files nearly all is lost, of others hardly anything.
      int lost = random.nextInt(5);
      for (int at = 0; at < left.length; at += PAGE) {
        if (random.nextInt(4) < lost) {
          int end = Math.min(left.length, at + PAGE);
          int from = Math.min(at, before.length);
          byte[] page = Arrays.copyOfRange(before, from, Math.min(end, before.length));
          System.arraycopy(Arrays.copyOf(page, end - at), 0, left, at, end - at);
        }
      }
      Path file = Files.write(into.resolve(name.getKey()), left);
      FileTime modified = Files.getLastModifiedTime(shadow);
      Files.setLastModifiedTime(file, modified);
    }
  }
}
