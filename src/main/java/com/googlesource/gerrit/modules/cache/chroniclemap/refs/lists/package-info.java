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

/**
 * Parsed ref lists: their lookups, the memory that they share, the tiers that keep them, and the
 * conversion of {@code packed-refs} texts into lists and of changed lists into texts.
 *
 * <p>Start at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs} for
 * lookups, at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListSource} for
 * where the lists of a file come from, at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsReader} for how a text is
 * read, and at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.EditedText} for
 * how a text is written while it is read.
 *
 * <h2>The format of a list</h2>
 *
 * <p>A parsed file is one <em>root</em> and some <em>blocks</em>, immutable byte strings in a
 * store, each under a 128-bit id of its content. This is version 4. Readers treat other versions as
 * missing, so any change below needs another one. Numbers are little-endian and unsigned. Which
 * files can be parsed is in {@code resources/Documentation/refs-safety.md}, <em>Regular files</em>.
 *
 * <ul>
 *   <li>Names are UTF-8, with 1 to 4096 bytes, none of them below {@code 0E}.
 *   <li>Their order is that of the file, by bytes, as native git sorts; no name occurs twice. JGit
 *       sorts by UTF-16 code units, which differs only between U+E000 to U+FFFF and the characters
 *       above, such as emoji. The flag <em>bytes only</em> marks what does not ascend in JGit's
 *       order. Such a list is sorted for each answer.
 *   <li>Object ids have 20 bytes (SHA-1; JGit reads no other).
 *   <li>A ref with a peeled id is a tag. A ref without one is no tag if the running JGit says so of
 *       the header (see {@link
 *       com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsTraits}): if {@code
 *       peeled} and {@code fully-peeled} follow in the last header line that starts with {@code #
 *       pack-refs with:}, the list has the flags of these names.
 * </ul>
 *
 * <h3>Chunks of text</h3>
 *
 * <p>Each block has a <em>chunk</em> of lines, of some 9 KB on average. A chunk's end depends on
 * its size and on a keyed hash of its last line, so a changed line changes one chunk.
 *
 * <ul>
 *   <li>The <em>id</em> of a chunk, and of its block, is a keyed hash of its bytes, its length, and
 *       the flags <em>peeled</em> and <em>fully peeled</em>. Two texts chosen without knowledge of
 *       the key collide with at most 2^-121 (see {@link
 *       com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.TextHash}).
 *   <li>The <em>digest</em> of a file is the first 128 bits of the SHA-256 of the byte {@code 44}
 *       and the chunks' ids as in the root.
 *   <li>The key is derived from 32 secret bytes of the site; with another secret, all files are
 *       parsed again. Authors of ref names must not see the key, an id or a digest.
 * </ul>
 *
 * <h3>Block</h3>
 *
 * <pre>
 * offset   bytes
 * 0        1     version: 4
 * 1        1     flags: 1:peeled, 2:fully peeled, 8:bytes only
 * 2        2     n, number of refs; 0 only in a list without refs
 * 4        2r    offsets in the block of the entries 0, 8, 16 ...; r = n/8 rounded up
 * 4+2r     20n   object ids, in the order of names
 * then           entries, likewise
 * end-8    8     zeros
 * </pre>
 *
 * <p>An entry:
 *
 * <pre>
 * bytes
 * 1        s, bytes shared with the name before: 0 to 254; 255 if s follows. 0 in entry 0, 8 ...
 * 0 or 2   s if it is 255 or more
 * 1        u, number of the other bytes: 0 to 126; 127 if u follows. Upper bit: has a peeled id
 * 0 or 2   u if it is 127 or more
 * u        the other bytes
 * 0 or 20  the peeled id
 * </pre>
 *
 * <p>Readers rely on s being as large as possible, even within a character.
 *
 * <h3>Root</h3>
 *
 * <pre>
 * offset   bytes
 * 0        1        version: 4
 * 1        1        flags: as of a block
 * 2        2        zeros
 * 4        4        m, number of blocks
 * 8        8        number of refs, below 2^31
 * 16       8        length of the file
 * 24       16       digest of the file, also the root's id: upper half, lower half
 * 40       16m      ids of the blocks: upper half, lower half
 * then     4(m+1)   number of refs before each block, then of all refs
 * then     4(m+1)   start of each block's first name among the first names, then their end
 * then     2m       lengths of the chunks
 * then              first names of the blocks, contiguous
 * end-8    8        zeros
 * </pre>
 *
 * <p>A block has the flag <em>bytes only</em> if two neighbours within it ascend by bytes only; a
 * root, if two neighbours anywhere in the file do. A list without refs has one block with an empty
 * first name. A list of an empty file has no block.
 *
 * <h3>Writers and readers</h3>
 *
 * <p>A writer must
 *
 * <ul>
 *   <li>put all blocks before the root
 *   <li>reuse a block of an older list only if the chunk's text gives its id, the chunk ends there
 *       in this file too, and its first name follows the name before it
 *   <li>never put other bytes under the same id, as a store may skip a put if it has the id.
 * </ul>
 *
 * <p>A reader must treat a missing block as "the list must be parsed again", never as "no such
 * ref". It checks nothing inside a block: the store guarantees its bytes.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;
