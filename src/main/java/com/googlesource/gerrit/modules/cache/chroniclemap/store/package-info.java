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
 * A persistent map of byte strings: bytes in, bytes out, off-heap and on disk.
 *
 * <p>This package knows neither Gerrit nor Git. Start reading at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.store.Store}, which names its parts. They use
 * {@code files}, the files of one store. Below these are {@code values}, whole values in one file;
 * {@code engine}, records in one file, which alone knows Chronicle-Map; and {@code disk}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.store;
