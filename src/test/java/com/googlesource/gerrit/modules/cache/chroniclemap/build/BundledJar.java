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

package com.googlesource.gerrit.modules.cache.chroniclemap.build;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPath;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/**
 * A jar whose classes go into the jar that users install.
 *
 * @param classifier empty for the main jar
 */
record BundledJar(String group, String artifact, String version, String classifier) {
  private static final Path POM = Path.of("pom.xml");
  private static final Pattern PROPERTY = Pattern.compile("\\$\\{([^}]+)}");

  /** The compile-scope dependencies of {@code pom.xml}, in its order. */
  static List<BundledJar> fromPom() throws Exception {
    Document pom = parsePom();
    XPath xpath = XPathFactory.newInstance().newXPath();
    NodeList dependencies =
        (NodeList)
            xpath.evaluate(
                "/project/dependencies/dependency[not(scope) or scope = 'compile']",
                pom,
                XPathConstants.NODESET);
    List<BundledJar> jars = new ArrayList<>();
    for (int i = 0; i < dependencies.getLength(); i++) {
      Node dependency = dependencies.item(i);
      jars.add(
          new BundledJar(
              xpath.evaluate("groupId", dependency),
              xpath.evaluate("artifactId", dependency),
              resolve(pom, xpath.evaluate("version", dependency)),
              xpath.evaluate("classifier", dependency)));
    }
    return jars;
  }

  /** The coordinates as Gerrit's {@code maven_jar} takes them. */
  String coordinates() {
    String main = group + ":" + artifact + ":" + version;
    return classifier.isEmpty() ? main : main + ":" + classifier;
  }

  /** The jar in the local Maven repository. */
  Path file() {
    String name = artifact + "-" + version + (classifier.isEmpty() ? "" : "-" + classifier);
    Path end = Path.of(group.replace('.', '/'), artifact, version, name + ".jar");
    return onClassPath(jar -> jar.endsWith(end), end);
  }

  /** The jar on the class path whose name begins so. */
  static Path onClassPath(String prefix) {
    return onClassPath(jar -> jar.getFileName().toString().startsWith(prefix), prefix);
  }

  private static Path onClassPath(Predicate<Path> wanted, Object what) {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .map(Path::of)
        .filter(wanted.and(Files::exists))
        .findAny()
        .orElseThrow(() -> new AssertionError("not on the class path: jar=" + what));
  }

  /** The value of a property of {@code pom.xml}. */
  static String property(String name) throws Exception {
    return property(parsePom(), name);
  }

  /** The version of the module, as {@code pom.xml} says it. */
  static String versionOfModule() throws Exception {
    return XPathFactory.newInstance().newXPath().evaluate("/project/version", parsePom());
  }

  private static Document parsePom() throws Exception {
    return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(POM.toFile());
  }

  private static String property(Document pom, String name) throws Exception {
    XPath xpath = XPathFactory.newInstance().newXPath();
    String value = xpath.evaluate("/project/properties/*[name() = '" + name + "']", pom);
    if (value.isEmpty()) {
      throw new AssertionError("not in pom.xml: property=" + name);
    }
    return value;
  }

  private static String resolve(Document pom, String text) throws Exception {
    Matcher property = PROPERTY.matcher(text);
    return property.matches() ? property(pom, property.group(1)) : text;
  }
}
