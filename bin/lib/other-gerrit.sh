#!/bin/bash
# Runs tests in a real server of the Gerrit minors that have one beside that of pom.xml, with the jar for them. The arguments are
# classes of tests; without any, the one that sees most in a minute. Exit code 0: all pass, 1: not.
#
# Maven Central has a whole server for fewer versions than there are (see gerrits.sh), so the jar is built against that server here.
# With --as-released, after bin/test's own tests and bin/release, the tests are those that are compiled already, and the jar's classes
# are compared with those of the released jar.
set -euo pipefail
cd "$(dirname "$0")/../.."
. bin/lib/gerrits.sh

released=
compiled=()
if [ "${1:-}" = --as-released ]; then
  released=yes
  compiled=("-Dtest.classes=$PWD/target/test-classes")
  shift
fi
tests=${*:-SwitchIT}
for gerrit in ${GERRITS#* }; do
  server=$(gerrit_server "$gerrit") || continue
  built=$PWD/target-server-$server
  echo "other-gerrit: $tests in Gerrit $server"
  mvn -B verify $(gerrit_profile "$gerrit") "-Dgerrit.version=$server" "-Dgerrit.programs.version=$server" "-Doutput.directory=$built" \
    -Dspotless.check.skip=true -Derrorprone.skip=true ${compiled[@]+"${compiled[@]}"} -Dtest=NoUnitTest -Dsurefire.failIfNoSpecifiedTests=false \
    "-Dit.test=${tests// /,}" -Dfailsafe.failIfNoSpecifiedTests=false
  if [ -n "$released" ]; then
    classes() {
      python3 -c 'import sys, zipfile
for e in sorted(zipfile.ZipFile(sys.argv[1]).infolist(), key=lambda e: e.filename):
    if e.filename.endswith(".class"): print(f"{e.CRC:08x} {e.filename}")' "$1"
    }
    if ! diff <(classes "target-$gerrit/cache-chroniclemap.jar") <(classes "$built/cache-chroniclemap.jar") >&2; then
      echo "other-gerrit: the jar for Gerrit $gerrit has other classes than the one that was tested in $server" >&2
      exit 1
    fi
    echo "other-gerrit: the jar for Gerrit $gerrit has the same classes"
  fi
done
