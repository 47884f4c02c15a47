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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import com.google.common.collect.ImmutableList;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitUser;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.TreeSet;
import org.eclipse.jgit.lib.ObjectId;

/**
 * A project whose changes have a history as in real ones: files of thousands of lines, several
 * patch sets, reviews with comments.
 */
final class LivedInProject {
  private static final String NAME = "lived-in";
  private static final int FILES = 24;
  private static final int LINES = 2500;
  private static final int PATCH_SETS = 5;
  private static final int TOUCHED = 6;
  private static final int EDITS = 12;
  private static final int REVIEWS = 4;
  private static final int COMMENTS = 5;

  /** So many changes are pushed at once, each on top of the one before. */
  private static final int CHAIN = 10;

  private final Gerrit gerrit;
  private final List<String> files = new ArrayList<>();
  private final List<String[]> texts = new ArrayList<>();
  private ImmutableList<Integer> changes = ImmutableList.of();

  LivedInProject(Gerrit gerrit) {
    this.gerrit = gerrit;
  }

  static String describe() {
    return String.format(
        Locale.ROOT,
        "%d files of %d lines, %d patch sets of %d files with %d edits, %d comments",
        FILES,
        LINES,
        PATCH_SETS,
        TOUCHED,
        EDITS,
        REVIEWS * COMMENTS);
  }

  /** Pushes changes, and reviews them. */
  void fill(int count) throws IOException {
    gerrit.createProject(NAME);
    gerrit.grantToAdministratorsOnly(NAME, "refs/heads/*", "push");
    Random random = new Random(1);
    try (GitUser git = gerrit.git(NAME)) {
      ObjectId master = git.fetch("refs/heads/master");
      List<GitUser.Content> base = new ArrayList<>();
      for (int i = 0; i < FILES; i++) {
        files.add("src/main/module" + i % 4 + "/File" + i + ".java");
        String[] lines = new String[LINES];
        for (int j = 0; j < LINES; j++) {
          lines[j] = line(random);
        }
        texts.add(lines);
        base.add(new GitUser.Content(files.get(i), String.join("\n", lines) + "\n"));
      }
      master = git.commit(master, "All files", base);
      git.push(master, "refs/heads/master");
      for (int first = 0; first < count; first += CHAIN) {
        for (int set = 0; set < PATCH_SETS; set++) {
          ObjectId tip = master;
          for (int i = first; i < Math.min(count, first + CHAIN); i++) {
            tip = git.commit(tip, "Change " + i, edited(i, set));
          }
          git.push(tip, "refs/for/master");
        }
      }
    }
    changes = gerrit.changes(NAME);
    for (int change : changes) {
      review(change, random);
    }
  }

  private static String line(Random random) {
    StringBuilder line = new StringBuilder("    ");
    for (int words = 3 + random.nextInt(8); words > 0; words--) {
      line.append(Integer.toString(random.nextInt(5000), 36)).append(words % 3 == 0 ? "(" : " ");
    }
    return line.toString();
  }

  private List<GitUser.Content> edited(int change, int set) {
    List<GitUser.Content> edited = new ArrayList<>();
    for (int i = 0; i < TOUCHED; i++) {
      int file = (change * 7 + i * 5) % FILES;
      String[] lines = texts.get(file).clone();
      Random random = new Random(change * 31L + i);
      for (int edit = 0; edit < EDITS; edit++) {
        int at = random.nextInt(LINES);
        lines[at] = lines[at] + " // change " + change + (edit % 3 == 0 ? ", set " + set : "");
      }
      edited.add(new GitUser.Content(files.get(file), String.join("\n", lines) + "\n"));
    }
    return edited;
  }

  private void review(int change, Random random) throws IOException {
    List<String> touched = touched(change);
    for (int review = 0; review < REVIEWS; review++) {
      JsonObject comments = new JsonObject();
      for (int i = 0; i < COMMENTS; i++) {
        String file = touched.get(random.nextInt(touched.size()));
        JsonObject comment = new JsonObject();
        comment.addProperty("line", 1 + random.nextInt(LINES));
        comment.addProperty("message", "Why this? " + line(random));
        if (!comments.has(file)) {
          comments.add(file, new JsonArray());
        }
        comments.getAsJsonArray(file).add(comment);
      }
      JsonObject input = new JsonObject();
      input.addProperty("message", "Review " + review + ": " + line(random));
      input.add("comments", comments);
      var unused = gerrit.rest().post(path(change) + "/revisions/current/review", input.toString());
    }
  }

  private List<String> touched(int change) {
    int index = changes.indexOf(change);
    TreeSet<String> touched = new TreeSet<>();
    for (int i = 0; i < TOUCHED; i++) {
      touched.add(files.get((index * 7 + i * 5) % FILES));
    }
    return List.copyOf(touched);
  }

  ImmutableList<Integer> changes() {
    return changes;
  }

  private static String path(int change) {
    return "/changes/" + NAME + "~" + change;
  }

  static String detail(int change) {
    return path(change) + "/detail";
  }

  static String files(int change) {
    return path(change) + "/revisions/current/files/";
  }

  static String dashboard(List<Integer> shown) {
    String query = String.join(" OR ", shown.stream().map(Object::toString).toList());
    return "/changes/?q="
        + URLEncoder.encode(query, StandardCharsets.UTF_8)
        + "&o=DETAILED_LABELS&o=DETAILED_ACCOUNTS&o=MESSAGES&o=CURRENT_REVISION";
  }
}
