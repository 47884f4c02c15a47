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
 * Several Gerrits of one site: values that one of them has computed reach the stores of the others
 * through a log on a server, before they are asked for there. No request waits for the server, and
 * nothing depends on it.
 *
 * <p>{@link com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedValues} is the
 * entrance. A {@code Publisher} appends what this server has computed, as records that are sealed
 * batches of values. A {@code Follower} reads the records of the others and puts what is missing
 * into the local stores. Both know the log as a {@code RecordLog} only; {@code RedisLog} is the one
 * for Redis Streams, and the only class that knows a client.
 */
package com.googlesource.gerrit.modules.cache.chroniclemap.shared;
