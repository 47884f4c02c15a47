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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.BlockFormat;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ContentDigest;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Draft;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.NamePairs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Names;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsTraits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Root;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.NotParsableException.Reason;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.Function;
import org.eclipse.jgit.annotations.Nullable;

/**
 * Reads {@code packed-refs}: checks whether a file still has the content of a list, and makes the
 * list of a new content, block by block, using again the blocks of an older list whose text has not
 * changed.
 *
 * <p>It answers as JGit's RefDirectory does, or not at all ({@link NotParsableException}).
 *
 * <p>How: the text goes through a window of some 256 KB, chunk by chunk (see {@link Chunks}). Where
 * the older list has a block that starts with the name that comes next, its text is hashed; if that
 * gives the block's id, the chunk is the same and done with. Else its lines are read: each must be
 * just as git writes it, in order: in that of native git, by bytes, or in JGit's. At the first that
 * is not, all is left to {@link IrregularText}.
 *
 * <p>The window is direct memory, into which files are read without a copy; only what must be read
 * as lines is copied to the heap.
 *
 * <p>For one thread; it keeps its buffers (some 700 KB, and 30 bytes for each block), so it should
 * be used again.
 */
public final class PackedRefsReader {
  /** Largest irregular file that is read, in bytes: it is held on the heap, several times over. */
  static final int MAX_IRREGULAR = 256 << 20;

  private static final int WINDOW = 256 << 10;

  /** Text before the current chunk that stays in the window: the ref before, and its peeled id. */
  private static final int BEHIND = 2 * Names.MAX_BYTES;

  /** Readable bytes after the text: words are loaded from anywhere. */
  private static final int SPARE = 64;

  /** Comments at the start, the header among them, that a regular file may have. */
  private static final int MAX_COMMENTS = 1024;

  /** What the header of a regular file says. */
  private static final int HEADER_FLAGS = BlockFormat.FLAGS | Root.SORTED | Root.HEADER;

  private static final int HEX_LENGTH = 2 * BlockFormat.ID_BYTES;

  private final SiteKey key;
  private final TextHash hash;
  private final BlockWriter writer = new BlockWriter();
  private final RootWriter rootWriter = new RootWriter();

  /** Text as it was read, up to {@link #end}. */
  private final ByteBuffer direct =
      ByteBuffer.allocateDirect(BEHIND + WINDOW + SPARE).order(ByteOrder.LITTLE_ENDIAN);

  /** The same at the same positions, between {@link #copiedFrom} and {@link #copiedTo}. */
  private final byte[] window = new byte[BEHIND + WINDOW + SPARE];

  private int copiedFrom;
  private int copiedTo;

  private TextSource source;

  /** Start of what is not done yet. */
  private int position;

  /** End of the text in the window. */
  private int end;

  /** Whether {@link #end} is the end of the file. */
  private boolean atEnd;

  /** Which orders the names of the chunk follow that was read last: see {@link NamePairs}. */
  private int pairs;

  /** Whether the names ascend in one order so far. */
  private boolean orderly;

  private int parsedBlocks;
  private int reusedBlocks;

  PackedRefsReader(SiteKey key) {
    this.key = key;
    this.hash = new TextHash(key);
  }

  /** How many blocks the last call of {@link #read} made from text. */
  int parsedBlocks() {
    return parsedBlocks;
  }

  /** How many blocks the last call of {@link #read} took over from the older list. */
  int reusedBlocks() {
    return reusedBlocks;
  }

  // ---- the whole

  /**
   * Returns the digest of a content without reading its refs.
   *
   * @param from at its start
   */
  public ContentDigest digest(TextSource from) throws IOException {
    return raw(from, null).digest();
  }

  /** Tells whether a block of that id may be known anywhere. */
  @FunctionalInterface
  public interface Known {
    boolean isKnown(long idHi, long idLo);
  }

  /**
   * Returns the digest of a content, or null if its first chunk is not known: then the content is
   * not known either, and is to be parsed without being read twice. (An irregular content is not
   * found so. Git and JGit write none.)
   *
   * @param from at its start
   */
  @Nullable
  public ContentDigest digestIfKnown(TextSource from, Known first) throws IOException {
    RootWriter.RawText raw = raw(from, first);
    return raw == null ? null : raw.digest();
  }

  /** Digest and length, or null if the first chunk is not known, for a caller who minds. */
  @Nullable
  private RootWriter.RawText raw(TextSource from, @Nullable Known first) throws IOException {
    open(from);
    rootWriter.start();
    int flags = 0;
    long length = 0;
    fill();
    if (position < end) {
      copyToHeap();
      flags = headerFlags(endOfComments()) & BlockFormat.FLAGS;
    }
    while (position < end) {
      copyToHeap();
      int chunkEnd = Chunks.end(key, window, position, end);
      hash.of(direct, position, chunkEnd - position, flags);
      if (length == 0 && first != null && !first.isKnown(hash.hi, hash.lo)) {
        return null;
      }
      var unused = rootWriter.add(hash.hi, hash.lo, 0, 0, 0, 0);
      length += chunkEnd - position;
      position = chunkEnd;
      fill();
    }
    return new RootWriter.RawText(rootWriter.digest(), length);
  }

  /**
   * Returns whether a content is that of a list, without garbage.
   *
   * @param from at its start
   */
  boolean matches(TextSource from, ParsedRefs list) throws IOException {
    Root root = list.root();
    if (root.irregular()) {
      return digest(from).equals(list.digest());
    }
    return matches(from, root, 0, root.blocks());
  }

  /**
   * Returns whether a text is that of some blocks of a regular list, and nothing else, without
   * garbage.
   *
   * @param from at its start
   * @param after the block after them
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

  /** Reads a content that nobody else may have read. */
  public ParsedRefs read(TextSource from, Draft draft, @Nullable ParsedRefs old)
      throws IOException, NotParsableException {
    return read(from, draft, old, digest -> null);
  }

  /**
   * Reads a content.
   *
   * @param from at its start; may be rewound
   * @param draft gets the blocks of a new list
   * @param old a list whose blocks may be used again, or null
   * @param known asked for the list of an irregular content before that is parsed; gives null if it
   *     knows none. (What is regular was found by {@link #digestIfKnown}.)
   * @return {@code old} if the content has not changed, or the known list; else the new one, with
   *     which the draft is finished
   */
  public ParsedRefs read(
      TextSource from,
      Draft draft,
      @Nullable ParsedRefs old,
      Function<ContentDigest, ParsedRefs> known)
      throws IOException, NotParsableException {
    Root oldRoot = old == null ? null : old.root();
    if (oldRoot != null && oldRoot.irregular() && matches(from, old)) {
      return old;
    }
    if (oldRoot != null && oldRoot.irregular()) {
      from.rewind();
    }
    int flags = readRegular(from, draft, oldRoot);
    RootWriter.RawText raw = null;
    if (flags < 0) {
      from.rewind();
      byte[] text = readAll(from);
      raw = raw(new MemoryText(text), null);
      ParsedRefs list = known.apply(raw.digest());
      if (list != null) {
        return list;
      }
      try {
        flags = readRegular(new MemoryText(IrregularText.regular(text)), draft, oldRoot);
      } catch (IrregularText.Refusal e) {
        throw new NotParsableException(e.reason(), raw.digest());
      }
      if (flags < 0) {
        throw new IllegalStateException("a regular packed-refs file is taken for an irregular one");
      }
    } else if (oldRoot != null && !oldRoot.irregular() && isSame(oldRoot)) {
      return old;
    }
    return draft.finish(rootWriter.finish(flags, raw), old, /* onDisk= */ false);
  }

  /**
   * Reads a content that is written as git writes it.
   *
   * @param from at its start
   * @param draft gets the blocks of a new list
   * @param old a list whose blocks may be used again, or null
   * @return {@code old} if the content is the same; else the new list, with which the draft is
   *     finished; null if the content is not regular
   */
  @Nullable
  public ParsedRefs readRegular(TextSource from, Draft draft, @Nullable ParsedRefs old)
      throws IOException {
    Root oldRoot = old == null ? null : old.root();
    int flags = readRegular(from, draft, oldRoot);
    if (flags < 0) {
      return null;
    }
    if (oldRoot != null && !oldRoot.irregular() && isSame(oldRoot)) {
      return old;
    }
    return draft.finish(rootWriter.finish(flags, null), old, /* onDisk= */ false);
  }

  private boolean isSame(Root oldRoot) {
    return parsedBlocks == 0 && reusedBlocks == oldRoot.blocks();
  }

  private static byte[] readAll(TextSource from) throws IOException, NotParsableException {
    ByteArrayOutputStream all = new ByteArrayOutputStream(1 << 16);
    ByteBuffer part = ByteBuffer.allocate(1 << 16);
    for (int n = from.read(part); n > 0; n = from.read(part.clear())) {
      all.write(part.array(), 0, n);
      if (all.size() > MAX_IRREGULAR) {
        throw new NotParsableException(Reason.TOO_LARGE, null);
      }
    }
    return all.toByteArray();
  }

  /** The list of a file without refs, such as one that is not there. */
  public ParsedRefs none() {
    rootWriter.start();
    // Nothing of it is to be written.
    return new Draft(new ListMemory(0))
        .finish(rootWriter.finish(0, null), null, /* onDisk= */ true);
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

  /** Reads on until a whole chunk, and the byte after it, are there. */
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

  /** Copies the text that is there, from the line before the position on, to {@link #window}. */
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
      // The last line may have no line feed. Nothing that is not text may look like any.
      window[end] = '\n';
      Arrays.fill(window, end + 1, end + SPARE, (byte) 0);
    }
  }

  // ---- regular files

  /**
   * Reads a regular file into {@link #rootWriter}.
   *
   * @return the flags, or -1 if the file is not regular
   */
  private int readRegular(TextSource from, Draft draft, @Nullable Root oldRoot) throws IOException {
    open(from);
    rootWriter.start();
    parsedBlocks = 0;
    reusedBlocks = 0;
    orderly = true;
    Root old = oldRoot;
    int flags = -1;
    int candidate = 0;
    int aligned = old != null && old.blocks() > 0 ? 0 : -1;
    boolean wasReused = false;
    for (fill(); position < end; fill()) {
      if (aligned >= 0 && reuse(old, aligned, wasReused)) {
        if (!orderly) {
          return -1;
        }
        flags = flags < 0 ? old.flags() & HEADER_FLAGS : flags;
        candidate = aligned + 1;
        aligned = candidate < old.blocks() ? candidate : -1;
        wasReused = true;
        continue;
      }
      aligned = -1;
      wasReused = false;
      copyToHeap();
      int refsAt = position;
      if (rootWriter.blocks() == 0) {
        refsAt = endOfComments();
        if (refsAt - position > MAX_COMMENTS) {
          return -1;
        }
        flags = headerFlags(refsAt);
        if (old != null && old.blockFlags() != (flags & BlockFormat.FLAGS)) {
          old = null;
        }
      }
      int start = position;
      if (!parseChunk(refsAt, flags & BlockFormat.FLAGS)
          || !finishChunk(draft, start, refsAt, flags & BlockFormat.FLAGS)) {
        return -1;
      }
      if (old != null) {
        // Where the older list has a block that starts here, try that one next.
        fill();
        copyToHeap();
        int nameAt = position + HEX_LENGTH + 1;
        int nameLength = Lines.lineEnd(window, nameAt, end) - nameAt;
        while (nameLength > 0 && candidate < old.blocks()) {
          int order = old.compareFence(candidate, window, nameAt, nameLength);
          if (order == 0) {
            aligned = candidate;
          }
          if (order >= 0) {
            break;
          }
          candidate++;
        }
      }
    }
    return Math.max(0, flags);
  }

  /** Uses the older list's block if its text is what comes next, and would be cut there now. */
  private boolean reuse(Root old, int block, boolean wasReused) {
    int length = old.textLength(block);
    int chunkEnd = position + length;
    if (chunkEnd > end || old.fenceLength(block) == 0) {
      return false;
    }
    // The last chunk ended with its file, where the site's key may have said nothing of it.
    if (chunkEnd < end && (block == old.blocks() - 1 || direct.get(chunkEnd) == '^')) {
      return false;
    }
    int pairs = old.pairs(block);
    // A file that was parsed may have had this block after another one.
    if (!wasReused) {
      int toFirst = 0;
      if (rootWriter.blocks() > 0) {
        copyToHeap();
        int before = previousName();
        int nameAt = position + HEX_LENGTH + 1;
        toFirst = before < 0 ? NamePairs.NEITHER : Lines.pair(window, before, nameAt, end);
      }
      if (toFirst == NamePairs.NEITHER) {
        return false;
      }
      pairs = NamePairs.flags(NamePairs.within(pairs), toFirst);
    }
    hash.of(direct, position, length, old.blockFlags());
    if (hash.hi != old.idHi(block) || hash.lo != old.idLo(block)) {
      return false;
    }
    int fenceLength = old.fenceLength(block);
    old.copyFence(block, rootWriter.fence(fenceLength), rootWriter.fenceAt());
    int count = old.first(block + 1) - old.first(block);
    orderly = rootWriter.add(hash.hi, hash.lo, count, length, fenceLength, pairs);
    position = chunkEnd;
    reusedBlocks++;
    return true;
  }

  /** Returns false if the names do not ascend in one order so far. */
  private boolean finishChunk(Draft draft, int start, int refsAt, int flags) {
    int length = position - start;
    hash.of(direct, start, length, flags);
    int fenceLength = 0;
    if (writer.count() > 0) {
      int nameAt = refsAt + HEX_LENGTH + 1;
      fenceLength = Lines.lineEnd(window, nameAt, end) - nameAt;
      System.arraycopy(
          window, nameAt, rootWriter.fence(fenceLength), rootWriter.fenceAt(), fenceLength);
    }
    draft.put(hash.hi, hash.lo, writer.finish());
    parsedBlocks++;
    return rootWriter.add(hash.hi, hash.lo, writer.count(), length, fenceLength, pairs);
  }

  /** Where the comments end that start here, or a chunk after this position. */
  private int endOfComments() {
    int p = position;
    while (p < end && window[p] == '#' && p - position <= Chunks.MIN) {
      while (p < end && window[p] != '\n') {
        p++;
      }
      p = Math.min(end, p + 1);
    }
    return p;
  }

  /** What the last header among the comments says, as flags of a root. */
  private int headerFlags(int commentsEnd) {
    int flags = 0;
    for (int p = position; p < commentsEnd; ) {
      int lineEnd = p;
      while (lineEnd < commentsEnd && window[lineEnd] != '\n') {
        lineEnd++;
      }
      if (PackedRefsTraits.isHeader(window, p, lineEnd)) {
        flags = PackedRefsTraits.flags(window, p, lineEnd);
      }
      p = lineEnd + 1;
    }
    return flags;
  }

  /**
   * Reads the lines of a chunk into {@link #writer} and moves {@link #position} behind it.
   *
   * @return false if a line is not regular
   */
  private boolean parseChunk(int refsAt, int flags) {
    int start = position;
    byte[] text = window;
    writer.start(flags);
    pairs = 0;
    for (int p = position; p < refsAt; p++) {
      if (text[p] == '\r') {
        return false;
      }
    }
    int previous = rootWriter.blocks() == 0 ? -1 : previousName();
    int p = refsAt;
    while (p < end) {
      int nameAt = p + HEX_LENGTH + 1;
      if (nameAt >= end
          || text[nameAt - 1] != ' '
          || !Lines.hex(text, p, HEX_LENGTH, writer.idBuffer(), writer.idAt())) {
        return false;
      }
      int nameEnd = Lines.lineEnd(window, nameAt, end);
      if (nameEnd <= nameAt) {
        return false;
      }
      int shared = 0;
      if (previous >= 0) {
        shared = Lines.shared(text, previous, nameAt, end);
        int pair =
            shared < nameEnd - nameAt
                ? NamePairs.of(text[previous + shared], text[nameAt + shared])
                : NamePairs.NEITHER;
        if (pair == NamePairs.NEITHER) {
          return false;
        }
        pairs |= writer.count() == 0 ? NamePairs.flags(0, pair) : pair;
      }
      writer.add(text, nameAt, nameEnd - nameAt, shared);
      previous = nameAt;
      int line = p;
      p = nameEnd + 1;
      if (p < end && text[p] == '^') {
        int peeledEnd = p + 1 + HEX_LENGTH;
        if (peeledEnd > end
            || text[peeledEnd] != '\n'
            || !Lines.hex(text, p + 1, HEX_LENGTH, writer.peeledBuffer(), writer.peeledAt())) {
          return false;
        }
        writer.addPeeled();
        p = peeledEnd + 1;
      }
      if (p < end && Chunks.endsAt(key, text, start, line, nameEnd, p)) {
        break;
      }
    }
    position = Math.min(p, end);
    return true;
  }

  /** Where the name of the ref before {@link #position} stands; -1 if that can't be told. */
  private int previousName() {
    int lineEnd = position - 1;
    int line = Lines.lineStart(window, lineEnd);
    if (line > 0 && window[line] == '^') {
      line = Lines.lineStart(window, line - 1);
    }
    int nameAt = line + HEX_LENGTH + 1;
    return window[line] == '#' || nameAt >= position ? -1 : nameAt;
  }
}
