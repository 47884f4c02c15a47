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

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.common.base.CharMatcher;
import com.google.common.primitives.Bytes;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.SymbolicRef;
import org.eclipse.jgit.util.FileUtils;
import org.eclipse.jgit.util.RawParseUtils;

/**
 * The file of a loose ref, which is read by native git's grammar. Any other content than a ref's is
 * a {@link BadRef}: JGit takes some of it for a missing file, and serves an older packed value.
 */
public final class LooseFile {
  /** How often a file is opened that others replace meanwhile; as often as JGit does. */
  static final int MAX_ATTEMPTS = 5;

  private static final String BROKEN = "broken ref: neither an id nor symbolic";
  private static final String FOREIGN = "no ref, but the file of another program";

  /** What may be left of a ref, whose other bytes were lost or are zeros. */
  private static final Pattern CUT = Pattern.compile("([0-9a-fA-F]*|re?|ref|ref:.*)[\\s\0]*");

  private static final int MAX_BYTES = 4096;

  /** Room for an id and its line end, which nearly all of these files contain. */
  private static final int USUAL = 64;

  private static final byte[] SYMBOLIC = Constants.encodeASCII("ref:");

  private static final CharMatcher WHITESPACE =
      CharMatcher.ascii().and(CharMatcher.forPredicate(Character::isWhitespace));

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
    BasicFileAttributes found = attributesOrNone(path);
    return found != null && found.isRegularFile();
  }

  /**
   * Whether there is certainly no folder of this name.
   *
   * @throws IOException if the disk does not tell
   */
  public static boolean isNoFolder(Path folder) throws IOException {
    BasicFileAttributes found = attributesOrNone(folder);
    return found == null || !found.isDirectory();
  }

  /** Returns null if there is certainly no such file, also because there can be none. */
  @Nullable
  public static BasicFileAttributes attributesOrNone(Path path, LinkOption... options)
      throws IOException {
    try {
      return attributesIfThere(path, options);
    } catch (IOException e) {
      if (mayBeThere(path)) {
        throw e;
      }
      return null;
    }
  }

  @Nullable
  static BasicFileAttributes attributesIfThere(Path file, LinkOption... options)
      throws IOException {
    return file.getFileSystem()
        .provider()
        .readAttributesIfExists(file, BasicFileAttributes.class, options);
  }

  /**
   * Lists a folder, in any order. The list is empty if there is certainly no such folder.
   *
   * @throws IOException if the folder can't be listed to its end. It must not count as empty then
   */
  public static List<Path> list(Path folder) throws IOException {
    List<Path> entries = new ArrayList<>();
    try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder)) {
      stream.forEach(entries::add);
    } catch (DirectoryIteratorException e) {
      throw unreadable(folder.toFile(), e.getCause());
    } catch (NoSuchFileException | NotDirectoryException e) {
      // A folder that is there by now was made since, so its refs are newer than this list.
      return entries;
    } catch (IOException e) {
      if (!isNoFolder(folder)) {
        throw e;
      }
    }
    return entries;
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

  /** Returns a failure to read a file as one that names the file. */
  static FileSystemException unreadable(File file, IOException why) {
    return why instanceof FileSystemException named
        ? named
        : unreadable(file, why.getMessage(), why);
  }

  static FileSystemException unreadable(File file, String why, @Nullable Exception cause) {
    FileSystemException named = new FileSystemException(file.getPath(), null, why);
    named.initCause(cause);
    return named;
  }

  /**
   * Whether the failure to read a file that exists may be one of the file that had its name before.
   */
  static boolean isOfAnotherFile(IOException e) {
    return e instanceof FileNotFoundException
        || e instanceof NoSuchFileException
        || FileUtils.isStaleFileHandleInCausalChain(e);
  }

  /**
   * Reads the ref in a file, which may be a {@link BadRef}. Returns null if there is certainly no
   * file.
   *
   * @throws FileSystemException if the file can't be read; it names the file
   */
  @Nullable
  static Ref read(String name, File file) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        return parse(name, file, content(file));
      } catch (IOException e) {
        if (!isThere(file)) {
          return null;
        }
        if (attempt == MAX_ATTEMPTS || !isOfAnotherFile(e)) {
          throw unreadable(file, e);
        }
      }
    }
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
      return Bytes.concat(usual, in.readNBytes(MAX_BYTES - length));
    }
  }

  private static Ref parse(String name, File file, byte[] content) {
    if (isSymbolic(content) && content.length < MAX_BYTES) { // else the target may be incomplete
      String target =
          WHITESPACE.trimFrom(RawParseUtils.decode(content, SYMBOLIC.length, content.length));
      if (!target.isEmpty()) {
        // A loss of power may leave zeros in the place of the end.
        return target.chars().anyMatch(Character::isISOControl)
            ? new BadRef(name, file, BROKEN)
            : new SymbolicRef(name, new ObjectIdRef.Unpeeled(Ref.Storage.NEW, target, null));
      }
    }
    String text = new String(content, ISO_8859_1);
    String id = text.substring(0, Math.min(Constants.OBJECT_ID_STRING_LENGTH, text.length()));
    return ObjectId.isId(id) && !ObjectId.zeroId().name().equals(id)
        ? new ObjectIdRef.Unpeeled(Ref.Storage.LOOSE, name, ObjectId.fromString(id))
        : new BadRef(name, file, CUT.matcher(text).matches() ? BROKEN : FOREIGN);
  }

  private static boolean isSymbolic(byte[] content) {
    return RawParseUtils.match(content, 0, SYMBOLIC) > 0;
  }
}
