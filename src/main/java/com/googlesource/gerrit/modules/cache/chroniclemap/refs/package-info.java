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
 * The refs of repositories, read from parsed lists and updated without parsing any.
 *
 * <p>Start reading at {@code FileRefDatabase}, JGit's interface: each question goes to {@code
 * reading}, each change to {@code updates}, and what neither can do to JGit. The folders, from the
 * bottom; each knows those below it that its package comment names, and none above:
 *
 * <ul>
 *   <li>{@code lists}: what a parsed list is, and how it is asked
 *   <li>{@code parsing}: text to lists, and changed lists to text
 *   <li>{@code loose}: refs that have a file each
 *   <li>{@code packed}: one {@code packed-refs} file and its list of now
 *   <li>{@code locks}: locks of refs and the journal of a transaction
 *   <li>{@code reading}: questions
 *   <li>{@code updates}: changes
 * </ul>
 *
 * <p>All of it knows JGit and no Gerrit cache. Others use {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs;
