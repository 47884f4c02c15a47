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
 * <p>Start reading at {@code FileRefDatabase}, which implements JGit's interface. It passes lookups
 * to {@code reading}, changes to {@code writing}, and everything else to JGit. {@code
 * TableRefDatabase} does so for repositories with reftables. The packages from the bottom; none of
 * them knows a package below it in this list:
 *
 * <ul>
 *   <li>{@code lists}: parsed lists of refs, their format, and the tiers that keep them
 *   <li>{@code current}: the current content of loose refs and of {@code packed-refs}
 *   <li>{@code reading}: lookups
 *   <li>{@code writing}: changes, with locks, journals and recovery
 *   <li>{@code tables}: reftables. Does not know {@code writing}, nor the other way round
 * </ul>
 *
 * <p>All packages know JGit but no Gerrit cache. Other packages use {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs;
