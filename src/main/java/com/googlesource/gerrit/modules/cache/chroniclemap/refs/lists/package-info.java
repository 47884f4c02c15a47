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
 * What a parsed ref list is: front-coded blocks off the heap, shared by content, under a root on
 * the heap; how it is asked; and the memory that all lists share.
 *
 * <p>The face is {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs}
 * for questions, and {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory}. What else is public is
 * for {@code parsing}, which makes lists. The format is specified in {@code
 * resources/Documentation/refs-format.md}. Knows no file.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;
