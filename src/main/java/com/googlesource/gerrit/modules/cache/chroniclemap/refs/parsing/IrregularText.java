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

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.BlockFormat;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Names;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsTraits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Root;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.NotParsableException.Reason;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jgit.errors.InvalidObjectIdException;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;

/**
 * Turns a {@code packed-refs} file that is not written as git writes it, but that JGit reads, into
 * a regular one with the same refs: unsorted, carriage returns, comments between the refs, bytes
 * that are not UTF-8, capitals in ids.
 *
 * <p>It reads as JGit does, through the same decoder and the same line reader, which makes one
 * object a line: slow, but needed only once for a content, and for hardly any.
 */
public final class IrregularText {
  private final List<Ref> refs = new ArrayList<>();

  /** For each ref what the header before it says of peeling, as flags of a block. */
  private final ByteArrayOutputStream traits = new ByteArrayOutputStream();

  private Ref last;
  private int peeled;
  private boolean sorted = true;

  private IrregularText() {}

  /**
   * Returns a regular file with the same refs.
   *
   * @throws Refusal if JGit is to answer
   */
  public static byte[] regular(byte[] text) throws Refusal {
    IrregularText reading = new IrregularText();
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(new ByteArrayInputStream(text), UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        reading.add(line);
      }
    } catch (IOException e) {
      throw new IllegalStateException("reading from memory", e);
    }
    return reading.write();
  }

  private void add(String line) throws Refusal {
    if (line.isEmpty()) {
      throw new Refusal(Reason.BROKEN);
    }
    if (line.charAt(0) == '#') {
      if (line.startsWith(PackedRefsTraits.HEADER)) {
        byte[] header = line.getBytes(UTF_8);
        peeled = PackedRefsTraits.flags(header, 0, header.length) & BlockFormat.FLAGS;
      }
      return;
    }
    if (line.charAt(0) == '^') {
      if (last == null) {
        throw new Refusal(Reason.BROKEN);
      }
      last =
          new ObjectIdRef.PeeledTag(
              Ref.Storage.PACKED, last.getName(), last.getObjectId(), id(line.substring(1)));
      refs.set(refs.size() - 1, last);
      return;
    }
    int space = line.indexOf(' ');
    if (space < 0) {
      throw new Refusal(Reason.BROKEN);
    }
    ObjectId id = id(line.substring(0, space));
    String name = line.substring(space + 1);
    Ref ref = new ObjectIdRef.Unpeeled(Ref.Storage.PACKED, name, id);
    sorted &= last == null || RefComparator.compareTo(last, ref) <= 0;
    refs.add(ref);
    traits.write(peeled);
    last = ref;
  }

  private static ObjectId id(String hex) throws Refusal {
    try {
      return ObjectId.fromString(hex);
    } catch (InvalidObjectIdException e) {
      throw new Refusal(Reason.BROKEN);
    } catch (IllegalArgumentException e) {
      throw new Refusal(Reason.BROKEN); // not ASCII
    }
  }

  private byte[] write() throws Refusal {
    int flags = commonTraits();
    if (!sorted) {
      refs.sort(RefComparator.INSTANCE);
    }
    String before = null;
    for (Ref ref : refs) {
      check(ref.getName(), before);
      before = ref.getName();
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream(64 * refs.size());
    out.writeBytes(
        PackedRefsTraits.of(flags == 0 ? 0 : flags | Root.HEADER).header().getBytes(US_ASCII));
    for (Ref ref : refs) {
      out.writeBytes((ref.getObjectId().name() + " ").getBytes(US_ASCII));
      out.writeBytes(ref.getName().getBytes(UTF_8));
      out.write('\n');
      if (ref.getPeeledObjectId() != null) {
        out.writeBytes(("^" + ref.getPeeledObjectId().name() + "\n").getBytes(US_ASCII));
      }
    }
    return out.toByteArray();
  }

  /** What is said of all refs that have no peeled id: of the others nothing need be said. */
  private int commonTraits() throws Refusal {
    byte[] each = traits.toByteArray();
    int common = -1;
    for (int i = 0; i < each.length; i++) {
      if (refs.get(i).getPeeledObjectId() == null) {
        if (common >= 0 && common != each[i]) {
          throw new Refusal(Reason.MIXED_PEELED);
        }
        common = each[i];
      }
    }
    return Math.max(common, 0);
  }

  private static void check(String name, String before) throws Refusal {
    if (name.isEmpty()) {
      throw new Refusal(Reason.EMPTY_NAME);
    }
    if (name.equals(before)) {
      throw new Refusal(Reason.DUPLICATE_NAME);
    }
    if (name.length() > Names.MAX_BYTES || name.getBytes(UTF_8).length > Names.MAX_BYTES) {
      throw new Refusal(Reason.LONG_NAME);
    }
    if (name.chars().anyMatch(c -> c < Names.FIRST_PLAIN)) {
      throw new Refusal(Reason.CONTROL_CHARACTER);
    }
  }

  /** JGit is to answer. */
  public static final class Refusal extends Exception {
    private static final long serialVersionUID = 1;

    private final Reason reason;

    Refusal(Reason reason) {
      super(reason.name(), null, false, false);
      this.reason = reason;
    }

    Reason reason() {
      return reason;
    }
  }
}
