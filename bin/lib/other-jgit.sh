#!/bin/bash
# Runs the tests that hold parsed refs against JGit's, and the table of members that are reached by name against both, with the oldest
# JGit of the other Gerrit minors, and with the newest one, which no Gerrit has yet: the tests as bin/test has compiled them, this module as bin/release has. The JGits in between differ less from
# these two; bin/test --other-gerrits has them all. Exit code 0: all pass, 1: not.
set -euo pipefail
cd "$(dirname "$0")/../.."
. bin/lib/gerrits.sh

tests=MemberTest,TableRefDatabaseTest,TableRefUpdateTest,TableFuzzTest#changedAtRandom+aNameBehindAllUtf8IsExcluded,PackedRefsReaderTest,ParsedRefsTest,PackedRefsFuzzTest#changedAtRandom+knownInputs,FileRefDatabaseTest,UpdateFuzzTest,RefUpdateContractTest,SymbolicRefsTest

# What is drawn at random has been drawn by bin/test's own run; here a few draws show whether the JGits differ. Jazzer, which takes
# half a minute to start, draws nothing here.
few=(-Drefs.fuzz.rounds=1000 -Drefs.steps=20 -Drefs.updates.steps=10)

# All at the same time, since most of these tests keep one processor busy. Each has its own target folder and log.
logs=$(mktemp -d)
running=()
# Also where this script is ended.
trap 'kill "${running[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT
others=${GERRITS#* }
for gerrit in ${others% *}; do
  mvn -B "-Dgerrit.version=$gerrit" "-Doutput.directory=$PWD/target-$gerrit" "-Dtest.classes=$PWD/target/test-classes" \
    "-Dtest=$tests" "${few[@]}" -Dspotless.check.skip=true toolchains:select-jdk-toolchain@default surefire:test >"$logs/$gerrit" 2>&1 &
  running+=($!)
done
# In place of the JGit of the newest Gerrit. Its jar holds both, so the newest JGit stands before it.
newest=7.8.1.202611041320-r
gerrit=${GERRITS##* }
folder=$PWD/target-jgit-$newest
mkdir -p "$folder"
ln -sfn "../target-$gerrit/classes" "$folder/classes"
for artifact in "org.eclipse.jgit:org.eclipse.jgit:$newest" "com.google.gerrit:gerrit-plugin-api:$gerrit"; do
  mvn -B -q dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$folder" -Dmdep.useBaseVersion=true \
    >"$logs/copy" 2>&1 || { cat "$logs/copy"; exit 1; }
done
mvn -B "-Dgerrit.version=$gerrit" "-Doutput.directory=$folder" "-Dtest.classes=$PWD/target/test-classes" "-Dtest=$tests" "${few[@]}" -Djgit.newest=true \
  "-Dmaven.test.dependency.excludes=com.google.gerrit:gerrit-plugin-api" \
  "-Dmaven.test.additionalClasspath=$folder/org.eclipse.jgit-$newest.jar,$folder/gerrit-plugin-api-$gerrit.jar" \
  -Dspotless.check.skip=true toolchains:select-jdk-toolchain@default surefire:test >"$logs/JGit $newest" 2>&1 &
running+=($!)
bad=0
for mvn in "${running[@]}"; do
  wait "$mvn" || bad=1
done
running=()
for gerrit in ${others% *}; do
  echo "other-jgit: with the JGit of Gerrit $gerrit"
  cat "$logs/$gerrit"
done
echo "other-jgit: with JGit $newest"
cat "$logs/JGit $newest"
exit $bad
