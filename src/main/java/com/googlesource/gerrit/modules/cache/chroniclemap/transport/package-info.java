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
 * Git over the wire: what Gerrit's pushes and fetches ask of the refs, so that their cost follows
 * what they carry and not the number of refs.
 *
 * <p>Nothing here decides who may see what: each ref is asked for through the repository that
 * Gerrit has given to JGit, which filters by Gerrit's rules. Whatever is unclear is left to Gerrit
 * and JGit.
 *
 * <p>Start reading at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportModule}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.transport;
