#!/bin/bash
# Builds a release, and for one Gerrit once more: in another folder, at another time, by somebody with other settings. Compares the
# two; and what the list of bundled jars says with what Bazel bundles and with what NOTICE names besides.
# Prints one line for each file that is the same twice. Exit code 0: all are, 1: not.
set -euo pipefail
cd "$(dirname "$0")/../.."

. bin/lib/gerrits.sh

work=$(mktemp -d)
again=
trap '[ -z "$again" ] || { kill -- "-$again" 2>/dev/null && wait "$again" || true; }; rm -rf "$work"' EXIT
# What is under version control, and what is not ignored: as a clone would have it.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [ ! -e "$file" ] || printf '%s\0' "$file"
done | tar --null -T - -cf - | (mkdir "$work/again" && tar -xf - -C "$work/again" --touch)
# At the same time as the first, in another process group, so that all of it can be ended.
set -m
(
  cd "$work/again"
  umask 077
  export TZ=Pacific/Kiritimati MAVEN_OPTS="-Duser.language=tr -Duser.country=TR -Duser.timezone=Pacific/Kiritimati"
  bin/release "${GERRITS##* }"
) >"$work/again.log" 2>&1 </dev/null &
again=$!
set +m

bin/release

built=0
wait "$again" || built=$?
again=
cat "$work/again.log"
[ "$built" = 0 ] || exit "$built"

bad=0
for list in target/release/*.cdx.json; do
  if ! python3 - "$list" <<'END'; then
import hashlib, json, re, sys

bom = json.load(open(sys.argv[1]))
jar = sys.argv[1].removesuffix(".cdx.json")
named = bom["metadata"]["component"]
if not jar.endswith(named["name"] + "-" + named["version"]):
    sys.exit(f"release-check: {sys.argv[1]} is of {named['name']} {named['version']}")
if named["hashes"] != [{"alg": "SHA-256", "content": hashlib.sha256(open(jar + ".jar", "rb").read()).hexdigest()}]:
    sys.exit(f"release-check: {sys.argv[1]} has another hash than the jar")
listed = {(c.get("group", ""), c["name"], c["version"]) for c in bom["components"]}
bazel = open("external_plugin_deps.bzl").read().split("# For tests only.")[0]
bundled = {tuple(a.split(":")[:3]) for a in re.findall(r'artifact = "([^"]+)"', bazel)}
bundled |= {("", *library) for library in re.findall(r"^  (uplot|libffi) ([0-9.]+),", open("NOTICE").read(), re.M)}
if listed != bundled:
    sys.exit(f"release-check: {sys.argv[1]} does not list what is bundled: {listed ^ bundled}")
END
    bad=1
  fi
done
(cd target/release && sha256sum --quiet -c SHA256SUMS) || bad=1

(cd target/release && sha256sum -c "$work/again/target/release/SHA256SUMS") || bad=1
exit $bad
