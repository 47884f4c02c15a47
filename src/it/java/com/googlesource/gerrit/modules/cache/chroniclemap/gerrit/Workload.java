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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.lib.ObjectId;

/** What a small team does in one project: pushes, comments, votes, submits; and reads it all. */
final class Workload {
  private static final int CHAIN = 3;
  static final int FILES = 3;

  private final Gerrit gerrit;
  private final String project;

  /** Remembered, because a SIGKILL takes from Gerrit's search index what it has not written yet. */
  private ImmutableList<Integer> changes = ImmutableList.of();

  Workload(Gerrit gerrit, String project) {
    this.gerrit = gerrit;
    this.project = project;
  }

  /** Pushes changes for review, in chains of three, each with some files. */
  void push(int count) throws IOException {
    int first = changes.size();
    try (GitUser git = gerrit.git(project)) {
      ObjectId master = git.fetch("refs/heads/master");
      ObjectId tip = master;
      for (int i = 0; i < count; i++) {
        int number = first + i;
        tip = git.commit(i % CHAIN == 0 ? master : tip, "Change " + number, files(number));
        if (i % CHAIN == CHAIN - 1 || i == count - 1) {
          git.push(tip, "refs/for/master");
        }
      }
    }
    changes = gerrit.changes(project);
  }

  private static List<GitUser.Content> files(int change) {
    List<GitUser.Content> files = new ArrayList<>();
    for (int file = 0; file < FILES; file++) {
      StringBuilder text = new StringBuilder();
      for (int line = 0; line < 40; line++) {
        text.append("change ").append(change).append(", line ").append(line).append('\n');
      }
      files.add(new GitUser.Content(fileOf(change, file), text.toString()));
    }
    return files;
  }

  /**
   * The name of a file that a change adds.
   *
   * @param index of the change in {@link #changes}, if these were pushed in one go
   * @param file less than {@link #FILES}
   */
  static String fileOf(int index, int file) {
    return "src/c" + index + "/File" + file + ".txt";
  }

  /** The numbers of all changes pushed, the oldest first. */
  ImmutableList<Integer> changes() {
    return changes;
  }

  /** Leaves a comment on a file of each change. */
  void comment(List<Integer> changes) throws IOException {
    for (int change : changes) {
      gerrit.comment(change, filesOf(change).getFirst(), 3, "Why this line?");
    }
  }

  void approve(List<Integer> changes) throws IOException {
    for (int change : changes) {
      gerrit.review(change, 2, "Looks good");
    }
  }

  void submit(List<Integer> changes) throws IOException {
    for (int change : changes) {
      gerrit.submit(change);
    }
  }

  /** Reads what users look at; answers with each path and its body. */
  ImmutableSortedMap<String, String> readAll(RestClient reader) throws IOException {
    ImmutableSortedMap.Builder<String, String> answers = ImmutableSortedMap.naturalOrder();
    answers.put(read(reader, "/projects/" + project));
    answers.put(read(reader, "/accounts/self/detail"));
    for (int change : changes) {
      String path = path(change);
      answers.put(read(reader, path + "/detail"));
      answers.put(read(reader, path + "/comments"));
      for (String file : filesOf(change)) {
        answers.put(
            read(
                reader,
                path
                    + "/revisions/current/files/"
                    + URLEncoder.encode(file, StandardCharsets.UTF_8)
                    + "/diff"));
      }
    }
    return answers.build();
  }

  /** With the project: a number alone would be looked up in the search index. */
  String path(int change) {
    return "/changes/" + project + "~" + change;
  }

  private List<String> filesOf(int change) throws IOException {
    JsonObject files =
        gerrit.rest().get(path(change) + "/revisions/current/files/").json().getAsJsonObject();
    return files.keySet().stream().filter(f -> !f.startsWith("/")).sorted().toList();
  }

  private static Map.Entry<String, String> read(RestClient reader, String path) throws IOException {
    // Gerrit forgets that a label has no description when it reads the project from its disk cache,
    // with H2 too.
    return Map.entry(path, reader.get(path).body().replace("\"description\":\"\",", ""));
  }
}
