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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import com.google.common.flogger.FluentLogger;
import com.google.common.io.MoreFiles;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The disk operations of the stores of one folder. They are in one class so that tests can make
 * each single call fail.
 *
 * <p>While the folder is not locked for the stores, no file is deleted, renamed or completed, and
 * none but markers and the lock created: a thread that is still making a large file would otherwise
 * interfere with another user of the folder.
 *
 * <p>Safe for any thread.
 */
public class Disk {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
  private static final FileTime NO_TIME = FileTime.fromMillis(0);

  /** The only way in Java 21 to unmap a buffer; null if this runtime has no such method. */
  private static final Method CLEANER =
      method("sun.misc.Unsafe", "invokeCleaner", ByteBuffer.class);

  /** Has interrupts not close a channel; null if this runtime has no such method. */
  private static final Method UNINTERRUPTIBLE =
      method("sun.nio.ch.FileChannelImpl", "setUninterruptible");

  /** For files whose folder no other process uses, or which this process does not lock. */
  public static final Disk REAL =
      new Disk() {
        @Override
        public void setLocked(boolean isLocked) {}
      };

  /** Part of the name of each file that is a marker. */
  public static final String MARKER = ".discard";

  /** The name of the file by which the folder is locked. */
  public static final String LOCK = "lock";

  /** Held for reading during {@link #ifLocked}. */
  private final ReadWriteLock lock = new ReentrantReadWriteLock();

  /** Whether the folder may have another user. Guarded by {@link #lock}. */
  private boolean isForeign;

  /** A step that may fail on the disk. */
  public interface Step {
    void run() throws IOException;
  }

  private static Method method(String type, String name, Class<?>... parameters) {
    try {
      return Class.forName(type).getMethod(name, parameters);
    } catch (ReflectiveOperationException e) {
      logger.atFine().withCause(e).log("this runtime lacks %s", name);
      return null;
    }
  }

  /** Says whether the folder is locked for the stores. If not, another process may use it. */
  public void setLocked(boolean isLocked) {
    lock.writeLock().lock();
    try {
      isForeign = !isLocked;
    } finally {
      lock.writeLock().unlock();
    }
  }

  private void ifLocked(Path file, Step step) throws IOException {
    lock.readLock().lock();
    try {
      if (isForeign) {
        throw new IOException("the folder is not locked by this process: " + file);
      }
      step.run();
    } finally {
      lock.readLock().unlock();
    }
  }

  /**
   * Whether a file exists.
   *
   * @throws IOException if the file system cannot tell
   */
  public boolean exists(Path file) throws IOException {
    try {
      return Files.getLastModifiedTime(file) != null;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /** The length of a file in bytes. */
  public long size(Path file) throws IOException {
    return Files.size(file);
  }

  /**
   * Creates an empty file that only its owner can read; a marker or the lock even if the folder is
   * not locked.
   */
  public void create(Path file) throws IOException {
    Step creation =
        () ->
            Files.createFile(
                file,
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    String name = file.getFileName().toString();
    if (name.contains(MARKER) || name.equals(LOCK)) {
      creation.run();
    } else {
      ifLocked(file, creation);
    }
  }

  /**
   * Takes from all but its owner the rights to a file or folder, if others have any: Kubernetes,
   * for example, gives those of an {@code fsGroup} at each mount.
   *
   * @return whether others have none now
   */
  public boolean makePrivate(Path file) throws IOException {
    String rights = Files.isDirectory(file) ? "rwx------" : "rw-------";
    Set<PosixFilePermission> own = PosixFilePermissions.fromString(rights);
    if (!own.containsAll(Files.getPosixFilePermissions(file))) {
      Files.setPosixFilePermissions(file, own);
    }
    return own.containsAll(Files.getPosixFilePermissions(file));
  }

  /** Deletes a file if it exists. */
  public void delete(Path file) throws IOException {
    ifLocked(file, () -> Files.deleteIfExists(file));
  }

  /** Renames a file atomically and replaces any file of the new name. */
  public void move(Path from, Path to) throws IOException {
    ifLocked(from, () -> Files.move(from, to, StandardCopyOption.ATOMIC_MOVE));
  }

  /** Has a file that was made come into use, by a step that does not fail. */
  public void complete(Path file, Step step) throws IOException {
    ifLocked(file, step);
  }

  /**
   * Forces to disk which files of a folder were created, renamed or deleted, if the file system
   * offers that. Ignores interrupts.
   */
  public void sync(Path folder) throws IOException {
    try (FileChannel channel = open(folder, Set.of(StandardOpenOption.READ))) {
      channel.force(true);
    } catch (IOException e) {
      FolderSync.unlessNotOffered(folder, e);
    }
  }

  /**
   * Forces the content of an open file to disk, whatever has its name by now. Ignores interrupts.
   *
   * @param file the name of the file, for messages and tests
   * @param open the file, as {@link #open} returned it
   * @throws IOException if the disk did not take all of the content. The system reports that only
   *     once, and may have dropped the lost pages and read the older ones again
   */
  public void force(Path file, FileChannel open) throws IOException {
    open.force(true);
  }

  /** Lists the files of a folder. */
  public List<Path> list(Path folder) throws IOException {
    return MoreFiles.listFiles(folder);
  }

  /** Opens a file. Interrupts do not close it. */
  public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
    FileChannel channel = FileChannel.open(file, options);
    if (UNINTERRUPTIBLE != null) {
      try {
        // An interrupt would also hide an error of the disk, which the system reports only once.
        UNINTERRUPTIBLE.invoke(channel);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    }
    return channel;
  }

  /** Writes a file that was just created. */
  public void write(Path file, byte[] bytes) throws IOException {
    ifLocked(file, () -> Files.write(file, bytes));
  }

  /** Maps a whole file for reading and writing. */
  public MappedByteBuffer map(Path file) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size());
    }
  }

  /** Unmaps a file. Any later access to the buffer ends the process. */
  public void unmap(MappedByteBuffer mapped) {
    if (CLEANER != null) {
      try {
        Field unsafe = CLEANER.getDeclaringClass().getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        CLEANER.invoke(unsafe.get(null), mapped);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    }
    // Without the cleaner, the buffer is unmapped when it is collected as garbage.
  }

  /**
   * Identifies a file, also among files that had the same name: its inode number and its creation
   * time, or a note that the creation time is not known. At most 64 characters of ASCII.
   */
  public String fileKey(Path file) throws IOException {
    Map<String, Object> attributes = Files.readAttributes(file, "unix:ino,creationTime");
    return attributes.get("ino")
        + (knowsCreation(file) ? " " + attributes.get("creationTime") : " not known");
  }

  /** Whether a file has a key of {@link #fileKey}. */
  public boolean hasKey(Path file, String key) throws IOException {
    return key.equals(fileKey(file));
  }

  /**
   * Whether creation times of the file's file system are known: otherwise Java returns the time of
   * the last change, or 1970. One file can have been given such a time, but hardly all folders
   * above it too.
   */
  private static boolean knowsCreation(Path file) throws IOException {
    Object device = null;
    for (Path at = file.toAbsolutePath(); at != null; at = at.getParent()) {
      Map<String, Object> attributes =
          Files.readAttributes(at, "unix:dev,creationTime,lastModifiedTime");
      Object created = attributes.get("creationTime");
      if (device != null && !device.equals(attributes.get("dev"))) {
        break;
      }
      if (!created.equals(attributes.get("lastModifiedTime")) && !created.equals(NO_TIME)) {
        return true;
      }
      device = attributes.get("dev");
    }
    return false;
  }

  /** The time at which the content was last changed, in nanoseconds since the epoch. */
  public long modified(Path file) throws IOException {
    return Files.getLastModifiedTime(file).to(TimeUnit.NANOSECONDS);
  }

  /**
   * Identifies the boot of the machine, and within it the attachment of the file's device. Empty if
   * the boot is not known. At most 64 characters of ASCII.
   */
  public String boot(Path file) throws IOException {
    return boot(Path.of("/sys"), file);
  }

  /** The same for another folder than {@code /sys}, in which the kernel describes its devices. */
  static String boot(Path sys, Path file) throws IOException {
    String boot = readIfThere(BOOT_ID);
    if (boot.isEmpty()) {
      return "";
    }
    long device = (Long) Files.getAttribute(file, "unix:dev");
    return boot + " " + device + " " + attachment(sys, file, device);
  }

  /**
   * The kernel's sequence number of the disk, which is new each time a disk is attached: a disk
   * that was detached may have been restored to an older state. Empty before Linux 5.15, and on
   * file systems without a block device such as NFS or ZFS.
   */
  private static String attachment(Path sys, Path file, long device) throws IOException {
    // The encoding of makedev() in the C library.
    long major = (device >>> 8 & 0xfff) | (device >>> 32 & ~0xfffL);
    long minor = (device & 0xff) | (device >>> 12 & ~0xffL);
    Path disk = sys.resolve("dev/block/" + major + ":" + minor);
    if (!Files.exists(disk)) {
      // Some file systems, such as btrfs, have device numbers of their own.
      disk = sys.resolve("class/block/" + source(file));
    }
    Path count = disk.resolve("diskseq");
    // A partition has no number of its own, but its disk has.
    return readIfThere(Files.exists(count) ? count : disk.resolve("../diskseq"));
  }

  private static Path source(Path file) throws IOException {
    try {
      return Path.of(Files.getFileStore(file).name()).getFileName();
    } catch (IOException e) {
      // The root of a container may be no mount point. Java says the same if it has no file handle.
      var unused = readIfThere(Path.of("/proc/self/mounts"));
      return Path.of("none");
    }
  }

  /**
   * Reads a short file of the kernel. Empty if this process can never read it; any other failure,
   * such as too many open files, must not make the machine look like another one.
   */
  private static String readIfThere(Path file) throws IOException {
    try {
      return Files.readString(file).trim();
    } catch (NoSuchFileException | AccessDeniedException e) {
      return "";
    }
  }

  /**
   * The bytes that are free on the volume of a folder, about; 0 if none, or if that is not known.
   */
  public long free(Path folder) {
    return folder.toFile().getUsableSpace();
  }

  /** Called before disk is allocated for the holes of a file. */
  public void allocating(Path file) throws IOException {}

  /** Called before Chronicle-Map creates or opens a file and maps it. */
  public void mapping(Path file) throws IOException {}

  /**
   * Called before mapped memory of a file is accessed, which fails with an Error if the disk does.
   */
  public void touching(Path file) {}
}
