#!/bin/bash
# Compiles all with the classes of each Gerrit beside that of pom.xml, its JGit among them, and runs the tests that need no server.
# Exit code 0: all pass, 1: not.
set -euo pipefail
cd "$(dirname "$0")/../.."
. bin/lib/gerrits.sh

bad=0
for gerrit in ${GERRITS#* }; do
  echo "other-classes: with those of Gerrit $gerrit"
  # Where there are no programs of that version, those of the first one: what is tested here does not use them.
  programs=$(gerrit_server "$gerrit" || gerrit_server "${GERRITS%% *}")
  # Not the tests of the sources, which are the same, nor those that need a process of their own. The names that are taken must be
  # told too, or else all classes are, also those that need a server.
  mvn -B test $(gerrit_profile "$gerrit") "-Dgerrit.version=$gerrit" "-Dgerrit.programs.version=$programs" "-Doutput.directory=$PWD/target-tests-$gerrit" \
    -Dspotless.check.skip=true '-Dtest=*Test,!ArchitectureTest,!*LincheckTest' || bad=1
done
exit $bad
