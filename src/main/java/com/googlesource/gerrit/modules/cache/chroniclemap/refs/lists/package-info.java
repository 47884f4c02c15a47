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
 * <p>A parsed file is some <em>blocks</em>, immutable byte strings in memory and in a store, each
 * under a 128-bit id of its content. Their order is that of the file, which is always read. This is
 * version 4. Readers treat other versions as missing, so any change below needs another one.
 * Numbers are little-endian and unsigned. Which files can be parsed is in {@code
 * resources/Documentation/refs-safety.md}, <em>Regular files</em>.
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
 *       and the chunks' ids, little-endian, upper half first. Equal lists in memory are found by
 *       it.
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
 * <p>A block has the flag <em>bytes only</em> if two neighbours within it ascend by bytes only. A
 * list without refs has one block, and that of an empty file has none.
 *
 * <h3>Writers and readers</h3>
 *
 * <p>A writer must never put other bytes under the same id, as a store may skip a put if it has the
 * id. A reader must
 *
 * <ul>
 *   <li>cut each file into chunks itself: a block is part of the list if the chunk's text gives its
 *       id
 *   <li>compare the first name of each block with the name before it
 *   <li>make a missing block from the text: it never means "no such ref".
 * </ul>
 *
 * <p>It checks nothing else in a block: the store guarantees its bytes.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;
