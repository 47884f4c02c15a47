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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The source of the lists of one {@code packed-refs} file. It finds the list of a content in the
 * {@linkplain ListTiers tiers} or makes it from the text, and writes changed texts.
 *
 * <p>It does not decide when the file is read. One thread at a time may {@linkplain #read read};
 * any may write.
 */
public final class ListSource {
  private final File file;
  private final ListTiers tiers;
  private final FileCounts counts;

  /** The key of the file that was read last. */
  @Nullable private Object checkedKey;

  public ListSource(File file, ListTiers tiers, FileCounts counts) {
    this.file = file;
    this.tiers = tiers;
    this.counts = counts;
  }

  /**
   * The content of a file at one moment.
   *
   * @param list null if JGit has to answer, or if the content must be read again
   * @param digest null if nothing was read
   * @param leftToJGit whether the content is not regular, so that JGit has to answer
   */
  public record Content(
      @Nullable ParsedRefs list, @Nullable ContentDigest digest, boolean leftToJGit) {
    /** What is known before the first reading. */
    public static final Content UNKNOWN = new Content(null, null, false);

    public static Content of(ParsedRefs list) {
      return new Content(list, list.digest(), false);
    }

    /** The same content with another copy of its list, or without it. */
    public Content with(@Nullable ParsedRefs copy) {
      return new Content(copy, digest, leftToJGit);
    }

    /** Whether this decides who answers. */
    public boolean isAnswer() {
      return list != null || leftToJGit;
    }
  }

  // ---- reading

  /**
   * Reads the file.
   *
   * @param before the content that was read or written last
   * @return {@code before} itself if the content is the same and its list, if it has one, is there;
   *     or an equal one if there are no refs
   * @throws IOException if the file is missing or cannot be read
   */
  public Content read(Content before) throws IOException {
    return FileText.read(
        text -> isUnchanged(text, before.list) ? before : read(text, before), file);
  }

  /** Checks the content of a file that had it at the last reading, which is faster than to read. */
  private boolean isUnchanged(FileText text, @Nullable ParsedRefs list) throws IOException {
    // The key is only a hint: a new file most likely has a new content.
    boolean sameFile = text.key != null && text.key.equals(checkedKey);
    checkedKey = text.key;
    return sameFile && list != null && SharedCheck.matches(text, list, tiers.readers);
  }

  private Content read(FileText text, Content before) throws IOException {
    PackedRefsReader reader = tiers.readers.take();
    try {
      // Else its regular part would be parsed again and again, and takes direct memory each time.
      if (before.leftToJGit
          && reader.read(text.part(0, Long.MAX_VALUE), null, null).digest.equals(before.digest)) {
        return before;
      }
      long begunAt = System.nanoTime();
      ParsedRefs old = before.list == null || before.list.size() == 0 ? null : before.list;
      ListBuilder builder = tiers.builder(old);
      Content now = reader.read(text, builder, old);
      if (before.isAnswer() && now.digest.equals(before.digest)) {
        return before;
      }
      if (now.digest.equals(tiers.none.digest())) {
        return Content.of(tiers.none);
      }
      if (builder.parsed > 0 && now.list != null) {
        counts.parsed(now.list.blocks(), builder.parsed, System.nanoTime() - begunAt);
      } else if (now.list != null) {
        counts.found.increment();
        tiers.loads.add(builder.loaded > 0 ? 1 : 0);
      }
      return now;
    } finally {
      tiers.readers.giveBack(reader);
    }
  }

  // ---- writing

  /** Thrown if the file does not have the content of the list. */
  public static final class ChangedException extends IOException {
    private static final long serialVersionUID = 1;

    ChangedException() {
      super("packed-refs has changed although it is locked");
    }
  }

  /**
   * Writes the file's content with some changed lines, and makes its list in the same pass.
   *
   * @param list the list of the content, whose file is locked
   * @param out gets the new content, which is useless if this method fails
   * @return the new list; {@code list} itself if the content is the same
   * @throws ChangedException if the file does not have the content of the list
   * @throws IOException if the file cannot be read or written
   */
  public ParsedRefs writeEdited(ParsedRefs list, PackedEdits edits, FileChannel out)
      throws IOException {
    PackedRefsReader reader = tiers.readers.take();
    try (ReadableByteChannel old = open(list)) {
      long begunAt = System.nanoTime();
      ListBuilder builder = tiers.builder(list);
      ParsedRefs made = reader.readEdited(list, edits, old, out, builder).list;
      if (made == null) {
        throw new IOException("what was written for " + file + " is not a packed-refs file");
      }
      if (made.digest().equals(list.digest())) {
        return list;
      }
      counts.parsed(made.blocks(), builder.parsed, System.nanoTime() - begunAt);
      return made;
    } finally {
      tiers.readers.giveBack(reader);
    }
  }

  private ReadableByteChannel open(ParsedRefs list) throws IOException {
    try {
      return FileChannel.open(file.toPath(), StandardOpenOption.READ);
    } catch (NoSuchFileException e) {
      if (list.size() > 0) {
        throw new ChangedException();
      }
      return Channels.newChannel(InputStream.nullInputStream());
    }
  }
}
