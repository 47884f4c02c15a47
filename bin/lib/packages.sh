# Sourced by the scripts in bin/ whose Java starts other programs.

# require_packages PACKAGE=COMMAND...: installs Debian's packages if one of the commands is missing.
require_packages() {
  local pair packages=() missing=()
  for pair in "$@"; do
    packages+=("${pair%%=*}")
    command -v "${pair#*=}" >/dev/null || missing+=("${pair#*=}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "error: ${missing[*]} not found; on Debian: apt-get install ${packages[*]}" >&2
    exit 1
  fi
  echo "installing Debian's ${packages[*]} ..." >&2
  # RUNLEVEL=1: the packages would start servers of their own.
  if ! { apt-get update && RUNLEVEL=1 apt-get install -y --no-install-recommends "${packages[@]}"; } >/dev/null 2>&1; then
    echo "error: apt-get install ${packages[*]} failed" >&2
    exit 1
  fi
}
