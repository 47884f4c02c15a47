# Sourced by the scripts in bin/ whose Java starts a redis-server: installs it, and openssl for its certificates, if need be.

if ! command -v redis-server >/dev/null || ! command -v openssl >/dev/null; then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "error: no redis-server or no openssl on the PATH; on Debian: apt-get install redis-server openssl" >&2
    exit 1
  fi
  echo "installing Debian's redis-server ..." >&2
  # RUNLEVEL=1: the package would start a server of its own.
  if ! { apt-get update && RUNLEVEL=1 apt-get install -y --no-install-recommends redis-server openssl; } >/dev/null 2>&1; then
    echo "error: apt-get install redis-server openssl failed" >&2
    exit 1
  fi
fi
