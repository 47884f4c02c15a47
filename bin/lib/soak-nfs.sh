# Sourced by bin/soak: a repository on NFS, in virtual machines: a server (vm1) and two clients. See bin/soak --help.

NFS_MAIN=com.googlesource.gerrit.modules.cache.chroniclemap.refs.NfsRefsMain
NFS_HOSTS='for n in 1 2 3; do echo 10.77.0.$n vm$n; done >>/etc/hosts
mkdir -p /run/rpc_pipefs /run/sendsigs.omit.d; modprobe nfs; mount -t rpc_pipefs sunrpc /run/rpc_pipefs
mkdir -p /run/rpcbind
for user in _rpc:x:901 statd:x:902; do echo $user:65534::/var/lib/nfs:/usr/sbin/nologin; done >>/etc/passwd
chown _rpc /run/rpcbind; chown statd /var/lib/nfs /var/lib/nfs/sm*
rpcbind -w; rpc.statd'

soak_nfs() { # SECONDS
  local seconds=$(($1 / 14)) version trust n
  "${VM_JAVA[@]}" $NFS_MAIN make "$VM/share/repository"
  truncate -s 2G "$VM/disks/server"
  mkfs.ext4 -q -F "$VM/disks/server"
  vm_boot 1 "$VM/disks/server"
  vm_run 1 60 "$NFS_HOSTS
set -e
modprobe ext4; mkdir /srv/nfs; mount /dev/vda /srv/nfs
modprobe nfsd; mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs/v4recovery; : >/var/lib/nfs/etab; : >/var/lib/nfs/rmtab
: >/etc/exports
exportfs -o rw,sync,no_root_squash,no_subtree_check,fsid=0 '*:/srv/nfs'
# No client has anything to reclaim from this server.
echo 10 >/proc/fs/nfsd/nfsv4gracetime
rpc.nfsd 4; rpc.mountd" || return 1
  for n in 2 3; do nfs_boot_client "$n" || return 1; done
  for version in 4.2 3; do
    for n in 2 3; do nfs_mount "$n" "$version" || return 1; done
    for trust in always after_open never; do
      nfs_work "$version" "$trust" "$seconds" || return 1
    done
    for how in jgit module; do nfs_see "$version" "$how" || return 1; done
    for trust in always after_open never; do nfs_pack_deleted "$version" jgit "$trust" deleted || return 1; done
    for how in module git; do nfs_pack_deleted "$version" "$how" always deleted || return 1; done
    nfs_pack_deleted "$version" module always locked || return 1
    case "$version" in
      3) nfs_kill 3 1 transaction || return 1 ;;
      *) nfs_kill 4.2 1 durable || return 1 ;;
    esac
    nfs_boot_client 3 || return 1
  done
  # Once more without delegations of files: whether they are what the survivor waits for.
  for n in 2 3; do nfs_mount "$n" 4.2 || return 1; done
  nfs_kill 4.2 0 durable
}

nfs_boot_client() { # N
  vm_boot "$1"
  vm_run "$1" 60 "$NFS_HOSTS"
}

nfs_mount() { # N VERSION
  local from=vm1:/
  [ "$2" != 3 ] || from=vm1:/srv/nfs
  vm_run "$1" 120 "! mountpoint -q /mnt || umount /mnt; mount -t nfs -o vers=$2 $from /mnt"
}

# A new copy of the repository, and empty logs of both clients.
nfs_repository() { # NAME TRUST
  rm -f "$VM/share/$1".*
  vm_run 1 120 "cp -r /lab/repository /srv/nfs/$1; git -C /srv/nfs/$1/first.git config core.trustStat $2; sync"
}

nfs_wrong() { # WHAT FILE...
  echo "WRONG: $1" >&2
  shift
  tail -n 60 "$@" >&2
  return 1
}

# Both clients change, pack and read at the same time; then one compares what it finds with what both were told.
nfs_work() { # VERSION TRUST SECONDS
  local name=v$1-$2 n jobs=()
  nfs_repository "$name" "$2"
  for n in 2 3; do
    vm_start "$n" "/lab/java $NFS_MAIN work /mnt/$name $((n - 2)) all $3 >>/lab/$name.$n"
    jobs[n]=$VM_JOB
  done
  for n in 2 3; do
    vm_await "$n" "${jobs[n]}" $(($3 + 240)) || nfs_wrong "$name: vm$n" "$VM/share/vm$n/${jobs[n]}.out" || return 1
  done
  echo "nfs: $name:"
  nfs_check "$name" 3 || nfs_wrong "$name" "$VM/share/$name.check"
}

nfs_check() { # NAME N
  local status=0
  vm_run "$2" 300 "/lab/java $NFS_MAIN check /mnt/$1 /lab/$1.2 /lab/$1.3" >"$VM/share/$1.check" || status=$?
  grep -v WARNING "$VM/share/$1.check" | sed 's/^/  /'
  return "$status"
}

# Waits until the program in vm2 has printed a word.
nfs_await_word() { # NAME WORD JOB
  local end=$((SECONDS + 120))
  until grep -qs "$2" "$VM/share/$1.2"; do
    [ "$SECONDS" -lt "$end" ] || nfs_wrong "$1" "$VM/share/vm2/$3.out" || return 1
    sleep 0.1
  done
}

# JGit issue 271: a client has packed-refs open when another one replaces it.
nfs_see() { # VERSION module|jgit
  local name=see-v$1-$2 job at
  nfs_repository "$name" after_open
  vm_start 2 "/lab/java $NFS_MAIN see /mnt/$name $2 >>/lab/$name.2"
  job=$VM_JOB
  nfs_await_word "$name" looking "$job" || return 1
  at=$(vm_run 3 60 "set -e; cd /mnt/$name/first.git; value=\$(git rev-parse refs/fixed/00/100)
new=\$(sed -n 2p ../values)
printf 'delete %s\nupdate %s %s\ncreate %s %s\n' refs/fixed/00/100 refs/fixed/00/200 \$new refs/fixed/00/new \$new | git update-ref --stdin
date +%s%3N") || nfs_wrong "$name: $at" || return 1
  vm_await 2 "$job" 300 || nfs_wrong "$name" "$VM/share/vm2/$job.out" || return 1
  sed -n 's/ sees / /p' "$VM/share/$name.2" | awk -v name="$name" -v at="$at" '
    BEGIN { printf "nfs: %s (after_open, packed-refs held open), seconds until seen:", name }
    { printf " %s %.1f", $2, ($1 - at) / 1000 }
    END { print (NR < 3 ? "; not all within 120 s" : "") }'
  [ "$2" = jgit ] || [ "$(grep -c ' sees ' "$VM/share/$name.2")" = 3 ] || nfs_wrong "$name" "$VM/share/$name.2"
}

# A client has listed the loose refs to be packed, and waits for the lock of packed-refs. The other one, which has that
# lock, deletes a loose ref, whose attributes the first one has cached. Or it locks the ref, to delete it later as JGit
# does, and the first one has cached that there is no lock. Does packing bring the ref back?
nfs_pack_deleted() { # VERSION module|jgit|git TRUST deleted|locked
  local name=$4-v$1-$2-$3 job found took does="rm refs/heads/loose"
  [ "$4" = deleted ] || does=": >refs/heads/loose.lock"
  nfs_repository "$name" "$3"
  vm_run 3 60 "cd /mnt/$name/first.git; git config core.packedRefsTimeout 30000; : >packed-refs.lock"
  vm_start 2 "/lab/java $NFS_MAIN packdeleted /mnt/$name $2 >>/lab/$name.2"
  job=$VM_JOB
  nfs_await_word "$name" packing "$job" || return 1
  vm_run 3 60 "cd /mnt/$name/first.git; sleep 1; $does; rm packed-refs.lock"
  vm_await 2 "$job" 300 || nfs_wrong "$name" "$VM/share/vm2/$job.out" || return 1
  grep -q " packed $2" "$VM/share/$name.2" || nfs_wrong "$name" "$VM/share/$name.2" || return 1
  found=$(vm_run 1 30 "cat /srv/nfs/$name/first.git/packed-refs | grep -o refs/heads/loose || echo none")
  echo "nfs: $name: of the refs that the other client deletes, packed by this one: $found"
  # After half a minute, a client asks the server again by itself.
  took=$(awk '$2 ~ /^pack/ { print $1 }' "$VM/share/$name.2" | paste -sd' ' | awk '{ print int(($2 - $1) / 1000) }')
  [ "$took" -lt 25 ] || nfs_wrong "$name took $took s, too long to show anything" "$VM/share/$name.2" || return 1
  case "$2 $3" in
    "jgit always") [ "$found" != none ] || nfs_wrong "$name: JGit is not trapped, so nobody is" "$VM/share/$name.2" ;;
    jgit*) ;;
    *) [ "$found" = none ] || nfs_wrong "$name" "$VM/share/$name.2" ;;
  esac
}

# One client's machine dies when a batch is decided. The other one goes on; then an administrator follows "By hand".
nfs_kill() { # VERSION LEASES transaction|durable
  local name=kill-v$1-leases$2-$3 job end=$((SECONDS + 240)) n killed
  vm_run 1 10 "sysctl -q fs.leases-enable=$2" || return 1
  nfs_repository "$name" after_open
  for n in 2 3; do
    vm_start "$n" "/lab/java $NFS_MAIN work /mnt/$name $((n - 2)) module 200 >>/lab/$name.$n"
    [ "$n" = 3 ] || job=$VM_JOB
  done
  for n in 2 3; do
    until [ "$(cat "$VM/share/$name.$n" 2>/dev/null | grep -c ' done ')" -gt 2 ]; do
      [ "$SECONDS" -lt "$end" ] || nfs_wrong "$name: vm$n" "$VM/share/vm$n/"*.out || return 1
      sleep 0.2
    done
  done
  # A journal of one of its larger batches.
  vm_run 1 120 "cd /srv/nfs/$name/first.git/cache-chroniclemap; shopt -s nullglob
while :; do for file in *.$3; do [[ \$(<\$file) != *refs/changes/@(08|10)/* ]] || exit 0; done 2>/dev/null; done" || nfs_wrong "$name: no batch" "$VM/share/$name.3" || return 1
  killed=$(date +%s%3N)
  vm_kill 3
  sleep 10
  echo "nfs: $name: the server's state ten seconds later, then where the survivor waits:"
  vm_run 1 30 'cat /proc/fs/nfsd/clients/*/states | grep -o "type: [a-z]*" | sort | uniq -c'
  vm_run 2 30 'for t in /proc/$(pgrep -n java)/task/*; do grep -oE "(nfs[34]?|nlm|rpc)[a-z0-9_]*" $t/stack 2>/dev/null | tail -n 3 | paste -sd" "; done | grep . | sort | uniq -c'
  vm_await 2 "$job" 600 || nfs_wrong "$name: survivor" "$VM/share/vm2/$job.out" || return 1
  awk -v killed="$killed" '$2 ~ /begin|done|failed/ { if ($1 > killed && last && $1 - last > most) { most = $1 - last; at = last - killed } last = $1 }
    END { printf "  longest step of the survivor after the kill: %.1f s, begun %.1f s after it\n", most / 1000, at / 1000 }' "$VM/share/$name.2"
  nfs_check "$name" 2 >/dev/null || true
  local alive
  alive=$(sed -n 's/.*the process that owns [^ ]*cache-chroniclemap\/\([^ ;]*\)\.alive is alive,.*/\1/p' "$VM/share/$name.check" | head -n 1)
  echo "  the log names ${alive:-no process}"
  [ -n "$alive" ] || alive=$(vm_run 2 30 "cd /mnt/$name/first.git/cache-chroniclemap; ls *.alive" | sed 's/\.alive$//')
  # Refs whose locks are left are locked for native git, too, until then.
  vm_run 2 120 "cd /mnt/$name/first.git; $(nfs_by_hand "$alive" "$1")" >"$VM/share/$name.hand" || nfs_wrong "$name" "$VM/share/$name.hand" || return 1
  sed 's/^/  /' "$VM/share/$name.hand"
  # All locks of a decided batch are there; one that is not decided may have none yet.
  if grep -q WRONG "$VM/share/$name.hand" || { [ "$3" = durable ] && ! grep -q 'has [1-9][0-9]* locks' "$VM/share/$name.hand"; }; then
    nfs_wrong "$name, by hand" "$VM/share/$name.hand" || return 1
  fi
  nfs_check "$name" 2 || nfs_wrong "$name, after \"By hand\"" "$VM/share/$name.check"
}

# "By hand" of refs-safety.md, after a look at what is locked, for native git, too.
nfs_by_hand() { # PROCESS VERSION
  local kept=:
  # A dead machine keeps its lock on the file.
  [ "$2" != 3 ] || kept='cp -p $f x; mv x $f'
  cat <<END_HAND
locks=\$(find . -name '*.lock' | sed 's,^\./,,; s,\.lock\$,,')
echo "by hand: $1 has \$(grep -c . <<<"\$locks") locks"
for ref in \$locks; do
  [ \$ref != packed-refs ] && git update-ref \$ref "\$(sed -n 2p ../values)" 2>/dev/null && echo "WRONG: git is not locked out"
done
f=cache-chroniclemap/$1.alive; $kept; echo dead >>\$f
END_HAND
}
