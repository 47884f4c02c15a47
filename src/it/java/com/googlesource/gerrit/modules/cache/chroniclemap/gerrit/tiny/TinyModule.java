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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.tiny;

import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.gerrit.extensions.annotations.PluginName;
import com.google.gerrit.server.cache.CacheModule;
import com.google.gerrit.sshd.CommandMetaData;
import com.google.gerrit.sshd.PluginCommandModule;
import com.google.gerrit.sshd.SshCommand;
import com.google.inject.Inject;
import com.google.inject.name.Named;
import java.util.UUID;
import org.kohsuke.args4j.Argument;

/** The smallest plugin with a persistent cache: {@code tiny-words}. */
public final class TinyModule extends CacheModule {
  static final String WORDS = "words";

  @Override
  protected void configure() {
    persist(WORDS, String.class, String.class)
        .version(1)
        .diskLimit(1 << 20)
        .loader(WordLoader.class);
  }

  /** Gives another value each time: who reads the same value twice got it from the cache. */
  public static final class WordLoader extends CacheLoader<String, String> {
    @Override
    public String load(String key) {
      return key + " " + UUID.randomUUID();
    }
  }

  /** {@code ssh HOST tiny get KEY}. */
  public static final class Commands extends PluginCommandModule {
    @Inject
    Commands(@PluginName String pluginName) {
      super(pluginName);
    }

    @Override
    protected void configureCommands() {
      command(GetCommand.class);
    }
  }

  /** Reads one value through the plugin's cache. */
  @CommandMetaData(name = "get", description = "Reads a value through the cache")
  public static final class GetCommand extends SshCommand {
    @Argument(required = true)
    private String key;

    @Inject
    @Named(WORDS)
    private LoadingCache<String, String> words;

    @Override
    protected void run() throws Exception {
      stdout.println(words.get(key));
    }
  }
}
