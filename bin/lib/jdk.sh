# Sourced by the scripts in bin/: sets the locale, finds a JDK of 21 or later and Maven.
#
# A JDK is good if it has java and javac and is new enough. JAVA_HOME counts first, then the PATH, then
# the newest in the folders where systems and version managers keep them.

# In a shell or container without a UTF-8 locale Java can't name files such as refs/heads/é.
export LC_ALL=C.UTF-8

JDK_MIN=21

# Prints the major version of the Java in a folder; fails if it is no JDK.
jdk_major() {
  [ -x "$1/bin/java" ] && [ -x "$1/bin/javac" ] || return 1
  local version=""
  if [ -r "$1/release" ]; then
    version=$(sed -n 's/^JAVA_VERSION="\([^"]*\)".*/\1/p' "$1/release" | head -n 1)
  fi
  if [ -z "$version" ]; then
    version=$("$1/bin/java" -version 2>&1 | sed -n 's/^.* version "\([^"]*\)".*/\1/p' | head -n 1)
  fi
  version=${version#1.}
  version=${version%%[!0-9]*}
  [ -n "$version" ] || return 1
  printf '%s\n' "$version"
}

jdk_is_good() {
  local major
  major=$(jdk_major "$1") && [ "$major" -ge "$JDK_MIN" ]
}

# Prints the home of the javac that the PATH finds.
jdk_of_path() {
  local javac
  javac=$(command -v javac 2>/dev/null) || return 1
  javac=$(readlink -f "$javac" 2>/dev/null) || return 1
  dirname "$(dirname "$javac")"
}

# Prints the newest good JDK of the usual folders.
jdk_of_system() {
  local home="${HOME:-/nonexistent}" dir major best="" best_major=0
  for dir in /usr/lib/jvm/* /usr/lib64/jvm/* /usr/java/* /usr/local/*jdk* /usr/local/java/* \
    /opt/*jdk* /opt/*java* /opt/java/* /opt/jdk/* /opt/jvm/* /opt/hostedtoolcache/Java*/*/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home \
    /opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home \
    "$home"/.sdkman/candidates/java/* "$home"/.jdks/* "$home"/.jabba/jdk/* \
    "$home"/.asdf/installs/java/* "$home"/.local/share/mise/installs/java/* \
    "$home"/.gradle/jdks/* "$home"/.m2/jdks/*; do
    major=$(jdk_major "$dir") || continue
    if [ "$major" -ge "$JDK_MIN" ] && [ "$major" -gt "$best_major" ]; then
      best=$dir
      best_major=$major
    fi
  done
  [ -n "$best" ] || return 1
  printf '%s\n' "$best"
}

# Exports JAVA_HOME, or says what is missing and ends the script.
require_jdk() {
  local found
  if [ -n "${JAVA_HOME:-}" ] && jdk_is_good "$JAVA_HOME"; then
    found=$JAVA_HOME
  elif found=$(jdk_of_path) && jdk_is_good "$found"; then
    :
  elif found=$(jdk_of_system); then
    :
  else
    cat >&2 <<EOF
error: no JDK of version $JDK_MIN or later found (java and javac are both needed).
Looked at: JAVA_HOME=${JAVA_HOME:-(not set)}, javac on the PATH, /usr/lib/jvm, /opt, ~/.sdkman and the like.
Install one, for example:
  Debian, Ubuntu   apt-get install openjdk-21-jdk-headless
  Fedora           dnf install java-21-openjdk-devel
  anywhere         https://adoptium.net, then export JAVA_HOME=/path/of/the/jdk
EOF
    exit 1
  fi
  export JAVA_HOME="$found"
}

# Says what is missing and ends the script if there is no Maven.
require_maven() {
  command -v mvn >/dev/null 2>&1 && return
  cat >&2 <<EOF
error: mvn (Apache Maven 3.8 or later) is not on the PATH. It builds this project.
Install it, for example:
  Debian, Ubuntu   apt-get install maven
  Fedora           dnf install maven
  anywhere         https://maven.apache.org/download.cgi
EOF
  exit 1
}
