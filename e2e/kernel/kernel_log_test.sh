#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel log adds to a report whose limit it was, which process was killed, and where a program crashed; and a report says when the
# log cannot be read. The kills are real.
# Plain sh: runs in the test machine too. As root. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar probe=$build/test/probe hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/kernel_log_test.XXXXXX)
store=$work/store
. "$(dirname "$0")/check.sh"
find_memory_cgroups
around=$memory/afterglow-test-around-$$

finish() {
	rmdir "$around/in" "$around" 2>/dev/null
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

kept() { grep -q "$1" "$(bundle)/kernel.log"; }

# The kernel prints 10 whole reports in 5 s and leaves out the others: OOM kills of somebody else may use them up.
until_reported() { # CONDITION... -- ARG...
	condition=$1
	shift
	for _ in 1 2 3 4 5; do
		run "$@"
		if says "$condition"; then return; fi
		sleep 3
	done
}

# The container meets its own limit.
until_reported 'kernel log: Memory cgroup out of memory: Killed process' --memory-max 24Mi -- "$hog" 300M --rate 200M --name ray::leak
check "the kernel's line is evidence" says 'kernel log: Memory cgroup out of memory: Killed process [0-9]* (ray::leak)'
check "it is certain" says 'class KernelOOMContainer, certain'
check "it is the container's limit" says 'it reached its memory limit of 24.0 MiB'
check "nothing is missing" silent 'kernel log (needs'
check "the bundle has the lines" kept 'Killed process [0-9]* (ray::leak)'

# The container meets the limit of a cgroup above it.
make_around 24M
for _ in 1 2 3 4 5; do
	sh "$work/inside" "$sidecar" exec --store "$store" --name case --memory-max 300Mi -- "$hog" 200M --rate 200M 2>"$work/err"
	if says KernelOOMPod; then break; fi
	sleep 3
done
check "a limit above it is told apart" says 'class KernelOOMPod, certain'
check "the report names the limit" says 'around it reached its memory limit of 24.0 MiB'
check "the report has the path of that cgroup" says "the limit was that of a cgroup above, .*afterglow-test-around"

# The node runs out of memory: only the test machine may.
if [ -n "$AFTERGLOW_IN_VM" ]; then
	run --memory-max 4Gi -- "$hog" 200M --children 4 --rate 200M
	check "the node's memory is told apart" says 'the node had no memory left'
	run --kernel-log off --memory-max 4Gi -- "$hog" 200M --children 4 --rate 200M
	check "the node's memory is told apart even without the kernel log" says 'the node or a cgroup above it had no memory left'
fi

# Programs crash. The kernel prints no more than ten crashes in five seconds, either.
find_crash_words
until_reported "kernel log: $segfault" -- "$probe" fault segv
check "the kernel's line about a crash is evidence" says "kernel log: $segfault"
if [ -n "$illegal" ]; then
	until_reported "kernel log: $illegal" -- "$probe" fault ill
	check "the kernel's line about a trap is evidence, too" says "kernel log: $illegal"
fi

# A process writes into the kernel log, and the sidecar does not believe it.
cat >"$work/forge" <<END
echo "<3>Memory cgroup out of memory: Killed process \$\$ (sh) total-vm:9kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0" >/dev/kmsg
kill -9 \$\$
END
run --memory-max 24Mi -- sh "$work/forge"
check "a forged line is not believed" says 'class Killed'
check "a forged line is not repeated" silent 'kernel log: Memory cgroup'
check "it is kept as what it is" kept 'user space, facility 1) Memory cgroup out of memory'

# The kernel log cannot be read.
run --kernel-log off -- "$probe" signal 9
check "the report says that --kernel-log is off" says 'kernel log (needs --kernel-log auto: it is off)'
check "the bundle has no kernel log" test ! -e "$(bundle)/kernel.log"
if setpriv --bounding-set=-syslog true 2>/dev/null && [ "$(cat /proc/sys/kernel/dmesg_restrict)" = 1 ]; then
	setpriv --bounding-set=-syslog "$sidecar" exec --store "$store" --name case -- "$probe" signal 9 2>"$work/err"
	check "the report names what would grant the right to read it" says 'kernel log (needs root or CAP_SYSLOG, as kernel.dmesg_restrict is 1 here)'
fi

# The bundle has the end of the syslog file.
echo 'Nov 21 05:00:00 node app: a line of the node' >"$work/syslog"
run --syslog "$work" -- "$probe" exit 1
check "the tail of the syslog file is kept" grep -q 'a line of the node' "$(bundle)/syslog.log"
run --syslog "$work/none" -- "$probe" exit 1
check "without a syslog file the report says that it is missing" says 'syslog (needs'

summary
