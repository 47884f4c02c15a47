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

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.util.Arrays;
import org.eclipse.jgit.lib.Constants;

/**
 * The text of a {@code packed-refs} file with some changed lines. Reading this text also writes it
 * to another file, so that the list of the new file is made in the same pass.
 *
 * <p>Chunks without a changed line are copied, many at once. In the other chunks, the lines are
 * merged. Each chunk is first checked against its hash in the list, because the list tells where
 * the lines are.
 *
 * <p>The cost is a copy of the file, and memory that grows with the edits of one chunk. For one
 * thread.
 */
final class EditedText implements TextSource {
  /** The header that git writes for a file that is fully peeled and sorted by bytes. */
  static final byte[] HEADER = "# pack-refs with: peeled fully-peeled sorted \n".getBytes(US_ASCII);

  private static final int COPY_BYTES = 256 << 10;

  /** Readable bytes after the text, which is hashed in words. */
  private static final int SPARE = 64;

  private static final int HEX = Constants.OBJECT_ID_STRING_LENGTH;

  private final ParsedRefs list;
  private final TextHash hash;
  private final ReadableByteChannel old;
  private final FileChannel out;
  private final PackedEdits.Edit[] edits;

  private final ByteBuffer copied;

  /** The text that was made and not read yet. */
  private ByteBuffer ready = ByteBuffer.allocate(0);

  private int block;
  private int edit;
  private boolean hasBegun;

  /**
   * Prepares the text.
   *
   * @param old the text of the list, at its start
   * @param edits sorted by their names
   * @param out gets the new text
   * @param copied made by {@link #buffer}, for this text alone
   */
  EditedText(
      ParsedRefs list,
      SiteKey key,
      ReadableByteChannel old,
      PackedEdits.Edit[] edits,
      FileChannel out,
      ByteBuffer copied) {
    this.list = list;
    this.hash = new TextHash(key);
    this.copied = copied;
    this.old = old;
    this.edits = edits;
    this.out = out;
  }

  /** Makes a buffer for copies, which can be used again. */
  static ByteBuffer buffer() {
    return ByteBuffer.allocateDirect(COPY_BYTES + SPARE).order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    while (!ready.hasRemaining()) {
      if (!make()) {
        return -1;
      }
    }
    int count = Math.min(ready.remaining(), target.remaining());
    target.put(target.position(), ready, ready.position(), count);
    target.position(target.position() + count);
    ready.position(ready.position() + count);
    return count;
  }

  /** Makes and writes the next part of the text. Returns false at the end. */
  private boolean make() throws IOException {
    if (list.blocks.length == 0 && !hasBegun) {
      hasBegun = true;
      ready = ByteBuffer.wrap(merge(HEADER, edits.length));
    } else if (block == list.blocks.length) {
      if (old.read(copied.clear()) >= 0) {
        throw new ListSource.ChangedException(); // the file is longer
      }
      return false;
    } else {
      int next = edit < edits.length ? blockOf(edits[edit]) : list.blocks.length;
      ready = next <= block ? ByteBuffer.wrap(mergeBlock()) : copy(next);
    }
    write();
    return true;
  }

  /** The block in whose text an edit belongs. */
  private int blockOf(PackedEdits.Edit line) {
    return Math.max(0, list.root.blockOf(new Target(line.name(), line.name().length)));
  }

  private byte[] mergeBlock() throws IOException {
    int length = list.blocks[block].textLength;
    check(readText(length), 0, block);
    int end = edit;
    while (end < edits.length && blockOf(edits[end]) == block) {
      end++;
    }
    copied.put(length, (byte) '\n'); // which the last line of a file may lack
    byte[] text = new byte[copied.get(length - 1) == '\n' ? length : length + 1];
    copied.get(0, text);
    block++;
    return merge(text, end);
  }

  private void write() throws IOException {
    ByteBuffer text = ready.duplicate();
    while (text.hasRemaining()) {
      out.write(text);
    }
  }

  /** Copies blocks before an end, as many as there is room for. */
  private ByteBuffer copy(int end) throws IOException {
    int first = block;
    int length = 0;
    while (block < end && length + list.blocks[block].textLength <= COPY_BYTES) {
      length += list.blocks[block++].textLength;
    }
    ByteBuffer text = readText(length);
    int at = 0;
    for (int i = first; i < block; i++) {
      check(text, at, i);
      at += list.blocks[i].textLength;
    }
    return copied.duplicate().position(0).limit(length);
  }

  private ByteBuffer readText(int length) throws IOException {
    copied.clear().limit(length);
    while (copied.hasRemaining()) {
      if (old.read(copied) < 0) {
        throw new ListSource.ChangedException();
      }
    }
    return copied.clear();
  }

  private void check(ByteBuffer text, int at, int which) throws IOException {
    Block block = list.blocks[which];
    if (!hash.of(text, at, block.textLength, list.root.blockFlags()).equals(block.id)) {
      throw new ListSource.ChangedException();
    }
  }

  // ---- lines

  /** Merges edits before an end into some whole lines. */
  private byte[] merge(byte[] text, int editsEnd) {
    int length = text.length;
    ByteArrayOutputStream merged = new ByteArrayOutputStream(length + 128 * (editsEnd - edit));
    int at = Lines.afterComments(text, length);
    merged.write(text, 0, at);
    while (at < length) {
      int end = Lines.next(text, at, length);
      int nameEnd = end - 1;
      if (end < length && text[end] == '^') {
        end = Lines.next(text, end, length);
      }
      int order = 1;
      while (edit < editsEnd
          && (order = compare(text, at + HEX + 1, nameEnd, edits[edit].name())) > 0) {
        write(edits[edit++], merged);
      }
      if (edit < editsEnd && order == 0) {
        write(edits[edit++], merged);
      } else {
        merged.write(text, at, end - at);
      }
      at = end;
    }
    while (edit < editsEnd) {
      write(edits[edit++], merged);
    }
    return merged.toByteArray();
  }

  private static int compare(byte[] text, int from, int to, byte[] name) {
    return Arrays.compareUnsigned(text, from, to, name, 0, name.length);
  }

  private static void write(PackedEdits.Edit line, ByteArrayOutputStream to) {
    if (line.id() == null) {
      return;
    }
    to.writeBytes(Constants.encodeASCII(line.id().name() + ' '));
    to.writeBytes(line.name());
    to.write('\n');
    if (line.peeled() != null) {
      to.writeBytes(Constants.encodeASCII('^' + line.peeled().name() + '\n'));
    }
  }
}
