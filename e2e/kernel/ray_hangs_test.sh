#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Twelve ways in which real Ray hangs, below `afterglow-sidecar exec`: what `afterglow-sidecar stack` of the same user says of each, without
# py-spy, is a check. By hand: `make ray-hangs-test`. DIRECTORY gets the stacks. Ends with "N passed, N failed".
# usage: ray_hangs_test.sh [DIRECTORY]
set -u
# The script has mounts, ports and processes of its own, which all end with it.
if [ -z "${AFTERGLOW_OWN_MOUNTS:-}" ]; then
	AFTERGLOW_OWN_MOUNTS=1 exec unshare --mount --net --pid --fork --mount-proc --kill-child "$0" "$@"
fi
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
ray_root=$("$here/ray_root.sh") || exit
work=$(mktemp -d /tmp/ray_hangs.XXXXXX)
. "$here/check.sh"
ip link set lo up

finish() {
	[ $$ != 1 ] || kill -9 -1
	umount -l "$work/dead" "$work/packages/ray/_private/node.py" "$work/packages" 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap finish EXIT

mkdir "$work/bin" "$work/store" "$work/dead" "$work/packages"
cp "$build"/afterglow-{launch,sidecar,unwind} "$here/ray_hangs.py" "$work/bin"
mount --bind "$ray_root/usr/local/lib/python3.11/dist-packages" "$work/packages"
mount -o remount,bind,ro "$work/packages"
printf '#!/usr/bin/python3\nfrom ray.scripts.scripts import main\nmain()\n' >"$work/bin/ray"
cat >"$work/loops.pyx" <<'CODE'
def spin():
    cdef unsigned long n = 0
    while n != 1 or True:
        n += 2
CODE
(cd "$work" && cython3 -3 loops.pyx && gcc -shared -fPIC -O1 -g $(/usr/bin/python3-config --includes) -o loops.so loops.c) || exit
! /usr/bin/python3 -c 'import torch' 2>/dev/null || touch "$work/has_torch"
# A wait of Ray that nothing sets from outside is a constant in node.py. With ports that are given, raylet waits for no agent.
node=$work/packages/ray/_private/node.py
sed 's/raylet_start_wait_time_s = 30/raylet_start_wait_time_s = 600/' "$node" >"$work/node.py"
mount --bind "$work/node.py" "$node"
ports() { echo "--dashboard-agent-grpc-port=${1}1 --dashboard-agent-listen-port=${1}2 --runtime-env-agent-port=${1}3 --metrics-export-port=${1}4"; }
# The second node is there for an object to be lost with it. It starts when the driver has found the first.
cat >"$work/bin/all" <<CODE
#!/bin/bash
ray start --head $(ports 700) --no-monitor --port=6379 --node-ip-address=127.0.0.1 --num-cpus=4 --resources='{"here": 1}' \\
	--object-store-memory=80000000 --include-dashboard=false --disable-usage-stats --temp-dir="\$HOME/ray" || exit
python3 "\$HOME/bin/ray_hangs.py" "\$HOME" &
until [ -s "\$HOME/driver" ]; do sleep 0.2; done
ray start --address=127.0.0.1:6379 $(ports 701) --node-ip-address=127.0.0.1 --num-cpus=0 --resources='{"gone": 1}' \\
	--object-store-memory=80000000 --disable-usage-stats || exit
wait
CODE
chmod 755 "$work" "$work"/bin/*
chown 65532:65532 "$work" "$work"/{store,bin} "$work"/bin/*
as_user() {
	exec setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all env -i HOME="$work" TMPDIR="$work" \
		PYTHONPATH="$work/packages" PATH="$work/bin:/usr/bin:/bin" RAY_AUTH_MODE=disabled RAY_oom_grace_period_s=10000 \
		RAY_gcs_server_port_wait_time_s=600 RAY_gcs_rpc_server_connect_timeout_s=600 \
		RAY_agent_register_timeout_ms=600000 RAY_worker_register_timeout_seconds=600 RAY_health_check_initial_delay_ms=600000 "$@"
}
/usr/bin/python3 "$here/dead_fuse.py" "$work/dead" >"$work/fuse" &
wait_until test -s "$work/fuse"

as_user "$work/bin/afterglow-sidecar" exec --store "$work/store" --stacks-at-wait 20 -- "$work/bin/all" >"$work/err" 2>&1 &
there() { for name in "$@"; do [ -s "$work/$name" ] || return 1; done; }
pid_of() { cat "$work/$1"; }
state_of() { sed 's/.*) //; s/ .*//' "/proc/$1/stat"; }
stack() { (as_user "$work/bin/afterglow-sidecar" stack "$@" >"$work/out" 2>"$work/said"); }
names='deadlock rank_sleeps full_store waits_for_resources dead_file_server holds_the_gil loops_in_cython child_in_the_kernel blocks_its_loop'
wait_until there driver
check "all but the lost object hang" wait_until there driver $names
[ ! -e "$work/has_torch" ] || check "the ranks of a barrier hang" wait_until there barrier_0 barrier_1 barrier_2
wait_until test -e "$work/made"
raylets=$(pgrep -f "^$work/packages/ray/core/src/ray/raylet/raylet ")
other=$(grep -lz '"gone"\|gone,1' $(printf '/proc/%s/cmdline ' $raylets) | cut -d/ -f3)
kill -9 $other
touch "$work/lost"
check "the object is waited for" wait_until there lost_object
raylet=$(echo "$raylets" | grep -vx "$other")
sleep 5

check "stacks of all come" stack
keep=${1:-}
[ -z "$keep" ] || cp "$work/out" "$keep/all.txt"
# Asks about one PID alone, so each line of the answer belongs to that process.
of() { # NAME
	wait_until stack "$(pid_of "$1")"
	[ -z "$keep" ] || cp "$work/out" "$keep/$1.txt"
}
prints() { grep -Eq "$1" "$work/out"; }
line() { prints "PID $(pid_of "$1") .*: " && prints "ray_hangs.py:[0-9]+ in $2"; }
of deadlock
check "deadlock: the line that waits" line deadlock deadlock
check "deadlock: the line of the thread that holds the other lock" line deadlock '(deadlock.<locals>.)?holds_other'
of rank_sleeps
check "a rank that sleeps" line rank_sleeps '(Rank.)?train'
first_is() { [ "$(grep -o 'PID [0-9]*' "$work/out" | head -n 1)" = "PID $(pid_of "$1")" ]; }
the_others_are_one() { stack ray::Rank && prints 'Main thread of 2 of 3 processes:' && first_is rank_sleeps; }
check "the rank that differs comes first, and the others are one group" wait_until the_others_are_one
[ -z "$keep" ] || cp "$work/out" "$keep/ranks.txt"
of full_store
check "a full object store: the ray.put" line full_store full_store
check "a full object store: it waits in put" prints 'in put$|put_object'
check "a full object store: Ray's own function" prints 'CreateAndSpillIfNeeded'
of waits_for_resources
check "who waits for an actor that nothing has the resources for" line waits_for_resources waits_for_resources
of dead_file_server
check "a file server that does not answer" line dead_file_server dead_file_server
check "a file server that does not answer: what the kernel waits in" prints 'it waits in the kernel, in request_wait_answer'
of holds_the_gil
check "who holds the GIL in C" line holds_the_gil holds_the_gil
check "that it holds the GIL" prints 'Python \(it holds the GIL\)'
check "who holds the GIL: the C function" prints ' sleep \(libc'
of loops_in_cython
check "a loop in Cython uses a processor" prints "PID $(pid_of loops_in_cython) .*: ran.*; used a processor for "
check "a loop in Cython: the line that called it" line loops_in_cython loops_in_cython
check "a loop in Cython: its function" prints 'spin at .*/loops.c:[0-9]+ \(loops.so\)'
check "a loop in Cython holds the GIL" prints 'Python \(it holds the GIL\)'
of child_in_the_kernel
check "state D: the line" line child_in_the_kernel child_in_the_kernel
check "state D is said" prints 'in the kernel, uninterruptible'
check "state D: what the kernel waits in" prints 'it waits in the kernel, in [a-z_]+'
of blocks_its_loop
check "an actor that blocks its loop" line blocks_its_loop '(BlocksItsLoop.)?handler'
if [ -e "$work/has_torch" ]; then
	of barrier_0
	check "a barrier that a rank does not reach" line barrier_0 barrier
	check "a barrier: gloo's" prints 'gloo|barrier'
	of barrier_2
	check "the rank that is missing" line barrier_2 loads_data
else
	echo "note: without python3-torch there is no barrier"
fi
check "a driver that waits for long is said with its line" wait_until \
	grep -Eq "A driver waits in Ray, .*PID $(pid_of driver)\) at .*ray_hangs.py:[0-9]+ in <module>: at each look within " "$work/err"
check "then it is said where all processes are" wait_until grep -q 'When a driver had waited for long, .* main threads: ' "$work/err"
of lost_object
check "ray.get of an object that is lost" line lost_object lost_object
check "ray.get of an object that is lost: Ray's own function" prints 'get_objects'
kill -STOP "$raylet"
echo "$raylet" >"$work/raylet"
of raylet
check "a raylet that is stopped is said to be so" prints "PID $raylet .*: stopped by a signal"
check "it stays stopped" test "$(state_of "$raylet")" = T
check "the native function is named" prints 'epoll|poll|futex|cond'

# No process stays traced. Those in state D are left out: a process that waits for a FUSE server is in that state once something has
# interrupted its wait.
for name in $names lost_object raylet; do
	[ "$(state_of "$(pid_of "$name")")" = D ] || check "$name is not traced afterwards" grep -q '^TracerPid:.0' "/proc/$(pid_of "$name")/status"
done
summary
