#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pod that is not restarted for ever is over when its last container is: with --leave-after the sidecar ends behind the
# container that it watched, and without it stays. Plain sh: runs in the test machine too. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch
ulimit -c 0
work=$(mktemp -d /tmp/leave_test.XXXXXX)
pid=''
. "$(dirname "$0")/check.sh"

finish() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
	kill -9 "$alone" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
export POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789

listens() { [ -S "$work/s" ]; }
gone() { ! kill -0 "$pid" 2>/dev/null; }
bundled() { ls "$work"/store/ml/*/*/leave/*/MANIFEST.json >/dev/null 2>&1; }

ends_after() { # WHEN CODE
	rm -rf "$work/spool" "$work/store" "$work/s"
	mkdir "$work/spool" "$work/store"
	"$sidecar" --socket "$work/s" --spool "$work/spool" --store "$work/store" --kernel-log off --leave-after "$1" >"$work/log" 2>&1 &
	pid=$!
	wait_until listens
	"$launch" --socket "$work/s" --name leave -- sh -c "sleep 0.3; exit $2" >"$work/out" 2>"$work/err"
	check "--leave-after $1: exit $2 is kept" test $? = "$2"
}

is_left() { # WHEN CODE
	ends_after "$1" "$2"
	check "--leave-after $1: the sidecar ends behind exit $2" wait_until gone
	wait "$pid"
	check "--leave-after $1: the sidecar ends with success" test $? = 0
	pid=''
}

stays() { # WHEN CODE
	ends_after "$1" "$2"
	sleep 2
	check "--leave-after $1: the sidecar stays after exit $2" kill -0 "$pid"
	kill "$pid"
	wait "$pid"
	pid=''
}

# A container takes its time after SIGTERM: for a checkpoint, or in a preStop hook.
outlives_the_grace() {
	rm -rf "$work/spool" "$work/store" "$work/s"
	mkdir "$work/spool" "$work/store"
	"$sidecar" --socket "$work/s" --spool "$work/spool" --store "$work/store" --kernel-log off --grace 1 >"$work/log" 2>&1 &
	pid=$!
	wait_until listens
	"$launch" --socket "$work/s" --name leave -- sh -c "trap '' TERM; echo \$\$ >$work/command; while :; do sleep 0.1; done" 2>"$work/err" &
	launcher=$!
	wait_until test -s "$work/command"
	kill "$launcher" "$pid"
	sleep 3
	check "beyond its grace the sidecar stays with a container that lives" kill -0 "$pid"
	kill -9 "$(cat "$work/command")"
	wait "$launcher"
	check "it reports how that container ended" wait_until bundled
	check "the report has the class of a pod that is being deleted" grep -q '"class":[[:space:]]*"PodDeleted"' "$work"/store/ml/*/*/leave/*/report.json
	check "the sidecar ends behind the container" wait_until gone
	wait "$pid"
	check "the sidecar ends with success" test $? = 0
	pid=''
}

# The container ended before the kubelet started the sidecar. This one waits beside all other tests.
nobody_comes() { # WHEN
	mkdir "$work/alone"
	"$sidecar" --socket "$work/alone/s" --spool "$work/alone" --kernel-log off --leave-after "$1" >"$work/alone/log" 2>&1 &
	alone=$! began=$(date +%s)
}

nobody_comes any
outlives_the_grace
is_left success 0
is_left any 0
is_left any 3
check "the bundle of exit 3 was shipped before" bundled
stays success 3
stays none 0
wait "$alone"
check "a sidecar that no launcher comes to ends with success" test $? = 0
check "it waited for a minute and a half" test $(($(date +%s) - began)) -ge 89
check "it says why" grep -q "no container has come" "$work/alone/log"
summary
