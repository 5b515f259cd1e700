#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The sidecar goes on whatever hangs around it: a FUSE server does not answer, below the container's /tmp/ray and where files are
# collected, or over its /proc; the disk under the spool is frozen; nobody reads stdout; the close of received sockets sleeps. Meanwhile
# a container fills its memory and the OOM killer ends it: the death is classified, the termination message and /failures have it, and
# /healthz answers. Needs root, python3 and /dev/fuse. Ends with "N passed, N failed".
#
# FREEZE_SIDECAR        another sidecar
# FREEZE_BUNDLES        a directory for bench/freeze.sh: samples of the bundles, and how long each answer of /healthz took

# Its mounts are its own: a sidecar of another suite would take a disk that is full here for one of its container.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}${AFTERGLOW_IN_VM:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
# It is not below /tmp, which the container has for itself.
work=$(mktemp -d /var/tmp/freeze_test.XXXXXX)
sidecar_pid='' container='' helper='' reader='' frozen=''
. "$here/check.sh"

finish() {
	[ -z "$frozen" ] || fsfreeze -u "$work/disk"
	for pid in $container $helper $reader $sidecar_pid; do kill -9 "$pid" 2>/dev/null; done
	wait
	umount -l "$work/disk" "$work/memory" "$work/dead" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
export POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789

mkdir "$work/memory" "$work/disk" "$work/dead"
mount -t tmpfs -o size=32m freeze "$work/memory"
chmod 700 "$work"
# The outer exec, whose launcher lies beside it, is there for its memory cgroup alone.
cp "$build/afterglow-launch" "$build/afterglow-sidecar" "$build/test/hog" "$work/"
sidecar=$work/sidecar
cp "${FREEZE_SIDECAR:-$build/afterglow-sidecar}" "$sidecar"

get() { curl -sS --max-time 10 "http://127.0.0.1:$port$1"; }
listens() { [ -S "$work/s" ] && healthy; }
healthy() { get /healthz >/dev/null 2>&1; }
failures_have() { get /failures >"$work/failures" 2>/dev/null && grep -q "$1" "$work/failures"; }
message_has() { grep -qs "$1" "$work/termination"; }
# None of these paths leads through the mount that does not answer.
report_has() { grep -qs "$1" "$work"/{spool,memory,store}/ml/*/*/*/*/report.json; }

start_sidecar() { # ARG...: with $out as its stdout
	port=$(free_port)
	rm -rf "$work/s" "$work/spool" "$work"/memory/*
	"$sidecar" --socket "$work/s" --spool "${spool:-$work/spool}" --kernel-log off --http "127.0.0.1:$port" --grace 3 "$@" \
		>"${out:-$work/log}" 2>"$work/err" &
	sidecar_pid=$!
	wait_until listens
}

stop_sidecar() {
	kill -9 "$sidecar_pid"
	wait "$sidecar_pid" 2>/dev/null
	sidecar_pid=''
}

# Starts a container with a memory limit of its own. BEFORE runs in it first, as root of its own mounts.
start_container() { # BEFORE [FIRST]: FIRST is what its command does first, as $as_victim
	: >"$work/termination"
	"$work/afterglow-sidecar" exec --memory-max 64Mi --store "$work/outer" -- \
		unshare --mount --pid --fork --mount-proc sh -c "mount -t tmpfs tmp /tmp && mkdir -p /tmp/ray /tmp/out && $1
			exec '$work/afterglow-launch' --socket '$work/s' --name ray --termination-log '$work/termination' -- \
			sh -c '${2:-$as_victim} $work/hog 300M --rate ${rate:-16M}'" >"$work/container" 2>&1 &
	container=$!
}

# Writes how long each answer of /healthz takes, in seconds, until FILE is gone.
ask_for_health() { # FILE
	while [ -e "$1" ]; do
		curl -s -o /dev/null -w '%{time_total}\n' --max-time 20 "http://127.0.0.1:$port/healthz" >>"$1.health"
		sleep 0.05
	done
}

# Waits for the container's end, and checks what says how it ended.
end_of_container() { # FAULT
	local asking=
	if [ -n "${FREEZE_BUNDLES:-}" ]; then
		: >"$FREEZE_BUNDLES/$1"
		ask_for_health "$FREEZE_BUNDLES/$1" &
		asking=$!
	fi
	wait "$container"
	check "$1: the exit code is the container's own" test $? = 137
	container=''
	check "$1: /healthz answers" wait_until healthy
	check "$1: /failures has the death, and what ended it" wait_until failures_have '"class":[[:space:]]*"KernelOOMContainer"'
	check "$1: so does the termination message" wait_until message_has '"class":"KernelOOMContainer"'
	check "$1: the bundle says it too" wait_until report_has 'KernelOOMContainer'
	[ -z "$asking" ] || { rm "$FREEZE_BUNDLES/$1" && wait "$asking"; }
	[ -z "${FREEZE_BUNDLES:-}" ] || find "$work"/{spool,memory,store} -name samples.jsonl -exec cp {} "$FREEZE_BUNDLES/$1.jsonl" \; 2>/dev/null
}

oom_spares_us

nothing() {
	start_sidecar
	start_container :
	end_of_container nothing
	stop_sidecar
}

fuse() {
	"$here/dead_fuse.py" "$work/dead" >"$work/helper" 2>&1 &
	helper=$!
	check "a dead FUSE is there" wait_until grep -q dead "$work/helper"
	start_sidecar --collect '/tmp/out/*.prof' --collect '/tmp/out/deep/*'
	start_container "mount --bind '$work/dead' /tmp/ray && mount --bind '$work/dead' /tmp/out;"
	end_of_container fuse
	check "fuse: the report says which files did not answer" wait_until report_has 'files that were to be collected'
	check "fuse: and that the logs did not" wait_until report_has '/tmp/ray'
	stop_sidecar
	kill -9 "$helper"
	wait "$helper" 2>/dev/null
	helper=''
	umount "$work/dead"
}

# The container mounts a FUSE server that does not answer over its own /proc, and the sidecar is restarted. The new sidecar cannot list
# processes there, nor find the cgroup by a path, and goes on with what the launcher sends.
proc() {
	"$here/dead_fuse.py" "$work/dead" >"$work/helper" 2>&1 &
	helper=$!
	check "a dead FUSE is there, for /proc" wait_until grep -q dead "$work/helper"
	start_sidecar
	start_container : "echo 0 >/proc/self/oom_score_adj; mount --bind $work/dead /proc && touch $work/mounted
		until [ -e $work/go ]; do sleep 0.1; done; exec"
	check "proc: it is over the container's /proc" wait_until test -e "$work/mounted"
	stop_sidecar
	start_sidecar
	check "proc: the container comes back" wait_until grep -qs attached "$work/log"
	touch "$work/go"
	wait "$container"
	check "proc: the exit code is the container's own" test $? = 137
	container=''
	check "proc: /healthz answers" wait_until healthy
	check "proc: /failures has the death" wait_until failures_have '"exitCode":[[:space:]]*137'
	stop_sidecar
	kill -9 "$helper"
	wait "$helper" 2>/dev/null
	helper=''
	umount "$work/dead"
}

# Bundles that the spool does not take go to a directory in memory, as in a pod.
disk() {
	truncate -s 64M "$work/image"
	mkfs.ext4 -q "$work/image" && mount -o loop "$work/image" "$work/disk"
	spool=$work/disk/spool start_sidecar --spool-fallback "$work/memory" --store "$work/store"
	# It lives until the disk is frozen.
	rate=6M start_container :
	wait_until grep -qs attached "$work/log"
	sync "$work/disk"
	fsfreeze -f "$work/disk" && frozen=1
	end_of_container disk
	fsfreeze -u "$work/disk" && frozen=''
	stop_sidecar
	umount -l "$work/disk"
}

stdout() {
	mkfifo "$work/pipe"
	sleep 3600 <"$work/pipe" &
	reader=$!
	exec 7>"$work/pipe"
	# The pipe is full, so the sidecar cannot write a byte any more.
	timeout 3 dd if=/dev/zero of="$work/pipe" bs=64k count=1 2>/dev/null
	timeout 3 dd if=/dev/zero of="$work/pipe" oflag=nonblock bs=1 count=65536 2>/dev/null
	out=$work/pipe start_sidecar
	start_container :
	end_of_container stdout
	stop_sidecar
	exec 7>&-
	kill -9 "$reader"
	wait "$reader" 2>/dev/null
	reader=''
}

linger() {
	start_sidecar
	"$here/lingering_fd.py" "$work/s" >"$work/helper" 2>&1 &
	helper=$!
	check "sockets that linger were sent" wait_until grep -q sent "$work/helper"
	start_container :
	end_of_container linger
	stop_sidecar
	kill -9 "$helper"
	wait "$helper" 2>/dev/null
	helper=''
}

for fault in ${FREEZE_FAULTS:-nothing fuse proc disk stdout linger}; do $fault; done
oom_spares_nobody
summary
