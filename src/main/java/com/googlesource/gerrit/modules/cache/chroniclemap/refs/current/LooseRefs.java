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

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.MissingObjectException;
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
 * all refs, or need not be read again. The answers are those of JGit's RefDirectory, except for
 * what it hides: a file or folder that can't be read fails here, a file that holds no ref is a
 * {@link BadRef}, and a file whose name git refuses is no ref.
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
    FileRepository repository,
    RefPaths paths,
    TrustStat trust,
    LooseMemory memory,
    NfsRevalidation nfs) {
  /** What Java decodes bytes to that the encoding of file names lacks. */
  private static final char UNDECODED = '\ufffd';

  /** By name. The name of a folder ends with a slash, so it sorts where its refs belong. */
  private static final Comparator<Object> BY_NAME = Comparator.comparing(LooseRefs::nameOf);

  /**
   * Takes what all instances of the repository share.
   *
   * @param packed the repository's {@code packed-refs}
   */
  public LooseRefs(
      FileRepository repository, RefPaths paths, TrustStat trust, PackedRefsFile packed) {
    this(repository, paths, trust, packed.looseMemory, packed.nfs);
  }

  /** Returns the loose ref of a name, perhaps a {@link BadRef}, or null. */
  @Nullable
  public Ref find(RefName checked) throws IOException {
    if (!checked.isAllowed()) {
      return null;
    }
    String name = checked.text();
    LooseMemory.Known known = isListed(name) ? memory.get(name) : null;
    File file = file(name, known != null);
    Ref ref = file == null ? null : isListed(name) ? read(name, file, known) : readNow(name, file);
    if (ref == null) {
      memory.sound(name, null);
      if (known != null) {
        memory.forget(name);
      }
    }
    return orNone(ref);
  }

  /**
   * Returns the file of a ref; null if there is none.
   *
   * @param expected whether it was there before. A stat is cheaper than an exception otherwise
   */
  @Nullable
  private File file(String name, boolean expected) throws IOException {
    if (!paths.mayBeLoose(name) || (trust != TrustStat.ALWAYS && !refreshFolders(name, expected))) {
      return null;
    }
    File file = paths.loose(name);
    return expected || LooseFile.isThere(file) ? file : null;
  }

  /**
   * As in JGit, a file outside of refs/ that holds no ref is none, such as {@code config}. An
   * emptied HEAD is none either, so that a new one can be written.
   */
  @Nullable
  private static Ref orNone(@Nullable Ref ref) {
    return ref instanceof BadRef && ref.getName().indexOf('/') < 0 ? null : ref;
  }

  /**
   * Reads a loose ref from its file, for a writer that has the ref locked. The memory is not used.
   * Returns null if there is none. Fails if the file holds none.
   */
  @Nullable
  public Ref readFile(String name) throws IOException {
    return BadRef.check(findFile(RefName.of(name)));
  }

  /** The same, but may return a {@link BadRef}. */
  @Nullable
  public Ref findFile(RefName checked) throws IOException {
    File file = checked.isAllowed() ? file(checked.text(), false) : null;
    return file == null ? null : orNone(readNow(checked.text(), file));
  }

  /** Reads the file, and notes whether it is bad. */
  @Nullable
  private Ref readNow(String name, File file) throws IOException {
    try {
      Ref ref = LooseFile.read(name, file);
      if (ref instanceof BadRef bad) {
        noteBad(name, bad.why);
      } else {
        memory.sound(name, ref);
      }
      return ref;
    } catch (FileSystemException e) {
      noteUnreadable(name, e);
      throw e;
    }
  }

  /**
   * Notes what can't be read.
   *
   * @throws FileSystemException if no folder can be read, as without a free file handle: then
   *     nothing is wrong with this one
   */
  private void noteUnreadable(String name, FileSystemException why) throws FileSystemException {
    if (memory.mayBeNew(name)) { // else each read of a bad ref would list the folder
      try {
        List<Path> unused = LooseFile.list(paths.refsFolder.toPath());
      } catch (IOException e) {
        throw why;
      }
    }
    noteBad(name, why.getMessage());
  }

  private void noteBad(String name, String why) {
    // Anybody may ask for another file in the repository, such as "config".
    if (isListed(name)) {
      memory.bad(name, why, null);
    }
  }

  @Nullable
  private Ref read(String name, File file, @Nullable LooseMemory.Known known) throws IOException {
    if (trust == TrustStat.AFTER_OPEN || name.equals(Constants.HEAD)) {
      return remember(readNow(name, file), null, Instant.EPOCH);
    }
    Instant asked = Instant.now();
    Path path;
    BasicFileAttributes attributes;
    try {
      path = file.toPath();
      attributes = attributes(path);
    } catch (IOException | InvalidPathException e) {
      // Most likely the file is gone.
      return LooseFile.isThere(file) ? readNow(name, file) : null;
    }
    return readIfChanged(name, path, known, attributes, asked);
  }

  /**
   * Whether a ref can be in a list. No other ref is remembered. (HEAD is, as JGit finds a detached
   * HEAD by its peeled value.)
   */
  public static boolean isListed(String name) {
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
    return remember(readNow(name, file), attributes, asked);
  }

  @Nullable
  private Ref remember(@Nullable Ref ref, @Nullable BasicFileAttributes attributes, Instant asked) {
    return ref == null || ref instanceof BadRef ? ref : memory.read(ref, attributes, asked);
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
    } catch (IOException | RuntimeException e) {
      lacksObject(leaf, e);
      throw e;
    }
    memory.sound(leaf.getName(), null);
    if (leaf.getStorage() == Ref.Storage.LOOSE) {
      memory.peeled(peeled);
    }
    return onto(peeled, ref);
  }

  /**
   * Notes that the object of a ref is missing, or can't be read.
   *
   * @throws IOException if the folder of all objects or a pack can't be opened, by which JGit takes
   *     objects for missing: then nothing is wrong with this ref
   */
  public void lacksObject(Ref ref, Exception why) throws IOException {
    if (memory.mayBeNew(ref.getName())) {
      Path objects = repository.getObjectDatabase().getDirectory().toPath();
      NfsRevalidation.OF_SYSTEM.open(objects);
      for (Path file : LooseFile.list(objects.resolve("pack"))) {
        try {
          if (file.toString().matches(".*[.](pack|idx)")) {
            NfsRevalidation.OF_SYSTEM.open(file);
          }
        } catch (NoSuchFileException e) {
          // Others have replaced the pack since.
        }
      }
    }
    String what = why instanceof MissingObjectException ? " is missing" : " can't be read: " + why;
    memory.bad(ref.getName(), "the object " + ref.getObjectId().name() + what, ref);
  }

  private static Ref onto(Ref leaf, Ref old) {
    return old.isSymbolic() ? new SymbolicRef(old.getName(), onto(leaf, old.getTarget())) : leaf;
  }

  // ---- lists of refs

  /**
   * Returns the loose ref of a name, perhaps a {@link BadRef}, or null if {@link #scan} would not
   * find it.
   */
  @Nullable
  public Ref readListed(String name) throws IOException {
    return isListed(name) ? find(RefName.of(name)) : null;
  }

  /**
   * Opens the folder of a loose ref that was read before, whatever the settings trust, so that a
   * network file system looks up the names in it again.
   */
  public void refreshFolder(String name) throws IOException {
    nfs.openFolder(paths.loose(name).getParentFile().toPath());
  }

  /**
   * Opens the folders above a ref. A network file system then checks whether a folder has changed,
   * and looks up the names in it again.
   *
   * @param expected whether the folders existed before
   * @return false if a folder is missing, and so the ref
   * @throws IOException if a folder can't be opened. Old attributes might hide the ref then
   */
  private boolean refreshFolders(String name, boolean expected) throws IOException {
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
        nfs.openFolder(folder);
      }
    } catch (InvalidPathException e) {
      return true; // File accepts more names than Path
    }
    return true;
  }

  /**
   * Returns the loose refs in a folder and in all folders below, in the order of names. Files whose
   * names git refuses are left out. A file that holds no ref is a {@link BadRef}.
   *
   * @param folder {@code refs/} or a folder below, with a slash at its end; empty for all refs and
   *     HEAD
   * @throws IOException if a file or folder can't be read, whose refs are most likely good.
   *     Replication would delete them if they were not listed
   */
  public List<Ref> scan(String folder) throws IOException {
    List<Ref> refs = new ArrayList<>();
    if (folder.isEmpty()) {
      Stream.ofNullable(readListed(Constants.HEAD)).forEach(refs::add);
    }
    if (folder.isEmpty() || folder.equals(Constants.R_REFS)) {
      scan(Constants.R_REFS, paths.refsFolder.toPath(), true, refs);
    } else if (folder.startsWith(Constants.R_REFS)
        && paths.mayBeLoose(folder)
        && RefName.of(folder + "x").isAllowed()) {
      try {
        scan(folder, paths.loose(folder).toPath(), true, refs);
      } catch (InvalidPathException e) {
        return refs; // no file system has it
      }
    }
    return refs;
  }

  /** Returns the refs of {@link #scan} that can be read, for a packer, which leaves the others. */
  public List<Ref> scanReadable(String folder) throws IOException {
    List<Ref> refs = new ArrayList<>();
    scan(folder, paths.loose(folder).toPath(), false, refs);
    refs.removeIf(BadRef.class::isInstance);
    return refs;
  }

  private void scan(String prefix, Path folder, boolean all, List<Ref> refs) throws IOException {
    Instant asked = Instant.now();
    List<Path> entries = List.of();
    try {
      entries = LooseFile.list(folder);
      memory.sound(prefix, null);
    } catch (FileSystemException e) {
      unreadable(prefix, e, all);
    }
    // Refs, and names of folders.
    List<Object> found = new ArrayList<>();
    for (Path entry : entries) {
      try {
        Object one = look(prefix, entry, asked);
        if (one != null) {
          found.add(one);
        }
      } catch (FileSystemException e) {
        unreadable(prefix + entry.getFileName(), e, all);
      }
    }
    found.sort(BY_NAME);
    for (Object one : found) {
      if (one instanceof Ref ref) {
        refs.add(ref);
      } else {
        String name = nameOf(one);
        scan(name, folder.resolve(name.substring(prefix.length())), all, refs);
      }
    }
  }

  private void unreadable(String name, FileSystemException why, boolean all)
      throws FileSystemException {
    noteUnreadable(name, why);
    if (all) {
      throw why;
    }
  }

  private static String nameOf(Object found) {
    return found instanceof Ref ref ? ref.getName() : (String) found;
  }

  /** Returns the ref of a file, the name of a folder with a slash, or null. */
  @Nullable
  private Object look(String prefix, Path entry, Instant asked) throws IOException {
    String last = entry.getFileName().toString();
    if (last.endsWith(RefPaths.LOCK)) {
      return null;
    }
    String name = prefix + last;
    if (!RefName.mayBePart(last, 0, last.length())) {
      return refused(name);
    }
    if (last.indexOf(UNDECODED) >= 0) {
      RefPaths.checkExpressed(entry.toFile());
      if (!entry.toFile().toPath().equals(entry)) {
        return refused(name); // it is not UTF-8
      }
    }
    // One stat tells the kind of file, and whether it has changed.
    BasicFileAttributes attributes = LooseFile.attributesOrNone(entry, LinkOption.NOFOLLOW_LINKS);
    if (attributes == null) {
      return null; // deleted since, and perhaps made again after it was packed
    }
    if (attributes.isDirectory() || (attributes.isSymbolicLink() && Files.isDirectory(entry))) {
      return name + '/';
    }
    return last.endsWith(".")
        ? refused(name)
        : readIfChanged(name, entry, memory.get(name), attributes, asked);
  }

  /** Notes a file that is no ref. Returns null. */
  @Nullable
  private Ref refused(String name) {
    memory.bad(name, "git allows no ref of this name", null);
    return null;
  }
}
