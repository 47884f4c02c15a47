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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;

/**
 * The paths of the refs of a repository. Immutable.
 *
 * <p>Java encodes file names by the locale in which the process was started, and no flag changes
 * that. In the POSIX locale, {@code java.nio} refuses the file of {@code refs/heads/\u00e9}, and
 * {@code java.io} takes it for one named {@code ?}. A name that this process cannot express is
 * refused.
 */
public final class RefPaths {
  /** The suffix of lock files, by git's own rule, which JGit follows. */
  public static final String LOCK = ".lock";

  /** The longest name of a ref in bytes, which is also the longest path of Linux. */
  static final int MAX_BYTES = 4096;

  /** The longest name of a file in bytes, in all usual file systems. */
  private static final int MAX_FILE_NAME = 255;

  /** A folder in the repository, as git and JGit look for refs only in {@code refs/}. */
  private static final String TRANSACTIONS = "cache-chroniclemap";

  private static final int MAX_LINKS = 5;

  private static final String ENCODING = System.getProperty("sun.jnu.encoding");

  /** Whether this process can express all names of files. */
  private static final boolean EXPRESSES_ALL = "UTF-8".equals(ENCODING);

  private final File gitFolder;
  final File commonFolder;
  public final File refsFolder;
  public final File packedRefs;

  /** The folder of the journals and owner files of transactions. */
  public final Path transactions;

  /**
   * Takes the folders from a repository.
   *
   * @param packedRefs the repository's {@code packed-refs}
   */
  public RefPaths(FileRepository repository, File packedRefs) {
    this.gitFolder = repository.getDirectory();
    this.commonFolder = repository.getCommonDirectory();
    this.refsFolder = repository.getFS().resolve(commonFolder, Constants.R_REFS);
    this.packedRefs = packedRefs;
    this.transactions = commonFolder.toPath().resolve(TRANSACTIONS);
  }

  /**
   * Returns the file of a loose ref.
   *
   * @throws IOException if this process can't express the name, so nobody can know whether it
   *     exists
   */
  public File loose(String name) throws IOException {
    File file =
        name.startsWith(Constants.R_REFS)
            ? new File(refsFolder, name.substring(Constants.R_REFS.length()))
            // A worktree has its own HEAD.
            : new File(name.equals(Constants.HEAD) ? gitFolder : commonFolder, name);
    if (!EXPRESSES_ALL) {
      checkExpressed(file);
    }
    return file;
  }

  /**
   * Whether a ref may have a file. Otherwise its name is too long for one, so it can only be
   * packed. Clients send any text for a name, and a file system's refusal is no answer: it does not
   * tell which part is too long, nor whether a folder is in the way.
   */
  public boolean mayBeLoose(String name) {
    return name.length() <= MAX_FILE_NAME / 3
        || (!isLonger(commonFolder.getPath() + '/' + name, MAX_BYTES - 1)
            && Splitter.on('/')
                .splitToStream(name)
                .noneMatch(part -> isLonger(part, MAX_FILE_NAME)));
  }

  /**
   * Returns the file of a loose ref that is to be locked.
   *
   * @throws IOException if the name is too long, or this process can't express it
   */
  public File toLock(String name) throws IOException {
    File file = loose(name);
    if (!mayBeLoose(name + LOCK)) {
      // As the system says it.
      throw new FileSystemException(file + LOCK, null, "File name too long");
    }
    return file;
  }

  /** Whether a name has more bytes than a limit. Looks at no more of it than necessary. */
  public static boolean isLonger(String name, int most) {
    // A character has up to three bytes in UTF-8, and one at least in any encoding.
    return name.length() > most
        || (EXPRESSES_ALL && name.length() > most / 3 && name.getBytes(UTF_8).length > most);
  }

  /** Text for the log: which names can't be expressed, and what to set; empty if all can. */
  public static Optional<String> limitsOfNames() {
    return EXPRESSES_ALL
        ? Optional.empty()
        : Optional.of(
            "refs whose names "
                + ENCODING
                + ", the encoding of this process's locale, can't express can be neither read nor"
                + " updated: start it with LC_ALL=C.UTF-8 in its environment");
  }

  /**
   * Checks a file's name.
   *
   * @throws FileSystemException if this process can't express the name
   */
  static void checkExpressed(File file) throws FileSystemException {
    try {
      Path unused = file.toPath();
    } catch (InvalidPathException e) {
      throw LooseFile.unreadable(file, limitsOfNames().orElseGet(e::getReason), e);
    }
  }

  /**
   * Returns the file to which symbolic links lead, which may be missing. Like native git, follows
   * {@value #MAX_LINKS} links at most.
   *
   * @throws IOException if a link can't be read
   */
  public static Path behindLinks(Path file) throws IOException {
    Path target = file;
    for (int links = 0; links < MAX_LINKS; links++) {
      BasicFileAttributes found = LooseFile.attributesIfThere(target, LinkOption.NOFOLLOW_LINKS);
      if (found == null || !found.isSymbolicLink()) {
        break;
      }
      target = target.resolveSibling(Files.readSymbolicLink(target));
    }
    return target;
  }

  /** The lock file of a file. */
  public static Path lockOf(File file) {
    return new File(file.getParentFile(), file.getName() + LOCK).toPath();
  }

  /** The lock file of {@code packed-refs}: beside the file to which symbolic links lead. */
  public Path packedRefsLock() throws IOException {
    return lockOf(behindLinks(packedRefs.toPath()).toFile());
  }
}
