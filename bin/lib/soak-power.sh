# Sourced by bin/soak: loss of power, in virtual machines that are killed. See bin/soak --help.

POWER_PACKAGE=com.googlesource.gerrit.modules.cache.chroniclemap

# soak_power SECONDS KILLS SEED: both file systems at once, each in a guest of its own.
soak_power() {
  local fs status=0
  POWER_PIDS=()
  # A command in the background does not get the Ctrl-C. Its guest ends with it.
  trap 'kill "${POWER_PIDS[@]}" 2>/dev/null || true; progress_stop' EXIT
  mkdir -p "$VM/share/refs"
  "${VM_JAVA[@]}" $POWER_PACKAGE.refs.PowerRefsMain make "$VM/share/refs"
  for fs in ext4 xfs; do
    power_file_system "$fs" "$@" &
    POWER_PIDS+=($!)
  done
  for fs in "${POWER_PIDS[@]}"; do wait "$fs" || status=1; done
  return "$status"
}

power_file_system() { # FS SECONDS KILLS SEED
  trap vm_kill_all EXIT
  RANDOM=$4
  local fs=$1 n=11 end=$((SECONDS + $2)) half
  [ "$fs" = ext4 ] || n=12
  half=$((SECONDS + $2 * 2 / 3))
  [ "$3" = 0 ] || { end=$((SECONDS + 86400)); half=$end; }
  power_disk "$fs" "$n" kills
  power_kills "$fs" "$n" "$half" "${3/#0/10000}"
  power_disk "$fs" "$n" writes
  power_unflushed "$fs" "$n" "$end" "${3/#0/10000}"
}

# Makes $VM/disks/FS.NAME with the repository, and empty logs.
power_disk() { # FS N NAME
  local disk=$VM/disks/$1.$3
  rm -f "$disk"
  truncate -s 512M "$disk"
  case "$1" in
    ext4) mkfs.ext4 -q -F "$disk" ;;
    xfs) mkfs.xfs -q -f "$disk" ;;
  esac
  for name in refs stores; do : >"$VM/share/$1.$3.$name"; done
  vm_boot "$2" "$disk"
  vm_run "$2" 120 "set -e; modprobe $1; mount /dev/vda /disk; cp -a /lab/refs/. /disk; mkdir /disk/stores; umount /disk"
  vm_kill "$2"
}

# What a guest does on its disk until it is killed. The kernel begins to write what is not synced after two seconds.
power_work() { # LOG SEED
  cat <<END_WORK
echo 100 >/proc/sys/vm/dirty_writeback_centisecs; echo 200 >/proc/sys/vm/dirty_expire_centisecs
echo >>/lab/$1.refs
/lab/java $POWER_PACKAGE.refs.PowerRefsMain run /disk /lab/$1.refs $2 >>/lab/$1.refs &
exec /lab/java $POWER_PACKAGE.store.PowerStoresMain run /disk/stores /lab/$1.stores $2
END_WORK
}

# Waits until a guest, which begins to work, changes refs after both programs have checked what the guest before has left.
power_await_work() { # N LOG SIZE-BEFORE
  local out=$VM/share/vm$1/$VM_JOB.out end=$((SECONDS + 240))
  until grep -qs "store LOADED" "$out" && tail -c +"$(($3 + 1))" "$VM/share/$2.refs" | grep -q '^done'; do
    if grep -qs WRONG "$out" || [ "$SECONDS" -ge "$end" ] || ! kill -0 "${VM_PID[$1]}"; then return 1; fi
    sleep 0.2
  done
}

power_wrong() { # FS N OUT
  echo "WRONG: $1, seen by $2:" >&2
  cat "$2" >&2
  exit 1
}

power_kills() { # FS N END KILLS
  local fs=$1 n=$2 log=$1.kills disk=$VM/disks/$1.kills told=$VM/share/$1.told kills=0 busy size kind
  : >"$told"
  while [ "$kills" -lt "$4" ] && [ "$SECONDS" -lt "$3" ]; do
    size=$(stat -c %s "$VM/share/$log.refs")
    vm_boot "$n" "$disk"
    vm_start "$n" "modprobe $fs; mount /dev/vda /disk && $(power_work "$log" "$RANDOM")"
    power_await_work "$n" "$log" "$size" || power_wrong "$fs" "$VM/share/vm$n/$VM_JOB.out"
    # Not for anything to happen: this is how long the guest has. Kills come at any moment.
    # One guest in four lives for longer than the minute after which a store is brought to the disk.
    busy=$((RANDOM % 6000))
    [ $((kills % 4)) != 3 ] || busy=$((75000 + RANDOM % 60000))
    sleep "$((busy / 1000)).$(printf %03d $((busy % 1000)))"
    vm_kill "$n"
    kills=$((kills + 1))
    cat "$VM/share/vm$n/$VM_JOB.out" >>"$told"
    ! grep -q WRONG "$told" || power_wrong "$fs" "$told"
  done
  vm_boot "$n" "$disk"
  size=$(power_sizes "$log")
  power_check "$n" "$fs" "$log" "$size $size" >>"$told" || power_wrong "$fs" "$told"
  vm_kill "$n"
  echo "power: $fs: kills=$kills $(power_sum "$told")"
  # A check of stores that are always empty would show nothing.
  for kind in LOADED CONTENT; do
    [ "$kills" -lt 8 ] || grep -q "^store $kind: values=[1-9]" "$told" || power_wrong "$fs: no value in $kind" "$told"
  done
}

power_sizes() { # LOG
  (cd "$VM/share" && stat -c %s "$1.refs" "$1.stores" | paste -sd,)
}

# power_check N FS LOG MARKS...: of each disk, in order, the sizes of the logs that it is as new as, and is not newer than.
power_check() {
  local n=$1 fs=$2 log=$3 marks disk arguments= script="set -e; modprobe $2" i=0
  shift 3
  for marks in "$@"; do
    disk=$(printf "\\x$(printf %x $((97 + i)))")
    # Copies of an XFS have one identity.
    script+="; mkdir -p /disk/$i; mount $([ "$fs" != xfs ] || echo -o nouuid) /dev/vd$disk /disk/$i"
    arguments+=" /disk/$i $marks"
    i=$((i + 1))
  done
  vm_run "$n" 600 "$script
/lab/java $POWER_PACKAGE.refs.PowerRefsMain check /lab/$log.refs$arguments
/lab/java $POWER_PACKAGE.store.PowerStoresMain check /lab/$log.stores$arguments"
}

power_sum() { # TOLD
  awk '
    /^refs: / { sub("acknowledged=", "", $2); batches = $2; sub(".*=", "", $3); locks += $3; starts++
                sub(".*=", "", $4); undecided += $4; sub(".*=", "", $5); decided += $5 }
    /^store / { sub(":", "", $2); sub(".*=", "", $3); values[$2] += $3; if ($3 > 0) kept[$2]++ }
    END { printf "checks=%d acknowledged=%d locksLeft=%d undecidedLeft=%d decidedLeft=%d", starts, batches, locks, undecided, decided
          for (k in values) printf " %s=%d/%d", k, values[k], kept[k]
          print " (values found/starts with any)" }' "$1"
}

# The guest writes through dm-log-writes. Then disks are made which have lost writes that were not flushed.
power_unflushed() { # FS N END CHECKS
  local fs=$1 n=$2 log=$1.writes disk=$VM/disks/$1.writes told=$VM/share/$1.unflushed checks=0 copies copy marks words i
  : >"$told"
  cp --sparse=always "$disk" "$disk.base"
  rm -f "$disk.log"
  truncate -s 16G "$disk.log"
  vm_boot "$n" "$disk" "$disk.log"
  vm_start "$n" "modprobe $fs; modprobe dm-log-writes
dmsetup create --noudevsync power --table \"0 \$(blockdev --getsz /dev/vda) log-writes /dev/vda /dev/vdb\"
mount /dev/dm-0 /disk || exit 1
(
  cd /lab
  while sizes=\$(stat -c %s $log.refs $log.stores | paste -sd,); do
    dmsetup message power 0 mark \$sizes
  done
) &
$(power_work "$log" "$RANDOM")"
  power_await_work "$n" "$log" 1 || power_wrong "$fs" "$VM/share/vm$n/$VM_JOB.out"
  # Stores are brought to the disk after a minute.
  sleep 130
  vm_kill "$n"
  while [ "$checks" = 0 ] || { [ "$checks" -lt "$4" ] && [ "$SECONDS" -lt "$3" ]; }; do
    copies=() marks=()
    for i in {0..7}; do
      copy=$VM/disks/$fs.copy$i
      cp --sparse=always "$disk.base" "$copy"
      words=$("${VM_JAVA[@]}" $POWER_PACKAGE.store.UnflushedWritesMain "$disk.log" "$copy" "$RANDOM")
      echo "# $words" >>"$told"
      marks+=("$(cut -d' ' -f1,2 <<<"$words")")
      copies+=("$copy")
    done
    vm_boot "$n" "${copies[@]}"
    power_check "$n" "$fs" "$log" "${marks[@]}" >>"$told" || power_wrong "$fs" "$told"
    checks=$((checks + ${#copies[@]}))
    vm_kill "$n"
  done
  echo "power: $fs, writes lost that were not flushed: disks=$checks $(power_sum "$told")"
}
