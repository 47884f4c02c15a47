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

/**
 * Thrown if the bytes found for a key are not those that were stored for the key, or if the value
 * was replaced again and again while a thread read it without the writer's lock.
 */
public final class DamagedEntryException extends Exception {
  private static final long serialVersionUID = 1L;

  public DamagedEntryException(String message) {
    super(message, null, false, false);
  }
}
