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
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.SymbolicRef;
import org.eclipse.jgit.revwalk.RevObject;
import org.eclipse.jgit.revwalk.RevTag;
import org.eclipse.jgit.revwalk.RevWalk;

/**
 * The loose refs of a repository. A lookup costs one stat if the ref is not loose, as for nearly
 * all refs, or need not be read again. All answers are those of JGit's RefDirectory.
 *
 * <p>{@code core.trustLooseRefStat} says when a file is read again, as in JGit: under {@code
 * always} and {@code never}, when its attributes have changed; under {@code after_open}, each time.
 * (JGit 7.4 opens the folders above and then trusts the attributes. JGit 7.7 means to open the file
 * too, and to read it costs no more.) HEAD is read each time too.
 *
 * <p>Under {@code after_open} and {@code never}, the folders above a ref are opened first.
 * Otherwise an NFS client may report a new file as missing for up to a minute. To open a folder
 * costs about 3 microseconds on a local disk, and a request to the server on NFS. JGit does so only
 * under {@code after_open}.
 *
 * <p>Peeled values are always remembered, as they depend on the id alone. Symbolic refs are not
 * resolved here. Any thread may call.
 *
 * @param memory shared by all instances of the repository
 */
public record LooseRefs(
    FileRepository repository, RefPaths paths, TrustStat trust, LooseMemory memory, Opener opener) {
  /** By name. The name of a folder ends with a slash, so it sorts where its refs belong. */
  private static final Comparator<Object> BY_NAME = Comparator.comparing(LooseRefs::nameOf);

  /** Returns the loose ref of a name, or null. */
  @Nullable
  public Ref read(String name) throws IOException {
    LooseMemory.Known known = isRemembered(name) ? memory.get(name) : null;
    File file = paths.loose(name);
    Ref ref = null;
    if (paths.mayBeLoose(name)
        && (trust == TrustStat.ALWAYS || refreshFolders(name, known != null))) {
      // A stat is cheaper than an exception.
      if (known != null || LooseFile.isThere(file)) {
        ref = isRemembered(name) ? read(name, file, known) : LooseFile.read(name, file);
      }
    }
    if (ref == null && known != null) {
      memory.forget(name);
    }
    return ref;
  }

  /**
   * Reads a loose ref from its file, for a writer that has the ref locked. The memory is not used.
   * Returns null if there is none.
   */
  @Nullable
  public Ref readFile(String name) throws IOException {
    if (!paths.mayBeLoose(name) || (trust != TrustStat.ALWAYS && !refreshFolders(name, false))) {
      return null;
    }
    File file = paths.loose(name);
    return LooseFile.isThere(file) ? LooseFile.read(name, file) : null;
  }

  @Nullable
  private Ref read(String name, File file, @Nullable LooseMemory.Known known) throws IOException {
    if (trust == TrustStat.AFTER_OPEN || name.equals(Constants.HEAD)) {
      Ref ref = LooseFile.read(name, file);
      return ref == null ? null : memory.read(ref, null, Instant.EPOCH);
    }
    Instant asked = Instant.now();
    Path path;
    BasicFileAttributes attributes;
    try {
      path = file.toPath();
      attributes = attributes(path);
    } catch (IOException | InvalidPathException e) {
      // Most likely the file is gone.
      return LooseFile.isThere(file) ? LooseFile.read(name, file) : null;
    }
    return readIfChanged(name, path, known, attributes, asked);
  }

  /**
   * Refs outside of refs/ are not remembered, except the peeled HEAD, by which JGit finds a
   * detached HEAD.
   */
  private static boolean isRemembered(String name) {
    return name.startsWith(Constants.R_REFS) || name.equals(Constants.HEAD);
  }

  /** Reads the file, unless the attributes are those of the known ref. */
  @Nullable
  private Ref readIfChanged(
      String name,
      Path path,
      @Nullable LooseMemory.Known known,
      BasicFileAttributes attributes,
      Instant asked)
      throws IOException {
    if (trust != TrustStat.AFTER_OPEN && known != null && known.isOf(attributes)) {
      return known.ref();
    }
    File file = path.toFile();
    if (!attributes.isRegularFile() && !LooseFile.isThere(file)) {
      return null;
    }
    Ref ref = LooseFile.read(name, file);
    return ref == null ? null : memory.read(ref, attributes, asked);
  }

  /** Like JGit's FileSnapshot, takes the attributes of a link, and not those of its target. */
  private static BasicFileAttributes attributes(Path path) throws IOException {
    return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
  }

  /** Forgets all refs, so that each file is read again. */
  public void refresh() {
    memory.clear();
  }

  /** Returns the ref with its peeled value, which is remembered for a loose ref. */
  public Ref peel(Ref ref) throws IOException {
    Ref leaf = ref.getLeaf();
    if (leaf.isPeeled() || leaf.getObjectId() == null) {
      return ref;
    }
    ObjectIdRef peeled;
    try (RevWalk walk = new RevWalk(repository)) {
      RevObject object = walk.parseAny(leaf.getObjectId());
      peeled =
          object instanceof RevTag
              ? new ObjectIdRef.PeeledTag(
                  leaf.getStorage(), leaf.getName(), leaf.getObjectId(), walk.peel(object).copy())
              : new ObjectIdRef.PeeledNonTag(leaf.getStorage(), leaf.getName(), leaf.getObjectId());
    }
    if (leaf.getStorage() == Ref.Storage.LOOSE) {
      memory.peeled(peeled);
    }
    return onto(peeled, ref);
  }

  private static Ref onto(Ref leaf, Ref old) {
    return old.isSymbolic() ? new SymbolicRef(old.getName(), onto(leaf, old.getTarget())) : leaf;
  }

  // ---- lists of refs

  /** Whether {@link #scan} accepts a prefix. */
  public static boolean isFolder(String prefix) {
    return prefix.isEmpty() || (prefix.startsWith(Constants.R_REFS) && prefix.endsWith("/"));
  }

  /** Returns the loose ref of a name, or null if {@link #scan} would not find it. */
  @Nullable
  public Ref readListed(String name) {
    if (!isListed(name)) {
      return null;
    }
    try {
      return read(name);
    } catch (IOException e) {
      return null; // a scan leaves the ref out
    }
  }

  private static boolean isListed(String name) {
    return (name.startsWith(Constants.R_REFS) || name.equals(Constants.HEAD)) && mayBeRef(name);
  }

  /** Whether a prefix leads to no other folder than that of its name, and a ref may have it. */
  public static boolean mayBePrefix(String prefix) {
    int slash = prefix.lastIndexOf('/');
    return !isTooLong(prefix) && (slash < 0 || mayBeRef(prefix.substring(0, slash)));
  }

  /** Whether a name has more bytes than any ref's: 4096. */
  public static boolean isTooLong(String name) {
    return FileNames.isLonger(name, RefPaths.MOST_BYTES);
  }

  /** Whether a name leads to no other file than that of the ref, and to no lock file. */
  public static boolean mayBeRef(String name) {
    if (isTooLong(name)) {
      return false;
    }
    for (int start = 0, slash; start <= name.length(); start = slash + 1) {
      slash = name.indexOf('/', start);
      slash = slash < 0 ? name.length() : slash;
      String part = name.substring(start, slash);
      // Folders never list the first three.
      if (part.isEmpty() || part.equals(".") || part.equals("..") || part.endsWith(RefPaths.LOCK)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Opens the folder of a loose ref that was read before, whatever the settings trust, so that a
   * network file system looks up the names in it again.
   */
  public void refreshFolder(String name) throws IOException {
    Path folder = paths.loose(name).getParentFile().toPath();
    try {
      opener.open(folder);
    } catch (IOException e) {
      // The ref was deleted together with its folder, or the folder cannot be listed.
    }
  }

  /**
   * Opens the folders above a ref. A network file system then checks whether a folder has changed,
   * and looks up the names in it again.
   *
   * @param expected whether the folders existed before
   * @return false if a folder is missing, and so the ref
   */
  private boolean refreshFolders(String name, boolean expected) {
    try {
      Path folder = paths.commonFolder.toPath();
      int start = 0;
      for (int slash = name.indexOf('/'); slash >= 0; slash = name.indexOf('/', start)) {
        boolean refs = start == 0 && name.startsWith(Constants.R_REFS);
        folder = refs ? paths.refsFolder.toPath() : folder.resolve(name.substring(start, slash));
        start = slash + 1;
        // The folder above was just opened, so this stat is current. All repositories have the
        // first folder.
        if (!refs && !expected && LooseFile.isNoFolder(folder)) {
          return false;
        }
        opener.open(folder);
      }
    } catch (IOException | InvalidPathException e) {
      return true; // a folder that can't be listed may contain the ref
    }
    return true;
  }

  /**
   * Returns the loose refs in a folder and in all folders below, in the order of names. Files that
   * are no refs are left out.
   *
   * @param folder {@code refs/} or a folder below, with a slash at its end; empty for all refs and
   *     HEAD
   */
  public List<Ref> scan(String folder) {
    List<Ref> refs = new ArrayList<>();
    if (folder.isEmpty()) {
      Ref head = readListed(Constants.HEAD);
      if (head != null) {
        refs.add(head);
      }
      scanAll(refs);
    } else if (folder.equals(Constants.R_REFS)) {
      scanAll(refs);
    } else if (folder.startsWith(Constants.R_REFS) && paths.mayBeLoose(folder)) {
      try {
        scan(folder, paths.loose(folder), refs);
      } catch (IOException e) {
        return refs; // JGit leaves out a folder that can't be named
      }
    }
    return refs;
  }

  private void scanAll(List<Ref> refs) {
    int before = refs.size();
    scan(Constants.R_REFS, paths.refsFolder, refs);
    int others = memory.get(Constants.HEAD) == null ? 0 : 1;
    if (memory.size() - others > refs.size() - before) {
      memory.sweep();
    }
  }

  private void scan(String prefix, File folder, List<Ref> refs) {
    String[] entries = folder.list();
    if (entries == null || entries.length == 0) {
      return;
    }
    Path path;
    try {
      path = folder.toPath();
    } catch (InvalidPathException e) {
      return; // left out, like a file of such a name
    }
    Instant asked = Instant.now();
    // Refs, and names of folders.
    Object[] found = new Object[entries.length];
    int count = 0;
    for (String entry : entries) {
      if (!entry.endsWith(RefPaths.LOCK)) {
        Object one = look(prefix + entry, path, entry, asked);
        if (one != null) {
          found[count++] = one;
        }
      }
    }
    Arrays.sort(found, 0, count, BY_NAME);
    for (int i = 0; i < count; i++) {
      if (found[i] instanceof Ref ref) {
        refs.add(ref);
      } else {
        String name = nameOf(found[i]);
        scan(name, new File(folder, name.substring(prefix.length())), refs);
      }
    }
  }

  private static String nameOf(Object found) {
    return found instanceof Ref ref ? ref.getName() : (String) found;
  }

  /** Returns the ref of a file, the name of a folder with a slash, or null. */
  @Nullable
  private Object look(String name, Path folder, String entry, Instant asked) {
    try {
      // One stat tells the kind of file, and whether it has changed.
      Path path = folder.resolve(entry);
      BasicFileAttributes attributes = attributes(path);
      if (attributes.isDirectory() || (attributes.isSymbolicLink() && Files.isDirectory(path))) {
        return name + '/';
      }
      return readIfChanged(name, path, memory.get(name), attributes, asked);
    } catch (IOException e) {
      return null; // JGit leaves the file out too
    } catch (InvalidPathException e) {
      return null; // the locale can't express the name; JGit leaves it out too
    }
  }
}
