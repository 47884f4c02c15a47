#!/bin/sh
# Runs the tests that hold parsed refs against JGit's with the JGit of the next Gerrit minor: the tests as bin/test has compiled
# them, this module as bin/lib/compile-check.sh has. Exit code 0: all pass, 1: not.
set -eu

cd "$(dirname "$0")/../.."

version=3.14.2
tests=PackedRefsReaderTest,NameOrderTest,ParsedRefsTest,PackedRefsFuzzTest,FileRefDatabaseTest,UpdateFuzzTest,RefUpdateContractTest,SymbolicRefsTest

exec mvn -B "-Dgerrit.version=$version" "-Doutput.directory=$PWD/target-$version" "-Dtest.classes=$PWD/target/test-classes" \
  "-Dtest=$tests" -Dspotless.check.skip=true toolchains:select-jdk-toolchain@default surefire:test
