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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import com.google.common.base.Throwables;
import java.io.IOException;
import java.util.Optional;

/**
 * Evidence that the content of a store's file must not be used: it is damaged, of another layout,
 * lacks its last changes, or holds values that were invalidated. Files of a store are deleted or
 * replaced with this evidence only. Any other failure, such as a lack of file handles or of memory,
 * a permission or a missing class, says nothing of the content: the file is left as it is.
 */
public final class LostContentException extends IOException {
  private static final long serialVersionUID = 1L;

  public LostContentException(String message) {
    super(message);
  }

  public LostContentException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * The evidence among the causes of a failure; empty if the failure says nothing of the content.
   */
  public static Optional<LostContentException> in(Throwable failure) {
    return Throwables.getCausalChain(failure).stream()
        .filter(LostContentException.class::isInstance)
        .map(LostContentException.class::cast)
        .findFirst();
  }
}
