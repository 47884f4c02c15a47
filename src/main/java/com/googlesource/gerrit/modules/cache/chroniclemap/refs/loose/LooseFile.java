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
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.SymbolicRef;
import org.eclipse.jgit.util.FileUtils;
import org.eclipse.jgit.util.RawParseUtils;

/** The file of a loose ref. Each content has the same result as in JGit's RefDirectory. */
public final class LooseFile {
  private static final int MOST = 4096;

  /** Room for an id and its line end, which nearly all of these files contain. */
  private static final int USUAL = 64;

  private static final byte[] SYMBOLIC = Constants.encodeASCII("ref: ");

  private LooseFile() {}

  /**
   * Whether the file exists, or is a symbolic link to one. Costs one stat, and no exception for a
   * missing file, as nearly all refs have none.
   *
   * @throws IOException if the disk does not tell. The ref must not count as missing then, as an
   *     older value may be packed
   */
  public static boolean isThere(File file) throws IOException {
    Path path;
    try {
      path = file.toPath();
    } catch (InvalidPathException e) {
      return file.isFile(); // File accepts more names than Path
    }
    try {
      BasicFileAttributes found = attributesIfThere(path);
      return found != null && found.isRegularFile();
    } catch (IOException e) {
      if (mayBeThere(path)) {
        throw e;
      }
      return false;
    }
  }

  /** Whether there is certainly no folder of this name. */
  static boolean isNoFolder(Path folder) throws IOException {
    BasicFileAttributes found = attributesIfThere(folder);
    return found == null || !found.isDirectory();
  }

  @Nullable
  private static BasicFileAttributes attributesIfThere(Path file) throws IOException {
    return file.getFileSystem().provider().readAttributesIfExists(file, BasicFileAttributes.class);
  }

  /**
   * Decides by the folders above whether an error is the disk's. The error may also come from the
   * name, which is too long or has a ref in the place of a folder. Only folders that exist are
   * looked at, however many the name has.
   */
  private static boolean mayBeThere(Path file) {
    Path whole = file.toAbsolutePath();
    File above = whole.getRoot().toFile();
    for (Path part : whole) {
      File below = new File(above, part.toString());
      if (!below.exists()) {
        String[] names = above.list();
        return above.isDirectory()
            && (names == null || Arrays.asList(names).contains(below.getName()));
      }
      above = below;
    }
    return true;
  }

  /**
   * Reads the ref in a file. Returns null if there is no file, or no ref in it.
   *
   * @throws IOException if the file can't be read, or has other content
   */
  @Nullable
  static Ref read(String name, File file) throws IOException {
    byte[] content;
    try {
      content = FileUtils.readWithRetries(file, LooseFile::content);
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException("Cannot read file " + file, e);
    }
    return content == null ? null : parse(name, content);
  }

  /** Reads as much of the content as matters: what follows an id is ignored. */
  private static byte[] content(File file) throws IOException {
    try (FileInputStream in = new FileInputStream(file)) {
      byte[] start = new byte[USUAL];
      int length = Math.max(0, in.read(start));
      byte[] usual = Arrays.copyOf(start, length);
      if (length >= Constants.OBJECT_ID_STRING_LENGTH && !isSymbolic(usual)) {
        return usual;
      }
      byte[] rest = in.readNBytes(MOST - length);
      byte[] all = Arrays.copyOf(usual, length + rest.length);
      System.arraycopy(rest, 0, all, length, rest.length);
      return all;
    }
  }

  @Nullable
  private static Ref parse(String name, byte[] content) throws IOException {
    int length = content.length;
    if (isSymbolic(content)) {
      if (length == MOST) {
        return null; // the target may be incomplete
      }
      int end = trimmed(content);
      if (end <= SYMBOLIC.length) {
        throw notARef(name, content, end, null);
      }
      String target = RawParseUtils.decode(content, SYMBOLIC.length, end);
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
    return new IOException("Not a ref: " + name + ": " + text, cause);
  }

  private static boolean isSymbolic(byte[] content) {
    return RawParseUtils.match(content, 0, SYMBOLIC) > 0 && content.length > SYMBOLIC.length;
  }

  private static int trimmed(byte[] content) {
    int end = content.length;
    while (end > 0 && Character.isWhitespace(content[end - 1])) {
      end--;
    }
    return end;
  }
}
