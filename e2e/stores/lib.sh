# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for those who source this
# What the launchers of the stores share. Sourced, never run. Each keeps in its directory
# DIR/pids (one file a daemon: pid and start time), DIR/log, and DIR/env with what a
# client needs, in the form of shell variables.

export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"
# shellcheck source=../start_time.sh
. "$here/../start_time.sh"
# Where the servers listen: loopback, or the address of a bridge for pods.
address=${AFTERGLOW_STORE_ADDRESS:-127.0.0.1}

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# free_ports N: as many ports that nobody uses now. Below the range from which the kernel gives ports to clients, so that
# they stay free until a server is up; and not those of a pytest worker beside this one.
free_ports() {
	python3 - "$address" "$1" <<'PYTHON'
import os, random, socket, sys

first = 10000 + 2000 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 4)
held = []
while len(held) < int(sys.argv[2]):
    try:
        held.append(socket.create_server((sys.argv[1], random.randrange(first, first + 2000))))
    except OSError:
        continue
print(*(s.getsockname()[1] for s in held))
PYTHON
}

pid_of() { # DIR NAME
	local pid start
	read -r pid start 2>/dev/null <"$1/pids/$2" || return 1
	[ "$start" = "$(start_time "$pid")" ] || return 1
	printf '%s\n' "$pid"
}

launch() { # DIR NAME COMMAND...
	local dir=$1 name=$2 pid
	shift 2
	mkdir -p "$dir/pids" "$dir/log"
	setsid "$@" >>"$dir/log/$name" 2>&1 </dev/null 9>&- &
	pid=$!
	disown "$pid"
	printf '%s %s\n' "$pid" "$(start_time "$pid")" >"$dir/pids/$name"
}

# wait_for DIR NAME SECONDS WHAT COMMAND...: until COMMAND succeeds, or NAME is gone.
wait_for() {
	local dir=$1 name=$2 seconds=$3 what=$4 i
	shift 4
	for ((i = 0; i < seconds * 10; i++)); do
		if ("$@") >/dev/null 2>&1; then return; fi
		pid_of "$dir" "$name" >/dev/null || break
		sleep 0.1
	done
	tail -n 25 "$dir/log/$name" | cut -c1-400 >&2
	die "$name: waited in vain for: $what"
}

wait_for_port() { # DIR NAME PORT
	wait_for "$1" "$2" 180 "port $3" bash -c ": >/dev/tcp/$address/$3"
}

# stop_all DIR: whatever of it still runs.
stop_all() {
	local file pid
	for file in "$1"/pids/*; do
		pid=$(pid_of "$1" "${file##*/}") || continue
		kill "$pid"
		for ((i = 0; i < 50; i++)); do
			pid_of "$1" "${file##*/}" >/dev/null || break
			if [ "$i" = 30 ]; then kill -9 "$pid" || true; fi
			sleep 0.1
		done
		rm -f "$file"
	done
}
