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
 * One file of records: byte strings under keys, in Chronicle-Map's format, with what is known of it
 * beside. The only package that knows Chronicle-Map.
 *
 * <p>The face of it is {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap}, made and opened by
 * {@link com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder}. What
 * stands in a record is in {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope}, what may be done with
 * a file after a kill or a crash in {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState}; {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileLayout} and those that use it
 * read Chronicle-Map's own format.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;
