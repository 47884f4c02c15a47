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

package com.googlesource.gerrit.modules.cache.chroniclemap;

import com.google.inject.AbstractModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.AdminModule;

/**
 * The SSH command for parsed ref lists on a server that has {@link PackedRefsModule} and not {@link
 * ChronicleMapCacheModule}, which brings that command along: an entrance of {@code
 * gerrit.installModule}, for one of the two.
 *
 * <p>{@link PackedRefsModule} can't do so itself: SSH is made in an injector that it does not see.
 */
public class PackedRefsCommandsModule extends AbstractModule {
  @Override
  protected void configure() {
    install(AdminModule.forRefs());
  }
}
