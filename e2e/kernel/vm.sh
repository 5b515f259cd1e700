#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs COMMAND on a kernel of its own with PSI and memory.oom.group, on cgroup v2 or v1, whatever the host has: User Mode Linux and an
# initramfs. The machine is a process of this one, and its programs run on the real processor.
#
#	e2e/kernel/vm.sh [COMMAND [ARG...]]	default: a shell that says hello
#
# COMMAND runs as root in a directory that holds build/ as it is here, so the
# same command line works on both sides. Its output and exit status are ours.
# The machine has no disk and no network but lo; everything in it is gone afterwards.
#
# AFTERGLOW_CACHE       where the kernel is kept (default ~/.cache/afterglow)
# AFTERGLOW_VM          uml, or qemu: Debian's kernel in an emulator, ten times slower, for what User Mode Linux lacks (another release
#                       of Linux, modules, "traps:" lines, a process's user time apart from its system time). Default: uml;
#                       qemu for another architecture, or where a kernel or modules are named
# AFTERGLOW_VM_CGROUP   v1 for cgroup v1 (default v2)
# AFTERGLOW_VM_CPUS     processors (default 1 in uml, where threads of one process never run at the same time; 2 in qemu)
# AFTERGLOW_KERNEL      the Debian package for qemu (default: what linux-image-cloud-amd64 depends on)
# AFTERGLOW_BUILD       the build directory to take along (default build)
# AFTERGLOW_VM_ARCH     arm64: another machine than this one. Kernel and busybox are in build/arm64/machine, libraries in
#                       build/arm64/sysroot (tools/sysroot.sh); the build directory is build/arm64 then. arm64-16k: the same with
#                       pages of 16 KiB, by the kernel of build/arm64/machine-16k
# AFTERGLOW_VM_PROGRAMS more programs to take along with their libraries, separated by blanks: their paths below build/test
# AFTERGLOW_VM_MODULES  modules of the kernel to load in qemu, separated by blanks; with those that they need
# AFTERGLOW_VM_FILES    more files and directories to take along, separated by blanks: their paths below this directory
# AFTERGLOW_VM_ROOT     a directory of which all is put into the machine's root directory
# AFTERGLOW_VM_MEMORY   in MiB (default 512)
# AFTERGLOW_VM_TIMEOUT  in seconds, then it is killed and we exit 124 (default 1800)
# AFTERGLOW_VM_APPEND   more for the kernel's command line
# AFTERGLOW_VM_LOG      keep the kernel's console output in this file
set -euo pipefail
cd "$(dirname "$0")/../.."

cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}/vm
arch=${AFTERGLOW_VM_ARCH:-} pages=
case $arch in
*-16k) arch=${arch%-16k} pages=-16k ;;
esac
build=${AFTERGLOW_BUILD:-build${arch:+/$arch}}
[ "$#" -gt 0 ] || set -- sh -c 'echo "hello from Linux $(uname -r)"; cat /sys/fs/cgroup/cgroup.controllers'

# The kernel: unpacked, not installed. Its modules are beside it, below a name that the search for kernels does not find.
fetch_kernel() {
	local package=$1 download
	download=$(mktemp -d "$cache/download.XXXXXX")
	echo "vm.sh: fetching $package" >&2
	(cd "$download" && apt-get -o APT::Sandbox::User=root download -q "$package" >&2)
	dpkg-deb --fsys-tarfile "$download"/*.deb | tar -x -C "$download" --wildcards './boot/vmlinuz-*' './lib/modules/*'
	busybox depmod -b "$download" "$(basename "$download"/lib/modules/*)"
	rm -rf "$cache/modules-$package"
	mv "$download"/lib/modules/* "$cache/modules-$package"
	mv "$download"/boot/vmlinuz-* "$cache/$package"
	rm -rf "$download"
}

newest_of_apt() {
	tools/apt-update.sh
	# All of the output is read: apt-cache would fail with a pipe that is closed.
	apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ && !n++ { print $2 }'
}

find_kernel() {
	mkdir -p "$cache"
	# Machines that begin side by side fetch it once.
	exec 8>"$cache/lock"
	flock 8
	package=${AFTERGLOW_KERNEL:-}
	if [ -z "$package" ]; then
		# What is there serves; apt is asked only the first time.
		newest=$(find "$cache" -maxdepth 1 -name 'linux-image-6.1.*' -printf '%f\n' | sort -V | tail -n 1)
		package=${newest:-$(newest_of_apt)}
		# A cache from before modules were kept has none, and Debian's mirrors have only the current version.
		if [ -n "${AFTERGLOW_VM_MODULES:-}" ] && [ ! -d "$cache/modules-$package" ]; then package=$(newest_of_apt); fi
	fi
	[ -n "$package" ] || { echo "vm.sh: apt knows no kernel (linux-image-cloud-amd64)" >&2 && exit 2; }
	if [ ! -s "$cache/$package" ] || { [ -n "${AFTERGLOW_VM_MODULES:-}" ] && [ ! -d "$cache/modules-$package" ]; }; then fetch_kernel "$package"; fi
	exec 8>&-
	kernel=$cache/$package busybox=$(command -v busybox)
}

# Takes modules along, with those that they need.
take_modules() { # MODULE...
	local from=$cache/modules-$package release module path
	release=${package#linux-image-}
	mkdir -p "$root/lib/modules/$release"
	cp "$from/modules.dep" "$root/lib/modules/$release/"
	for module in "$@"; do
		path=$(grep "/$module.ko:" "$from/modules.dep") || { echo "vm.sh: $package has no module $module" >&2 && exit 2; }
		for path in ${path/:/}; do install -D "$from/$path" "$root/lib/modules/$release/$path"; done
	done
}

vm=${AFTERGLOW_VM:-}
[ -n "$vm" ] || if [ -n "$arch${AFTERGLOW_KERNEL:-}${AFTERGLOW_VM_MODULES:-}" ]; then vm=qemu; else vm=uml; fi

# Serial lines of the command: one that the kernel's console has not.
case $vm:$arch in
uml:)
	kernel=$(e2e/kernel/uml/build.sh) busybox=$(command -v busybox) output=ttyS0 status_line=ttyS1
	;;
qemu:)
	tools/apt-install.sh qemu-system-x86 >&2
	find_kernel
	# Where a processor says that it moves strings fast, the kernel moves memory byte by byte, as which qemu emulates it: without these
	# two features tests that use memory take a quarter less processor time.
	machine=(qemu-system-x86_64 -cpu "max,-erms,-fsrm") console=ttyS0 output=ttyS1 status_line=ttyS2
	lines=(-serial chardev:out -serial chardev:status)
	;;
qemu:arm64)
	[ -z "${AFTERGLOW_VM_MODULES:-}" ] || { echo "vm.sh: no modules for $arch" >&2 && exit 2; }
	kernel=$(echo build/arm64/machine$pages/boot/vmlinuz-*) busybox=build/arm64/machine/bin/busybox
	machine=(qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on) console=ttyAMA0 output=ttyS0 status_line=ttyS1
	lines=(-device pci-serial,chardev=out -device pci-serial,chardev=status)
	;;
*) echo "vm.sh: there is no machine $vm${arch:+ for $arch}; uml and qemu are known" >&2 && exit 2 ;;
esac

case ${AFTERGLOW_VM_CGROUP:-v2} in
v2) cgroup=v2 cgroup_words=cgroup_no_v1=all ;;
v1) cgroup=v1 cgroup_words= ;;
*) echo "vm.sh: AFTERGLOW_VM_CGROUP is v1 or v2" >&2 && exit 2 ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-vm.XXXXXX")
machine_pid=
clean_up() { # timeout hands SIGTERM on
	if [ -n "$machine_pid" ]; then
		kill "$machine_pid" 2>/dev/null || true
		wait "$machine_pid" || true
	fi
	rm -rf "$work"
}
trap clean_up EXIT
# The initramfs: busybox, the programs in build/ and the libraries they name.
root=$work/root
mkdir -p "$root"/{bin,dev,proc,sys,tmp,run,etc,afterglow/build/test}
cp "$busybox" "$root/bin/busybox"
ln -s bin "$root/sbin"
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"

sysroot=
[ -z "$arch" ] || sysroot=$PWD/build/$arch/sysroot
libraries_of() { # PROGRAM
	if [ -z "$arch" ]; then ldd "$1" 2>/dev/null | grep -o '/[^ ]*' || true; else tools/elf-libraries.sh aarch64-linux-gnu "$sysroot" "$1"; fi
}
take() { # PROGRAM TARGET: with its libraries, each where its loader looks for it
	local library
	cp "$1" "$root/$2"
	for library in $(libraries_of "$1"); do
		[ -e "$root$library" ] || install -D "$sysroot$library" "$root$library"
	done
}
for program in "$build"/afterglow-launch "$build"/afterglow-sidecar "$build"/afterglow-ship "$build"/afterglow-pack "$build"/afterglow-unwind "$build"/afterglow-node; do
	if [ -x "$program" ]; then take "$program" "afterglow/build/${program##*/}"; fi
done
for program in "$build"/test/*; do
	if [ -f "$program" ] && [ -x "$program" ]; then take "$program" "afterglow/build/test/${program##*/}"; fi
done
for program in ${AFTERGLOW_VM_PROGRAMS:-}; do
	mkdir -p "$root/afterglow/build/test/$(dirname "$program")"
	take "$build/test/$program" "afterglow/build/test/$program"
done
mkdir -p "$root/afterglow/e2e/kernel"
cp e2e/kernel/check.sh e2e/kernel/agent.sh e2e/kernel/*_test.sh "$root/afterglow/e2e/kernel/"
for path in ${AFTERGLOW_VM_FILES:-}; do
	mkdir -p "$root/afterglow/$(dirname "$path")"
	cp -r "$path" "$root/afterglow/$path"
done

# shellcheck disable=SC2086
if [ -n "${AFTERGLOW_VM_MODULES:-}" ]; then take_modules $AFTERGLOW_VM_MODULES; fi
if [ -n "${AFTERGLOW_VM_ROOT:-}" ]; then cp -a "$AFTERGLOW_VM_ROOT/." "$root/"; fi

cat >"$root/init" <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/ TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
ln -s /proc/self/fd /dev/fd
if [ CGROUP = v1 ]; then
	mount -t tmpfs tmpfs /sys/fs/cgroup
	for controllers in memory cpu,cpuacct pids freezer; do
		mkdir "/sys/fs/cgroup/$controllers"
		mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers"
	done
else
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
fi
ip link set lo up
for module in MODULES; do modprobe "$module"; done
stty -F /dev/OUTPUT raw -echo
cd /afterglow
setsid sh /command </dev/null >/dev/OUTPUT 2>&1
status=$?
stty -F /dev/STATUS raw -echo
echo "exit $status" >/dev/STATUS
sleep 0.2
poweroff -f
END
sed -i "s,/dev/OUTPUT,/dev/$output,; s,/dev/STATUS,/dev/$status_line,; s,MODULES,${AFTERGLOW_VM_MODULES:-},; s,CGROUP,$cgroup," "$root/init"
chmod 755 "$root/init"
{
	echo 'export AFTERGLOW_IN_VM=1'
	printf '%q ' "$@"
	echo
} >"$root/command"
# As it is: to compress it here and to decompress it in an emulator takes longer than all else of a boot.
(cd "$root" && find . | cpio --quiet -o -H newc) >"$work/initramfs"

# Three serial lines: the kernel's console, the command's output, its exit status.
: >"$work/status"
status=0
append="quiet panic=-1 psi=1 $cgroup_words ${AFTERGLOW_VM_APPEND:-}"
start_uml() { # as a child, with descriptors for the lines; its memory is an unlinked file below TMPDIR, as large as what it has touched
	# shellcheck disable=SC2086
	timeout --foreground -k 10 "${AFTERGLOW_VM_TIMEOUT:-1800}" "$kernel" mem="${AFTERGLOW_VM_MEMORY:-512}M" ncpus="${AFTERGLOW_VM_CPUS:-1}" \
		initrd="$work/initramfs" seccomp=on uml_dir="$work/" umid=machine con=null con0=null,fd:3 ssl=null ssl0=null,fd:1 ssl1=null,fd:4 \
		$append </dev/null 2>>"$work/console" 3>>"$work/console" 4>>"$work/status" &
	machine_pid=$!
}
start_qemu() { # no_timer_check: on a busy host the emulated timer may miss the few ticks that the kernel wants to see, and it would panic
	timeout --foreground -k 10 "${AFTERGLOW_VM_TIMEOUT:-1800}" "${machine[@]}" \
		-accel tcg,thread=multi -smp "${AFTERGLOW_VM_CPUS:-2}" -m "${AFTERGLOW_VM_MEMORY:-512}" -nodefaults -no-user-config \
		-display none -no-reboot -kernel "$kernel" -initrd "$work/initramfs" -append "console=$console no_timer_check $append" \
		-serial "file:$work/console" -chardev stdio,id=out,signal=off -chardev "file,id=status,path=$work/status" "${lines[@]}" </dev/null &
	machine_pid=$!
}
trap 'exit 143' TERM
trap 'exit 130' INT
"start_$vm"
wait "$machine_pid" || status=$?
machine_pid=
if [ -n "${AFTERGLOW_VM_LOG:-}" ]; then cp "$work/console" "$AFTERGLOW_VM_LOG"; fi

if read -r word code <"$work/status" && [ "$word" = exit ]; then exit "$code"; fi
echo "vm.sh: the machine ended without an exit status ($vm: $status); its console:" >&2
tail -n 20 "$work/console" >&2
[ "$status" != 124 ] || exit 124
exit 125
