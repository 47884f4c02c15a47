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
 * Updates of the refs of a repository: single refs, batches, packing, recovery after killed
 * processes, and the queue for rewrites of {@code packed-refs}.
 *
 * <p>The entry point is {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefUpdater}, which updates the
 * refs behind {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdatableRefs}. To follow an
 * update, read {@code FileBatchUpdate}, then {@code LooseTransaction}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates;
