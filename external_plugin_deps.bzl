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
        artifact = "net.openhft:chronicle-core:2026.5",
        sha1 = "daf1d9f10a43e2d0a652e61376fde8220155b9cd",
    )

    maven_jar(
        name = "chronicle-bytes",
        artifact = "net.openhft:chronicle-bytes:2026.4",
        sha1 = "8e550b425cf783c52d1178180c9fa44ce3efd4de",
    )

    maven_jar(
        name = "chronicle-wire",
        artifact = "net.openhft:chronicle-wire:2026.7",
        sha1 = "f79febb4ee7171015713645b3f16e3f9fc7dd359",
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
        artifact = "com.github.jnr:jnr-ffi:2.3.3",
        sha1 = "fa9c1048fb2edde206460af2151018cb68a0a7aa",
    )

    maven_jar(
        name = "jffi",
        artifact = "com.github.jnr:jffi:1.4.3",
        sha1 = "c90b45b6fcca7cf3ce7b57ceab61743cb0d33fd8",
    )

    # There are no sources of this classifier to attach.
    maven_jar(
        name = "jffi-native",
        artifact = "com.github.jnr:jffi:1.4.3:native",
        attach_source = False,
        sha1 = "d285c749ff3d166bbf5fe9ac7419acc3686416c3",
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
        artifact = "com.github.jnr:jnr-constants:0.11.4",
        sha1 = "ad6f1f59b7e1b5c0a4d228e12b20a020aed12a56",
    )

    maven_jar(
        name = "hdrhistogram",
        artifact = "org.hdrhistogram:HdrHistogram:2.2.2",
        sha1 = "7959933ebcc0f05b2eaa5af0a0c8689fa257b15c",
    )

    maven_jar(
        name = "jedis",
        artifact = "redis.clients:jedis:8.0.2",
        sha1 = "90c8c374b20ab7776340ccebfa298f88353c2fa8",
    )

    maven_jar(
        name = "jedis-pool2",
        artifact = "org.apache.commons:commons-pool2:2.13.1",
        sha1 = "cf7e8c0242d4c483c42c083b8188ab360ab60f9a",
    )

    maven_jar(
        name = "redis-authx-core",
        artifact = "redis.clients.authentication:redis-authx-core:0.1.1-beta2",
        sha1 = "4037345ff29fb22c737bab2ed116a34262718ae5",
    )

    # For tests only.
    maven_jar(
        name = "archunit",
        artifact = "com.tngtech.archunit:archunit:1.5.0",
        sha1 = "5076957a58007dd5c512facb5c179d3dd7c3c2b8",
    )

    maven_jar(
        name = "junit-platform-console-standalone",
        artifact = "org.junit.platform:junit-platform-console-standalone:6.1.3",
        sha1 = "bb65bef57072d36433e8a863016163858c926113",
    )
