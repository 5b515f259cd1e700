#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The machine loses its power in the middle of deaths, three times, and is started again with its disk, on which spool and store are: what
# is visible there is whole, and each death is reported once: that of a container which was running is the node's. First the sidecar's state
# is on that disk, too; then it is in memory, as in pods, and the disk has its copy, which knows of no container that has just begun. The
# machine is one of vm.sh; this script runs outside and within. Ends with "N passed, N failed".
build=${AFTERGLOW_BUILD:-build}
. "$(dirname "$0")/check.sh"

boots() { # NUMBER
	AFTERGLOW_VM_APPEND="ubd0=$work/disk" "${0%/*}/vm.sh" e2e/kernel/power_loss_test.sh "$1" "$state"
}
outside() {
	work=$(mktemp -d /tmp/power_loss.XXXXXX)
	trap 'rm -rf "$work"' EXIT
	for state in disk memory; do
		truncate -s 64M "$work/disk"
		mkfs.ext4 -q -F "$work/disk"
		for boot in 1 2 3; do
			# Such a machine has no exit status, so what fails there is what it says.
			boots $boot 2>"$work/err" | grep "^FAIL" | tee "$work/wrong"
			check "state in $state, boot $boot: nothing is wrong there" [ ! -s "$work/wrong" ]
			check "boot $boot: the machine lost its power" grep -q 'without an exit status (uml: 0)' "$work/err"
		done
		check "state in $state: the last machine has found all as it is to be" boots 4
	done
	summary
	exit $((failed > 0))
}
[ -n "${AFTERGLOW_IN_VM:-}" ] || outside

# Within the machine: busybox alone.
boot=$1 state=$2 fallback=
[ "$state" = disk ] || fallback='--spool-fallback /dev/shm/state'
disk=/disk
mkdir $disk
mount /dev/ubda $disk
mkdir -p $disk/spool $disk/store
begin_in() { # NAME SCRIPT: a container in a cgroup of its own
	mkdir -p "/sys/fs/cgroup/$1"
	# shellcheck disable=SC2016
	sh -c 'echo 0 >"/sys/fs/cgroup/$1/cgroup.procs"; shift; exec "$@"' sh "$1" \
		"$build/afterglow-launch" --name "$1" --socket /tmp/s -- sh -c "$2" >/tmp/out 2>&1 &
	wait_until grep -q "\"attached\",\"container\":\"$1\"" /tmp/log
	# By then the kernel has written what it has of this container to the disk: without us after half a minute.
	sync
}
lose_power() { # MICROSECONDS
	usleep "$1"
	poweroff -n -f
}

reports() { # NAME
	find $disk/store $disk/spool -path "*/$1/*/MANIFEST.json" ! -path '*/.*/*' 2>/dev/null
}
at_most_once() { [ "$(reports "$1" | wc -l)" -le 1 ]; }
reported_once() { [ "$(reports "$1" | wc -l)" = 1 ]; }
class_is() { # NAME CLASS...
	report=$(reports "$1")
	[ -n "$report" ] || return 0
	report=${report%/*}/report.json
	for class in $2; do
		! grep -q "\"class\":[[:space:]]*\"$class\"" "$report" || return 0
	done
	return 1
}
all_whole() {
	find $disk/store $disk/spool -name MANIFEST.json ! -path '*/.*/*' >/tmp/manifests
	while read -r manifest; do
		for file in "${manifest%/*}"/*; do
			[ "${file##*/}" = MANIFEST.json ] || grep -q "$(sha256sum "$file" | cut -d' ' -f1)" "$manifest" || return 1
		done
		grep -q '"report.json"' "$manifest" || return 1
	done </tmp/manifests
}

check "boot $boot: what is visible is whole" all_whole
# shellcheck disable=SC2086
POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789 AFTERGLOW_CLUSTER=demo "$build/afterglow-sidecar" --socket /tmp/s --spool $disk/spool \
	--store $disk/store $fallback --kernel-log off --reconnect 1 --grace 20 >/tmp/log 2>&1 &
sidecar_pid=$!
wait_until [ -S /tmp/s ]
in_store() { find $disk/store -path "*/$1/*/MANIFEST.json" | grep -q .; }
histories() { find "$disk/spool/.sidecar" -name "$1*.ring" 2>/dev/null | wc -l; }
knows_both() { [ "$(histories reported)" = 0 ] && [ "$(histories running)" = 1 ]; }
case $boot in
1)
	begin_in running 'sleep 1000'
	begin_in reported 'sleep 0.5; exit 3'
	wait_until in_store reported
	wait_until grep -q '"shipped"' /tmp/log
	wait_until knows_both
	sync
	lose_power 0
	;;
2)
	wait_until in_store running
	begin_in killed 'while :; do sleep 1; done'
	kill -9 "$(sed -n 2p /sys/fs/cgroup/killed/cgroup.procs)"
	lose_power 15000
	;;
3)
	[ "$state" = memory ] || wait_until in_store killed
	begin_in leaks "until [ -e /tmp/go ]; do sleep 0.1; done; exec $build/test/hog 200M --rate 200M"
	echo 24M >/sys/fs/cgroup/leaks/memory.max
	touch /tmp/go
	lose_power 200000
	;;
esac
[ "$state" = memory ] || wait_until in_store leaks
kill $sidecar_pid
wait $sidecar_pid
for name in reported running; do check "$name is reported once" reported_once $name; done
for name in killed leaks; do check "$name is reported once" "$([ "$state" = memory ] && echo at_most_once || echo reported_once)" $name; done
check "all is whole in the end" all_whole
check "the report of a death before is true" class_is reported ApplicationError
check "who was running died with the node" class_is running NodeLost
check "who was being killed was killed, or died with the node" class_is killed 'Killed NodeLost'
check "who ran out of memory did so, or died with the node" class_is leaks 'KernelOOMContainer NodeLost'
[ "$failed" = 0 ] || grep -rh '"class"' $disk/store | head -n 20
summary
