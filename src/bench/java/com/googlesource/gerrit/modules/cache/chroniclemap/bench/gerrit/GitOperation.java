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

/** What {@link GitWorker} has native git do. */
enum GitOperation {
  NEW_CHANGE("push of a new change"),
  PATCH_SET("push of a patch set"),
  TEN_CHANGES("push of ten changes"),
  /** Gerrit moves master and puts {@code git_tags} of the whole project into its cache. */
  SUBMIT("push of a change, submitted at once"),
  NEW_BRANCH("push of a new branch"),
  DELETE_BRANCH("deletion of a branch"),
  FETCH_CHANGE("fetch of a change by ref"),
  /** Without {@code --no-tags}, git lists all tags before. */
  FETCH_CHANGE_ALONE("fetch of a change, --no-tags"),
  /** With {@code --no-tags}, as continuous integration does: git lists all refs otherwise. */
  FETCH_ID("fetch of an id, --no-tags"),
  FETCH_ID_V0("fetch of an id, protocol 0"),
  FETCH_BRANCH("fetch of a branch"),
  LIST_ALL("ls-remote of all"),
  /** For an ordinary user, Gerrit puts {@code changes_by_project} of the whole project. */
  LIST_ALL_AFTER("ls-remote of all after a new change"),
  LIST_SOME("ls-remote --heads of master*"),
  CLONE("shallow clone of master"),
  /** For an ordinary user, Gerrit would put the tags of each commit to its filter. */
  FORWARD("fast-forward over tagged commits"),
  /** By a client that means no good: native git sends no such names. */
  LONG_WANTS("fetch of 31 names of 60 KB");

  private final String title;

  GitOperation(String title) {
    this.title = title;
  }

  String title() {
    return title;
  }

  /** Whether native git's own server is measured, too. */
  boolean isMeasuredNative() {
    return this == NEW_BRANCH || this == FETCH_BRANCH || this == LIST_ALL;
  }
}
