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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;

/** Where a repository keeps its refs. Immutable; any thread may ask. */
public final class RefPaths {
  /** Of files that stand for a lock: git's own rule, which JGit follows. */
  public static final String LOCK = ".lock";

  /** In the repository: git and JGit look for refs in {@code refs/} alone. */
  private static final String TRANSACTIONS = "cache-chroniclemap";

  private final File gitFolder;
  private final File commonFolder;
  private final File refsFolder;
  private final File packedRefs;
  private final Path transactions;

  /**
   * Takes over the folders of a repository.
   *
   * @param packedRefs its {@code packed-refs}
   */
  public RefPaths(FileRepository repository, File packedRefs) {
    this.gitFolder = repository.getDirectory();
    this.commonFolder = repository.getCommonDirectory();
    this.refsFolder = repository.getFS().resolve(commonFolder, Constants.R_REFS);
    this.packedRefs = packedRefs;
    this.transactions = commonFolder.toPath().resolve(TRANSACTIONS);
  }

  File commonFolder() {
    return commonFolder;
  }

  public File refsFolder() {
    return refsFolder;
  }

  public File packedRefs() {
    return packedRefs;
  }

  /** The folder of the files that transactions keep while they run. */
  public Path transactions() {
    return transactions;
  }

  /**
   * Returns the file of a loose ref of that name.
   *
   * @throws IOException if this process can't name it, so that nobody can know whether it is there
   */
  public File loose(String name) throws IOException {
    File file =
        name.startsWith(Constants.R_REFS)
            ? new File(refsFolder, name.substring(Constants.R_REFS.length()))
            // A worktree has its own HEAD.
            : new File(name.equals(Constants.HEAD) ? gitFolder : commonFolder, name);
    if (!FileNames.ANY) {
      FileNames.check(file);
    }
    return file;
  }

  /**
   * Checks that this process can name the files of these refs.
   *
   * @throws IOException as {@link #loose}
   */
  public void checkNames(List<String> names) throws IOException {
    for (int i = 0; !FileNames.ANY && i < names.size(); i++) {
      File unused = loose(names.get(i));
    }
  }

  /** Where refs may be that are not below {@code refs/}, such as HEAD. */
  public Set<Path> foldersOfPseudorefs() {
    return Set.copyOf(List.of(gitFolder.toPath(), commonFolder.toPath()));
  }

  /** The file whose being there means that somebody changes a file. */
  public static Path lockOf(File file) {
    return new File(file.getParentFile(), file.getName() + LOCK).toPath();
  }

  /** Deletes the empty folders above the loose files of some refs, each folder once. */
  public void deleteEmptyParents(Collection<String> names) throws IOException {
    Set<File> done = new HashSet<>();
    for (String name : names) {
      File file = loose(name);
      if (done.add(file.getParentFile())) {
        deleteEmptyParents(file, name);
      }
    }
  }

  /**
   * Deletes the folders above a file of a ref that are empty, but for the first two levels, such as
   * {@code refs/heads}. Whoever is about to make a file in one makes the folder again.
   */
  public static void deleteEmptyParents(File file, String name) {
    File folder = file.getParentFile();
    for (int levels = levels(name) - 2; levels > 0; levels--) {
      // Not where somebody else was first.
      if (!deleteEmptyFolder(folder)) {
        return;
      }
      folder = folder.getParentFile();
    }
  }

  /**
   * Deletes a folder with nothing in it. Never a file: a ref may have taken the folder's place by
   * now, which the ways that File and Files have would delete as well.
   *
   * @return false if it is there, or is something else
   */
  static boolean deleteEmptyFolder(File folder) {
    if (!isEmptyFolder(folder)) {
      return false;
    }
    try (DirectoryStream<Path> above = Files.newDirectoryStream(folder.getParentFile().toPath())) {
      if (above instanceof SecureDirectoryStream<Path> secure) {
        secure.deleteDirectory(Path.of(folder.getName()));
        return true;
      }
      return folder.isDirectory() && folder.delete();
    } catch (IOException | InvalidPathException e) {
      return false;
    }
  }

  /** Asks for one entry: the folder may have very many. */
  private static boolean isEmptyFolder(File folder) {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder.toPath())) {
      return !entries.iterator().hasNext();
    } catch (IOException | InvalidPathException e) {
      return false;
    }
  }

  private static int levels(String name) {
    return (int) name.chars().filter(c -> c == '/').count();
  }
}
