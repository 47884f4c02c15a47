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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.common.collect.ImmutableSet;
import com.google.gerrit.entities.Account;
import com.google.gerrit.proto.Entities.Account_Id;
import com.google.gerrit.proto.Protos;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesStateProto;
import com.google.gerrit.server.notedb.ChangeNotesState;
import com.google.gerrit.server.patch.IntraLineDiff;
import com.google.gerrit.server.patch.filediff.FileDiffOutput;
import com.google.gerrit.server.patch.gitfilediff.GitFileDiff;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Tells which computed values are poor: Gerrit gave up after a time, and another server might have
 * made it. Such values are kept by the server that computed them, and not shared. Provisional ones
 * are kept in memory only, as Gerrit computes something else from the same key later.
 *
 * <p>Any thread may call.
 */
final class PoorValues {
  /** The cache whose values those of gerrit_file_diff are made from, on the thread that loads. */
  static final String PARTS = "git_file_diff";

  /** Values are shared some time after they were made. */
  private static final long LATER_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** When a thread last saw a part that Gerrit had given up. */
  private static final ThreadLocal<Long> SEEN = new ThreadLocal<>();

  private static final int UNKNOWN = Account.UNKNOWN_ACCOUNT_ID.get();

  /**
   * The numbers of notes that are accounts. Left out is real_updated_by of Gerrit 3.14, where 0
   * stands for no account, too.
   */
  static final ImmutableSet<String> ACCOUNTS =
      ImmutableSet.of("account", "account_id", "owner", "past_reviewer", "reviewer", "updated_by");

  /** Whether that cache has a disk tier, which tells of its values. */
  private static volatile boolean isWatched;

  private PoorValues() {}

  /** Notes that {@link #seen} will be called. */
  static void watch() {
    isWatched = true;
  }

  /**
   * Notes what a caller of the cache {@link #PARTS} gets. A diff that is made of a part that was
   * given up may not tell: it shows what came with a rebase as changes.
   */
  static void seen(Object part) {
    if (part instanceof GitFileDiff diff && diff.isNegative()) {
      SEEN.set(System.nanoTime());
    }
  }

  /**
   * Whether a value is poor that this thread has computed.
   *
   * @param nanos how long it took to compute
   */
  static boolean isPoor(Object value, long nanos) {
    if (value instanceof FileDiffOutput diff) {
      Long seen = SEEN.get();
      return diff.isNegative()
          || diff.isEmpty()
          || !isWatched
          || (seen != null && System.nanoTime() - seen < nanos + LATER_NANOS);
    }
    if (value instanceof IntraLineDiff diff) {
      return diff.getStatus() == IntraLineDiff.Status.TIMEOUT
          || diff.getStatus() == IntraLineDiff.Status.ERROR;
    }
    return false;
  }

  /**
   * Whether a value is provisional: notes of a change that came from another server, made while an
   * account of that server had no external id here. Costs about as much as serializing the value.
   *
   * @param bytes the serialized value
   */
  static boolean isProvisional(Object value, byte[] bytes) {
    return value instanceof ChangeNotesState
        && hasUnknown(Protos.parseUnchecked(ChangeNotesStateProto.parser(), bytes));
  }

  /** By the names of fields, as Gerrit's versions do not have the same ones. */
  private static boolean hasUnknown(Message message) {
    if (message instanceof Account_Id account) {
      return account.getId() == UNKNOWN;
    }
    return message.getDescriptorForType().getFields().stream()
        .anyMatch(
            field -> valuesOf(message, field).anyMatch(value -> isUnknown(field.getName(), value)));
  }

  private static Stream<?> valuesOf(Message message, FieldDescriptor field) {
    if (field.isRepeated()) {
      return ((List<?>) message.getField(field)).stream();
    }
    FieldDescriptor has = message.getDescriptorForType().findFieldByName("has_" + field.getName());
    boolean isSet =
        field.hasPresence()
            ? message.hasField(field)
            : has == null || (boolean) message.getField(has);
    return isSet ? Stream.of(message.getField(field)) : Stream.empty();
  }

  private static boolean isUnknown(String field, Object value) {
    return switch (value) {
      case Message message -> hasUnknown(message);
      case Integer number -> number == UNKNOWN && ACCOUNTS.contains(field);
      // In JSON, quotes within a text are escaped.
      case String text ->
          (field.equals("submit_record") && text.contains("\"applied_by\":0"))
              || (field.equals("published_comment") && text.contains("{\"id\":0}"));
      default -> false;
    };
  }
}
