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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

/** Thrown if a lock of the file or memory for a repair is not available now, but may be soon. */
public final class StoreBusyException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception without a stack trace. */
  StoreBusyException() {
    super("a lock within the file was not free in time", null, false, false);
  }
}
