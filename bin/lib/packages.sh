# Sourced by the scripts in bin/: installs Debian packages that tests need, where it may.

# What a test needs that drives a browser.
BROWSER="chromium chromium-driver:chromedriver"

# require_packages PACKAGE[:PROGRAM] ...
#
# Sees to it that the programs are on the PATH; a program has the name of its package unless another one is given. Installs
# the packages of those that are not there, or says which packages are missing and ends the script. No daemon is started.
require_packages() {
  local each missing=()
  for each; do
    command -v "${each#*:}" >/dev/null 2>&1 || missing+=("${each%%:*}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf 'error: tests need what is not on the PATH; on Debian, as root: apt-get install --no-install-recommends %s\n' \
      "${missing[*]}" >&2
    exit 1
  fi
  printf 'installing Debian packages: %s\n' "${missing[*]}"
  local log
  log=$(mktemp)
  if ! install_packages "${missing[@]}" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    printf 'error: apt-get install %s failed\n' "${missing[*]}" >&2
    exit 1
  fi
  rm -f "$log"
  hash -r
  for each; do
    if ! command -v "${each#*:}" >/dev/null 2>&1; then
      printf 'error: Debian package %s has no program %s\n' "${each%%:*}" "${each#*:}" >&2
      exit 1
    fi
  done
}

# In a shell of its own, so that the policy goes in any case.
install_packages() (
  # Asked by the scripts of packages before they start a daemon: 101 forbids it.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update && apt-get install -y --no-install-recommends "$@"
)
