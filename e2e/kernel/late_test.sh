#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A container that fails before its sidecar listens: the launcher waits for it,
# and the report is the one it would have been. Plain sh: runs in the test machine too.
# Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch probe=$build/test/probe hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/late_test.XXXXXX)
sidecar_pid='' container='' before=''
. "$(dirname "$0")/check.sh"

finish() {
	for pid in $sidecar_pid $container; do kill -9 "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap finish EXIT
export POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789

# The container waits for its report two seconds only.
reported() { grep -qs "$1" "$work"/spool/ml/*/*/late/*/report.json; }

# The outer exec is there for its memory cgroup alone.
late() { # CLASS CODE COMMAND...
	class=$1 expected=$2
	shift 2
	rm -rf "$work/spool" "$work/s"
	mkdir "$work/spool"
	"$sidecar" exec --memory-max 64Mi --store "$work/outer" -- \
		unshare --mount --pid --fork --mount-proc \
		$before "$launch" --wait-sidecar 120 --socket "$work/s" --name late -- "$@" >"$work/out" 2>"$work/err" &
	container=$!
	sleep 1.5 # what is dead by then is what this is about; whoever is not, is found as ever
	check "$class: the container waits" kill -0 "$container"
	"$sidecar" --socket "$work/s" --spool "$work/spool" --kernel-log off >"$work/log" 2>&1 &
	sidecar_pid=$!
	wait "$container"
	check "$class: exit $expected is kept" test $? = "$expected"
	container=''
	check "$class: the report says so" wait_until reported "\"class\":[[:space:]]*\"$class\""
	check "$class: and has seen the end" wait_until reported "\"exitCode\":[[:space:]]*$expected"
	kill "$sidecar_pid"
	wait "$sidecar_pid"
	sidecar_pid=''
}

late ApplicationError 3 "$probe" exit 3
late CommandNotFound 127 /no/such/command
late Segfault 139 "$probe" fault segv
oom_spares_us
late KernelOOMContainer 137 sh -c "$as_victim $hog 300M"
# As with shareProcessNamespace: PID 1 is another process, and the counters are the container's all the same.
printf '#!/bin/sh\n"$@"\nexit $?\n' >"$work/pause"
chmod +x "$work/pause"
before=$work/pause
late KernelOOMContainer 137 sh -c "$as_victim $hog 300M"
oom_spares_nobody
summary
