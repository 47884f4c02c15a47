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

import com.google.common.collect.ImmutableList;
import com.google.gerrit.extensions.client.MenuItem;
import com.google.gerrit.extensions.webui.TopMenu;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.util.List;

/** The link to the page in Gerrit's menu Browse, for users who may see the page. */
@Singleton
final class PageLink implements TopMenu {
  private static final ImmutableList<MenuEntry> LINK =
      ImmutableList.of(
          new MenuEntry(
              "Browse",
              List.of(new MenuItem("Disk caches", "/plugins/" + AdminPlugin.NAME + "/"))));

  @Inject private Rights rights;

  @Override
  public List<MenuEntry> getEntries() {
    return rights.has(Rights.VIEW) ? LINK : ImmutableList.of();
  }
}
