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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.nio.file.Path;
import java.util.Optional;

/**
 * The bounds of parsed ref lists in memory and on disk.
 *
 * @param memoryLimit bound on the direct memory of the lists in use, bytes
 * @param diskLimit bound on the store's file, bytes; 0 or less for memory only
 * @param folder the store's folder; empty for memory only
 */
public record RefsSettings(long memoryLimit, long diskLimit, Optional<Path> folder) {}
