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

/**
 * From the text of a {@code packed-refs} file to a list, and from a list with some lines changed to
 * the text and the list of that.
 *
 * <p>Start at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedRefsReader}, which reads,
 * and at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.EditedText}, which
 * writes what it reads. Knows texts, and nothing of where they come from but {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.FileText}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;
