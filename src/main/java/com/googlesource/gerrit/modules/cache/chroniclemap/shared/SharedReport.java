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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

/**
 * Figures of the values that are shared with other servers.
 *
 * @param server the addresses of the log's server
 * @param failure why there is no connection, for people; empty if there is one
 * @param isFull whether the server was full at the last attempt
 * @param isRefusing whether a record had a wrong seal within the last hour
 * @param queued values that wait to be published
 * @param behindRecords records of the log that were not read yet
 * @param behindMillis how much newer the newest record of the log is than the last one read
 * @param logBytes the size of the log on its server
 * @param counts since the start
 */
public record SharedReport(
    String server,
    String failure,
    boolean isFull,
    boolean isRefusing,
    long queued,
    long behindRecords,
    long behindMillis,
    long logBytes,
    SharedCounts counts) {}
