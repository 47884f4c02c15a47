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
 * How long what a cache does with its disk took of late. Puts are timed all, the others now and
 * then.
 *
 * @param put from the call to when the value is handed to the store, which writes it in the
 *     background
 * @param read reads from the store that found a value, up to its bytes
 * @param serialize making bytes of a value, a part of a put
 * @param deserialize making a value of the bytes that were read
 */
public record Latencies(Latency put, Latency read, Latency serialize, Latency deserialize) {}
