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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.cache.Cache;
import com.google.gerrit.entities.Account;
import com.google.gerrit.entities.Comment;
import com.google.gerrit.entities.HumanComment;
import com.google.gerrit.json.OutputFormat;
import com.google.gerrit.proto.Entities;
import com.google.gerrit.proto.Entities.Account_Id;
import com.google.gerrit.proto.Protos;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesKeyProto;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesStateProto;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesStateProto.AttentionSetUpdateProto;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesStateProto.ReviewerSetEntryProto;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesStateProto.ReviewerStatusUpdateProto;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.lang.reflect.Proxy;
import java.sql.Timestamp;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Notes of changes whose accounts are not all known yet are not kept on disk. */
class ProvisionalValuesTest extends SiteTest {
  private static final int KNOWN = 1000;
  private static final int UNKNOWN = Account.UNKNOWN_ACCOUNT_ID.get();

  /** All accounts of notes: each of them is the given one in one of the values. */
  private static Map<String, ChangeNotesStateProto> notesOf(int account) {
    Map<String, ChangeNotesStateProto> notes = new LinkedHashMap<>();
    ChangeNotesStateProto.Builder owned = base();
    owned.getColumnsBuilder().setOwner(account);
    notes.put("owner", owned.build());
    notes.put("past reviewer", base().addPastReviewer(account).build());
    ReviewerSetEntryProto reviewer =
        ReviewerSetEntryProto.newBuilder().setState("CC").setAccountId(account).build();
    notes.put("reviewer", base().addReviewer(reviewer).build());
    notes.put("pending reviewer", base().addPendingReviewer(reviewer).build());
    notes.put("updating", base().addReviewerUpdate(update(account, KNOWN)).build());
    notes.put("updated", base().addReviewerUpdate(update(KNOWN, account)).build());
    AttentionSetUpdateProto attention =
        AttentionSetUpdateProto.newBuilder()
            .setAccount(account)
            .setOperation("ADD")
            .setReason("r")
            .build();
    notes.put("attention", base().addAttentionSetUpdate(attention).build());
    notes.put("all attention", base().addAllAttentionSetUpdate(attention).build());
    notes.put(
        "uploader", base().addPatchSet(set().setUploaderAccountId(id(account)).build()).build());
    notes.put(
        "real uploader",
        base().addPatchSet(set().setRealUploaderAccountId(id(account)).build()).build());
    notes.put("vote", base().addApproval(vote(account)).build());
    notes.put(
        "real vote",
        base().addApproval(vote(KNOWN).toBuilder().setRealAccountId(id(account))).build());
    notes.put("author", base().addChangeMessage(message().setAuthorId(id(account))).build());
    notes.put("real author", base().addChangeMessage(message().setRealAuthor(id(account))).build());
    notes.put("comment", base().addPublishedComment(comment(account, "text")).build());
    notes.put(
        "label",
        base()
            .addSubmitRecord(
                "{\"status\":\"OK\",\"labels\":[{\"label\":\"L\",\"status\":\"OK\",\"applied_by\":"
                    + account
                    + "}]}")
            .build());
    return notes;
  }

  private static Account_Id id(int account) {
    return Account_Id.newBuilder().setId(account).build();
  }

  private static ChangeNotesStateProto.Builder base() {
    ChangeNotesStateProto.Builder notes =
        ChangeNotesStateProto.newBuilder().setMetaId(ByteString.copyFrom(new byte[20]));
    notes.setChangeId(1).getColumnsBuilder().setChangeKey("I1").setOwner(KNOWN).setBranch("b");
    return notes;
  }

  private static ReviewerStatusUpdateProto update(int by, int reviewer) {
    return ReviewerStatusUpdateProto.newBuilder()
        .setUpdatedBy(by)
        .setHasReviewer(true)
        .setReviewer(reviewer)
        .setState("CC")
        .build();
  }

  private static Entities.PatchSet_Id setId() {
    return Entities.PatchSet_Id.newBuilder()
        .setChangeId(Entities.Change_Id.newBuilder().setId(1))
        .setId(1)
        .build();
  }

  private static Entities.PatchSet.Builder set() {
    return Entities.PatchSet.newBuilder()
        .setId(setId())
        .setCommitId(Entities.ObjectId.newBuilder().setName("1".repeat(40)))
        .setUploaderAccountId(id(KNOWN))
        .setRealUploaderAccountId(id(KNOWN))
        .setCreatedOn(1);
  }

  private static Entities.PatchSetApproval vote(int account) {
    return Entities.PatchSetApproval.newBuilder()
        .setKey(
            Entities.PatchSetApproval_Key.newBuilder()
                .setPatchSetId(setId())
                .setAccountId(id(account))
                .setLabelId(Entities.LabelId.newBuilder().setId("L")))
        .setValue(1)
        .setGranted(1)
        .build();
  }

  /** As those that Gerrit itself writes, without an author. */
  private static Entities.ChangeMessage.Builder message() {
    return Entities.ChangeMessage.newBuilder()
        .setKey(
            Entities.ChangeMessage_Key.newBuilder()
                .setChangeId(Entities.Change_Id.newBuilder().setId(1))
                .setUuid("u"))
        .setWrittenOn(1)
        .setMessage("m");
  }

  private static String comment(int account, String text) {
    HumanComment comment =
        new HumanComment(
            new Comment.Key("u", "file", 1),
            Account.id(account),
            new Timestamp(1).toInstant(),
            (short) 0,
            text,
            "server",
            false);
    // Gerrit cannot read a time that it wrote in a locale with digits of its own.
    comment.writtenOn = null;
    comment.setCommitId(org.eclipse.jgit.lib.ObjectId.zeroId());
    return OutputFormat.JSON_COMPACT.newGson().toJson(comment);
  }

  /** Gerrit's definition, but for the weigher, which takes an injector. */
  private static PersistentCacheDef<?, ?> notesDef() {
    PersistentCacheDef<?, ?> def = PureCachesOfGerritTest.definitions().get("change_notes");
    return (PersistentCacheDef<?, ?>)
        Proxy.newProxyInstance(
            ProvisionalValuesTest.class.getClassLoader(),
            new Class<?>[] {PersistentCacheDef.class},
            (proxy, method, arguments) ->
                method.getName().equals("weigher") ? null : method.invoke(def, arguments));
  }

  /**
   * How often a value is computed that is asked for twice, by a cache that keeps none in memory.
   */
  private int loadsOf(ChangeNotesStateProto notes) throws Exception {
    return loadsOf(notesDef(), notes);
  }

  private <K, V> int loadsOf(PersistentCacheDef<K, V> def, ChangeNotesStateProto notes)
      throws Exception {
    Cache<K, V> cache = site.factory().build(def);
    storeOf(cache).awaitOpened();
    K key =
        def.keySerializer()
            .deserialize(
                Protos.toByteArray(
                    ChangeNotesKeyProto.newBuilder()
                        .setProject("p")
                        .setChangeId(1)
                        .setId(ByteString.copyFrom(new byte[20]))
                        .build()));
    V value = def.valueSerializer().deserialize(Protos.toByteArray(notes));
    cache.invalidateAll();
    AtomicInteger loads = new AtomicInteger();
    for (int i = 0; i < 2; i++) {
      V found =
          cache.get(
              key,
              () -> {
                loads.incrementAndGet();
                return value;
              });
      assertThat(found).isEqualTo(value);
    }
    return loads.get();
  }

  @Test
  void notesWithAnUnknownAccountAreComputedAgain() throws Exception {
    site.config().setInt("cache", "change_notes", "memoryLimit", 0);
    for (Map.Entry<String, ChangeNotesStateProto> notes : notesOf(UNKNOWN).entrySet()) {
      assertWithMessage(notes.getKey()).that(loadsOf(notes.getValue())).isEqualTo(2);
    }
    for (Map.Entry<String, ChangeNotesStateProto> notes : notesOf(KNOWN).entrySet()) {
      assertWithMessage(notes.getKey()).that(loadsOf(notes.getValue())).isEqualTo(1);
    }
  }

  @Test
  void notesWithoutAnAccountAreKept() throws Exception {
    site.config().setInt("cache", "change_notes", "memoryLimit", 0);
    assertThat(loadsOf(base().addChangeMessage(message()).build())).isEqualTo(1);
    ReviewerStatusUpdateProto byEmail =
        update(KNOWN, KNOWN).toBuilder()
            .clearReviewer()
            .clearHasReviewer()
            .setHasReviewerByEmail(true)
            .setReviewerByEmail("a@b")
            .build();
    assertThat(loadsOf(base().addReviewerUpdate(byEmail).build())).isEqualTo(1);
    String text = comment(UNKNOWN, "");
    assertThat(loadsOf(base().addPublishedComment(comment(KNOWN, text)).build())).isEqualTo(1);
  }

  /** A number that another Gerrit adds to its stored notes may be an account. */
  @Test
  void allNumbersOfNotesAreKnown() {
    Set<String> numbers = new TreeSet<>();
    addNumbers(ChangeNotesStateProto.getDescriptor(), numbers, new HashSet<>());
    assertThat(numbers).containsAtLeastElementsIn(PoorValues.ACCOUNTS);
    numbers.removeAll(PoorValues.ACCOUNTS);
    // Of changes, patch sets, votes and counts; the last one is that of Gerrit 3.14.
    assertThat(
            List.of(
                "change_id",
                "current_patch_set_id",
                "id",
                "revert_of",
                "update_count",
                "value",
                "real_updated_by"))
        .containsAtLeastElementsIn(numbers);
  }

  private static void addNumbers(Descriptor type, Set<String> fields, Set<Descriptor> seen) {
    if (!seen.add(type)) {
      return;
    }
    for (FieldDescriptor field : type.getFields()) {
      if (field.getJavaType() == FieldDescriptor.JavaType.INT) {
        fields.add(field.getName());
      } else if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        addNumbers(field.getMessageType(), fields, seen);
      }
    }
  }
}
