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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.FileSnapshot;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;

/** What JGit's own RefDirectory makes of a packed-refs file. */
public final class JGitPackedRefs implements Closeable {
  /**
   * Whether JGit, since 7.7, takes "sorted" for its own order: it does not find some refs that
   * native git has packed, where names by their bytes have another order.
   */
  public static final boolean TRUSTS_SORTED = hasTraits();

  private final FileRepository repository;
  private final RefDirectory refs;

  JGitPackedRefs(Path folder) throws IOException {
    repository = new FileRepository(folder.resolve("peer.git").toFile());
    repository.create(true);
    refs = (RefDirectory) repository.getRefDatabase();
  }

  private static boolean hasTraits() {
    try {
      return Class.forName("org.eclipse.jgit.lib.PackedRefsTrait") != null;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** What JGit's parser makes of a text; throws what it throws to whoever asks for a ref. */
  List<Ref> parse(byte[] text) throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(new ByteArrayInputStream(text), UTF_8));
    try {
      Method method =
          Arrays.stream(RefDirectory.class.getDeclaredMethods())
              .filter(m -> m.getName().equals("parsePackedRefs"))
              .findFirst()
              .orElseThrow();
      method.setAccessible(true);
      List<Ref> list = new ArrayList<>();
      ((Iterable<?>) method.invoke(refs, arguments(method, lines)))
          .forEach(ref -> list.add((Ref) ref));
      // JGit 7.7 takes "sorted" for its own order: then it tells the refs as they stand.
      list.sort(RefComparator.INSTANCE);
      return list;
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof IOException refused) {
        throw refused;
      }
      if (e.getCause() instanceof RuntimeException broken) {
        throw new IOException(broken); // as RefDirectory.readPackedRefs does
      }
      throw new AssertionError(e);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("JGit has changed", e);
    }
  }

  /** JGit 7.7 notes beside the refs which content they are of. */
  private static Object[] arguments(Method method, BufferedReader lines) {
    return Arrays.stream(method.getParameterTypes())
        .map(
            type ->
                type == BufferedReader.class
                    ? lines
                    : type == FileSnapshot.class
                        ? FileSnapshot.MISSING_FILE
                        : Constants.newMessageDigest())
        .toArray();
  }

  @Override
  public void close() {
    repository.close();
  }
}
