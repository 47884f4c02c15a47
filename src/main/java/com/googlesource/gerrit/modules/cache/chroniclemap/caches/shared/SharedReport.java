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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

/**
 * Figures of the connection to the shared server, since the start.
 *
 * @param url of the server, without user and password
 * @param isAnswering whether the server is asked at this moment
 * @param requests round trips that requests have waited for
 * @param timeouts those that were not answered in time
 * @param errors those that failed otherwise
 * @param tooMany those that were not sent, as too many others waited
 * @param openings how often the server was not asked for a while, after a failure
 * @param lastError the last failure; empty if there was none
 * @param queuedBytes size of the values that wait to be sent
 * @param sent values that the server has taken
 * @param sentBytes their size there
 * @param refused values that the server did not take
 * @param dropped values that were not sent, as the queue was full or the sending failed
 */
public record SharedReport(
    String url,
    boolean isAnswering,
    long requests,
    long timeouts,
    long errors,
    long tooMany,
    long openings,
    String lastError,
    long queuedBytes,
    long sent,
    long sentBytes,
    long refused,
    long dropped) {}
