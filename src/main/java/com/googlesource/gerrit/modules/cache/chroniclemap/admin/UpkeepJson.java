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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.util.List;
import java.util.Locale;

/** What came of long work on caches, as JSON; the names of its fields are documented and stay. */
final class UpkeepJson {
  private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

  private UpkeepJson() {}

  static String ofVerify(List<VerifyResult> results) {
    JsonArray caches = new JsonArray();
    for (VerifyResult result : results) {
      VerifyReport report = result.report();
      JsonObject out = cache(result.cache(), result.verdict(), result.detail());
      out.addProperty("entries", report.values());
      out.addProperty("bytes", report.bytes());
      out.addProperty("damaged", report.damaged());
      out.addProperty("complete", report.complete());
      out.addProperty("millis", report.millis());
      caches.add(out);
    }
    return print(caches);
  }

  static String ofCompact(List<CompactResult> results) {
    JsonArray caches = new JsonArray();
    for (CompactResult result : results) {
      CompactReport report = result.report();
      JsonObject out = cache(result.cache(), report.outcome(), result.detail());
      out.addProperty("entries", report.entries());
      out.addProperty("bytes_before", report.bytesBefore());
      out.addProperty("bytes_after", report.bytesAfter());
      out.addProperty("millis", report.millis());
      caches.add(out);
    }
    return print(caches);
  }

  static String ofImport(List<ImportReport> reports) {
    JsonArray caches = new JsonArray();
    for (ImportReport report : reports) {
      JsonObject out = cache(report.cache(), report.state(), report.detail());
      out.addProperty("rows", report.rows());
      out.addProperty("read", report.read());
      out.addProperty("imported", report.imported());
      out.addProperty("bytes", report.bytes());
      out.addProperty("known", report.known());
      out.addProperty("other_version", report.otherVersion());
      out.addProperty("too_old", report.tooOld());
      out.addProperty("too_large", report.tooLarge());
      out.addProperty("millis", report.millis());
      caches.add(out);
    }
    return print(caches);
  }

  private static JsonObject cache(String name, Enum<?> result, String detail) {
    JsonObject out = new JsonObject();
    out.addProperty("name", name);
    out.addProperty("result", result.name().toLowerCase(Locale.ROOT));
    out.addProperty("detail", detail);
    return out;
  }

  private static String print(JsonArray caches) {
    JsonObject root = new JsonObject();
    root.add("caches", caches);
    return GSON.toJson(root);
  }
}
