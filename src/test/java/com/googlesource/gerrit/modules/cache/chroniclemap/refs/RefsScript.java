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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A scenario in words, for tables of scenarios: a line with its title, and indented below it its
 * steps, with semicolons between them.
 *
 * <pre>
 * a name is free once the other is deleted
 *   put a/b A; delete a/b; update a B; batch: a B>0, a/c 0>A; pack
 * </pre>
 *
 * <p>Names are those of branches, but for full ones ({@code refs/...}, {@code packed-refs}, and
 * those in capitals). Values are those of {@link RefObjects}, 0 for none and - for one that is not
 * said. After a change there may be options, such as {@code expect A}: see {@link #set}.
 *
 * @param stored where {@code put} puts a ref
 * @param atomic whether a {@code batch} is, if it does not say
 */
record RefsScript(String title, String steps, Stored stored, boolean atomic)
    implements RefsParity.Scenario {
  private static final Splitter STEPS = Splitter.on(';').trimResults();
  private static final Splitter WORDS = Splitter.on(' ').trimResults().omitEmptyStrings();
  private static final Splitter COMMANDS = Splitter.on(',').trimResults().omitEmptyStrings();

  /** Where a ref is. */
  enum Stored {
    LOOSE,
    PACKED,
    /** Loose, with another value in packed-refs. */
    BOTH;

    void put(RefsSide side, String name, ObjectId id) throws IOException {
      switch (this) {
        case LOOSE -> side.loose(name, id);
        case PACKED -> side.packed(name, id);
        case BOTH -> {
          side.packed(name, RefObjects.D);
          side.loose(name, id);
        }
      }
    }
  }

  /** The scenarios of a table, in which lines that start with # are comments. */
  static List<RefsScript> of(String table) {
    return Splitter.onPattern("\n(?! )")
        .omitEmptyStrings()
        .splitToStream(table.replaceAll("(?m)^#.*\n|^\n", ""))
        .map(one -> Splitter.on('\n').limit(2).splitToList(one))
        .map(one -> new RefsScript(one.get(0), one.get(1), Stored.LOOSE, /* atomic= */ true))
        .toList();
  }

  /** The same; each scenario that puts refs is there once for each place where a ref may be. */
  static List<RefsScript> wherever(String table) {
    return of(table).stream()
        .flatMap(
            script ->
                script.steps.contains("put ")
                    ? Arrays.stream(Stored.values()).map(place -> script.with(place, script.atomic))
                    : Stream.of(script))
        .toList();
  }

  RefsScript with(Stored place, boolean isAtomic) {
    return new RefsScript(title, steps, place, isAtomic);
  }

  /** The same after other steps. */
  RefsScript after(String before) {
    return new RefsScript(title, before + "; " + steps, stored, atomic);
  }

  /** Each step as a scenario. */
  List<RefsScript> single() {
    return STEPS
        .splitToStream(steps)
        .map(step -> new RefsScript(title, step, stored, atomic))
        .toList();
  }

  @Override
  public String toString() {
    return title + (steps.contains("put ") ? ", " + stored : "");
  }

  // ---- words

  private static String name(String word) {
    return word.matches("refs/.*|packed-refs|[A-Z_]+") ? word : "refs/heads/" + word;
  }

  @Nullable
  private static ObjectId id(String word) {
    return switch (word) {
      case "A" -> RefObjects.A;
      case "B" -> RefObjects.B;
      case "C" -> RefObjects.C;
      case "D" -> RefObjects.D;
      case "TAG" -> RefObjects.TAG;
      case "TAG_OF_TAG" -> RefObjects.TAG_OF_TAG;
      case "MISSING" -> RefObjects.MISSING;
      case "0" -> RefObjects.ZERO;
      case "-" -> null;
      default -> ObjectId.fromString(word);
    };
  }

  // ---- steps

  @Override
  public void on(RefsSide side) throws Exception {
    Map<String, Prepared> prepared = new HashMap<>();
    for (String step : STEPS.split(steps)) {
      run(side, step.replace('\n', ' '), prepared);
    }
  }

  private void run(RefsSide side, String step, Map<String, Prepared> prepared) throws Exception {
    List<String> words = WORDS.splitToList(step);
    String name = words.size() > 1 ? name(words.get(1)) : "";
    switch (words.get(0)) {
      // What stands in the repository.
      case "put" -> stored.put(side, name, id(words.get(2)));
      case "loose" -> side.loose(name, id(words.get(2)));
      case "packed" -> side.packed(name, id(words.get(2)));
      case "symbolic" -> side.loose(name, "ref: " + name(words.get(2)));
      case "grown" -> grow(side, words.get(1), words.get(2), prepared);
      case "mkdir" -> Files.createDirectories(side.file(name));
      case "touch" -> {
        Files.createDirectories(side.file(words.get(1)).getParent());
        Files.createFile(side.file(words.get(1)));
      }
      case "edit" -> edit(side.file("packed-refs"), words.get(1));
      case "rm" -> Files.delete(side.file(name));
      case "config" -> {
        List<String> key = Splitter.on('.').splitToList(words.get(1));
        side.repository().getConfig().setString(key.get(0), null, key.get(1), words.get(2));
        side.repository().getConfig().save();
      }
      // What is done.
      case "update", "force", "detach", "delete", "unlink", "link" -> {
        Change change = change(words);
        side.update(
            change.what, change.name, change.detach, change.to, change.act, change.settings);
      }
      case "prepare" -> {
        Change change = change(words.subList(2, words.size()));
        RefUpdate update = side.newUpdate(change.name, change.detach, change.to);
        change.settings.accept(update);
        prepared.put(words.get(1).replace(":", ""), new Prepared(update, change.act));
      }
      case "reuse" -> // another act of an update that was prepared
          prepared.computeIfPresent(
              words.get(1).replace(":", ""),
              (any, made) -> new Prepared(made.update, change(words.subList(2, words.size())).act));
      case "run" -> {
        Prepared made = prepared.get(words.get(1));
        set(made.update, words.subList(2, words.size()).iterator());
        side.run(words.get(1), made.update, made.act);
      }
      case "rename" -> side.rename(name, name(words.get(2)));
      case "pack" -> side.pack();
      case "pack-tags" -> side.pack(false);
      case "batch", "batch:" -> batch(side, step);
      // What others do.
      case "lock" -> side.lock(name);
      case "unlock" -> side.unlock(name);
      case "git" -> side.git(arguments(words));
      // Git may say which file is in its way, and that depends on where refs are.
      case "git-status" -> side.see(step, side.testRefs().tryGit(arguments(words)).status());
      // By its standard input, as the locale may have no characters for an argument.
      case "update-ref" ->
          side.see(
              step,
              side.testRefs()
                  .tryGitWith(String.join(" ", arguments(words)) + '\n', "update-ref", "--stdin")
                  .status());
      // What is seen.
      case "read" -> side.attempt(step, () -> shown(side.refs().exactRef(name)));
      case "stored" ->
          side.see(
              name, (side.isLoose(name) ? "loose " : "") + (side.isPacked(name) ? "packed" : ""));
      case "exists" -> side.see(step, Files.exists(side.file(words.get(1))));
      default -> throw new AssertionError(step);
    }
  }

  /** As an editor would: without the header, or without the last line feed. */
  private static void edit(Path packed, String what) throws IOException {
    if (Files.exists(packed)) {
      String text = Files.readString(packed, UTF_8);
      String edited = text.replaceAll(what.equals("header") ? "(?m)^#.*\n" : "\n$", "");
      Path next = Files.writeString(packed.resolveSibling("edited"), edited, UTF_8);
      Files.move(next, packed, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  @Nullable
  private static String shown(@Nullable Ref ref) {
    return ref == null ? null : ref.getLeaf().getName() + ' ' + ref.getObjectId();
  }

  private static String[] arguments(List<String> words) {
    return words.stream()
        .skip(1)
        .map(word -> word.matches("[A-D]|TAG(_OF_TAG)?|MISSING") ? id(word).name() : word)
        .toArray(String[]::new);
  }

  /** A ref with a reflog of two entries. */
  private void grow(RefsSide side, String name, String id, Map<String, Prepared> prepared)
      throws Exception {
    List<String> all =
        new ArrayList<>(
            List.of(
                "update %s C logged", "delete %s", "put %s A", "force %s B", "update %s C logged"));
    if (stored == Stored.PACKED) {
      all.addAll(List.of("pack", "force %s " + id, "pack"));
    } else {
      all.add("force %s " + id);
    }
    for (String step : all) {
      run(side, step.replace("%s", name), prepared);
    }
  }

  // ---- changes of single refs

  private record Prepared(RefUpdate update, RefsSide.Act act) {}

  private record Change(
      String what,
      String name,
      boolean detach,
      @Nullable ObjectId to,
      RefsSide.Act act,
      Consumer<RefUpdate> settings) {}

  private static Change change(List<String> words) {
    String what = words.get(0);
    boolean deletes = what.equals("delete") || what.equals("unlink");
    boolean links = what.equals("link");
    List<String> options = words.subList(deletes ? 2 : 3, words.size());
    boolean isForced = !options.contains("unforced");
    return new Change(
        what,
        name(words.get(1)),
        what.equals("detach") || what.equals("unlink") || options.contains("detached"),
        deletes || links ? null : id(words.get(2)),
        deletes
            ? RefUpdate::delete
            : links
                ? update -> update.link(name(words.get(2)))
                : what.equals("force") || (what.equals("detach") && isForced)
                    ? RefUpdate::forceUpdate
                    : RefUpdate::update,
        update -> {
          if (deletes) {
            update.setForceUpdate(isForced);
          }
          set(update, options.iterator());
        });
  }

  private static void set(RefUpdate update, Iterator<String> options) {
    while (options.hasNext()) {
      String option = options.next();
      switch (option) {
        case "unforced", "detached" -> {}
        case "forced" -> update.setForceUpdate(true);
        case "expect" -> update.setExpectedOldObjectId(id(options.next()));
        case "to" -> update.setNewObjectId(id(options.next()));
        case "unchecked" -> update.setCheckConflicting(false);
        case "message" -> update.setRefLogMessage("a message\nof two lines", false);
        case "result" -> update.setRefLogMessage("a message", true);
        case "result-only" -> update.setRefLogMessage("", true);
        case "logged" -> update.setForceRefLog(true);
        case "unlogged" -> update.disableRefLog();
        case "by-another" -> {
          update.setRefLogIdent(RefObjects.person(7));
          update.setRefLogMessage("by another", false);
        }
        default -> throw new AssertionError(option);
      }
    }
  }

  // ---- batches

  /** Such as {@code batch force: a A>B, b 0>A}. */
  private void batch(RefsSide side, String step) {
    List<String> parts = Splitter.on(':').splitToList(step);
    List<String> options = WORDS.splitToList(parts.get(0));
    boolean isAtomic = options.contains("atomic") || (atomic && !options.contains("each"));
    side.batch(
        isAtomic,
        batch -> options.stream().skip(1).forEach(option -> set(batch, option)),
        COMMANDS
            .splitToStream(parts.get(1))
            .map(RefsScript::command)
            .toArray(ReceiveCommand[]::new));
  }

  private static void set(BatchRefUpdate batch, String option) {
    switch (option) {
      case "atomic", "each" -> {}
      case "force" -> batch.setAllowNonFastForwards(true);
      case "message" -> batch.setRefLogMessage("a\nmessage", false);
      case "result" -> batch.setRefLogMessage("a message", true);
      case "result-only" -> batch.setRefLogMessage(null, true);
      case "logged" -> batch.setForceRefLog(true);
      case "unlogged" -> batch.disableRefLog();
      case "by-another" -> batch.setRefLogIdent(RefObjects.person(9));
      default -> throw new AssertionError(option);
    }
  }

  /** From {@code NAME OLD>NEW}. */
  private static ReceiveCommand command(String words) {
    List<String> parts = Splitter.onPattern("[ >]").splitToList(words);
    return new ReceiveCommand(id(parts.get(1)), id(parts.get(2)), name(parts.get(0)));
  }
}
