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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.text.MessageFormat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.SymbolicRef;
import org.eclipse.jgit.util.FileUtils;
import org.eclipse.jgit.util.IO;
import org.eclipse.jgit.util.RawParseUtils;

/**
 * The loose refs of a repository, read from their files each time: one look at the file system for
 * a ref that is not loose, as nearly all are. Answers as JGit's RefDirectory does, without keeping
 * anything, so without its trust in the times of files.
 *
 * <p>Symbolic refs are not resolved here. Any thread may call.
 */
final class LooseRefs {
  private static final int MOST = 4096;
  private static final String SYMBOLIC = "ref: ";
  private static final String LOCK = ".lock";

  private final File gitFolder;
  private final File commonFolder;
  private final File refsFolder;
  private final boolean refreshFolders;

  LooseRefs(FileRepository repository, TrustStat trust) {
    gitFolder = repository.getDirectory();
    commonFolder = repository.getCommonDirectory();
    refsFolder = repository.getFS().resolve(commonFolder, Constants.R_REFS);
    refreshFolders = trust == TrustStat.AFTER_OPEN;
  }

  File refsFolder() {
    return refsFolder;
  }

  private File file(String name) {
    if (name.startsWith(Constants.R_REFS)) {
      return new File(refsFolder, name.substring(Constants.R_REFS.length()));
    }
    // A worktree has its own HEAD.
    return new File(name.equals(Constants.HEAD) ? gitFolder : commonFolder, name);
  }

  /** Returns the loose ref of that name, or null. */
  @Nullable
  Ref read(String name) throws IOException {
    if (refreshFolders && !refreshFolders(name)) {
      return null;
    }
    File file = file(name);
    // Cheaper than an exception.
    return file.isFile() ? read(name, file) : null;
  }

  /** Returns the loose ref of that name, or null if {@link #scan} would not find one. */
  @Nullable
  Ref readListed(String name) {
    if (!isListed(name)) {
      return null;
    }
    try {
      return read(name);
    } catch (IOException e) {
      return null; // it is left out
    }
  }

  private static boolean isListed(String name) {
    if (!name.startsWith(Constants.R_REFS)) {
      return name.equals(Constants.HEAD);
    }
    for (int start = Constants.R_REFS.length(), slash; start <= name.length(); start = slash + 1) {
      slash = name.indexOf('/', start);
      slash = slash < 0 ? name.length() : slash;
      String part = name.substring(start, slash);
      // No folder lists the first three.
      if (part.isEmpty() || part.equals(".") || part.equals("..") || part.endsWith(LOCK)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Opens the folders above a ref: some network file systems look at a folder anew when it is
   * opened.
   *
   * @return false if one is not there, so that the ref isn't either
   */
  private boolean refreshFolders(String name) {
    File folder = commonFolder;
    int start = 0;
    for (int slash = name.indexOf('/'); slash >= 0; slash = name.indexOf('/', start)) {
      boolean refs = start == 0 && name.startsWith(Constants.R_REFS);
      folder = refs ? refsFolder : new File(folder, name.substring(start, slash));
      start = slash + 1;
      // The folder above was just opened, so this is the truth; and cheaper than an exception. All
      // repositories have the first folder.
      if (!refs && !folder.isDirectory()) {
        return false;
      }
      try {
        FileChannel.open(folder.toPath(), StandardOpenOption.READ).close();
      } catch (IOException e) {
        return true; // it may be one that can't be listed, which does not hide what is in it
      }
    }
    return true;
  }

  @Nullable
  private static Ref read(String name, File file) throws IOException {
    byte[] content;
    try {
      content = FileUtils.readWithRetries(file, f -> IO.readSome(f, MOST));
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(MessageFormat.format(JGitText.get().cannotReadFile, file), e);
    }
    return content == null ? null : parse(name, content);
  }

  @Nullable
  private static Ref parse(String name, byte[] content) throws IOException {
    int length = content.length;
    if (isSymbolic(content)) {
      if (length == MOST) {
        return null; // it may have been cut
      }
      int end = trimmed(content);
      if (end <= SYMBOLIC.length()) {
        throw notARef(name, content, end, null);
      }
      String target = RawParseUtils.decode(content, SYMBOLIC.length(), end);
      return new SymbolicRef(name, new ObjectIdRef.Unpeeled(Ref.Storage.NEW, target, null));
    }
    if (length < Constants.OBJECT_ID_STRING_LENGTH) {
      return null;
    }
    ObjectId id;
    try {
      id = ObjectId.fromString(content, 0);
    } catch (IllegalArgumentException e) {
      throw notARef(name, content, trimmed(content), e);
    }
    return new ObjectIdRef.Unpeeled(Ref.Storage.LOOSE, name, id);
  }

  private static IOException notARef(String name, byte[] content, int end, Exception cause) {
    String text = RawParseUtils.decode(content, 0, end);
    return new IOException(MessageFormat.format(JGitText.get().notARef, name, text), cause);
  }

  private static boolean isSymbolic(byte[] content) {
    if (content.length <= SYMBOLIC.length()) {
      return false;
    }
    for (int i = 0; i < SYMBOLIC.length(); i++) {
      if (content[i] != SYMBOLIC.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private static int trimmed(byte[] content) {
    int end = content.length;
    while (end > 0 && Character.isWhitespace(content[end - 1])) {
      end--;
    }
    return end;
  }

  /**
   * Returns the loose refs in a folder and those below, in order. What can't be read as a ref is
   * left out.
   *
   * @param folder {@code refs/} or one below, with a slash at its end; or empty for all and HEAD
   */
  List<Ref> scan(String folder) {
    List<Ref> refs = new ArrayList<>();
    if (folder.isEmpty()) {
      add(Constants.HEAD, file(Constants.HEAD), refs);
      scan(Constants.R_REFS, refsFolder, refs);
    } else if (folder.startsWith(Constants.R_REFS)) {
      scan(folder, file(folder), refs);
    }
    return refs;
  }

  private static void scan(String prefix, File folder, List<Ref> refs) {
    String[] entries = folder.list((parent, name) -> !name.endsWith(LOCK));
    if (entries == null) {
      return;
    }
    for (int i = 0; i < entries.length; i++) {
      if (new File(folder, entries[i]).isDirectory()) {
        entries[i] += '/';
      }
    }
    // With the slash, as the names that follow are compared.
    Arrays.sort(entries);
    for (String entry : entries) {
      if (entry.endsWith("/")) {
        scan(prefix + entry, new File(folder, entry), refs);
      } else {
        add(prefix + entry, new File(folder, entry), refs);
      }
    }
  }

  private static void add(String name, File file, List<Ref> refs) {
    try {
      Ref ref = file.isFile() ? read(name, file) : null;
      if (ref != null) {
        refs.add(ref);
      }
    } catch (IOException e) {
      // JGit leaves it out too.
    }
  }
}
