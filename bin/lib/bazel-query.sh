#!/bin/bash
# Checks that BUILD and external_plugin_deps.bzl load and that their targets hang together: has Bazel query them inside a
# temporary workspace that looks to them like a Gerrit source tree. Nothing is downloaded or built, and no server is left.
# Prints one line. Exit code 0: fine, 1: not.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)

if ! command -v bazel >/dev/null; then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "bazel-query: no bazel on the PATH; on Debian: apt-get install bazel-bootstrap" >&2
    exit 1
  fi
  echo "bazel-query: installing Debian's bazel-bootstrap ..." >&2
  if ! { apt-get update && apt-get install -y bazel-bootstrap; } >/dev/null 2>&1; then
    echo "bazel-query: apt-get install bazel-bootstrap failed" >&2
    exit 1
  fi
fi

work=$(mktemp -d)
# Bazel makes parts of its own folder read-only.
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
tree=$work/gerrit
plugin=$tree/plugins/cache-chroniclemap

mkdir -p "$plugin" "$tree/tools/bzl" "$tree"/lib/{log,bouncycastle} "$tree/java/com/google/gerrit/acceptance" \
  "$work/rules_java/java"
# The files of the module, without what builds left there.
cp -r "$root"/{BUILD,external_plugin_deps.bzl,LICENSE,NOTICE,src} "$plugin"
[[ ! -d $root/resources ]] || cp -r "$root/resources" "$plugin"
# As CONTRIBUTING.md says to do in a Gerrit source tree.
cp "$root/external_plugin_deps.bzl" "$tree/plugins"

cat >"$work/rules_java/WORKSPACE" </dev/null
cat >"$work/rules_java/java/BUILD" </dev/null
cat >"$work/rules_java/java/defs.bzl" <<'END'
java_binary = native.java_binary
java_library = native.java_library
java_test = native.java_test
END

cat >"$tree/WORKSPACE" <<'END'
workspace(name = "gerrit")

local_repository(
    name = "rules_java",
    path = "../rules_java",
)

load("//plugins:external_plugin_deps.bzl", "external_plugin_deps")

external_plugin_deps()
END

touch "$tree/tools/BUILD" "$tree/tools/bzl/BUILD"
cat >"$tree/tools/bzl/maven_jar.bzl" <<'END'
def _maven_jar(ctx):
    if len(ctx.attr.artifact.split(":")) not in [3, 4]:
        fail("artifact=%s is not group:artifact:version[:classifier]" % ctx.attr.artifact)
    ctx.file("jar/jar.jar", "")
    ctx.file("jar/BUILD", """java_import(
    name = "jar",
    jars = ["jar.jar"],
    visibility = ["//visibility:public"],
)
""")

maven_jar = repository_rule(
    attrs = {
        "artifact": attr.string(mandatory = True),
        "attach_source": attr.bool(default = True),
        "sha1": attr.string(mandatory = True),
    },
    implementation = _maven_jar,
)
END

cat >"$tree/tools/bzl/plugin.bzl" <<'END'
PLUGIN_DEPS = ["//plugins:plugin-lib"]

PLUGIN_TEST_DEPS = ["//java/com/google/gerrit/acceptance:lib"]

def gerrit_plugin(name, srcs, resources, deps, manifest_entries):
    if not srcs:
        fail("no sources")
    native.java_library(name = name + "__plugin", srcs = srcs, resources = resources, deps = deps + PLUGIN_DEPS)
    native.java_binary(
        name = name,
        main_class = "Dummy",
        deploy_manifest_lines = manifest_entries,
        runtime_deps = [":%s__plugin" % name],
    )
END

library() { # FILE NAME: a BUILD file with an empty library
  printf 'java_library(name = "%s", visibility = ["//visibility:public"])\n' "$2" >"$1"
}
library "$tree/plugins/BUILD" plugin-lib
library "$tree/lib/log/BUILD" api
library "$tree/java/com/google/gerrit/acceptance/BUILD" lib

# Not deps(): that also asks for Bazel's own tools, which Bazel would download.
module=//plugins/cache-chroniclemap/...
query=$module
for attribute in deps runtime_deps srcs resources tools; do
  query+=" + labels($attribute, $module)"
done
if ! found=$(cd "$tree" && bazel --batch --nohome_rc --output_user_root="$work/bazel" \
  query --noshow_progress --output=label_kind "$query" 2>"$work/stderr"); then
  echo "bazel-query: 'bazel query $query' failed:" >&2
  cat "$work/stderr" >&2
  exit 1
fi

wrong=
for name in $(sed -n 's/^ *name = "\(.*\)",$/\1/p' "$root/external_plugin_deps.bzl"); do
  grep -q " @$name//jar:jar$" <<<"$found" || wrong+=" unused=$name"
done
# A query takes a source file for granted; a build would not.
for file in $(sed -n 's|^source file //plugins/cache-chroniclemap:||p' <<<"$found"); do
  [[ -e $plugin/$file ]] || wrong+=" missing=$file"
done
if [[ -n $wrong ]]; then
  echo "bazel-query: BUILD and external_plugin_deps.bzl do not fit together:$wrong" >&2
  exit 1
fi

targets=$(grep -c ' rule //plugins/cache-chroniclemap:' <<<"$found")
jars=$(grep -c '//jar:jar$' <<<"$found")
echo "bazel-query: $targets targets load and name $jars jars ($(bazel --version))"
