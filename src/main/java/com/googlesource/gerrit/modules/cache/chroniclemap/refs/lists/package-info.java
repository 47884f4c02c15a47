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
 * conversion of {@code packed-refs} texts into lists and of changed lists into texts. A list
 * consists of front-coded blocks off the heap, which lists share by content, and a root on the
 * heap.
 *
 * <p>Start at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs} for
 * lookups, at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListSource} for
 * where the lists of a file come from, at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsReader} for how a text is
 * read, and at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.EditedText} for
 * how a text is written while it is read. {@code resources/Documentation/refs-format.md} specifies
 * the format.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;
