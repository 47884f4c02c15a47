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

import static com.google.common.base.Strings.nullToEmpty;
import static java.util.stream.Collectors.joining;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.common.Version;
import java.lang.StackWalker.StackFrame;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The members of Gerrit's and JGit's classes that this module reaches by name: fields and methods
 * that are not public, methods that Guice intercepts, and classes that it recognizes. No compiler
 * sees them, so a Gerrit may lack one. Something is slower then, but nothing fails.
 *
 * <p>Each has its class and its own name (none for a class, two if versions differ), what is slower
 * without it, and the minor versions of Gerrit that must have it. The names of methods and
 * constructors have the types of their parameters.
 */
public enum Member {
  /** JGit has no method to set the checker of a push. */
  PUSH_CHECKER(
      "org.eclipse.jgit.transport.ReceivePack#connectivityChecker",
      "each push is checked against all advertised refs"),

  /** JGit has no method to ask for the hooks of a chain. */
  PUSH_HOOKS(
      "org.eclipse.jgit.transport.AdvertiseRefsHookChain#hooks",
      "each push reads all refs, those of changes too"),

  /** Gerrit has no method to put another repository below its filter. */
  BELOW_FILTER(
      "com.google.gerrit.server.git.DelegateRefDatabase#delegate",
      "each push reads all refs, those of changes too"),

  /** Recognized as the caller that asks for all branches. */
  BRANCHES_OF_PUSH(
      "com.google.gerrit.server.git.receive.ReceiveCommits"
          + "#markHeadsAsUninteresting(RevWalk,String)",
      "each push parses the commits of all branches"),

  /** Recognized as the filter that omits what is not advertised to pushes. */
  PUSH_FILTER(
      "com.google.gerrit.server.git.receive.ReceiveRefFilter",
      "each push reads the advertised refs before it lists them, and over HTTP twice"),

  /** Intercepted, as is the next one, to compress lists, and to know the requests of a push. */
  HTTP_PUSH(
      "com.google.gerrit.httpd.GitOverHttpServlet$ReceiveFilter"
          + "#doFilter(ServletRequest,ServletResponse,FilterChain)",
      "each push over HTTP reads the advertised refs twice, and compresses them as slowly as JGit"),
  HTTP_FETCH(
      "com.google.gerrit.httpd.GitOverHttpServlet$UploadFilter"
          + "#doFilter(ServletRequest,ServletResponse,FilterChain)",
      "lists of refs for fetches over HTTP are compressed as slowly as by JGit"),

  /** Intercepted, to answer for many refs at once. */
  REF_FILTER(
      "com.google.gerrit.server.permissions.DefaultRefFilter"
          + "#filter(Collection,Repository,RefFilterOptions)",
      "lists for users who may not see all refs read those of changes"),

  /** Intercepted, to answer for branches under the same rules. */
  BRANCH_CHECK(
      "com.google.gerrit.server.permissions.RefVisibilityControl#isVisible(ProjectControl,String)",
      "each branch is judged alone"),

  /** The access sections by which Gerrit judges a branch. */
  BRANCH_RULES(
      "com.google.gerrit.server.permissions.ProjectControl#access()",
      "each branch is judged alone"),

  /** Intercepted, as are the next two. */
  OPEN_REPOSITORY(
      "com.google.gerrit.server.git.LocalDiskRepositoryManager#openRepository(NameKey)",
      "parsed ref lists are not used"),
  CREATE_REPOSITORY(
      "com.google.gerrit.server.git.LocalDiskRepositoryManager#createRepository(NameKey)",
      "parsed ref lists are not used for a new project until it is opened again"),
  DELETE_REPOSITORY(
      "com.google.gerrit.server.git.LocalDiskRepositoryManager#repositoryDeleted(NameKey)",
      "the lists of a deleted project stay in memory for a day"),

  /** Until JGit 7.3, which Gerrit 3.12.0 has, the list of tables is a parameter. */
  TABLE_STACK(
      "org.eclipse.jgit.internal.storage.file.FileReftableStack"
          + "#FileReftableStack(File,Runnable,Supplier)"
          + "|FileReftableStack(File,File,Runnable,Supplier)",
      "reftables are left to JGit"),
  TABLE_COMPACTION(
      "org.eclipse.jgit.internal.storage.file.FileReftableStack#compactFully()",
      "reftables are left to JGit"),

  /** Came to JGit with another meaning of {@code peeled} in packed-refs. */
  PEELED_TRAIT(
      "3.14",
      "org.eclipse.jgit.lib.PackedRefsTrait",
      "packed-refs of programs that peel only some tags are read as JGit 7.6 does");

  private static final String EACH = "3.12 3.13 3.14";

  private final String minors;
  final String type;
  final ImmutableList<String> names;
  private final String consequence;

  Member(String path, String consequence) {
    this(EACH, path, consequence);
  }

  Member(String minors, String path, String consequence) {
    this.minors = minors;
    this.consequence = consequence;
    List<String> parts = Splitter.on(CharMatcher.anyOf("#|")).splitToList(path);
    type = parts.get(0);
    names = ImmutableList.copyOf(parts.subList(1, parts.size()));
  }

  /** Returns those that this Gerrit must have and lacks. */
  public static List<Member> missing() {
    return missing(Member.class.getClassLoader(), Version.getVersion());
  }

  /** Returns those that a Gerrit of a version must have and a class loader lacks. */
  static List<Member> missing(ClassLoader loader, @Nullable String version) {
    return Arrays.stream(values())
        .filter(member -> member.isExpected(version) && member.find(loader) == null)
        .toList();
  }

  /** Whether a Gerrit must have it; one of an unknown version, what each must have. */
  boolean isExpected(@Nullable String version) {
    String minor = nullToEmpty(version).replaceFirst("^v?(\\d+\\.\\d+).*", "$1");
    return minors.equals(EACH) || Splitter.on(' ').splitToList(minors).contains(minor);
  }

  /** What is missing, and what that makes slower. */
  public String warning() {
    return "this Gerrit has no " + this + ", so " + consequence;
  }

  /** Whether this is a class, or a member of it. */
  public boolean isOf(Class<?> type) {
    return type.getName().equals(this.type);
  }

  /** Whether a method of such a class is this one. */
  public boolean is(Method method) {
    return names.contains(nameOf(method));
  }

  /** Whether a frame of the stack is in this method. Its parameters are not compared. */
  public boolean isAt(StackFrame frame) {
    return frame.getClassName().equals(type)
        && names.get(0).startsWith(frame.getMethodName() + "(");
  }

  /** Returns this field, which may be read and set; null if it is missing. */
  @Nullable
  public VarHandle field() {
    try {
      Field field = (Field) find();
      return field == null
          ? null
          : MethodHandles.privateLookupIn(field.getDeclaringClass(), MethodHandles.lookup())
              .unreflectVarHandle(field);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e); // it was made accessible
    }
  }

  /** Returns this method, constructor or class, which may be used; null if it is missing. */
  @Nullable
  public Object find() {
    return find(Member.class.getClassLoader());
  }

  @Nullable
  private Object find(ClassLoader loader) {
    try {
      Class<?> owner = Class.forName(type, /* initialize= */ false, loader);
      if (names.isEmpty()) {
        return owner;
      }
      AccessibleObject found =
          Stream.of(
                  owner.getDeclaredFields(),
                  owner.getDeclaredMethods(),
                  owner.getDeclaredConstructors())
              .<AccessibleObject>flatMap(Arrays::stream)
              .filter(each -> names.contains(nameOf(each)))
              .findFirst()
              .orElse(null);
      if (found != null) {
        found.setAccessible(true);
      }
      return found;
    } catch (ClassNotFoundException | LinkageError | InaccessibleObjectException e) {
      return null;
    }
  }

  private static String nameOf(AccessibleObject member) {
    if (member instanceof Field field) {
      return field.getName();
    }
    Executable code = (Executable) member;
    Class<?> type = code.getDeclaringClass();
    return Arrays.stream(code.getParameterTypes())
        .map(Class::getSimpleName)
        .collect(
            joining(
                ",", (code instanceof Method ? code.getName() : type.getSimpleName()) + "(", ")"));
  }

  @Override
  public String toString() {
    return names.isEmpty() ? type : type + "#" + names.get(0);
  }
}
