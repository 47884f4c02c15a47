"""Jars for a build inside a Gerrit source tree.

pom.xml names the same versions; BuildFilesTest compares them.
"""

load("//tools/bzl:maven_jar.bzl", "maven_jar")

def external_plugin_deps():
    """Declares the jars that go into cache-chroniclemap.jar, then those its tests need."""

    maven_jar(
        name = "chronicle-map",
        artifact = "net.openhft:chronicle-map:2026.1",
        sha1 = "84746d8cf51a2652a1e3b219f9fcf3c0d4d12523",
    )

    maven_jar(
        name = "chronicle-core",
        artifact = "net.openhft:chronicle-core:2026.3",
        sha1 = "02faf8c8c9b3d3d903e088670215195058d08f20",
    )

    maven_jar(
        name = "chronicle-bytes",
        artifact = "net.openhft:chronicle-bytes:2026.3",
        sha1 = "8da00ac85f58857505333a3c460aec301126a7d2",
    )

    maven_jar(
        name = "chronicle-wire",
        artifact = "net.openhft:chronicle-wire:2026.3",
        sha1 = "b1be302d924a5a4b45f5b2b6042b725d79ddd20a",
    )

    maven_jar(
        name = "chronicle-threads",
        artifact = "net.openhft:chronicle-threads:2026.3",
        sha1 = "1e77c6bf5597de68b669a1097fa550329d2597da",
    )

    maven_jar(
        name = "chronicle-algorithms",
        artifact = "net.openhft:chronicle-algorithms:2026.2",
        sha1 = "4e9880d1379789bf214e5161e82e8301bba4e3c2",
    )

    maven_jar(
        name = "chronicle-values",
        artifact = "net.openhft:chronicle-values:2026.2",
        sha1 = "ebbacaf7eae597821ebc148a3437993a3ad8a0cf",
    )

    maven_jar(
        name = "chronicle-posix",
        artifact = "net.openhft:posix:2026.2",
        sha1 = "ccb5fbee7068ea81624eb1529f52b17aaa0a1f4c",
    )

    # Gerrit has a "javapoet" for its annotation processors, and Bazel refuses a second one.
    maven_jar(
        name = "chronicle-javapoet",
        artifact = "com.squareup:javapoet:1.13.0",
        sha1 = "d6562d385049f35eb50403fa86bb11cce76b866a",
    )

    maven_jar(
        name = "jnr-ffi",
        artifact = "com.github.jnr:jnr-ffi:2.2.15",
        sha1 = "fa3c32f463423469de314b03a157d5f1f7476ec0",
    )

    maven_jar(
        name = "jffi",
        artifact = "com.github.jnr:jffi:1.3.12",
        sha1 = "a439d46fb5d5d9539f16db7d574c7aafb952874a",
    )

    # There are no sources of this classifier to attach.
    maven_jar(
        name = "jffi-native",
        artifact = "com.github.jnr:jffi:1.3.12:native",
        attach_source = False,
        sha1 = "ebd0e45f447d80c16fbf2a82ff0253de28837b41",
    )

    maven_jar(
        name = "jnr-a64asm",
        artifact = "com.github.jnr:jnr-a64asm:1.0.0",
        sha1 = "0a1cb8dbe71b5a6a0288043c3ba3ca64545be165",
    )

    maven_jar(
        name = "jnr-x86asm",
        artifact = "com.github.jnr:jnr-x86asm:1.0.2",
        sha1 = "006936bbd6c5b235665d87bd450f5e13b52d4b48",
    )

    maven_jar(
        name = "jnr-constants",
        artifact = "com.github.jnr:jnr-constants:0.10.4",
        sha1 = "09f6f23763bf40ea7b56391791f574174914430a",
    )

    maven_jar(
        name = "hdrhistogram",
        artifact = "org.hdrhistogram:HdrHistogram:2.2.2",
        sha1 = "7959933ebcc0f05b2eaa5af0a0c8689fa257b15c",
    )

    # For tests only.
    maven_jar(
        name = "archunit",
        artifact = "com.tngtech.archunit:archunit:1.5.0",
        sha1 = "5076957a58007dd5c512facb5c179d3dd7c3c2b8",
    )

    maven_jar(
        name = "junit-platform-console-standalone",
        artifact = "org.junit.platform:junit-platform-console-standalone:1.13.4",
        sha1 = "62734191af1bfc78ee17181ca38b94dbb5eb7737",
    )
