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
import com.google.common.collect.ImmutableMap;
import com.google.gerrit.entities.Account;
import com.google.gerrit.entities.Comment;
import com.google.gerrit.entities.HumanComment;
import com.google.gerrit.json.OutputFormat;
import com.google.gerrit.proto.Protos;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesKeyProto;
import com.google.gerrit.server.cache.proto.Cache.ChangeNotesStateProto;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.TextFormat;
import java.lang.reflect.Proxy;
import java.sql.Timestamp;
import java.util.HashSet;
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

  private static final String BASE =
      """
      meta_id: "01234567890123456789"
      change_id: 1
      columns { change_key: "I1" owner: 1000 branch: "b" }
      """;

  private static final String PATCH_SET =
      """
      id { change_id { id: 1 } id: 1 }
      commitId { name: "1111111111111111111111111111111111111111" }
      uploader_account_id { id: 1000 }
      real_uploader_account_id { id: 1000 }
      created_on: 1
      """;

  /** As those that Gerrit itself writes, without an author. */
  private static final String MESSAGE =
      "key { change_id { id: 1 } uuid: 'u' } written_on: 1 message: 'm'";

  /** All accounts of notes: each of them is A in one of the values. */
  private static final ImmutableMap<String, String> NOTES =
      ImmutableMap.<String, String>builder()
          .put("owner", "columns { owner: A }")
          .put("past reviewer", "past_reviewer: A")
          .put("reviewer", "reviewer { state: 'CC' account_id: A }")
          .put("pending reviewer", "pending_reviewer { state: 'CC' account_id: A }")
          .put("updating", reviewerUpdate("updated_by: A reviewer: 1000 has_reviewer: true"))
          .put("updated", reviewerUpdate("updated_by: 1000 reviewer: A has_reviewer: true"))
          .put("attention", "attention_set_update { account: A operation: 'ADD' reason: 'r' }")
          .put(
              "all attention",
              "all_attention_set_update { account: A operation: 'ADD' reason: 'r' }")
          .put("uploader", "patch_set { " + PATCH_SET + " uploader_account_id { id: A } }")
          .put(
              "real uploader", "patch_set { " + PATCH_SET + " real_uploader_account_id { id: A } }")
          .put("vote", vote("A"))
          .put("real vote", vote("1000").replace("granted:", "real_account_id { id: A } granted:"))
          .put("author", "change_message { " + MESSAGE + " author_id { id: A } }")
          .put("real author", "change_message { " + MESSAGE + " real_author { id: A } }")
          .put(
              "label",
              "submit_record: '{\"status\":\"OK\",\"labels\":[{\"label\":\"L\","
                  + "\"status\":\"OK\",\"applied_by\":A}]}'")
          .buildOrThrow();

  private static String reviewerUpdate(String fields) {
    return "reviewer_update { state: 'CC' " + fields + " }";
  }

  private static String vote(String account) {
    return """
        approval {
          key {
            patch_set_id { change_id { id: 1 } id: 1 }
            account_id { id: ACCOUNT }
            label_id { id: "L" }
          }
          value: 1
          granted: 1
        }
        """
        .replace("ACCOUNT", account);
  }

  /** Notes in the text format of protocol buffers, of which A is an account. */
  private static ChangeNotesStateProto.Builder notes(String text, int account) throws Exception {
    ChangeNotesStateProto.Builder notes = ChangeNotesStateProto.newBuilder();
    TextFormat.merge(BASE, notes);
    TextFormat.merge(text.replaceAll("\\bA\\b", Integer.toString(account)), notes);
    return notes;
  }

  private static ChangeNotesStateProto withComment(int account, String text) throws Exception {
    return notes("", account).addPublishedComment(comment(account, text)).build();
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
    for (Map.Entry<String, String> notes : NOTES.entrySet()) {
      String name = notes.getKey();
      assertWithMessage(name).that(loadsOf(notes(notes.getValue(), UNKNOWN).build())).isEqualTo(2);
      assertWithMessage(name).that(loadsOf(notes(notes.getValue(), KNOWN).build())).isEqualTo(1);
    }
    assertThat(loadsOf(withComment(UNKNOWN, "text"))).isEqualTo(2);
    assertThat(loadsOf(withComment(KNOWN, "text"))).isEqualTo(1);
  }

  @Test
  void notesWithoutAnAccountAreKept() throws Exception {
    site.config().setInt("cache", "change_notes", "memoryLimit", 0);
    assertThat(loadsOf(notes("change_message { " + MESSAGE + " }", KNOWN).build())).isEqualTo(1);
    String byEmail = "updated_by: 1000 has_reviewer_by_email: true reviewer_by_email: 'a@b'";
    assertThat(loadsOf(notes(reviewerUpdate(byEmail), KNOWN).build())).isEqualTo(1);
    assertThat(loadsOf(withComment(KNOWN, comment(UNKNOWN, "")))).isEqualTo(1);
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
