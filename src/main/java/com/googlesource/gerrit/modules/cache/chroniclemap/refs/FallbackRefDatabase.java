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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefRename;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogReader;

/**
 * What a repository answers with: {@link OffHeapRefDatabase}, and JGit's own where that one fails,
 * so that nothing fails that would not fail with JGit alone. Updates are JGit's.
 *
 * <p>With a {@link RequestPin} it is the database of one request.
 */
final class FallbackRefDatabase extends RefDatabase {
  private final OffHeapRefDatabase own;
  private final RefDirectory jgit;
  private final Failures failures;
  private final FileCounts counts;
  @Nullable private final RequestPin pin;

  FallbackRefDatabase(OffHeapRefDatabase own, RefDirectory jgit, Failures failures) {
    this(own, jgit, failures, null);
  }

  private FallbackRefDatabase(
      OffHeapRefDatabase own, RefDirectory jgit, Failures failures, @Nullable RequestPin pin) {
    this.own = own;
    this.jgit = jgit;
    this.failures = failures;
    this.counts = own.packedFile().counts();
    this.pin = pin;
  }

  /** The same for one request. */
  FallbackRefDatabase forRequest() {
    RequestPin newPin = new RequestPin(own.packedFile(), own.trustPacked(), jgit);
    return new FallbackRefDatabase(own.with(newPin, newPin::jgit), jgit, failures, newPin);
  }

  /** A question to refs. */
  @FunctionalInterface
  private interface Question<T> {
    T ask(RefDatabase refs) throws IOException;
  }

  private <T> T ask(Question<T> question) throws IOException {
    counts.lookups.increment();
    try {
      return question.ask(own);
    } catch (IOException e) {
      // Most likely JGit throws the same.
      T answer = question.ask(reads());
      failures.count(own.packedFile().file(), e);
      return answer;
    } catch (RuntimeException | OutOfMemoryError e) {
      failures.count(own.packedFile().file(), e);
      return question.ask(reads());
    }
  }

  /** JGit's database for reading. */
  private RefDatabase reads() {
    return pin == null ? jgit : pin.jgit();
  }

  /** JGit's database for updates: they start from what is on disk. */
  private RefDirectory updates() {
    if (pin != null) {
      pin.beginUpdate();
    }
    return jgit;
  }

  // ---- reading

  @Override
  @Nullable
  public Ref exactRef(String name) throws IOException {
    return ask(refs -> refs.exactRef(name));
  }

  @Override
  public Map<String, Ref> exactRef(String... names) throws IOException {
    return ask(refs -> refs.exactRef(names));
  }

  @Override
  @Nullable
  public Ref firstExactRef(String... names) throws IOException {
    return ask(refs -> refs.firstExactRef(names));
  }

  @Override
  public List<Ref> getAdditionalRefs() throws IOException {
    return ask(RefDatabase::getAdditionalRefs);
  }

  @Override
  public Ref peel(Ref ref) throws IOException {
    return own.peel(ref);
  }

  @Override
  public List<Ref> getRefs() throws IOException {
    return ask(RefDatabase::getRefs);
  }

  @Override
  public List<Ref> getRefsByPrefix(String prefix) throws IOException {
    return ask(refs -> refs.getRefsByPrefix(prefix));
  }

  @Override
  public List<Ref> getRefsByPrefix(String... prefixes) throws IOException {
    return ask(refs -> refs.getRefsByPrefix(prefixes));
  }

  @Override
  public List<Ref> getRefsByPrefixWithExclusions(String include, Set<String> excludes)
      throws IOException {
    return ask(refs -> refs.getRefsByPrefixWithExclusions(include, excludes));
  }

  @Override
  @Deprecated
  public Map<String, Ref> getRefs(String prefix) throws IOException {
    return ask(refs -> refs.getRefs(prefix));
  }

  @Override
  public boolean hasRefs() throws IOException {
    return ask(RefDatabase::hasRefs);
  }

  @Override
  public Set<Ref> getTipsWithSha1(ObjectId id) throws IOException {
    return ask(refs -> refs.getTipsWithSha1(id));
  }

  @Override
  public boolean isNameConflicting(String name) throws IOException {
    return ask(refs -> refs.isNameConflicting(name));
  }

  @Override
  public Collection<String> getConflictingNames(String name) throws IOException {
    return ask(refs -> refs.getConflictingNames(name));
  }

  // ---- everything else is JGit's

  @Override
  public void create() throws IOException {
    updates().create();
  }

  @Override
  public void close() {
    jgit.close();
  }

  @Override
  public void refresh() {
    if (pin != null) {
      pin.lookAnew();
    }
    own.refresh();
  }

  @Override
  public RefUpdate newUpdate(String name, boolean detach) throws IOException {
    return updates().newUpdate(name, detach);
  }

  @Override
  public RefRename newRename(String fromName, String toName) throws IOException {
    return updates().newRename(fromName, toName);
  }

  @Override
  public BatchRefUpdate newBatchUpdate() {
    return updates().newBatchUpdate();
  }

  @Override
  public boolean performsAtomicTransactions() {
    return jgit.performsAtomicTransactions();
  }

  @Override
  public ReflogReader getReflogReader(Ref ref) throws IOException {
    return jgit.getReflogReader(ref);
  }

  @Override
  public void packRefs(ProgressMonitor monitor, PackRefsCommand command) throws IOException {
    updates().packRefs(monitor, command);
    if (command.isAll()) {
      // Where JGit's garbage collection finds its own RefDirectory it does so at its end.
      EmptyRefFolders.delete(own.refsFolder());
    }
  }
}
