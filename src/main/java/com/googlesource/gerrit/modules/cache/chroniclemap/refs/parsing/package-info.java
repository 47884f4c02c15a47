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
 * The conversion of {@code packed-refs} texts into lists, and of a list with some changed lines
 * into a new text and its list.
 *
 * <p>Start at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsReader}, which reads, and
 * at {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.EditedText}, which writes
 * while it is read. {@link com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.FileText}
 * is the only class that knows files.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;
