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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedRefsReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;

/**
 * A rewrite of a {@code packed-refs} file in which some lines change. Ranges of the old file are
 * copied after a check against the list's hashes, and the new list comes out of the same pass. For
 * one thread, which holds the lock of the file.
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

  /** Writes the file, as {@link PackedRefsFile#writeEdited} describes. */
  ParsedRefs write(ParsedRefs list, PackedEdits edits, FileChannel out) throws IOException {
    PackedRefsReader reader = tiers.readers().take();
    try (ReadableByteChannel old = open(list)) {
      long begunAt = System.nanoTime();
      Draft draft = tiers.memory().draft();
      PackedEdits.Edit[] sorted = edits.inOrderOf(list.root());
      EditedText text = new EditedText(list.root(), tiers.readers().key(), old, sorted, out);
      ParsedRefs made = reader.read(text, draft, list);
      if (made == null) {
        throw new IOException("what was written for " + file + " is not a packed-refs file");
      }
      if (made != list) {
        counts.parsed(made.blocks(), draft.made(), System.nanoTime() - begunAt);
      }
      return made;
    } finally {
      tiers.readers().giveBack(reader);
    }
  }

  private ReadableByteChannel open(ParsedRefs list) throws IOException {
    try {
      return FileChannel.open(file.toPath(), StandardOpenOption.READ);
    } catch (NoSuchFileException e) {
      if (list.size() > 0) {
        throw new EditedText.ChangedException();
      }
      return Channels.newChannel(InputStream.nullInputStream());
    }
  }
}
