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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

/**
 * A key in its stored form.
 *
 * @param key the key itself
 * @param bytes the stored form; for a key that has none, any bytes that are the same for equal
 *     keys, which still get tickets
 * @param isStored whether values of this key are kept on disk
 */
record DiskKey<K>(K key, byte[] bytes, boolean isStored) {}
