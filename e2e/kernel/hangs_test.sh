#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes of an ordinary user hang in several ways below `afterglow-sidecar exec`, and `afterglow-sidecar stack` of that user says where.
# Ends with "N passed, N failed".
set -u
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/hangs_test.XXXXXX)
. "$here/check.sh"

names='deadlock rank_sleeps loops_in_c stopped blocks_its_loop child_in_the_kernel waits_for_child'
finish() {
	[ -z "$launched" ] || kill "$launched" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
launched=''
trap finish EXIT

# The user may not read where this checkout is.
mkdir "$work/bin" "$work/store"
cp "$build"/afterglow-{launch,sidecar,unwind} "$here/hangs.py" "$work/bin"
cat >"$work/bin/all" <<'CODE'
#!/bin/sh
for name in $2; do
	/usr/bin/python3 "$1/bin/hangs.py" "$name" "$1" &
	echo $! >"$1/$name.pid"
done
trap 'kill -9 0' TERM
wait
CODE
chmod 755 "$work" "$work"/bin/*
chown -R 65532:65532 "$work"
as_user() { exec ${session:-} setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all env -i HOME="$work" TMPDIR="$work" PATH=/usr/bin:/bin "$@"; }

# A session of their own: the command ends all of it when it is asked to.
session=setsid as_user "$work/bin/afterglow-sidecar" exec --store "$work/store" -- "$work/bin/all" "$work" "$names" >"$work/log" 2>&1 &
launched=$!
all_hang() { for name in $names; do [ -e "$work/$name" ] || return 1; done; }
wait_until all_hang
pid_of() { cat "$work/$1.pid"; }
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
check "a stopped process is said to be stopped" prints 'stopped by a signal'
check "a stopped process stays stopped" test "$(state_of stopped)" = T
check "a blocked loop of asyncio has the handler's line" prints 'hangs.py:[0-9]+ in (blocks_its_loop.<locals>.)?handler'
check "a process in state D is said to be in the kernel" prints 'in the kernel, uninterruptible'
check "a process that waits for its child has the line of the wait" prints 'subprocess.py:[0-9]+ in (Popen.)?_?wait'
stack hangs.py
check "processes are found by their name" prints 'Main thread of [0-9] of [78] processes:'
stack no-such-name
check "a name that nobody has is said" grep -q 'no watched process' "$work/err"
setpriv --reuid=65533 --clear-groups "$work/bin/afterglow-sidecar" stack >"$work/out" 2>"$work/err"
check "another user gets nothing" test ! -s "$work/out"

# Nothing is left traced or stopped.
for name in $names; do
	[ "$name" = child_in_the_kernel ] || check "$name is not traced afterwards" grep -q '^TracerPid:.0' "/proc/$(pid_of "$name")/status"
done
summary
