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
 * The ref lookups of Gerrit's pushes and fetches. With this package, the cost of a push or fetch
 * depends on what it transfers, not on the number of refs.
 *
 * <p>Nothing here decides who may see what: each ref is looked up in the repository that Gerrit has
 * given to JGit, which filters by Gerrit's rules. Gerrit and JGit handle all cases in doubt.
 *
 * <p>Of what is not public in Gerrit and JGit, it sets the checker of a push and the repository
 * below Gerrit's filter, reads the hooks of a push and the access rules of a branch, intercepts
 * Gerrit's filters of refs, of branches and of requests over HTTP, and recognizes one filter and
 * one caller. All of these stand in the table {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.members.Member}, which tests compare with each
 * Gerrit, and in no other place. Without one of them, something is slower.
 *
 * <p>Start reading at {@link
 * com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportModule}.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.transport;
