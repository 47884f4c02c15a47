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

/** The verdict of a start on a store's file: what the start may do with it. */
public enum FileVerdict {
  /** Use it: nothing has changed since it was closed. */
  CLEAN,
  /** Use it after a kill, and check the segments written last. */
  KILLED,
  /** Use it and check all segments: pages may vary in age, but no key ever had two values. */
  UNSURE,
  /** Discard it: it may hold invalidated values, or it is not a file of this store. */
  LOST
}
