#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs COMMAND on cgroup v2 under User Mode Linux, as vm.sh does, but with the files of this machine: for real Ray, which is large. There
# is one processor. It wants most of a processor of this machine.
#
#	e2e/kernel/uml.sh COMMAND [ARG...]
#
# COMMAND runs as root in the repository. It sees the files of this machine, read-only; /tmp, /run and /dev/shm are its own. Its
# output and exit status are ours. AFTERGLOW_UML_ROOT is another directory that it sees, as /run/root.
#
# AFTERGLOW_VM_MEMORY   in MiB (default 1024)
# AFTERGLOW_VM_TIMEOUT  in seconds, then it is killed and we exit 124 (default 1800)
# AFTERGLOW_VM_LOG      keep the kernel's console output in this file
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "$#" = 0 ]; then
	echo "usage: uml.sh COMMAND [ARG...]" >&2
	exit 2
fi
kernel=$(e2e/kernel/uml/build.sh)

# Each page of a process is a mapping of this kernel's, which allows 65,530 of them by default: with so few a large process dies.
# One run at a time, as it changes that number and puts it back.
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
mkdir -p "$cache"
exec 8>"$cache/uml.lock"
flock 8
maps=$(cat /proc/sys/vm/max_map_count)
set_maps() { { echo "$1" >/proc/sys/vm/max_map_count; } 2>/dev/null || true; }

work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-uml.XXXXXX")
tailer= machine=
clean_up() {
	if [ -n "$machine" ]; then
		kill "$machine" 2>/dev/null || true
		wait "$machine" || true
	fi
	[ -z "$tailer" ] || kill "$tailer" 2>/dev/null || true
	set_maps "$maps"
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The kernel hands the words of its command line that it does not know to init: host, repository and also.
cat >"$work/init" <<'END'
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
mkdir /run/host /run/repository /run/root
mount -t hostfs -o "$host" none /run/host
mount -t hostfs -o "$repository,ro" none /run/repository
[ -z "$also" ] || mount -t hostfs -o "$also,ro" none /run/root
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo '+cpu +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
ip link set lo up
cd /run/repository
setsid sh /run/host/command </dev/null >>/run/host/output 2>&1
echo "exit $?" >/run/host/status
poweroff -f
END
chmod 755 "$work/init"
{
	echo 'export AFTERGLOW_IN_VM=1'
	printf 'export AFTERGLOW_BUILD=%q\n' "${AFTERGLOW_BUILD:-build}"
	printf '%q ' "$@"
	echo
} >"$work/command"
: >"$work/output" >"$work/status"
tail -f -n +1 "$work/output" 8>&- &
tailer=$!

[ "$maps" -ge 1048576 ] || set_maps 1048576
status=0
ulimit -c 0
timeout -k 10 "${AFTERGLOW_VM_TIMEOUT:-1800}" "$kernel" mem="${AFTERGLOW_VM_MEMORY:-1024}M" root=/dev/root rootfstype=hostfs \
	rootflags=/ ro init="$work/init" host="$work" repository="$PWD" also="${AFTERGLOW_UML_ROOT:-}" con=null con0=null,fd:1 seccomp=on \
	cgroup_no_v1=all psi=1 log_buf_len=1M quiet \
	</dev/null >"$work/console" 2>&1 8>&- &
machine=$!
wait "$machine" || status=$?
machine=
if [ -n "${AFTERGLOW_VM_LOG:-}" ]; then cp "$work/console" "$AFTERGLOW_VM_LOG"; fi
# What tail has not printed yet.
sleep 1.5

if read -r word code <"$work/status" && [ "$word" = exit ]; then exit "$code"; fi
echo "uml.sh: the machine ended without an exit status ($status); its console:" >&2
tail -n 20 "$work/console" >&2
[ "$status" != 124 ] || exit 124
exit 125
