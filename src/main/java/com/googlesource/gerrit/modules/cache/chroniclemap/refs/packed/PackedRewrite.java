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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Draft;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.EditedText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.IrregularText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.MemoryText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedRefsReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.TextSource;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import org.eclipse.jgit.annotations.Nullable;

/**
 * Writes what a {@code packed-refs} has with some lines changed: ranges of the old file are copied,
 * each held against the list's hashes, and the new list comes out of the same pass. For one thread,
 * which has the file locked.
 */
final class PackedRewrite {
  private final File file;
  private final ListTiers tiers;
  private final FileCounts counts;

  PackedRewrite(File file, ListTiers tiers, FileCounts counts) {
    this.file = file;
    this.tiers = tiers;
    this.counts = counts;
  }

  /** As {@link PackedRefsFile#writeEdited}. */
  ParsedRefs write(ParsedRefs list, PackedEdits edits, FileChannel out) throws IOException {
    PackedRefsReader reader = tiers.readers().take();
    try {
      long begunAt = System.nanoTime();
      Draft draft = tiers.memory().draft();
      ParsedRefs made = write(reader, draft, list, edits, out);
      if (made != list) {
        counts.parsed(made.blocks(), draft.made(), System.nanoTime() - begunAt);
      }
      return made;
    } finally {
      tiers.readers().giveBack(reader);
    }
  }

  private ParsedRefs write(
      PackedRefsReader reader, Draft draft, ParsedRefs list, PackedEdits edits, FileChannel out)
      throws IOException {
    try (FileChannel old = openExisting()) {
      if (old == null && (list.size() > 0 || list.root().irregular())) {
        throw new EditedText.ChangedException();
      }
      if (list.root().irregular()) {
        return writeRegular(reader, draft, list, old, edits, out);
      }
      EditedText text =
          new EditedText(
              list.root(),
              tiers.readers().key(),
              old == null ? new MemoryText(new byte[0]) : channelText(old),
              edits.inOrderOf(list.root()),
              out);
      ParsedRefs made = reader.readRegular(text, draft, list);
      if (made == null) {
        throw new IOException("what was written for " + file + " is not a packed-refs file");
      }
      return made;
    }
  }

  /** Writes a file anew, with all its lines on the heap, that was not as git writes it. */
  private ParsedRefs writeRegular(
      PackedRefsReader reader,
      Draft draft,
      ParsedRefs list,
      FileChannel old,
      PackedEdits edits,
      FileChannel out)
      throws IOException {
    byte[] text = Channels.newInputStream(old).readAllBytes();
    if (!reader.digest(new MemoryText(text)).equals(list.digest())) {
      throw new EditedText.ChangedException();
    }
    byte[] regular;
    try {
      regular = IrregularText.regular(text);
    } catch (IrregularText.Refusal e) {
      throw new EditedText.ChangedException();
    }
    ParsedRefs same = reader.readRegular(new MemoryText(regular), tiers.memory().draft(), null);
    return reader.readRegular(
        new EditedText(
            same.root(),
            tiers.readers().key(),
            new MemoryText(regular),
            edits.inOrderOf(same.root()),
            out),
        draft,
        null);
  }

  private static TextSource channelText(FileChannel channel) {
    return new TextSource() {
      @Override
      public int read(ByteBuffer target) throws IOException {
        return channel.read(target);
      }

      @Override
      public void rewind() throws IOException {
        channel.position(0);
      }
    };
  }

  @Nullable
  private FileChannel openExisting() throws IOException {
    try {
      return FileChannel.open(file.toPath(), StandardOpenOption.READ);
    } catch (NoSuchFileException e) {
      return null;
    }
  }
}
