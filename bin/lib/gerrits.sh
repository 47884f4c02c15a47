# Sourced by the scripts in bin/: the Gerrits that this module is built for, the newest of each minor on Maven Central.
# Sources are the same for all of them; binaries are not, so each minor has its own jar.

# The one that pom.xml names stands first.
GERRITS="3.13.5 3.12.2 3.14.2"

# The profile of pom.xml that a Gerrit needs to compile the tests, as an option of Maven.
gerrit_profile() {
  case "$1" in
    3.12.*) echo -Pgerrit-3.12 ;;
  esac
}

# Of a minor, the newest version of which Maven Central has all that a real server needs; fails where there is none.
gerrit_server() {
  case "$1" in
    3.12.*) echo 3.12.0 ;;
    3.13.*) echo 3.13.5 ;;
    *) return 1 ;;
  esac
}
