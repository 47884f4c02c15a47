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

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.util.Arrays;
import java.util.function.Predicate;
import org.eclipse.jgit.annotations.Nullable;

/**
 * A reader of {@code packed-refs} files: checks whether a file still has the content of a list, and
 * makes the list of a new content, block by block. Blocks of an older list whose text has not
 * changed are reused.
 *
 * <p>The list answers as JGit's RefDirectory does. There is no list of a file that is not
 * <i>regular</i>, which is written exactly as git writes it; JGit has to answer for such a file.
 *
 * <p>How: the text moves through a window of some 256 KB, chunk by chunk (see {@link Chunks}).
 * Where the older list has a block that starts with the next name, the text of that block is
 * hashed. If the hash is the block's id, the block is reused. Otherwise the lines are parsed. All
 * names must ascend by bytes, as native git sorts them.
 *
 * <p>The window is direct memory, into which files are read without a copy. Only text that has to
 * be parsed is copied to the heap.
 *
 * <p>For one thread. Readers should be reused, as each keeps some 700 KB of buffers and 30 bytes
 * for each block.
 */
final class PackedRefsReader {
  private static final int WINDOW = 256 << 10;

  /** The text before the current chunk that stays in the window: the last ref and its peeled id. */
  private static final int BEHIND = 2 * Names.MAX_BYTES;

  /** Readable bytes after the text, as words are loaded from any position. */
  private static final int SPARE = 64;

  /** The largest size of the comments, header included, at the start of a regular file. */
  private static final int MAX_COMMENTS = 1024;

  private final SiteKey key;
  private final TextHash hash;
  private final BlockWriter writer = new BlockWriter();
  private final RootWriter rootWriter = new RootWriter();

  /** The text, up to {@link #end}. */
  private final ByteBuffer direct =
      ByteBuffer.allocateDirect(BEHIND + WINDOW + SPARE).order(ByteOrder.LITTLE_ENDIAN);

  /** The same text on the heap, between {@link #copiedFrom} and {@link #copiedTo}. */
  private final byte[] window = new byte[BEHIND + WINDOW + SPARE];

  /** Copies for {@link EditedText}; null before the first one. */
  @Nullable private ByteBuffer copies;

  private int copiedFrom;
  private int copiedTo;

  private TextSource source;

  /** The start of the text that is not processed yet. */
  private int position;

  /** The end of the text in the window. */
  private int end;

  /** Whether {@link #end} is the end of the file. */
  private boolean atEnd;

  /** The {@link Names#order} of the first name of the last chunk and the name before it. */
  private int orderOfFirst;

  /** The number of blocks that the last {@link #read} made from text; below, that it reused. */
  int parsedBlocks;

  int reusedBlocks;

  PackedRefsReader(SiteKey key) {
    this.key = key;
    this.hash = new TextHash(key);
  }

  // ---- whole files

  /**
   * Returns the digest of a content without parsing its refs.
   *
   * @param from at its start
   */
  ContentDigest digest(TextSource from) throws IOException {
    return digestIfKnown(from, block -> true);
  }

  /**
   * Returns the digest of a content, or null if its first chunk is not known. Then the content is
   * not known either, and can be parsed at once instead of being read twice.
   *
   * @param from at its start
   * @param known tells whether the block of an id may be in memory or on disk
   */
  @Nullable
  ContentDigest digestIfKnown(TextSource from, Predicate<ContentDigest> known) throws IOException {
    open(from);
    rootWriter.start();
    int flags = 0;
    fill();
    if (position < end) {
      copyToHeap();
      flags = headerFlags(endOfComments());
    }
    while (position < end) {
      copyToHeap();
      int chunkEnd = Chunks.end(key, window, position, end);
      hash.of(direct, position, chunkEnd - position, flags);
      if (rootWriter.blocks == 0 && !known.test(new ContentDigest(hash.hi, hash.lo))) {
        return null;
      }
      rootWriter.add(hash.hi, hash.lo, 0, 0, 0);
      position = chunkEnd;
      fill();
    }
    return rootWriter.digest();
  }

  /**
   * Returns whether a text is exactly that of some blocks of a list, without garbage.
   *
   * @param from at its start
   * @param after the block behind the last one
   */
  boolean matches(TextSource from, Root root, int first, int after) throws IOException {
    open(from);
    for (int block = first; block < after; block++) {
      fill();
      int length = root.textLength(block);
      if (end - position < length || !isText(root, block, length)) {
        return false;
      }
      position += length;
    }
    fill();
    return position == end;
  }

  private boolean isText(Root root, int block, int length) {
    hash.of(direct, position, length, root.blockFlags());
    return hash.hi == root.idHi(block) && hash.lo == root.idLo(block);
  }

  /**
   * Writes a content with some changed lines, and makes its list in the same pass.
   *
   * @param list the list of the old content
   * @param from the old content
   * @param to gets the new content, which is useless if this method fails
   * @param builder gets the blocks of a new list
   * @return {@code list} if the content has not changed, or else the new list; null if the new
   *     content is not regular
   * @throws ListSource.ChangedException if the list is not the old content's
   */
  @Nullable
  ParsedRefs readEdited(
      ParsedRefs list,
      PackedEdits edits,
      ReadableByteChannel from,
      FileChannel to,
      ListBuilder builder)
      throws IOException {
    if (copies == null) {
      copies = EditedText.buffer();
    }
    Root root = list.root;
    return read(new EditedText(root, key, from, edits.inOrder(), to, copies), builder, list);
  }

  /**
   * Reads a content.
   *
   * @param from at its start
   * @param builder gets the blocks of a new list
   * @param old a list whose blocks may be reused, or null
   * @return {@code old} if the content has not changed. Otherwise the new list, with which the
   *     builder is finished; null if the content is not regular
   */
  @Nullable
  ParsedRefs read(TextSource from, ListBuilder builder, @Nullable ParsedRefs old)
      throws IOException {
    int flags = readInto(from, builder, old);
    if (flags < 0) {
      return null;
    }
    if (old != null && parsedBlocks == 0 && reusedBlocks == old.root.blocks) {
      return old;
    }
    return builder.finish(rootWriter.finish(flags), /* onDisk= */ false);
  }

  // ---- the window

  private void open(TextSource from) throws IOException {
    source = from;
    position = 0;
    end = 0;
    atEnd = false;
    copiedFrom = 0;
    copiedTo = 0;
  }

  /** Fills the window until it has a whole chunk and the byte behind that chunk. */
  private void fill() throws IOException {
    if (atEnd || end - position > Chunks.HARD_MAX) {
      return;
    }
    int drop = position - BEHIND;
    if (drop > 0) {
      direct.put(0, direct, drop, end - drop);
      if (copiedTo > drop) {
        copiedFrom = Math.max(drop, copiedFrom);
        System.arraycopy(window, copiedFrom, window, copiedFrom - drop, copiedTo - copiedFrom);
      }
      copiedFrom = Math.max(0, copiedFrom - drop);
      copiedTo = Math.max(0, copiedTo - drop);
      position -= drop;
      end -= drop;
    }
    direct.limit(direct.capacity() - SPARE).position(end);
    while (direct.hasRemaining()) {
      if (source.read(direct) < 0) {
        atEnd = true;
        break;
      }
    }
    end = direct.position();
    direct.clear();
  }

  /** Copies the text, from the line before the position on, to {@link #window}. */
  private void copyToHeap() {
    int from = Math.max(0, position - BEHIND);
    if (copiedFrom > from || copiedTo < from) {
      copiedFrom = from;
      copiedTo = from;
    }
    if (copiedTo < end) {
      direct.get(copiedTo, window, copiedTo, end - copiedTo);
      copiedTo = end;
    }
    if (atEnd) {
      // The last line may lack a line feed. Bytes behind the text must not look like text.
      window[end] = '\n';
      Arrays.fill(window, end + 1, end + SPARE, (byte) 0);
    }
  }

  // ---- regular files

  /**
   * Reads a regular file into {@link #rootWriter}.
   *
   * @return the flags of the header, or -1 if the file is not regular
   */
  private int readInto(TextSource from, ListBuilder builder, @Nullable ParsedRefs oldList)
      throws IOException {
    open(from);
    rootWriter.start();
    builder.start();
    parsedBlocks = 0;
    reusedBlocks = 0;
    Root old = oldList == null ? null : oldList.root;
    int flags = -1;
    int aligned = old != null && old.blocks > 0 ? 0 : -1;
    boolean wasReused = false;
    for (fill(); position < end; fill()) {
      if (aligned >= 0 && reuse(oldList, aligned, wasReused)) {
        builder.append(oldList.blocks[aligned]);
        flags = flags < 0 ? old.blockFlags() : flags;
        aligned = aligned + 1 < old.blocks ? aligned + 1 : -1;
        wasReused = true;
        continue;
      }
      aligned = -1;
      wasReused = false;
      copyToHeap();
      int refsAt = position;
      if (rootWriter.blocks == 0) {
        refsAt = endOfComments();
        if (refsAt - position > MAX_COMMENTS) {
          return -1;
        }
        flags = headerFlags(refsAt);
        if (old != null && old.blockFlags() != flags) {
          old = null;
        }
      }
      int start = position;
      if (!parseChunk(refsAt, flags)) {
        return -1;
      }
      finishChunk(builder, start, refsAt, flags);
      if (old != null) {
        // If the older list has a block that starts here, that block is tried next.
        fill();
        copyToHeap();
        int nameAt = position + Lines.HEX_LENGTH + 1;
        int nameLength = Lines.lineEnd(window, nameAt, end) - nameAt;
        int block = nameLength > 0 ? old.blockOf(window, nameAt, nameLength) : -1;
        if (block >= 0 && old.compareFirstName(block, window, nameAt, nameLength) == 0) {
          aligned = block;
        }
      }
    }
    return Math.max(0, flags);
  }

  /** Reuses a block if its text comes next and would still be a chunk of its own. */
  private boolean reuse(ParsedRefs list, int block, boolean wasReused) {
    Root old = list.root;
    int length = old.textLength(block);
    int chunkEnd = position + length;
    if (chunkEnd > end || old.firstNameLength(block) == 0) {
      return false;
    }
    // The last chunk ended with its file, and need not end there in a longer file.
    if (chunkEnd < end && (block == old.blocks - 1 || direct.get(chunkEnd) == '^')) {
      return false;
    }
    int order = list.orderWithin(block);
    // The block may follow another block now, so its first name is compared again.
    if (rootWriter.blocks > 0 && !(wasReused && old.inStringOrder)) {
      copyToHeap();
      int before = previousName();
      int nameAt = position + Lines.HEX_LENGTH + 1;
      if (before < 0) {
        return false;
      }
      int shared = Lines.shared(window, before, nameAt, end);
      int toFirst = Lines.order(window, before, nameAt, old.firstNameLength(block), shared);
      if (toFirst == Names.NO_ORDER) {
        return false;
      }
      order |= toFirst;
    }
    hash.of(direct, position, length, old.blockFlags());
    if (hash.hi != old.idHi(block) || hash.lo != old.idLo(block)) {
      return false;
    }
    int count = old.refsBefore(block + 1) - old.refsBefore(block);
    rootWriter.addName(old.bytes, old.firstNameAt(block), old.firstNameLength(block));
    rootWriter.add(hash.hi, hash.lo, count, length, order);
    position = chunkEnd;
    reusedBlocks++;
    return true;
  }

  private void finishChunk(ListBuilder builder, int start, int refsAt, int flags) {
    int length = position - start;
    hash.of(direct, start, length, flags);
    if (writer.count > 0) {
      int nameAt = refsAt + Lines.HEX_LENGTH + 1;
      rootWriter.addName(window, nameAt, Lines.lineEnd(window, nameAt, end) - nameAt);
    }
    builder.put(new ContentDigest(hash.hi, hash.lo), writer.finish());
    parsedBlocks++;
    int order = orderOfFirst | (writer.flags & ~BlockFormat.FLAGS);
    rootWriter.add(hash.hi, hash.lo, writer.count, length, order);
  }

  /** The end of the comments that start here, or a position a chunk away. */
  private int endOfComments() {
    int p = position;
    while (p < end && window[p] == '#' && p - position <= Chunks.MIN) {
      p = Lines.next(window, p, end);
    }
    return p;
  }

  /** The traits of the last header among the comments, as flags of a block. */
  private int headerFlags(int commentsEnd) {
    int flags = 0;
    for (int p = position; p < commentsEnd; ) {
      int next = Lines.next(window, p, commentsEnd);
      if (PackedRefsTraits.isHeader(window, p, next)) {
        flags = PackedRefsTraits.flags(window, p, next);
      }
      p = next;
    }
    return flags;
  }

  /**
   * Reads the lines of a chunk into {@link #writer} and moves {@link #position} behind the chunk.
   *
   * @return false if a line is not regular
   */
  private boolean parseChunk(int refsAt, int flags) {
    int start = position;
    byte[] text = window;
    writer.start(flags);
    orderOfFirst = 0;
    for (int p = position; p < refsAt; p++) {
      if (text[p] == '\r') {
        return false;
      }
    }
    int previous = rootWriter.blocks == 0 ? -1 : previousName();
    int p = refsAt;
    while (p < end) {
      int nameAt = p + Lines.HEX_LENGTH + 1;
      if (nameAt >= end || text[nameAt - 1] != ' ' || !writer.readId(text, p)) {
        return false;
      }
      int nameEnd = Lines.lineEnd(window, nameAt, end);
      if (nameEnd <= nameAt) {
        return false;
      }
      int shared = 0;
      if (previous >= 0) {
        shared = Lines.shared(text, previous, nameAt, end);
        int order = Lines.order(text, previous, nameAt, nameEnd - nameAt, shared);
        if (order == Names.NO_ORDER) {
          return false;
        }
        if (writer.count == 0) {
          orderOfFirst = order;
        } else {
          writer.flags |= order;
        }
      }
      writer.add(text, nameAt, nameEnd - nameAt, shared);
      previous = nameAt;
      int line = p;
      p = nameEnd + 1;
      if (p < end && text[p] == '^') {
        int peeledEnd = p + 1 + Lines.HEX_LENGTH;
        if (peeledEnd > end || text[peeledEnd] != '\n' || !writer.addPeeled(text, p + 1)) {
          return false;
        }
        p = peeledEnd + 1;
      }
      if (p < end && Chunks.endsAt(key, text, start, line, nameEnd, p)) {
        break;
      }
    }
    position = Math.min(p, end);
    return true;
  }

  /** The start of the name of the ref before {@link #position}; -1 if it is not known. */
  private int previousName() {
    int lineEnd = position - 1;
    int line = Lines.lineStart(window, 0, lineEnd);
    if (line > 0 && window[line] == '^') {
      line = Lines.lineStart(window, 0, line - 1);
    }
    int nameAt = line + Lines.HEX_LENGTH + 1;
    return window[line] == '#' || nameAt >= position ? -1 : nameAt;
  }
}
