#!/bin/sh
# Compiles the module against the Gerrit minors before and after the one it is built for. Sources are compatible over
# them; binaries are not, so each minor needs its own jar. Prints one line for each. Exit code 0: all compile, 1: not.
set -eu

cd "$(dirname "$0")/../.."

for version in 3.12.2 3.14.2; do
  if ! log=$(mvn -q -B "-Dgerrit.version=$version" "-Doutput.directory=$PWD/target-$version" compile 2>&1); then
    echo "compile-check: does not compile against Gerrit $version:" >&2
    echo "$log" >&2
    exit 1
  fi
  echo "compile-check: compiles against Gerrit $version"
done
