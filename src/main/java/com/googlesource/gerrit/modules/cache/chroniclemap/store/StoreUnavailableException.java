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

import java.io.IOException;

/** Thrown if the folder of the stores cannot be used. The message says why and what to do. */
public final class StoreUnavailableException extends IOException {
  private static final long serialVersionUID = 1L;

  /** The user of the folder. */
  enum User {
    NOBODY,
    THIS_PROCESS,
    ANOTHER_PROCESS
  }

  final User user;

  StoreUnavailableException(String message, Throwable cause) {
    super(message, cause);
    this.user = User.NOBODY;
  }

  StoreUnavailableException(String message, User user) {
    super(message);
    this.user = user;
  }

  /** Whether this or another process uses the folder. */
  public boolean isInUse() {
    return user != User.NOBODY;
  }
}
