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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.ForwardingDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
 */
final class CrashingDisk extends ForwardingDisk {
  private static final int PAGE = 4096;

  private final Path shadows;
  private final String boot;

  /** What was done with names since the start. */
  private final List<Map<String, Path>> folders = new ArrayList<>();

  private int synced;

  /** What each file held when it was last forced. */
  private final Map<Path, byte[]> forced = new HashMap<>();

  /**
   * Begins with a folder as it is.
   *
   * @param shadows an empty folder beside it, where all files stay that were ever made
   */
  CrashingDisk(Path folder, Path shadows, String boot) throws IOException {
    super(Disk.REAL);
    this.shadows = shadows;
    this.boot = boot;
    Files.createDirectories(shadows);
    Map<String, Path> names = new HashMap<>();
    if (Files.exists(folder)) {
      for (Path file : Disk.REAL.list(folder)) {
        Path shadow = shadow(file);
        names.put(file.getFileName().toString(), shadow);
        forced.put(shadow, Files.readAllBytes(shadow));
      }
    }
    folders.add(names);
  }

  private Path shadow(Path file) throws IOException {
    return Files.createLink(
        shadows.resolve(file.getFileName() + "-" + shadows.toFile().list().length), file);
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

  private Map<String, Path> now() {
    return folders.get(folders.size() - 1);
  }

  private interface Change {
    void to(Map<String, Path> names) throws IOException;
  }

  private synchronized void change(Change change) throws IOException {
    Map<String, Path> names = new HashMap<>(now());
    change.to(names);
    folders.add(names);
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
    synced = folders.size() - 1;
  }

  @Override
  public synchronized void force(Path file) throws IOException {
    Path shadow = now().get(file.getFileName().toString());
    forced.put(shadow, Files.readAllBytes(shadow));
  }

  /** Writes what might be left into an empty folder. */
  synchronized void crash(Path into, Random random) throws IOException {
    Map<String, Path> names = folders.get(synced + random.nextInt(folders.size() - synced));
    Files.createDirectories(into);
    for (Map.Entry<String, Path> name : names.entrySet()) {
      byte[] left = Files.readAllBytes(name.getValue());
      byte[] before = forced.getOrDefault(name.getValue(), new byte[0]);
      // Of some files nearly all is lost, of others hardly anything.
      int lost = random.nextInt(5);
      for (int at = 0; at < left.length; at += PAGE) {
        if (random.nextInt(4) < lost) {
          int end = Math.min(left.length, at + PAGE);
          byte[] page = Arrays.copyOfRange(before, Math.min(at, before.length), before.length);
          System.arraycopy(Arrays.copyOf(page, end - at), 0, left, at, end - at);
        }
      }
      Path file = Files.write(into.resolve(name.getKey()), left);
      FileTime modified = Files.getLastModifiedTime(name.getValue());
      Files.setLastModifiedTime(file, modified);
    }
  }
}
