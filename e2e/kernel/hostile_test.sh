#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A Ray container does its worst against the sidecar beside it: its logs are pipes, devices, links or one line of 10 GB, it has thousands
# of processes, and floods the sidecar with connections and forged messages. It may spoil its own report. The sidecar lives, stays small,
# gives away none of its secrets, and explains the next honest death. Ends with "N passed, N failed".
#
# HOSTILE_PROCESSES     default 3000; 100000 wants a pid_max above that
set -uo pipefail
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
processes=${HOSTILE_PROCESSES:-3000}
# It is not below /tmp, which the container has for itself.
work=$(mktemp -d /var/tmp/hostile_test.XXXXXX)
sidecar='' container=''
. "$(dirname "$0")/check.sh"

finish() {
	[ -z "$container" ] || kill -9 "$container" 2>/dev/null
	[ -z "$sidecar" ] || kill "$sidecar" 2>/dev/null
	wait
	rm -rf "$work"
}
trap finish EXIT

cat >"$work/logs.sh" <<'END'
mkdir -p /tmp/ray/session_1/logs && cd /tmp/ray/session_1/logs || exit
ln -s session_1 /tmp/ray/session_latest
mkfifo raylet.out
mknod gcs_server.out c 1 5
ln -s /proc/self/environ raylet.err
ln -s /dev/zero worker-a-01000000-5.err
ln -s . worker-b-01000000-6.out
truncate -s 10G worker-c-01000000-7.err
printf 'Segmentation fault' >>worker-c-01000000-7.err
for i in $(seq 2000); do : >"worker-$i-01000000-$i.out"; done
END

cat >"$work/flood.py" <<'END'
import array, os, random, socket, sys
random.seed(7)
os.mkfifo("/tmp/fifo")
odd = [os.open(p, os.O_RDONLY | os.O_NONBLOCK) for p in ("/tmp/fifo", "/dev/zero", "/proc/self/environ", "/tmp")]
words = [b"hello 1 rtp ../../../x 1 1 1", b"hello 1 rrr n 1 1 1", b"hello 99999999999999999999 r n -1 -1 -1", b"exit 9 99999999999999999999",
         b"exit 0 1", b"finished 1 0 0", b"core 1", b"\0" * 4096, b"A" * 4096, b"hello", b" ", bytes(range(256))]
kept = []
for i in range(600):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect(sys.argv[1])
        for _ in range(random.randrange(4)):
            fds = array.array("i", random.sample(odd, random.randrange(4)))
            s.sendmsg([random.choice(words)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else [])
    except OSError:
        pass
    if i % 3:
        kept.append(s)
    else:
        s.close()
print("flooded")
END

cat >"$work/again.py" <<'END'
import array, os, socket, sys, time
root, alive = os.open("/", os.O_PATH), os.pidfd_open(os.getpid())
fds = array.array("i", [root, alive])
end, n = time.monotonic() + 5, 0
while time.monotonic() < end:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect(sys.argv[1])
        s.sendmsg([b"hello 1 rp again%d 1 2 %d" % (n % 7, n + 1)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        n += 1
    except OSError:
        time.sleep(0.01)
    s.close()
print("again", n)
END

cat >"$work/crowd.py" <<'END'
import os, signal, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        signal.pause()
print("crowded")
END

cat >"$work/many.py" <<'END'
import array, os, socket, sys, time
fds = array.array("i", [os.open("/", os.O_PATH), os.pidfd_open(os.getpid())])
kept, said = [], 0
for i in range(31):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    try:
        s.sendmsg([b"hello 1 rp many%d 1 2 %d" % (i, i + 1)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        said += 1
    except OSError:
        pass
    kept.append(s)
time.sleep(20)
print("many", said)
END

export POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789 SECRET=of-the-sidecar-alone
chmod 755 "$work"
mkdir "$work/run" "$work/spool"
chown 65532:65532 "$work/run" "$work/spool"
cp "$build/afterglow-sidecar" "$build/afterglow-launch" "$build/test/probe" "$work/"
setpriv --reuid=65532 --regid=65532 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs \
	"$work/afterglow-sidecar" --socket "$work/run/s" --spool "$work/spool" --kernel-log off >"$work/log" 2>"$work/err" &
sidecar=$!
wait_until [ -S "$work/run/s" ]

in_container() { # a container's mounts and processes, as far as this matters here; the tree itself may lie below /tmp
	unshare --mount --pid --fork --mount-proc sh -c "cd / && mount -t tmpfs -o size=64m tmpfs /tmp && $*"
}
run_container() { # NAME SCRIPT: sets $code; what the script prints is in $work/NAME.out
	in_container "$2" >"$work/$1.out" 2>"$work/err" &
	container=$!
	wait "$container"
	code=$?
	container=''
}
launch="$work/afterglow-launch --socket $work/run/s"
reports() { grep -c "\"event\":\"ended\".*\"container\":\"$1\"\|\"container\":\"$1\".*\"event\":\"ended\"" "$work/log"; }
ended() { [ "$(reports "$1")" -ge 1 ]; }
lives() { kill -0 "$sidecar" 2>/dev/null; }
peak_kb() { sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$sidecar/status"; }
small() { [ "$(peak_kb)" -lt 24576 ]; }
nothing_told() { ! grep -raq of-the-sidecar-alone "$work/spool" "$work/log"; }
nothing_beside() { [ -z "$(find "$work" -newer "$work/log-begin" -name x -print -quit)" ]; }
touch "$work/log-begin"

run_container logs "sh $work/logs.sh; $launch --name logs -- sh -c 'sleep 3; kill -SEGV \$\$'"
check "a death beside hostile logs is reported" wait_until ended logs
check "what its logs lead to is not told" nothing_told

run_container crowd "$launch --name crowd -- sh -c 'python3 $work/crowd.py $processes; sleep 3; kill -SEGV \$\$'"
check "the crowd was there" grep -q crowded "$work/crowd.out"
check "a death in a crowd is reported" wait_until ended crowd

run_container flood "$launch --name flood -- sh -c 'python3 $work/flood.py $work/run/s; sleep 1; kill -SEGV \$\$'"
check "the flood was there" grep -q flooded "$work/flood.out"
check "nothing was written beside the spool" nothing_beside

in_container "$launch --name again -- sh -c 'python3 $work/again.py $work/run/s; kill -SEGV \$\$'" >"$work/again.out" 2>"$work/err" &
container=$!
most=0
while kill -0 "$container" 2>/dev/null; do
	n=$(find "$work/spool/.sidecar" -name '*.ring' | wc -l)
	[ "$n" -le "$most" ] || most=$n
	sleep 0.1
done
wait "$container"
container=''
check "who says hello and hangs up was there ($(cat "$work/again.out"))" grep -q 'again [1-9][0-9]' "$work/again.out"
check "it leaves a bounded number of files ($most)" test "$most" -le 64
check "its death is reported" wait_until ended again

run_container honest "$launch --wait-sidecar 60 --name honest -- $work/probe fault segv"
check "a segfault has its exit code" test "$code" = 139
check "the next honest death is reported" wait_until ended honest
# The end is logged before the report is written.
honest_is_a_segfault() { grep -qs '"class":[[:space:]]*"Segfault"' "$work"/spool/*/*/*/honest/*/report.json; }
check "its report says what it was" wait_until honest_is_a_segfault

run_container names "$launch --name names -- sh -c 'python3 $work/crowd.py $processes; python3 $work/many.py $work/run/s; kill -SEGV \$\$'"
check "who has many names in a crowd was there" grep -q 'many 31' "$work/names.out"
check "its death is reported" wait_until ended names
check "the sidecar lives" lives
check "the sidecar has never been large ($(peak_kb) kB)" small
check "it has told nothing of its own" nothing_told
summary
