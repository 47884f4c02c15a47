#!/bin/bash
# Prints the path of a native git that has reftables, which Debian 12's has not: the one on the PATH if it is 2.45 or
# later, or else Debian 13's. That one is downloaded and unpacked in target/git with the libraries it needs, and nothing
# is installed.
set -euo pipefail
cd "$(dirname "$0")/../.."

least=2.45
have=$(git --version 2>/dev/null | sed 's/^git version \([0-9.]*[0-9]\).*/\1/' || true)
if [ -n "$have" ] && [ "$(printf '%s\n' "$least" "$have" | sort -V | head -n 1)" = "$least" ]; then
  command -v git
  exit
fi

git=$PWD/target/git
if [ -x "$git/bin/git" ]; then
  echo "$git/bin/git"
  exit
fi
for tool in apt-get dpkg-deb; do
  if ! command -v $tool >/dev/null; then
    echo "error: the tests of reftables need git $least or later on the PATH; there is ${have:-none}, and no $tool to get one" >&2
    exit 1
  fi
done

mkdir -p target
made=$(mktemp -d "$git.XXXXXX")
trap 'rm -rf "$made"' EXIT
chmod 755 "$made"
mkdir -p "$made"/{deb,lists/partial,cache,bin,root}
cat >"$made/debian.sources" <<END
Types: deb
URIs: http://deb.debian.org/debian
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
options=(-q -o "Dir::Etc::SourceList=$made/debian.sources" -o Dir::Etc::SourceParts=/dev/null
  -o APT::Sandbox::User=root -o "Dir::State::Lists=$made/lists" -o "Dir::Cache=$made/cache")
{
  apt-get "${options[@]}" update
  (cd "$made/deb" && apt-get "${options[@]}" download git libc6 libpcre2-8-0 zlib1g)
} >"$git.log" 2>&1 || {
  cat "$git.log" >&2
  echo "error: Debian 13's git could not be downloaded" >&2
  exit 1
}
for deb in "$made"/deb/*.deb; do dpkg-deb -x "$deb" "$made/root"; done
rm -rf "$made"/{deb,lists,cache}
# Its C library is newer than this machine's. It starts itself by this script, too.
cat >"$made/bin/git" <<END
#!/bin/sh
root="$git/root"
libraries=\$(echo "\$root"/usr/lib/*-linux-gnu*)
export GIT_EXEC_PATH="$git/bin"
exec "\$libraries"/ld-linux-*.so.* --library-path "\$libraries" "\$root/usr/bin/git" "\$@"
END
chmod +x "$made/bin/git"
# Somebody else may have been quicker.
mv -T "$made" "$git" 2>/dev/null || [ -x "$git/bin/git" ]
"$git/bin/git" --version >>"$git.log"
echo "$git/bin/git"
