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

/** The result of bringing a value that was made elsewhere into a store. */
public enum ImportResult {
  /** The value is in the file. */
  STORED,
  /** The key has a value already. */
  KNOWN,
  /** The value is older than the store's maximum age. */
  TOO_OLD,
  /** The key or value is too large for any file of the store. */
  TOO_LARGE,
  /** There is no room for the value; other values may fit. */
  NO_ROOM,
  /** The store has no file or is busy, or the key was changed meanwhile. */
  OVER
}
