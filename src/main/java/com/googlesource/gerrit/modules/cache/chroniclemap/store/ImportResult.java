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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

/** What came of a value from before that was to be imported into a store. */
public enum ImportResult {
  /** It is in the file. */
  STORED,
  /** Its key has a value already, or was put or removed since the store was opened. */
  KNOWN,
  /** It is older than values of the store may be. */
  TOO_OLD,
  /** No file of the store is large enough for it. */
  TOO_LARGE,
  /** There will be room when the file has grown, or the disk is waited for: try again. */
  LATER,
  /** There is no room for it, and the file can't grow any more; others may have room. */
  NO_ROOM,
  /** The store has no file, or nothing may be imported any more. */
  OVER
}
