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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

/**
 * A value that came from the shared server and was made by a node of this site.
 *
 * @param bytes as the cache's serializer made them
 * @param created when the value was made, in milliseconds since the epoch
 * @param loadNanos how long it took to compute it
 */
public record SharedValue(byte[] bytes, long created, long loadNanos) {}
