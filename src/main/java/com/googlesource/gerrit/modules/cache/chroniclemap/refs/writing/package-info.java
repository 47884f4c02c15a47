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
 * Changes of the refs of a repository: single refs, batches, packing, the queue for rewrites of
 * {@code packed-refs}, locks, and the journals by which the recovery finds the locks of killed
 * processes and completes their transactions or rolls them back.
 *
 * <p>The entry point is {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateContext}. To follow an
 * update, read {@code FileRefUpdate} or {@code FileBatchUpdate}, then {@code RefTransaction} and
 * {@code HeldLocks}. {@code Journal} describes the files on disk, step by step. All changes of the
 * disk go through {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk},
 * where tests make them fail.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;
