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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.BadRef;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.BinarySearch;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks.Question;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RequestView;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RepositoryWriter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateContext;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefRename;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogReader;

/**
 * The ref database, by JGit's interface, of one repository that keeps its refs in files.
 *
 * <p>A {@link RefReader} answers lookups, and a {@link UpdateContext} makes updates. JGit's own
 * RefDirectory does both if the content of {@code packed-refs} is not parsed or this package fails.
 * So this package makes no operation fail that would succeed with JGit alone. This class decides
 * who answers.
 *
 * <p>The shared database of a repository reads {@code packed-refs} as {@code
 * core.trustPackedRefsStat} says, and that of one request reads its content less often ({@link
 * RequestView}). Any thread may call.
 */
public final class FileRefDatabase extends RefDatabase {
  final RepositoryFiles common;
  private final JGitFallbacks failures;
  private final RefReader reader;
  private final UpdateContext context;

  /** Null unless this is the database of a request. */
  @Nullable private final RequestView view;

  /** The shared database, which may be this one. */
  private final FileRefDatabase shared;

  /**
   * Makes the shared database of a repository.
   *
   * @param jgit the repository's own database
   * @param packedFile shared by all databases of this repository
   * @param writes shared by all databases of this repository
   */
  FileRefDatabase(
      FileRepository repository,
      RefDirectory jgit,
      PackedRefsFile packedFile,
      RepositoryWriter writes,
      UpdateSettings updates,
      JGitFallbacks failures) {
    this.common =
        new RepositoryFiles(repository, jgit, packedFile, writes.transactions, writes::counted);
    this.failures = failures;
    this.reader = common.reader;
    this.context = new UpdateContext(common, writes, updates);
    this.view = null;
    this.shared = this;
    context.recover();
  }

  /**
   * Makes another view of a shared database.
   *
   * @param view null unless the view is for a request
   */
  FileRefDatabase(FileRefDatabase shared, RefReader reader, @Nullable RequestView view) {
    this.common = shared.common;
    this.failures = shared.failures;
    this.reader = reader;
    this.context = shared.context;
    this.view = view;
    this.shared = shared;
  }

  /**
   * Makes a database for one request, which must not be kept longer. It does not have a single
   * state of {@code packed-refs}: as in any database, each lookup sees what others have changed.
   * Under trust {@code never}, it reads the whole file only for the first lookup, for the first one
   * after an update has begun, and if the attributes of the file have changed.
   */
  public FileRefDatabase forRequest() {
    RequestView forThis = new RequestView(common);
    return new FileRefDatabase(shared, common.reader.with(forThis), forThis);
  }

  // ---- who answers

  private <T> T ask(Question<RefReader, T> question, Question<RefDatabase, T> toJGit)
      throws IOException {
    common.packedFile.counts.lookups.increment();
    try {
      T answer = question.ask(reader);
      common.fireIfOthersChanged();
      return answer;
    } catch (RefReader.LeftToJGit e) {
      T answer = toJGit.ask(jgitToRead());
      common.fireIfOthersChanged();
      return answer;
    } catch (FileSystemException e) {
      throw e; // JGit takes some errors of the disk for a missing file
    } catch (IOException e) {
      // Most likely JGit throws the same exception.
      T answer = toJGit.ask(jgitToRead());
      failures.count(common.packedFile.file, e);
      return answer;
    } catch (RuntimeException | OutOfMemoryError e) {
      failures.count(common.packedFile.file, e);
      return toJGit.ask(jgitToRead());
    }
  }

  /**
   * Asks for many refs. JGit may serve older packed values of bad refs, so it answers only if there
   * are none.
   */
  private <T> T askForMany(Question<RefReader, T> question, Question<RefDatabase, T> toJGit)
      throws IOException {
    return ask(
        question,
        refs -> {
          for (Ref loose : common.loose.scan(Constants.R_REFS)) {
            String name = loose.getName();
            if (loose instanceof BadRef bad
                && refs.getRefsByPrefix(name).stream().anyMatch(r -> r.getName().equals(name))) {
              throw bad.failure();
            }
          }
          return toJGit.ask(refs);
        });
  }

  /** The same for some names, of which only these are read. Returns them as JGit takes them. */
  private String[] beforeJGit(RefName[] names) throws IOException {
    for (RefName name : names) {
      Ref unused = BadRef.check(common.loose.readListed(name.text()));
    }
    return Arrays.stream(names).map(RefName::text).toArray(String[]::new);
  }

  private RefDatabase jgitToRead() {
    return view == null ? common.jgit : view.jgit();
  }

  // ---- single refs

  @Override
  @Nullable
  public Ref exactRef(String name) throws IOException {
    RefName checked = RefName.of(name);
    return checked.isSafe()
        ? ask(refs -> refs.exactRef(checked), refs -> refs.exactRef(name))
        : null;
  }

  @Override
  public Map<String, Ref> exactRef(String... given) throws IOException {
    RefName[] names = safe(given);
    return ask(refs -> refs.exactRef(names), refs -> refs.exactRef(beforeJGit(names)));
  }

  @Override
  @Nullable
  public Ref firstExactRef(String... given) throws IOException {
    RefName[] names = safe(given);
    return ask(refs -> refs.firstExactRef(names), refs -> refs.firstExactRef(beforeJGit(names)));
  }

  /**
   * Leaves out what is no name of a ref but may lead to a file, such as {@code
   * refs/heads/../meta/config}: filters that look at the name would take that for a branch.
   */
  private static RefName[] safe(String... names) {
    return Arrays.stream(names).map(RefName::of).filter(RefName::isSafe).toArray(RefName[]::new);
  }

  /**
   * JGit asks for these where it needs all that refs lead to: to collect garbage, after it has
   * asked for all refs, and to convert a repository. So this fails where a list leaves a ref out
   * whose objects would be deleted, and costs a scan of the loose refs.
   */
  @Override
  public List<Ref> getAdditionalRefs() throws IOException {
    boolean unused = askForMany(RefReader::hidesNone, refs -> true);
    List<Ref> refs = new ArrayList<>();
    for (String name : additionalRefsNames) {
      Ref ref = exactRef(name);
      if (ref != null) {
        refs.add(ref);
      }
    }
    return refs;
  }

  @Override
  public Ref peel(Ref ref) throws IOException {
    return common.loose.peel(ref);
  }

  // ---- many refs

  @Override
  public List<Ref> getRefsByPrefix(String prefix) throws IOException {
    return RefName.isSafePrefix(prefix)
        ? askForMany(refs -> refs.refs(prefix), refs -> refs.getRefsByPrefix(prefix))
        : List.of();
  }

  @Override
  public List<Ref> getRefsByPrefix(String... given) throws IOException {
    String[] prefixes = Arrays.stream(given).filter(RefName::isSafePrefix).toArray(String[]::new);
    if (prefixes.length == 0 && given.length > 0) {
      return List.of();
    }
    return askForMany(refs -> refs.refs(prefixes), refs -> refs.getRefsByPrefix(prefixes));
  }

  /**
   * The cost grows with the remaining refs and the number of excluded prefixes, as names with the
   * same prefix are neighbours. So a list of all refs but those of changes does not grow with the
   * changes.
   */
  @Override
  public List<Ref> getRefsByPrefixWithExclusions(String include, Set<String> excludes)
      throws IOException {
    List<Ref> refs = getRefsByPrefix(include);
    if (excludes.isEmpty()) {
      return refs;
    }
    List<Ref> left = new ArrayList<>();
    int next = 0;
    for (String exclude : excludes.stream().sorted().toList()) {
      int from = first(refs, next, name -> name.compareTo(exclude) >= 0);
      left.addAll(refs.subList(next, from));
      next = first(refs, from, name -> !name.startsWith(exclude));
    }
    left.addAll(refs.subList(next, refs.size()));
    return Collections.unmodifiableList(left);
  }

  /** Returns the index of the first ref that matches. All refs after a match must match too. */
  private static int first(List<Ref> refs, int from, Predicate<String> isSo) {
    return BinarySearch.first(from, refs.size(), i -> isSo.test(refs.get(i).getName()));
  }

  /** Unlike JGit's, has loose refs of a prefix that is no folder, too. */
  @Override
  @Deprecated
  public Map<String, Ref> getRefs(String prefix) throws IOException {
    return JGitFallbacks.map(prefix, getRefsByPrefix(prefix));
  }

  /**
   * A request scans loose refs once for all of its questions, until it or another thread changes
   * refs: Gerrit asks for each commit of a push. Without this module, it asks a map that it makes
   * once for a push.
   */
  @Override
  public Set<Ref> getTipsWithSha1(ObjectId id) throws IOException {
    return askForMany(
        refs -> view == null ? refs.tips(id) : view.tips(refs, id),
        refs -> refs.getTipsWithSha1(id));
  }

  /** Whether parsed lists answer, as far as is known without reading anything. */
  @Override
  public boolean hasFastTipsWithSha1() throws IOException {
    return common.packedFile.leftReason().isEmpty();
  }

  // ---- conflicts of names

  @Override
  public boolean isNameConflicting(String name) throws IOException {
    return common.paths.mayBeLoose(name + RefPaths.LOCK) // else it can't be made
        && ask(refs -> refs.isNameConflicting(name), refs -> refs.isNameConflicting(name));
  }

  @Override
  public Collection<String> getConflictingNames(String name) throws IOException {
    return ask(refs -> refs.conflictingNames(name), refs -> refs.getConflictingNames(name));
  }

  // ---- updates

  /** JGit's database for updates by JGit: in a request, the kind that Gerrit itself would use. */
  private RefDirectory jgitToWrite() {
    return view == null ? common.jgit : view.jgitSnapshot();
  }

  @Override
  public RefUpdate newUpdate(String name, boolean detach) throws IOException {
    RefUpdate own = context.newUpdate(name, detach, shared, this::requireRead);
    if (own == null) {
      return jgitToWrite().newUpdate(name, detach);
    }
    requireRead();
    return own;
  }

  /** Leaves renames to JGit, as Gerrit renames no ref. Both sides respect git's lock files. */
  @Override
  public RefRename newRename(String fromName, String toName) throws IOException {
    return jgitToWrite().newRename(fromName, toName);
  }

  @Override
  public BatchRefUpdate newBatchUpdate() {
    BatchRefUpdate own = context.newBatchUpdate(shared, this::requireRead);
    if (own == null) {
      return jgitToWrite().newBatchUpdate();
    }
    requireRead();
    return own;
  }

  @Override
  public boolean performsAtomicTransactions() {
    return common.jgit.performsAtomicTransactions();
  }

  @Override
  public void packRefs(ProgressMonitor monitor, PackRefsCommand command) throws IOException {
    if (!context.pack(monitor, command.isAll())) {
      jgitToWrite().packRefs(monitor, command);
    }
    if (command.isAll()) {
      // JGit's garbage collection does this at its end only if it finds a RefDirectory.
      EmptyRefFolders.delete(common.paths.refsFolder);
    }
  }

  private void requireRead() {
    if (view != null) {
      view.requireRead();
    }
  }

  // ---- everything else is JGit's

  @Override
  public void create() throws IOException {
    common.jgit.create();
  }

  @Override
  public void close() {
    common.jgit.close();
  }

  @Override
  public void refresh() {
    requireRead();
    common.packedFile.refresh();
    common.loose.refresh();
    common.jgit.refresh();
  }

  @Override
  public ReflogReader getReflogReader(Ref ref) throws IOException {
    return common.jgit.getReflogReader(ref);
  }
}
