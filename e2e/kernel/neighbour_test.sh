#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process of the sidecar's own user looks into the sidecar and its children, as a Ray container with a shared PID namespace may.
# It tries again and again, so it meets each child also in its first moments. It gets nothing, and deaths are reported all the same.
# The programs have the modes that they have in the image. Ends with "N passed, N failed".
set -uo pipefail
# The neighbour is to see no processes of other suites.
[ -n "${AFTERGLOW_OWN_PROCESSES:-}" ] || AFTERGLOW_OWN_PROCESSES=1 exec unshare --pid --mount --fork --mount-proc "$0" "$@"
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
# /tmp may be mounted nosuid or belong to a container.
work=$(mktemp -d /var/tmp/neighbour_test.XXXXXX)
sidecar='' server='' spy=''
. "$(dirname "$0")/check.sh"

finish() {
	for pid in $spy $sidecar $server; do kill -9 "$pid" 2>/dev/null; done
	wait
	rm -rf "$work"
}
trap finish EXIT

# A store that never answers keeps its shipper alive.
cat >"$work/silent.py" <<'PY'
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
kept = []
while True:
    kept.append(server.accept())
PY

# Prints a line for each thing that it could read, and at its end whom it saw.
cat >"$work/spy.py" <<'PY'
import os, signal

def read(path):
    with open(path, "rb") as f:
        if not f.read(1):
            raise OSError("nothing")

def write(path):
    os.close(os.open(path, os.O_RDWR))

WAYS = {"environ": read, "mem": write, "maps": read, "root/etc": os.stat, "cwd": os.stat, "fd/0": os.readlink, "exe": os.readlink,
        "fd": os.listdir, "auxv": read, "stack": read, "syscall": read}
seen, stopped = set(), []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
while not stopped:
    for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
        try:
            with open(f"/proc/{pid}/comm") as f:
                comm = f.read().strip()
        except OSError:
            continue
        if not comm.startswith("afterglow-") or comm.startswith("afterglow-launc"):
            continue
        seen.add(comm)
        for way, try_it in WAYS.items():
            try:
                try_it(f"/proc/{pid}/{way}")
            except OSError:
                continue
            print("read", comm, way, flush=True)
print("saw", *sorted(seen), flush=True)
PY

as_sidecar() { # COMMAND...: replaces this shell
	exec setpriv --reuid=65532 --regid=65532 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"
}

mkdir "$work/bin" "$work/run" "$work/spool" "$work/keys" "$work/cwd"
chmod 755 "$work" && chmod 777 "$work/cwd"
for program in sidecar ship pack unwind; do install -m 111 "$build/afterglow-$program" "$work/bin/"; done
install -m 755 "$build/afterglow-launch" "$build/test/crash" "$work/bin/"
printf key >"$work/keys/access-key-id"
printf of-the-sidecar-alone >"$work/keys/secret-access-key"
chown -R 65532:65532 "$work/run" "$work/spool" "$work/keys"
cd "$work/cwd" || exit 1

port=$(free_port)
/usr/bin/python3 "$work/silent.py" "$port" &
server=$!
(as_sidecar /usr/bin/python3 "$work/spy.py") >"$work/spied" 2>&1 &
spy=$!
(
	export POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789 SECRET=of-the-sidecar-alone
	as_sidecar "$work/bin/afterglow-sidecar" --socket "$work/run/s" --spool "$work/spool" --kernel-log off --credentials "$work/keys" \
		--store s3://bucket/prefix --store-s3-endpoint "http://127.0.0.1:$port" --store-s3-region none
) >"$work/log" 2>"$work/err" &
sidecar=$!
wait_until [ -S "$work/run/s" ]

ended() { grep -q "\"event\":\"ended\".*\"container\":\"$1\"\|\"container\":\"$1\".*\"event\":\"ended\"" "$work/log"; }
spied() { grep -q "^$1" "$work/spied"; }
saw() { grep "^saw" "$work/spied" | grep -q "$1"; }
ships() { pgrep -x afterglow-ship -P "$sidecar" >/dev/null; }
ulimit -c unlimited
for n in 1 2 3; do
	# A mount of its own shows the container that nobody in it can put another socket there.
	unshare --mount sh -c "mount --bind $work/run $work/run && mount -o remount,bind,ro $work/run &&
		exec $work/bin/afterglow-launch --socket $work/run/s --wait-sidecar 60 --name c$n --cores -- $work/bin/crash" >/dev/null 2>&1
	check "the launcher passes the exit code on, $n" test $? = 139
	check "a crash is reported, $n" wait_until ended "c$n"
done
has_backtrace() { find "$work/spool" -name backtrace.txt | grep -q .; }
case $(cat /proc/sys/kernel/core_pattern) in '|'* | '@'*) ;; *) check "the crash has a backtrace" wait_until has_backtrace ;; esac
check "a shipper tries the store" wait_until ships
sleep 1
kill "$spy"
wait "$spy"
spy=''
check "the neighbour saw the sidecar ($(cat "$work/spied"))" saw afterglow-sidec
check "the neighbour saw the shipper" saw afterglow-ship
check "the neighbour read nothing of them ($(sort "$work/spied" | uniq -c | head -n 20))" test -z "$(grep '^read' "$work/spied")"
summary
