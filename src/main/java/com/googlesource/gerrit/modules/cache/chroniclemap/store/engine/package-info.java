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
 * One file of records in Chronicle-Map's format, with its state in a second file. Only this package
 * knows Chronicle-Map.
 *
 * <p>The entry point is {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap}, which {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder} creates and
 * opens. {@link com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope} defines
 * the format of a record. {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState} is the evidence of
 * what may be used after a kill or a crash. {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileLayout} describes
 * Chronicle-Map's own format to the classes that read it directly.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;
