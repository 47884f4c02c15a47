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

/** What users ask of Gerrit that changes refs, in the order in which each needs the one before. */
enum RefsRequest {
  NEW_CHANGE("new change"),
  PATCH_SET("push of a patch set"),
  REVIEW("review"),
  SUBMIT("submit"),
  DELETE_BRANCH("branch deletion");

  private final String title;

  RefsRequest(String title) {
    this.title = title;
  }

  String title() {
    return title;
  }
}
