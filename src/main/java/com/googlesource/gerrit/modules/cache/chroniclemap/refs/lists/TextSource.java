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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A readable text of a {@code packed-refs} file. */
interface TextSource {
  /**
   * Reads the next bytes into a buffer, and advances its position.
   *
   * @return the number of bytes, at least one, or -1 at the end
   */
  int read(ByteBuffer target) throws IOException;
}
