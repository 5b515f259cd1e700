#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes of an ordinary user hang in several ways below `afterglow-sidecar exec`, and `afterglow-sidecar stack` of that user says where.
# Ends with "N passed, N failed".
set -u
# This script mounts a disk and freezes it, so it has mounts of its own.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/hangs_test.XXXXXX)
. "$here/check.sh"

names='deadlock waits_for_mutex rank_sleeps loops_in_c stopped blocks_its_loop child_in_the_kernel waits_for_child'
finish() {
	touch "$work/looked" # who stops slowly ends then
	fsfreeze -u "$work/disk" 2>/dev/null
	umount -l "$work/disk" 2>/dev/null
	[ -z "$launched" ] || kill $launched 2>/dev/null
	[ -z "$alone" ] || kill -9 "$alone" 2>/dev/null
	end_cgroups
}
launched='' alone=''
begin_cgroups hangs
trap finish EXIT

# The user may not read where this checkout is.
mkdir "$work/bin" "$work/store"
cp "$build"/afterglow-{launch,sidecar,unwind} "$here/hangs.py" "$work/bin"
cat >"$work/bin/all" <<'CODE'
#!/bin/sh
for name in $2; do
	/usr/bin/python3 "$1/bin/hangs.py" "$name" "$1" &
done
trap 'kill -9 0' TERM
wait
CODE
chmod 755 "$work" "$work"/bin/*
chown -R 65532:65532 "$work"
as_user() { exec ${session:-} setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all env -i HOME="$work" TMPDIR="$work" PATH=/usr/bin:/bin "$@"; }

# Nobody watches a container that is held. That is said, too.
(as_user "$work/bin/afterglow-sidecar" exec --store "$work/store" --name held --hold-on-failure 600 -- sh -c 'exit 3' >"$work/log" 2>&1) &
held=$!
launched=$held
wait_until grep -qs 'held until' "$work/log"
says_it_is_held() { ! (as_user "$work/bin/afterglow-sidecar" stack >"$work/out" 2>"$work/err") && grep -q 'no process is watched there, as when' "$work/err"; }
check "a container that is held after its failure has no stacks, and that is said" wait_until says_it_is_held
kill $held
is_gone() { ! kill -0 "$1" 2>/dev/null; }
check "SIGTERM to who started it ends the hold" wait_until is_gone $held
launched=''

# A session of their own: the command ends all of it when it is asked to.
session=setsid as_user "$work/bin/afterglow-sidecar" exec --store "$work/store" -- "$work/bin/all" "$work" "$names" >"$work/log" 2>&1 &
launched=$!
hang() { for name in "$@"; do [ -s "$work/$name" ] || return 1; done; }
wait_until hang $names
pid_of() { cat "$work/$1"; }
state_of() { sed 's/.*) //; s/ .*//' "/proc/$(pid_of "$1")/stat"; }
is_stopped() { [ "$(state_of stopped)" = T ]; }
is_in_kernel() { [ "$(state_of child_in_the_kernel)" = D ]; }
wait_until is_stopped
wait_until is_in_kernel
stack() { (as_user "$work/bin/afterglow-sidecar" stack "$@" >"$work/out" 2>"$work/err"); }
prints() { grep -Eq "$1" "$work/out"; }
# The sidecar may not have seen all of the processes yet.
sees_all() { stack && for name in $names; do prints "hangs.py:[0-9]+ in $name" || return 1; done; }

check "each process has its line of Python" wait_until sees_all
check "each process has a stack" test "$(grep -c 'no stacks' "$work/out")" = 0
check "a deadlock has the thread that holds the other lock" prints 'hangs.py:[0-9]+ in (deadlock.<locals>.)?holds_other'
check "a thread that waits is said to wait" prints 'PID [0-9]+ .*: waits'
check "a sleep has its native function" prints 'nanosleep'
check "a loop in C is said to run" prints ': ran'
check "the thread that holds the GIL is named" prints 'Python \(it holds the GIL\), innermost first'
check "a stopped process is said to be stopped" prints 'stopped by a signal'
check "a stopped process stays stopped" test "$(state_of stopped)" = T
check "a blocked loop of asyncio has the handler's line" prints 'hangs.py:[0-9]+ in (blocks_its_loop.<locals>.)?handler'
check "a process in state D is said to be in the kernel" prints 'in the kernel, uninterruptible'
check "a process that waits for its child has the line of the wait" prints 'subprocess.py:[0-9]+ in (Popen.)?_?wait'
if [ "$(uname -m)" = x86_64 ]; then
	names_the_owner() { stack "$(pid_of waits_for_mutex)" && prints "thread $(pid_of waits_for_mutex) python3 waits for a mutex that thread [0-9]+ python3 has"; }
	check "who waits for a mutex is named, and who has it" wait_until names_the_owner
fi
stack hangs.py
check "processes are found by their name" prints 'Main thread of [0-9] of [89] processes:'
stack no-such-name
check "a name that nobody has is said" grep -q 'no watched process' "$work/err"
setpriv --reuid=65533 --clear-groups "$work/bin/afterglow-sidecar" stack >"$work/out" 2>"$work/err"
check "another user gets nothing" test ! -s "$work/out"

# Somebody else has a socket of such a name, whose queue is full.
setpriv --reuid=65533 --clear-groups /usr/bin/python3 -c '
import socket, time
def made(): return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
name, listener = "\0afterglow-stacks/65532/1/1", made()
listener.bind(name)
listener.listen(0)
waiting = made()
waiting.connect(name)
print("full", flush=True)
time.sleep(600)' >"$work/full" &
filler=$!
launched="$launched $filler"
wait_until grep -q full "$work/full"
asks_beside_a_full_queue() { (as_user timeout 60 "$work/bin/afterglow-sidecar" stack hangs.py >"$work/out" 2>"$work/err"); }
check "a queue that somebody else keeps full holds nobody up" asks_beside_a_full_queue
check "and the answers of the others are there" prints 'Main thread of [0-9] of [789] processes:'
kill $filler

# What a write waits for in state D is named.
truncate -s 16M "$work/image"
mkdir "$work/disk"
mkfs.ext4 -q "$work/image"
if mount -o loop "$work/image" "$work/disk"; then
	chown 65532 "$work/disk"
	as_user "$work/bin/afterglow-sidecar" exec --store "$work/store" --name writer -- /usr/bin/python3 "$work/bin/hangs.py" writes_to_a_disk "$work" \
		>"$work/log" 2>&1 &
	launched="$launched $!"
	wait_until hang writes_to_a_disk
	# Nothing can kill a process that waits for a frozen disk. So somebody thaws it even if this script is killed with -9.
	setsid --fork sh -c 'tail --pid="$1" -f /dev/null; fsfreeze -u "$2"; umount -l "$2"' thaw $$ "$work/disk" </dev/null >/dev/null 2>&1
	fsfreeze -f "$work/disk"
	touch "$work/frozen"
	names_the_file() { stack "$(pid_of writes_to_a_disk)" && prints "it works on $work/disk/data"; }
	check "the file that a process in state D writes is named" wait_until names_the_file
	check "it has its line of Python" prints 'hangs.py:[0-9]+ in writes_to_a_disk'
	fsfreeze -u "$work/disk"
else
	echo "note: without a loop device no disk is frozen"
fi

# Who is asked to stop and goes on is looked at, and the report of its end says where it was.
asked_to_stop() { # NAME: sets $asked
	as_user "$work/bin/afterglow-sidecar" exec --store "$work/store" --name asked --stacks-at-stop 1 -- \
		/usr/bin/python3 "$work/bin/hangs.py" "$1" "$work" >"$work/err" 2>&1 &
	asked=$!
	launched="$launched $asked"
	wait_until hang "$1"
	kill -TERM "$asked"
}
asked_to_stop ignores_the_request
says() { tr -s ' \n' ' ' <"$work/err" | grep -Eq "$1"; }
check "what goes on after a request to stop is said while it runs" wait_until says 'after the request to stop, 1 process still ran'
check "it is not traced afterwards" grep -q '^TracerPid:.0' "/proc/$(pid_of ignores_the_request)/status"
check "it is not stopped afterwards" test "$(state_of ignores_the_request)" != T
kill -9 "$(pid_of ignores_the_request)"
wait "$asked"
check "its exit code is that of the kill" test "$?" = 137
bundle=$(sed -n 's/^afterglow: bundle //p' "$work/err")
check "the diagnosis has its line" says 'diagnosis .* and [0-9.]+ m?s before the end, 1 process still ran; its main thread: .* at [^ ]*/hangs.py:[0-9]+ in ignores_the_request'
check "its stacks are in the bundle" grep -q 'hangs.py:[0-9]* in ignores_the_request' "$bundle/stacks.txt"
check "programs find its line in report.json" grep -q '"stillRunning":.*/hangs.py:[0-9]* in ignores_the_request' "$bundle/report.json"
asked_to_stop stops_slowly
check "who stops slowly is looked at as well" wait_until says 'after the request to stop, 1 process still ran.*in (stops_slowly.<locals>.)?save'
touch "$work/looked"
wait "$asked"
check "it ends as it would have" test "$?" = 5

# A container of a pod that is asked alone, as after a failed liveness probe, is looked at soon. From outside of its PID namespace
# comes what the runtime asks.
rm "$work/ignores_the_request"
"$work/bin/afterglow-sidecar" --socket "$work/socket" --store "$work/store" --spool "$work/spool" --kernel-log off --grace 1 \
	--stacks-at-stop 600 >"$work/log" 2>&1 &
launched="$launched $!"
wait_until test -S "$work/socket"
unshare --pid --fork --mount-proc --kill-child "$work/bin/afterglow-launch" --socket "$work/socket" -- \
	/usr/bin/python3 "$work/bin/hangs.py" ignores_the_request "$work" >"$work/err" 2>&1 &
alone=$!
launched="$launched $alone"
wait_until hang ignores_the_request
kill -TERM "$(pgrep -P "$alone")"
check "a container that is asked alone is looked at soon" \
	wait_until says 'after the request to stop, 1 process still ran; its main thread: .* at [^ ]*/hangs.py:[0-9]+ in ignores_the_request'
kill -9 "$(pgrep -P "$(pgrep -P "$alone")" python)"
wait "$alone"
reports() { tr -s ' \n' ' ' <"$work/log" | grep -Eq "$1"; }
check "its report says so" wait_until reports 'diagnosis [0-9.]+ s after the request to stop and .* 1 process still ran; its main thread: .*ignores_the_request'

# A port that a liveness probe asks answers no more. In a network of its own no port is taken.
unshare --net sh -c 'ip link set lo up && exec sleep 1000' &
network=$!
launched="$launched $network"
in_network() { exec nsenter --net="/proc/$network/ns/net" "$@"; }
has_network() { nsenter --net="/proc/$network/ns/net" ip -o link show up | grep -q ' lo:'; }
wait_until has_network
(in_network "$work/bin/afterglow-sidecar" --socket "$work/probed" --store "$work/store" --spool "$work/spool-probed" --kernel-log off --grace 1 \
	--stacks-at-probe 52365/api/healthz) >"$work/log" 2>&1 &
launched="$launched $!"
wait_until test -S "$work/probed"
(in_network "$work/bin/afterglow-launch" --socket "$work/probed" -- /usr/bin/python3 "$work/bin/hangs.py" answers_no_more "$work") >"$work/err" 2>&1 &
launched="$launched $!"
check "a port that a probe asks is asked" wait_until test -e "$work/answered"
check "while it answers, no stacks are taken" test "$(grep -c 'liveness probe' "$work/err")" = 0
touch "$work/hang"
check "when it fails for the first time, the line where it hangs is said" \
	wait_until says 'When the port of its liveness probe had just failed, 1 process ran; its main thread: .*hangs.py:[0-9]+ in (answers_no_more.<locals>.)?stands'
check "all threads are in the sidecar's log" wait_until grep -Eq 'hangs.py:[0-9]+ in .*do_GET' "$work/log"

# Once its memory is full but for a little, what a look costs would be the end of it if it had to pay. Swap is no way out.
fill() { # DIRECTORY ROOM
	if [ "$version" = 1 ]; then echo 0 >"$1/memory.force_empty"; else echo 1G >"$1/memory.reclaim"; fi 2>/dev/null
	set_limit "$1" $(($(cat "$1/memory.usage_in_bytes" 2>/dev/null || cat "$1/memory.current") + $2))
}
kills() { cat "$1/memory.oom_control" "$1/memory.events" 2>/dev/null | sed -n 's/^oom_kill //p'; }
exec_deep() { exec "$work/bin/afterglow-sidecar" exec --store "$work/store" "$@" -- /usr/bin/python3 "$work/bin/hangs.py" deep_threads "$work"; }
ask_deep() { "$work/bin/afterglow-sidecar" stack "$(pid_of deep_threads)" >"$work/out" 2>"$work/err"; }
sees_deep() { ask_deep && prints "hangs.py:[0-9]+ in (deep_threads.<locals>.)?deep"; }
lives() { kill -0 "$(pid_of deep_threads)"; }

(exec_deep --memory-max 1G) >>"$work/log" 2>&1 &
launched="$launched $!"
wait_until hang deep_threads
full=$memory$(sed -n 's/^[0-9]*:memory://p; s/^0::\(.*afterglow\)/\1/p' "/proc/$(pid_of deep_threads)/cgroup" | head -n 1)
fill "$full" 2097152
check "stacks of a process whose memory is full are seen" wait_until sees_deep
check "they are as much as is ever copied" test "$(grep -c 'other threads' "$work/out")" -gt 0
check "its memory did not have to pay for them" test "$(kills "$full")$(lives && echo lives)" = 0lives
kill $!
wait $! 2>/dev/null
rm "$work/deep_threads"

# Where sidecar and command share a limit, there is nobody else to pay.
mkdir "$around/shared"
(echo "$BASHPID" >"$around/shared/cgroup.procs" && exec_deep) >>"$work/log" 2>&1 &
launched="$launched $!"
wait_until hang deep_threads
refuses() { ask_deep && prints 'no stacks: [0-9.]+ MiB are left below the memory limit that the command shares with afterglow'; }
set_limit "$around/shared" 1073741824
fill "$around/shared" 33554432
check "where command and sidecar share a memory limit, little room is a reason to refuse" wait_until refuses
check "a refusal costs nobody's life" test "$(kills "$around/shared")$(lives && echo lives)" = 0lives

# What a container that runs out of memory was doing before.
(exec "$work/bin/afterglow-sidecar" exec --store "$work/store" --name full --memory-max 256M --warn-at 0.5 --stacks-at-threshold -- \
	/usr/bin/python3 "$work/bin/hangs.py" fills_memory "$work") >"$work/err" 2>&1 &
filler=$!
launched="$launched $filler"
check "what runs when memory is nearly full is said while it runs" \
	wait_until says 'At [5-9][0-9] % of the memory limit, 1 process ran; its main thread: .*hangs.py:[0-9]+ in fills_memory'
touch "$work/looked_at_memory"
wait "$filler"
check "it ends for lack of memory" test "$?" = 137
bundle=$(sed -n 's/^afterglow: bundle //p' "$work/err" | tail -n 1)
check "the report has its line" grep -Eq 'At [5-9][0-9] % of the memory limit and [0-9.]+ m?s before the end, 1 process ran; .*hangs.py:[0-9]+ in fills_memory' \
	"$bundle/report.json"
check "its stacks are in the bundle, too" grep -q 'hangs.py:[0-9]* in fills_memory' "$bundle/stacks.txt"

# Nothing is left traced or stopped.
for name in $names; do
	[ "$name" = child_in_the_kernel ] || check "$name is not traced afterwards" grep -q '^TracerPid:.0' "/proc/$(pid_of "$name")/status"
done
summary
