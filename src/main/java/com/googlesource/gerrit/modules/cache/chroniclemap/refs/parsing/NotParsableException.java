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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ContentDigest;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Names;

/**
 * A {@code packed-refs} file that this package does not answer for: JGit refuses it, or it holds
 * something unusual. JGit's own RefDirectory must answer instead, with refs or with its error.
 */
public final class NotParsableException extends Exception {
  private static final long serialVersionUID = 1;

  /** Why. */
  public enum Reason {
    /** JGit refuses it too: a line that is no ref, an empty line, a peeled id before any ref. */
    BROKEN("it is broken; git refuses it too"),
    /** Two refs have the same name. JGit finds either. */
    DUPLICATE_NAME("two refs have the same name"),
    /** Some refs are known to be peeled and others not: a header stands between refs. */
    MIXED_PEELED("a header stands between refs"),
    /** A ref without a name. */
    EMPTY_NAME("a ref has no name"),
    /** A name of more than {@value Names#MAX_BYTES} bytes. */
    LONG_NAME("a name is longer than " + Names.MAX_BYTES + " bytes"),
    /** A name with a control character below 0E. */
    CONTROL_CHARACTER("a name has a control character"),
    /** An irregular file of more than {@link PackedRefsReader#MAX_IRREGULAR} bytes. */
    TOO_LARGE("it is not written as git does, and too large to be sorted out");

    private final String text;

    Reason(String text) {
      this.text = text;
    }

    /** For people. */
    public String text() {
      return text;
    }
  }

  private final Reason reason;
  private final transient ContentDigest digest;

  NotParsableException(Reason reason, ContentDigest digest) {
    super("packed-refs: " + reason, null, false, false);
    this.reason = reason;
    this.digest = digest;
  }

  /** Why. */
  public Reason reason() {
    return reason;
  }

  /** Of the content, so that a caller need not try the same one again; null if too large. */
  public ContentDigest digest() {
    return digest;
  }
}
