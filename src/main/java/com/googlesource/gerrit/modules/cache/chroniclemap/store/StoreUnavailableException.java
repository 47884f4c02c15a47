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

/** The folder for the stores can't be used. The message says why and what to do, for people. */
public final class StoreUnavailableException extends Exception {
  private static final long serialVersionUID = 1L;

  private final boolean inUse;

  StoreUnavailableException(String message) {
    super(message);
    this.inUse = false;
  }

  StoreUnavailableException(String message, Throwable cause) {
    super(message, cause);
    this.inUse = false;
  }

  private StoreUnavailableException(String message, boolean inUse) {
    super(message);
    this.inUse = inUse;
  }

  static StoreUnavailableException inUse(String message) {
    return new StoreUnavailableException(message, true);
  }

  /** Whether somebody else uses it. */
  public boolean isInUse() {
    return inUse;
  }
}
