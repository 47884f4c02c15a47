# Sourced by the scripts in bin/: runs long commands and shows that they go on.

PROGRESS_PID=""

# A command in the background does not get the Ctrl-C: end it with this script.
progress_stop() {
  if [ -n "$PROGRESS_PID" ]; then
    kill "$PROGRESS_PID" 2>/dev/null || true
    wait "$PROGRESS_PID" 2>/dev/null || true
  fi
}
trap 'progress_stop' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Prints "1 min 05 s" for a number of seconds.
duration() {
  if [ "$1" -lt 60 ]; then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

# with_progress LABEL LOG COMMAND... runs the command with its output in LOG, and shows the time passed
# and how many files Maven has fetched. If the function progress_filter is there, it gets the new lines
# of the log and prints what is worth reading. The exit status is that of the command.
with_progress() {
  local label=$1 log=$2 start=$SECONDS shown=0 said=$SECONDS status=0 line note fetched
  shift 2
  mkdir -p "$(dirname "$log")"
  : >"$log"
  [ -t 1 ] || printf '%s ...\n' "$label"
  "$@" >"$log" 2>&1 </dev/null &
  PROGRESS_PID=$!
  while :; do
    local alive=1
    kill -0 "$PROGRESS_PID" 2>/dev/null || alive=0
    if declare -F progress_filter >/dev/null; then
      line=$(wc -l <"$log")
      if [ "$line" -gt "$shown" ]; then
        note=$(sed -n "$((shown + 1)),${line}p" "$log" | progress_filter)
        shown=$line
        if [ -n "$note" ]; then
          [ ! -t 1 ] || printf '\r\033[K'
          printf '%s\n' "$note"
          said=$SECONDS
        fi
      fi
    fi
    [ "$alive" = 1 ] || break
    fetched=$(grep -c 'Downloaded from' "$log" || true)
    note=$(duration $((SECONDS - start)))
    [ "$fetched" = 0 ] || note="$note, $fetched files downloaded"
    if [ -t 1 ]; then
      printf '\r\033[K%s ... %s' "$label" "$note"
    elif [ $((SECONDS - said)) -ge 15 ]; then
      printf '%s ... %s\n' "$label" "$note"
      said=$SECONDS
    fi
    sleep 1
  done
  wait "$PROGRESS_PID" || status=$?
  PROGRESS_PID=""
  [ ! -t 1 ] || printf '\r\033[K'
  note=$(duration $((SECONDS - start)))
  if [ "$status" = 0 ]; then
    printf '%s: done in %s\n' "$label" "$note"
  else
    printf '%s: FAILED after %s\n' "$label" "$note"
  fi
  return "$status"
}

# Prints what went wrong of a Maven log: its error lines and the compiler's warnings (which count as errors), or its end.
show_errors() {
  local errors
  errors=$(grep -E '^\[ERROR\]|^\[WARNING\] .*\.java:\[' "$1" | grep -vE 'Help 1|re-run Maven|full stack trace|^\[ERROR\] *$' | head -n 60 || true)
  if [ -n "$errors" ]; then printf '%s\n' "$errors"; else tail -n 40 "$1"; fi
  printf 'The whole log: %s\n' "$1"
}
