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

package com.googlesource.gerrit.modules.cache.chroniclemap.members;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.util.stream.Collectors.joining;

import com.google.gerrit.common.Version;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.net.URL;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.eclipse.jgit.internal.transport.connectivity.FullConnectivityChecker;
import org.eclipse.jgit.transport.ReceivePack;
import org.junit.jupiter.api.Test;

/**
 * What the table says is in the class files of the Gerrit on the class path: that of pom.xml, and
 * those for which bin/lib/other-jgit.sh runs these tests. One of them has a newer JGit in front of
 * its own, and both must have it.
 */
class MemberTest {
  /** Of the jar that Gerrit's classes are read from, as they do not know their version. */
  private static final String VERSION =
      Version.class
          .getResource("Version.class")
          .getPath()
          .replaceFirst(".*gerrit-plugin-api-([0-9.]+)[.]jar!.*", "$1");

  /** Returns the class of each jar on the class path that has one of that name. */
  private static List<JavaClass> copiesOf(String type) throws IOException {
    String file = type.replace('.', '/') + ".class";
    List<URL> copies = Collections.list(MemberTest.class.getClassLoader().getResources(file));
    return copies.stream().map(url -> new ClassFileImporter().importUrl(url).get(type)).toList();
  }

  private static Set<String> namesIn(JavaClass type) {
    Set<String> names = new TreeSet<>();
    type.getFields().stream().map(JavaField::getName).forEach(names::add);
    for (JavaCodeUnit code : type.getCodeUnits()) {
      String name = code.isConstructor() ? type.getSimpleName() : code.getName();
      names.add(
          code.getRawParameterTypes().stream()
              .map(JavaClass::getSimpleName)
              .collect(joining(",", name + "(", ")")));
    }
    return names;
  }

  @Test
  void thisGerritHasEachThatIsExpected() throws IOException {
    assertThat(VERSION).matches("3[.]1[234][.].*");
    for (Member member : Member.values()) {
      List<JavaClass> copies = copiesOf(member.type);
      if (member.isExpected(VERSION)) {
        assertWithMessage(member.type).that(copies).isNotEmpty();
      }
      for (JavaClass copy : copies) {
        if (!member.names.isEmpty()) {
          Set<String> names = namesIn(copy);
          assertWithMessage("%s of %s", member.names, names)
              .that(Collections.disjoint(names, member.names))
              .isFalse();
        }
      }
    }
    assertThat(Member.missing()).isEmpty();
  }

  /** JGit has another one since 7.7, which this module would not take the place of. */
  @Test
  void pushesHaveTheCheckerOfJGitThatThisModuleKnows() throws IOException {
    List<JavaClass> copies = copiesOf(ReceivePack.class.getName());
    assertThat(copies).isNotEmpty();
    for (JavaClass copy : copies) {
      assertThat(
              copy.getConstructorCallsFromSelf().stream()
                  .map(call -> call.getTargetOwner().getName())
                  .filter(name -> name.endsWith("ConnectivityChecker"))
                  .toList())
          .containsExactly(FullConnectivityChecker.class.getName());
    }
  }

  @Test
  void whatIsMissingIsSaidOnce() {
    ClassLoader without =
        new ClassLoader(null) {
          @Override
          protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.equals(ReceivePack.class.getName())) {
              throw new ClassNotFoundException(name);
            }
            return MemberTest.class.getClassLoader().loadClass(name);
          }
        };
    assertThat(Member.missing(without, "3.13.5")).containsExactly(Member.PUSH_CHECKER);
    assertThat(Member.PUSH_CHECKER.warning())
        .isEqualTo(
            "this Gerrit has no org.eclipse.jgit.transport.ReceivePack#connectivityChecker, so each"
                + " push is checked against all advertised refs");
    ClassLoader none = new ClassLoader(null) {};
    assertThat(Member.missing(none, "3.14.2")).containsExactlyElementsIn(Member.values()).inOrder();
    for (String version : Arrays.asList("v3.13.5-4-gabc", "4.0", "(dev)", null)) {
      assertThat(Member.missing(none, version)).doesNotContain(Member.PEELED_TRAIT);
      assertThat(Member.missing(none, version)).hasSize(Member.values().length - 1);
    }
  }
}
