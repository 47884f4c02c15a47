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
 * The current content of the files of refs: loose refs, which have a file each, and a {@code
 * packed-refs} file with its list. This package decides when a file is checked and when it is read
 * again. It deletes empty folders and changes nothing else.
 *
 * <p>Start at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile} and at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;
