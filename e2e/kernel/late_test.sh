#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A container that fails before its sidecar listens, or while its sidecar is restarted: the launcher
# waits for it, and the report is the one it would have been. Plain sh: runs in the test machine too.
# Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch probe=$build/test/probe hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/late_test.XXXXXX)
sidecar_pid='' container='' before='' slow=''
. "$(dirname "$0")/check.sh"

finish() {
	for pid in $sidecar_pid $container $slow; do kill -9 "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap finish EXIT
export POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789

# The container waits for its report two seconds only.
reported() { grep -qs "$1" "$work"/spool/ml/*/*/late/*/report.json; }

# The outer exec is there for its memory cgroup alone.
contain() { # COMMAND...
	"$sidecar" exec --memory-max 64Mi --store "$work/outer" -- \
		unshare --mount --pid --fork --mount-proc \
		$before "$launch" --wait-sidecar 120 --socket "$work/s" --name late -- "$@" >"$work/out" 2>"$work/err" &
	container=$!
}

begin() {
	rm -rf "$work/spool" "$work/s" "$work/log" "$work/gone"
	mkdir "$work/spool"
}

watch() {
	"$sidecar" --socket "$work/s" --spool "$work/spool" --kernel-log off >>"$work/log" 2>&1 &
	sidecar_pid=$!
}

end() { # CLASS CODE
	wait "$container"
	check "$1: exit $2 is kept" test $? = "$2"
	container=''
	check "$1: the report says so" wait_until reported "\"class\":[[:space:]]*\"$1\""
	check "$1: and has seen the end" wait_until reported "\"exitCode\":[[:space:]]*$2"
	kill "$sidecar_pid"
	wait "$sidecar_pid"
	sidecar_pid=''
}

# Fails if the container is gone, perhaps because the kernel took its launcher, too.
is_there() { kill -0 "$container" || { wait "$container"; return 1; }; }
waits_for_its_sidecar() { # COMMAND...
	begin
	contain "$@"
	sleep 1.5 # what is dead by then is what this is about; whoever is not, is found as ever
	is_there
}

late() { # CLASS CODE COMMAND...
	class=$1 expected=$2
	shift 2
	until_undisturbed waits_for_its_sidecar "$@"
	check "$class: the container waits" kill -0 "$container"
	watch
	end "$class" "$expected"
}

attached() { grep -qs '"event":"attached"' "$work/log"; }

# The command ends while its sidecar is being restarted.
waits_for_its_next_sidecar() { # CLASS COMMAND
	begin
	watch
	contain sh -c "until [ -e $work/gone ]; do sleep 0.05; done; $2"
	check "$1: the sidecar watches" wait_until attached
	kill -9 "$sidecar_pid"
	wait "$sidecar_pid" 2>/dev/null
	touch "$work/gone"
	sleep 1.5 # as above
	is_there
}
restarted() { # CLASS CODE COMMAND
	until_undisturbed waits_for_its_next_sidecar "$1" "$3"
	check "$1: the container waits for the next sidecar" kill -0 "$container"
	watch
	end "$1" "$2"
}

# The launcher of exec hardly gets the processor before it can say hello. It takes that long while the others are tested.
mkdir "$work/slow"
cp "$sidecar" "$work/slow/afterglow-sidecar"
printf '#!/bin/sh\nsleep 12\nexec %s "$@"\n' "$launch" >"$work/slow/afterglow-launch"
chmod +x "$work/slow/afterglow-launch"
"$work/slow/afterglow-sidecar" exec --store "$work/slow/store" --name slow -- "$probe" exit 3 >"$work/slow/out" 2>&1 &
slow=$!

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
before=''
restarted KernelOOMContainer 137 "$as_victim $hog 300M"
restarted ApplicationError 3 "exec $probe exit 3"
wait "$slow"
check "a slow launcher: exit 3 is kept" test $? = 3
check "a slow launcher: the report says so" grep -q 'ended with exit code 3' "$work/slow/out"
slow=''
oom_spares_nobody
summary
