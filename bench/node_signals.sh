#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the node agent's look at signals costs: its memory at rest, and its CPU while processes
# elsewhere on the node send 10,000 signals a second: such as pass the kernel's filter (SIGTERM),
# and such as do not (SIGUSR1). As root.
# usage: node_signals.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
seconds=${1:-20}
mkdir "$dir/pods"
"$BUILD/afterglow-node" --cores off --kubelet "$dir" --instance "afterglow-bench-$$" 2>"$dir/log" &
agent=$!
# It removes its instance.
trap 'kill $agent; wait $agent || :; cleanup' EXIT
sleep 3

ticks() { awk '{ print $14 + $15 }' "/proc/$agent/stat"; }
cost() { # LABEL COMMAND...
	local before after label=$1
	shift
	before=$(ticks)
	rate=$("$@")
	after=$(ticks)
	awk -v l="$label" -v r="$rate" -v t=$((after - before)) -v s="$seconds" -v hz="$(getconf CLK_TCK)" \
		'BEGIN { printf "%-40s %6s signals/s  %5.2f %% of a core\n", l, r, t / hz / s * 100 }'
}
nothing() {
	sleep "$seconds"
	echo 0
}

awk '/^VmRSS/ { printf "resident memory %d kB", $2 } /^RssAnon/ { printf ", anonymous %d kB\n", $2 }' "/proc/$agent/status"
processes=(/proc/[0-9]*)
echo "processes on the node: ${#processes[@]}"
cost "at rest" nothing
cost "signals that the kernel filters out" "$BUILD/bench/signal_rate" 10 10000 "$seconds"
cost "signals that pass the filter" "$BUILD/bench/signal_rate" 15 10000 "$seconds"
