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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A site as init leaves it, made once for all tests of this Java process and copied for each. */
final class SiteTemplate {
  private static GerritSite template;

  private SiteTemplate() {}

  /** A new site with nothing of this module in it yet. */
  static synchronized GerritSite plainSite(Path root) throws IOException, InterruptedException {
    if (template == null) {
      template = GerritSite.init(Files.createTempDirectory("gerrit-template-"));
      // Servers of tests live for seconds, and would spend a fifth of it on compiling code well.
      template.editJavaOptions(options -> options.add("-XX:TieredStopAtLevel=1"));
    }
    GerritSite site = template.copyTo(root);
    // At the end of the process, H2 waits 4 s for the idle connections to this database (reviewed
    // flags, which are in none of the caches), unless it is told to leave it as a kill would.
    String reviewed = "jdbc:h2:file:" + site.path().resolve("db/account_patch_reviews");
    site.edit(
        config ->
            config.setString(
                "accountPatchReviewDb", null, "url", reviewed + ";DB_CLOSE_ON_EXIT=FALSE"));
    return site;
  }

  /** A new site with the module installed. */
  static GerritSite siteWithModule(Path root) throws IOException, InterruptedException {
    GerritSite site = plainSite(root);
    site.installModule(BuildFolder.moduleJar());
    return site;
  }
}
