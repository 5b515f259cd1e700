#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hostile pods cost the cores of another pod, and those of processes that are in no pod: 20 and 40 pods crash all the time, and
# their sidecars never answer, answer nonsense, or never read. Runs in a machine of its own, whose core pattern it changes:
#	AFTERGLOW_VM_FILES=bench/core_slots.sh e2e/kernel/vm.sh sh -c 'CORE_SLOTS_PODS=40 bench/core_slots.sh'
# CORE_SLOTS_LIMITS: values of core_pipe_limit (default "0 16"); CORE_SLOTS_PODS: how many hostile pods (default "20 40");
# CORE_SLOTS_CRASHES: how often the pod and processes in none crash (default 10). It fails unless all of these cores come through.
if [ -z "${AFTERGLOW_IN_VM:-}" ]; then
	sed -n '3,7s/^# //p' "$0"
	exit 2
fi
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
probe=$build/test/probe taker=$build/test/core_taker
work=$(mktemp -d /tmp/core_slots.XXXXXX) slice=/sys/fs/cgroup/kubepods/burstable
crashes=${CORE_SLOTS_CRASHES:-10} lost=0
ulimit -c unlimited
# Shells say of each process that it crashed.
exec 2>/dev/null
cp "$build/afterglow-node" "$work/afterglow-core1"
echo "$work/kubelet" >"$work/config"
mkdir -p "$work/before"
printf '#!/bin/sh\n/bin/cat >/dev/null\n: >%s/before/$1\n' "$work" >"$work/program"
chmod 755 "$work" "$work/program"
for group in /sys/fs/cgroup /sys/fs/cgroup/kubepods $slice; do
	mkdir -p "$group"
	echo '+memory +pids' >"$group/cgroup.subtree_control"
done
echo "|$work/afterglow-core1 %P %s %c %d |$work/program %P" >/proc/sys/kernel/core_pattern

add_pod() { # NUMBER MODE: sets $cgroup
	uid=$(printf '%08d-1111-1111-1111-111111111111' "$1")
	volume=$work/kubelet/pods/$uid/volumes/kubernetes.io~empty-dir/afterglow-node
	cgroup=$slice/pod$uid/$(printf 'a%063d' "$1")
	mkdir -p "$volume" "$cgroup"
	rm -f "$volume/node.sock"
	ln -sfn "$volume" "$work/v$1"
	in_cgroup "$taker" "$work/v$1/node.sock" "$2" >"$work/taken$1" 2>&1 &
	until [ -S "$volume/node.sock" ]; do usleep 10000; done
}
in_cgroup() { # COMMAND...
	# shellcheck disable=SC2016
	exec sh -c 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$@"
}
remove_pods() {
	for _ in 1 2 3 4 5; do
		find $slice -name cgroup.procs -exec cat {} + | xargs kill -9 2>/dev/null
		usleep 200000
	done
	find $slice -mindepth 1 -depth -type d -exec rmdir {} \; 2>/dev/null
	rm -f "$work"/before/*
}
tenths() { awk '{ print int($1 * 10) }' /proc/uptime; }

seconds() { echo "$(($1 / 10)).$(($1 % 10))"; }
cores() { grep -c core "$work/taken9999"; }
crash_in_pod() { # sets $took
	at=$(tenths)
	(in_cgroup sh -c "exec $probe fault segv") >/dev/null 2>&1
	took=$(($(tenths) - at))
}

# Crashes in the pod and in no pod, in turns; sets $in_pod, $in_none and $slowest.
crash_often() { # TIMES PAUSE
	in_none=0 slowest=0 before=$(cores)
	for _ in $(seq "$1"); do
		crash_in_pod
		[ $took -le $slowest ] || slowest=$took
		sh -c "exec $probe fault segv" 2>/dev/null &
		dead=$!
		wait $dead
		for _ in $(seq 50); do [ ! -e "$work/before/$dead" ] || break; usleep 20000; done
		[ ! -e "$work/before/$dead" ] || in_none=$((in_none + 1))
		sleep "$2"
	done
	sleep 1
	in_pod=$(($(cores) - before))
}

measure() { # LIMIT PODS MODE
	echo "$1" >/proc/sys/kernel/core_pipe_limit
	for i in $(seq "$2"); do
		add_pod "$i" "$3"
		(in_cgroup sh -c "while :; do $probe fault segv; sleep 2; done") >/dev/null 2>&1 &
	done
	add_pod 9999 honest
	sleep 1
	printf '%s' "core_pipe_limit $1, $2 pods with $3 sidecars:"
	if [ "$1" != 0 ]; then
		# Until they have had their share of the kernel's dumps.
		began=$(tenths) all=0 pod=0 none=0
		until [ $(($(tenths) - began)) -gt $(($2 * 100 / ($1 / 2) + 100)) ]; do
			crash_often 1 0
			all=$((all + 1)) pod=$((pod + in_pod)) none=$((none + in_none))
		done
		printf '%s' " in the first $(seconds $(($(tenths) - began))) s the pod's sidecar got $pod of $all cores, and the program before $none of $all" \
			" of no pod; then"
	fi
	crash_often "$crashes" 0
	lost=$((lost + 2 * crashes - in_pod - in_none))
	echo " $in_pod of $crashes, the slowest after $(seconds $slowest) s, and $in_none of $crashes"
	remove_pods
}

for limit in ${CORE_SLOTS_LIMITS:-0 16}; do
	for pods in ${CORE_SLOTS_PODS:-20 40}; do
		for mode in silent chatty slow; do measure $limit "$pods" $mode; done
	done
done
echo "lost: $lost"
[ $lost = 0 ]
