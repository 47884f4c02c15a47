# Sourced by bin/lib/soak-power.sh and soak-nfs.sh: small virtual machines, which can be killed as if their power went.
#
# A guest runs Debian's kernel and has this machine's root file system as its own: read-only, through 9p, under an
# overlay in memory. So Java, git and the built classes are there under the same paths. /lab in the guest is $VM/share
# here, neither cached by the guest: what a guest has written there outlives it. Guests reach each other (10.77.0.N) by
# multicast on the loopback interface, and nothing else. A guest gets jobs through its second serial port.

VM=$PWD/target/soak/vm
VM_ACCEL=${VM_ACCEL:-tcg} # kvm, where that works for Debian's kernel
VM_BOOT_MODULES="virtio_pci virtio_blk virtio_net 9pnet_virtio 9p overlay"
declare -A VM_PID VM_PORT VM_IN VM_PART VM_DONE

# Whatever ends this script, a guest ends with it: see also --pdeathsig in vm_boot.
vm_kill_all() {
  local n
  for n in "${!VM_PID[@]}"; do vm_kill "$n"; done
}

# Installs what runs here, and fetches what runs in guests only: an NFS server must not be installed here, or started.
vm_setup() {
  if [ "$(uname -m)" != x86_64 ]; then
    echo "error: the virtual machines are made for x86_64" >&2
    exit 1
  fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "error: the virtual machines need root and Debian's apt-get" >&2
    exit 1
  fi
  rm -rf "$VM/share" "$VM/disks"
  mkdir -p "$VM/share" "$VM/disks" "$VM/deb/partial"
  local log=$VM/setup.log
  if [ ! "$VM/initramfs" -nt bin/lib/vm.sh ]; then
    # In the background, as a condition would switch its set -e off.
    (vm_make) >"$log" 2>&1 &
    if ! wait $!; then
      tail -n 20 "$log" >&2
      echo "error: the virtual machines could not be prepared: $log" >&2
      exit 1
    fi
  fi
  # A JVM in a guest opens one jar much sooner than it finds hundreds of files.
  "$JAVA_HOME/bin/jar" --create --no-compress --file "$VM/share/classes.jar" -C target/test-classes .
  "$JAVA_HOME/bin/jar" --update --no-compress --file "$VM/share/classes.jar" -C target/classes .
  VM_JAVA=("$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx256m $VM_JVM_FLAGS
    -cp "$VM/share/classes.jar:$(cat target/test-class-path.txt)")
  printf '#!/bin/sh\nexec %s "$@"\n' "${VM_JAVA[*]}" >"$VM/share/java"
  chmod +x "$VM/share/java"
}

vm_make() {
  set -e
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    qemu-system-x86 busybox-static kmod cpio xz-utils xfsprogs
  apt-get install -y --no-install-recommends --download-only -o Dir::Cache::archives="$VM/deb" \
    nfs-kernel-server nfs-common dmsetup
  local kernel deb version offset module file tree=$VM/tree
  kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\)/\1/p' | head -n 1)
  (cd "$VM/deb" && apt-get download "$kernel" && dpkg -x "$kernel"_*.deb "$VM/kernel" && rm "$kernel"_*.deb)
  version=$(ls "$VM/kernel/lib/modules")
  depmod -b "$VM/kernel" "$version"
  # QEMU starts an unpacked kernel directly; interpreted, the kernel's own unpacking takes longer than the boot.
  offset=$(LC_ALL=C grep -abom1 $'\xfd7zXZ' "$VM/kernel/boot/vmlinuz-$version" | head -n 1 | cut -d: -f1)
  tail -c +$((offset + 1)) "$VM/kernel/boot/vmlinuz-$version" | xz -dcq --single-stream >"$VM/vmlinux" || [ -s "$VM/vmlinux" ]
  rm -rf "$tree"
  mkdir -p "$tree/bin" "$tree/extra" "$tree/lib/modules/$version"
  for deb in "$VM"/deb/*.deb; do dpkg -x "$deb" "$tree/extra"; done
  # In this root these are links to those in usr.
  for file in bin sbin lib lib64; do
    [ ! -d "$tree/extra/$file" ] || { cp -a "$tree/extra/$file" "$tree/extra/usr/" && rm -r "$tree/extra/$file"; }
  done
  cp "$(command -v busybox)" "$tree/bin/"
  for module in $VM_BOOT_MODULES; do
    for file in $(modprobe -d "$VM/kernel" -S "$version" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'); do
      install -D "$file" "$tree/${file#"$VM/kernel/"}"
    done
  done
  depmod -b "$tree" "$version" 2>/dev/null
  cat >"$tree/init" <<END_INIT
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /host /top /root
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in $VM_BOOT_MODULES; do modprobe \$module; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /host
mount -t tmpfs -o size=70% tmpfs /top; mkdir /top/up /top/work
mount -t overlay -o lowerdir=/host,upperdir=/top/up,workdir=/top/work overlay /root
cp -a /extra/. /root/
cd /root
mkdir -p proc sys dev run tmp lab disk mnt lib/modules
mount --move /proc proc; mount --move /sys sys; mount --move /dev dev
mkdir -p dev/pts dev/shm
ln -s /proc/self/fd dev/fd
mount -t devpts devpts dev/pts; mount -t tmpfs run run; mount -t tmpfs shm dev/shm
mount -t 9p -o trans=virtio,version=9p2000.L,rw,cache=none,msize=512000 lab lab
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose modules lib/modules
ip link set lo up; ip addr add 10.77.0.\$vm_n/24 dev eth0; ip link set eth0 up
hostname vm\$vm_n
echo 127.0.0.1 localhost vm\$vm_n >etc/hosts
# Each machine has an identity of its own, as the module compares them.
echo "vm\$vm_n \$vm_run" | md5sum | cut -d' ' -f1 >etc/machine-id
cp /agent run/agent
exec switch_root /root /bin/bash /run/agent
END_INIT
  cat >"$tree/agent" <<'END_AGENT'
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 LC_ALL=C.UTF-8
cd /tmp
git config --global safe.directory '*'
lab=/lab/$(hostname)
# The clock at boot is only right to a second; the times of files in /lab are this machine's host's.
touch $lab/now
date -s "@$(stat -c %.3Y $lab/now)" >/dev/null
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo "ready" >&3
while read -r job <&3; do
  (
    bash $lab/$job.sh >$lab/$job.out 2>&1 </dev/null 3>&-
    echo "$job $?" >&3
  ) &
done
END_AGENT
  chmod +x "$tree/init"
  (cd "$tree" && find . | cpio -o -H newc --quiet) >"$VM/initramfs.new"
  mv "$VM/initramfs.new" "$VM/initramfs"
}

# vm_boot N [DISK]...: returns once it takes jobs. Its disks are /dev/vda and so on.
vm_boot() {
  local n=$1 here=$VM/share/vm$1 disks=() disk line port in
  shift
  rm -rf "$here"
  mkdir -p "$here"
  mkfifo "$here/port.in" "$here/port.out"
  for disk in "$@"; do
    disks+=(-drive "if=none,format=raw,id=d${#disks[@]},file=$disk" -device "virtio-blk-pci,drive=d${#disks[@]}")
  done
  setpriv --pdeathsig KILL nice -n 10 qemu-system-x86_64 -accel "$VM_ACCEL" -cpu max -m 1024 \
    -nodefaults -display none -no-reboot -kernel "$VM/vmlinux" -initrd "$VM/initramfs" \
    -append "vm_n=$n vm_run=${VM_RUN:-0} console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=reliable random.trust_cpu=on" \
    -serial "file:$here/console" -serial "pipe:$here/port" \
    -netdev "socket,id=net,mcast=230.77.0.1:$((20000 + $$ % 20000)),localaddr=127.0.0.1" \
    -device "virtio-net-pci,netdev=net,mac=52:54:00:77:00:$(printf %02x "$n"),romfile=" \
    -fsdev local,security_model=none,multidevs=remap,id=host,path=/,readonly=on -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -fsdev "local,security_model=none,multidevs=remap,id=lab,path=$VM/share" -device virtio-9p-pci,fsdev=lab,mount_tag=lab \
    -fsdev "local,security_model=none,multidevs=remap,id=modules,readonly=on,path=$VM/kernel/lib/modules" \
    -device virtio-9p-pci,fsdev=modules,mount_tag=modules -device virtio-rng-pci \
    "${disks[@]}" </dev/null >"$here/qemu" 2>&1 &
  VM_PID[$n]=$!
  # Opened for both directions, no end of a pipe is waited for.
  exec {port}<>"$here/port.out" {in}<>"$here/port.in"
  VM_PORT[$n]=$port VM_IN[$n]=$in
  if ! vm_await "$n" ready 240; then
    tail -n 20 "$here/qemu" "$here/console" >&2
    echo "error: vm$n did not boot" >&2
    exit 1
  fi
}

# vm_await N JOB SECONDS: fails if the guest is dead, or is silent for so long; else the status is the job's.
vm_await() {
  local n=$1 job=$2 end=$((SECONDS + $3)) part line
  while [ -z "${VM_DONE[$n-$job]-}" ]; do
    part=
    if IFS= read -r -t 1 -u "${VM_PORT[$n]}" part; then
      line=${VM_PART[$n]-}$part
      VM_PART[$n]=
      VM_DONE[$n-${line%% *}]=$([[ "$line" != *" "* ]] && echo 0 || echo "${line#* }")
      continue
    fi
    # A line may come in two pieces, as a serial port is slow.
    VM_PART[$n]=${VM_PART[$n]-}$part
    if ! kill -0 "${VM_PID[$n]}" 2>/dev/null; then
      return 137
    elif [ "$SECONDS" -ge "$end" ]; then
      return 124
    fi
  done
  return "${VM_DONE[$n-$job]}"
}

# vm_start N SCRIPT: not waited for; VM_JOB is what vm_await takes.
vm_start() {
  VM_JOB=$((${VM_JOB:-0} + 1))
  printf '%s\n' "$2" >"$VM/share/vm$1/$VM_JOB.sh"
  echo "$VM_JOB" >&"${VM_IN[$1]}"
}

# vm_run N SECONDS SCRIPT: waited for; prints what the script prints.
vm_run() {
  local status=0
  vm_start "$1" "$3"
  vm_await "$1" "$VM_JOB" "$2" || status=$?
  cat "$VM/share/vm$1/$VM_JOB.out"
  return "$status"
}

# As if its power went: what it had written to its disks is there, its memory is lost.
vm_kill() {
  [ -n "${VM_PID[$1]-}" ] || return 0
  kill -KILL "${VM_PID[$1]}" 2>/dev/null || true
  wait "${VM_PID[$1]}" 2>/dev/null || true
  local port=${VM_PORT[$1]} in=${VM_IN[$1]} key
  exec {port}>&- {in}>&-
  unset "VM_PID[$1]" "VM_PART[$1]"
  for key in "${!VM_DONE[@]}"; do [[ "$key" != "$1"-* ]] || unset "VM_DONE[$key]"; done
}
