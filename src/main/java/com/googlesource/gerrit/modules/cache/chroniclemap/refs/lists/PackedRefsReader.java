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

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.common.hash.Hasher;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListSource.Content;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.util.Arrays;
import org.eclipse.jgit.annotations.Nullable;

/**
 * A reader of {@code packed-refs} files: checks whether a file still has the content of a list, and
 * makes the list of a new content, block by block.
 *
 * <p>The list answers as JGit's RefDirectory does. There is no list of a file that is not
 * <i>regular</i>, which is written exactly as git writes it; JGit has to answer for such a file.
 *
 * <p>How: the text moves through a window of some 256 KB, chunk by chunk (see {@link Chunks}). Each
 * chunk is hashed. If the hash is the id of a block in memory or on disk, that block is used.
 * Otherwise the chunk is copied to the heap, and its lines are parsed. All names must ascend by
 * bytes, as native git sorts them.
 *
 * <p>The window is direct memory, into which files are read without a copy.
 *
 * <p>For one thread. Readers should be reused, as each keeps some 650 KB of buffers.
 */
final class PackedRefsReader {
  private static final int WINDOW = 256 << 10;

  /** Readable bytes after the text, as words are loaded from any position. */
  private static final int SPARE = 64;

  /** The largest size of the comments, header included, at the start of a regular file. */
  private static final int MAX_COMMENTS = 1024;

  private final SiteKey key;
  private final TextHash hash;
  private final BlockWriter writer = new BlockWriter();

  /** The text, up to {@link #end}. */
  private final ByteBuffer window =
      ByteBuffer.allocateDirect(WINDOW + SPARE).order(ByteOrder.LITTLE_ENDIAN);

  /** A chunk that has to be parsed. */
  private final byte[] chunk = new byte[Chunks.HARD_MAX + SPARE];

  /** Copies for {@link EditedText}; null before the first one. */
  @Nullable private ByteBuffer copies;

  private TextSource source;

  /** The start of the text that is not processed yet. */
  private int position;

  /** The end of the text in the window. */
  private int end;

  /** Whether {@link #end} is the end of the file. */
  private boolean atEnd;

  PackedRefsReader(SiteKey key) {
    this.key = key;
    this.hash = new TextHash(key);
  }

  // ---- whole files

  /**
   * Returns whether a text is exactly that of some blocks of a list, without garbage.
   *
   * @param from at its start
   * @param after the block behind the last one
   */
  boolean matches(TextSource from, ParsedRefs list, int first, int after) throws IOException {
    open(from);
    for (int i = first; i < after; i++) {
      Block block = list.blocks[i];
      fill();
      if (end - position < block.textLength
          || !hash.of(window, position, block.textLength, list.root.blockFlags())
              .equals(block.id)) {
        return false;
      }
      position += block.textLength;
    }
    fill();
    return position == end;
  }

  /**
   * Writes a content with some changed lines, and makes its list in the same pass.
   *
   * @param list the list of the old content
   * @param from the old content
   * @param to gets the new content, which is useless if this method fails
   * @param builder gets the blocks of the new list
   * @throws ListSource.ChangedException if the list is not the old content's
   */
  Content readEdited(
      ParsedRefs list,
      PackedEdits edits,
      ReadableByteChannel from,
      FileChannel to,
      ListBuilder builder)
      throws IOException {
    if (copies == null) {
      copies = EditedText.buffer();
    }
    return read(new EditedText(list, key, from, edits.inOrder(), to, copies), builder, list);
  }

  /**
   * Reads a content.
   *
   * @param from at its start
   * @param builder gets the blocks of the new list; null for the digest alone, without a parse
   * @param old a list that probably has many of the blocks, in the same order; or null
   */
  Content read(TextSource from, @Nullable ListBuilder builder, @Nullable ParsedRefs old)
      throws IOException {
    open(from);
    Hasher ids = ContentDigest.start();
    boolean isRegular = builder != null;
    int flags = 0;
    int refsAt = 0;
    // The place in the old list of the block that is likely to come next; -1 if none is.
    int likely = old == null ? -1 : 0;
    fill();
    for (boolean isFirst = true; position < end; isFirst = false) {
      Block block = isFirst || likely < 0 ? null : ifNext(old, likely, flags);
      boolean isLikely = block != null;
      int length = isLikely ? block.textLength : Chunks.end(key, window, position, end) - position;
      if (isFirst) {
        copyToHeap(length);
        refsAt = Lines.afterComments(chunk, length);
        String comments = new String(chunk, 0, refsAt, ISO_8859_1);
        flags = PackedRefsTraits.flags(comments);
        isRegular &= refsAt <= MAX_COMMENTS && comments.indexOf('\r') < 0;
      } else if (window.get(position) == '#') {
        isRegular = false; // a block with a header may be known
      }
      ContentDigest id = isLikely ? block.id : hash.of(window, position, length, flags);
      id.addTo(ids);
      likely = likely < 0 ? -1 : likely + 1;
      if (isRegular && block == null) {
        block = builder.find(id, length);
        if (block == null) {
          copyToHeap(length);
          isRegular = parseChunk(refsAt, length, flags);
          block = isRegular ? builder.make(id, length, writer.finish()) : null;
        } else if (old != null) {
          likely = old.behind(block, nameAt(position + refsAt, position + length));
        }
      }
      if (isRegular) {
        int lastLine = Chunks.lineStart(window, position + refsAt, position + length - 1);
        if (window.get(lastLine) == '^') {
          lastLine = Chunks.lineStart(window, position + refsAt, lastLine - 1);
        }
        isRegular =
            builder.append(
                block,
                nameAt(position + refsAt, position + length),
                nameAt(lastLine, position + length));
      }
      refsAt = 0;
      position += length;
      fill();
    }
    ContentDigest digest = ContentDigest.finish(ids);
    return new Content(isRegular ? builder.finish(flags, digest) : null, digest, !isRegular);
  }

  /** Returns a block of a list if its text comes next, and is a chunk here, too. */
  @Nullable
  private Block ifNext(ParsedRefs list, int place, int flags) {
    // The last chunk ended with its file, and need not end there in a longer one.
    if (place >= list.blocks() - 1) {
      return null;
    }
    Block block = list.blocks[place];
    int chunkEnd = position + block.textLength;
    return chunkEnd < end
            && window.get(chunkEnd) != '^'
            && hash.of(window, position, block.textLength, flags).equals(block.id)
        ? block
        : null;
  }

  /** Returns the name in a line of a regular chunk; empty behind the last line. */
  private byte[] nameAt(int line, int chunkEnd) {
    int start = Math.min(chunkEnd, line + Lines.HEX_LENGTH + 1);
    int nameEnd = start;
    while (nameEnd < chunkEnd && window.get(nameEnd) != '\n') {
      nameEnd++;
    }
    byte[] name = new byte[nameEnd - start];
    window.get(start, name);
    return name;
  }

  // ---- the window

  private void open(TextSource from) {
    source = from;
    position = 0;
    end = 0;
    atEnd = false;
  }

  /** Fills the window until it has a whole chunk and the byte behind that chunk. */
  private void fill() throws IOException {
    if (atEnd || end - position > Chunks.HARD_MAX) {
      return;
    }
    window.put(0, window, position, end - position);
    end -= position;
    position = 0;
    window.limit(WINDOW).position(end);
    while (window.hasRemaining()) {
      if (source.read(window) < 0) {
        atEnd = true;
        break;
      }
    }
    end = window.position();
    window.clear();
  }

  /** Copies the next chunk to {@link #chunk}, with a line feed, which its last line may lack. */
  private void copyToHeap(int length) {
    window.get(position, chunk, 0, length);
    chunk[length] = '\n';
    Arrays.fill(chunk, length + 1, length + SPARE, (byte) 0);
  }

  // ---- regular files

  /**
   * Parses the lines of {@link #chunk} into {@link #writer}.
   *
   * @return false if a line is not regular
   */
  private boolean parseChunk(int refsAt, int length, int flags) {
    boolean isLast = atEnd && position + length == end;
    if (!isLast && chunk[length - 1] != '\n') {
      return false; // it was cut within a line, which is too long
    }
    writer.start(flags);
    int previous = -1;
    int p = refsAt;
    while (p < length) {
      int nameAt = p + Lines.HEX_LENGTH + 1;
      if (nameAt >= length || chunk[nameAt - 1] != ' ' || !writer.readId(chunk, p)) {
        return false;
      }
      int nameEnd = Lines.lineEnd(chunk, nameAt, length);
      if (nameEnd <= nameAt) {
        return false;
      }
      int shared = 0;
      if (previous >= 0) {
        shared = Lines.shared(chunk, previous, nameAt, length);
        int order = Lines.order(chunk, previous, nameAt, nameEnd - nameAt, shared);
        if (order == Names.NO_ORDER) {
          return false;
        }
        writer.flags |= order;
      }
      writer.add(chunk, nameAt, nameEnd - nameAt, shared);
      previous = nameAt;
      p = nameEnd + 1;
      if (p < length && chunk[p] == '^') {
        int peeledEnd = p + 1 + Lines.HEX_LENGTH;
        if (peeledEnd > length || chunk[peeledEnd] != '\n' || !writer.addPeeled(chunk, p + 1)) {
          return false;
        }
        p = peeledEnd + 1;
      }
    }
    return true;
  }
}
