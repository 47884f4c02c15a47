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

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import com.google.gerrit.launcher.GerritLauncher;
import com.google.gerrit.pgm.Daemon;
import com.google.gerrit.server.config.SitePaths;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;

/**
 * A {@code gerrit.war} assembled from the jars on the class path, all of them from Maven Central.
 *
 * <p>Maven Central has no gerrit.war, but its parts. Gerrit's launcher builds the class loader that
 * loads {@code $GERRIT_SITE/lib} only from a zip of this shape:
 *
 * <pre>
 * META-INF/MANIFEST.MF        main class: the launcher
 * com/google/gerrit/launcher  the launcher, as classes
 * WEB-INF/lib                 the server (gerrit-plugin-api), Bouncy Castle, the version
 * WEB-INF/pgm-lib             the programs, Jetty and H2 (gerrit-acceptance-framework)
 * </pre>
 *
 * It has no web pages (they are in no jar of Maven Central): REST, Git and SSH work as in a
 * release.
 */
final class GerritWar {
  /** Counts up when the shape below changes, so that an old war is not taken again. */
  private static final int SHAPE = 1;

  private static final Pattern VERSIONED =
      Pattern.compile("gerrit-plugin-api-(.*?)\\.jar", Pattern.CASE_INSENSITIVE);

  private static final List<String> BOUNCY_CASTLE =
      List.of(
          "org.bouncycastle.jce.provider.BouncyCastleProvider",
          "org.bouncycastle.openpgp.PGPPublicKey",
          "org.bouncycastle.cert.X509CertificateHolder");

  private final Path server = BuildFolder.jarOf(SitePaths.class);
  private final Path programs = BuildFolder.jarOf(Daemon.class);
  private final List<Path> bouncyCastle =
      BOUNCY_CASTLE.stream().map(GerritWar::load).map(BuildFolder::jarOf).distinct().toList();

  private GerritWar() {}

  /** The war in the build folder; assembled if not there yet. */
  static Path assemble() throws IOException {
    return new GerritWar().path();
  }

  /** The version of the Gerrit on the class path, such as {@code 3.13.5}. */
  static String version() {
    String name = BuildFolder.jarOf(SitePaths.class).getFileName().toString();
    Matcher matcher = VERSIONED.matcher(name);
    if (!matcher.matches()) {
      throw new IllegalStateException("no version in the name of the jar: name=" + name);
    }
    return matcher.group(1);
  }

  private Path path() throws IOException {
    Path folder = Files.createDirectories(BuildFolder.path().resolve("gerrit"));
    Path war = folder.resolve("gerrit-" + version() + "-" + fingerprint() + ".war");
    if (!Files.exists(war)) {
      // Another process may assemble at the same time: each writes its own file, the last one
      // stays.
      Path part = Files.createTempFile(folder, "gerrit-", ".part");
      try {
        write(part);
        Files.move(part, war, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(part);
      }
    }
    return war;
  }

  private String fingerprint() throws IOException {
    Hasher hasher = Hashing.sha256().newHasher().putInt(SHAPE);
    hasher.putUnencodedChars(server.toString()).putLong(Files.size(server));
    hasher.putUnencodedChars(programs.toString()).putLong(Files.size(programs));
    for (Path jar : bouncyCastle) {
      hasher.putUnencodedChars(jar.toString()).putLong(Files.size(jar));
    }
    return hasher.hash().toString().substring(0, 12);
  }

  private void write(Path file) throws IOException {
    try (OutputStream out = Files.newOutputStream(file);
        JarOutputStream war = new JarOutputStream(out, manifest())) {
      copyLauncher(war);
      putStored(war, "WEB-INF/lib/" + server.getFileName(), Files.readAllBytes(server));
      for (Path jar : bouncyCastle) {
        putStored(war, "WEB-INF/lib/" + jar.getFileName(), Files.readAllBytes(jar));
      }
      putStored(war, "WEB-INF/lib/gerrit-version.jar", versionJar());
      putStored(war, "WEB-INF/pgm-lib/" + programs.getFileName(), Files.readAllBytes(programs));
    }
  }

  private static Manifest manifest() {
    Manifest manifest = new Manifest();
    Attributes main = manifest.getMainAttributes();
    main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    main.put(Attributes.Name.MAIN_CLASS, GerritLauncher.class.getName());
    main.put(Attributes.Name.IMPLEMENTATION_VERSION, version());
    return manifest;
  }

  private void copyLauncher(JarOutputStream war) throws IOException {
    String folder = GerritLauncher.class.getPackageName().replace('.', '/') + "/";
    try (JarFile jar = new JarFile(server.toFile())) {
      jar.stream()
          .filter(e -> !e.isDirectory() && e.getName().startsWith(folder))
          .forEach(
              e -> {
                try {
                  put(war, e.getName(), jar.getInputStream(e).readAllBytes());
                } catch (IOException ex) {
                  throw new UncheckedIOException(ex);
                }
              });
    }
  }

  /** What a release has in jars of its own: its version, and the levels of its log. */
  private static byte[] versionJar() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JarOutputStream jar = new JarOutputStream(bytes)) {
      put(
          jar,
          "com/google/gerrit/common/Version",
          ("v" + version() + "\n").getBytes(StandardCharsets.UTF_8));
      put(
          jar,
          "log4j.properties",
          """
          log4j.rootCategory=INFO, stderr
          log4j.appender.stderr=org.apache.log4j.ConsoleAppender
          log4j.appender.stderr.target=System.err
          log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
          log4j.appender.stderr.layout.ConversionPattern=[%d] [%t] %-5p %c %x: %m%n
          """
              .getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  private static void put(JarOutputStream jar, String name, byte[] bytes) throws IOException {
    jar.putNextEntry(new JarEntry(name));
    jar.write(bytes);
    jar.closeEntry();
  }

  /** A jar in the war is packed already: packing it again only costs time at each start. */
  private static void putStored(JarOutputStream jar, String name, byte[] bytes) throws IOException {
    JarEntry entry = new JarEntry(name);
    entry.setMethod(ZipEntry.STORED);
    entry.setSize(bytes.length);
    entry.setCrc(Integer.toUnsignedLong(Hashing.crc32().hashBytes(bytes).asInt()));
    jar.putNextEntry(entry);
    jar.write(bytes);
    jar.closeEntry();
  }

  private static Class<?> load(String name) {
    try {
      return Class.forName(name, false, GerritWar.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("not on the class path: class=" + name, e);
    }
  }
}
