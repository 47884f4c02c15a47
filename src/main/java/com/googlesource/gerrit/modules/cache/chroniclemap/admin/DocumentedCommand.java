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

import static com.google.common.base.Strings.lenientFormat;
import static com.google.gerrit.common.data.GlobalCapability.MAINTAIN_SERVER;
import static com.google.gerrit.common.data.GlobalCapability.VIEW_CACHES;

import com.google.gerrit.extensions.annotations.CapabilityScope;
import com.google.gerrit.extensions.annotations.PluginCanonicalWebUrl;
import com.google.gerrit.extensions.annotations.RequiresAnyCapability;
import com.google.gerrit.json.OutputFormat;
import com.google.gerrit.sshd.CommandMetaData;
import com.google.gerrit.sshd.SshCommand;
import com.google.gson.JsonElement;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.TextTable.Screen;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.kohsuke.args4j.Option;

/**
 * An SSH command that prints a table or JSON, and whose help names its page of the documentation. A
 * command requires one of these rights (a refusal names the last) unless it names others by the
 * same annotation: Gerrit refuses everybody a command that has another one as well.
 */
@RequiresAnyCapability(
    value = {MAINTAIN_SERVER, VIEW_CACHES},
    scope = CapabilityScope.CORE)
abstract class DocumentedCommand extends SshCommand {
  @Option(name = "--format", metaVar = "FMT", usage = "output format: text, json, json_compact")
  private OutputFormat format = OutputFormat.TEXT;

  @Option(
      name = "--width",
      aliases = {"-w"},
      metaVar = "COLS",
      usage = "width of the output table")
  private int width = Screen.USUAL_WIDTH;

  @Inject @PluginCanonicalWebUrl private String url;

  @Option(name = "--json", usage = "the same as --format json")
  final void json(@SuppressWarnings("unused") boolean on) {
    format = OutputFormat.JSON;
  }

  /** Prints the result in the format that the user asked for. */
  final void print(Supplier<JsonElement> asJson, Consumer<Screen> asTable) {
    if (format.isJson()) {
      stdout.println(format.newGson().toJson(asJson.get()));
    } else {
      asTable.accept(new Screen(stdout, width));
    }
    stdout.flush();
  }

  /** The arguments of an example of its use, which its help shows. */
  abstract String example();

  @Override
  protected final String usage() {
    String name = getClass().getAnnotation(CommandMetaData.class).name();
    return lenientFormat(
        """

        Example: ssh -p 29418 admin@HOST %s %s %s
        Documentation: %sDocumentation/cmd-%s.html
        The same in the browser: %s
        """,
        AdminPlugin.NAME, name, example(), url, name, url);
  }
}
