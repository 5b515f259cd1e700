#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sidecar_memory.sh: memory and processor time of the sidecar's processes while it observes 20, 200
# and 2,000 processes, beside earlyoom's in the same run. Pss counts what they share once.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
seconds=${BENCH_SECONDS:-8}

start earlyoom --dryrun -r 0
earlyoom=$pid
for n in 20 200 2000; do
	start_sidecar
	start "${container[@]}" "$BUILD/afterglow-launch" --socket "$dir/socket" --name bench -- \
		sh -c "for i in \$(seq $n); do sleep 1000 & done; wait"
	launcher=$pid
	family() { echo "$sidecar_pid"; pgrep -P "$sidecar_pid" || true; }
	ran_ns() { for p in $(family); do cut -d' ' -f1 "/proc/$p/schedstat"; done | awk '{ n += $1 } END { printf "%d", n }'; }
	sleep $((5 + n / 80)) # the names of all are known by then
	before=$(ran_ns)
	sleep "$seconds"
	cpu=$(awk -v ns=$(($(ran_ns) - before)) -v s="$seconds" 'BEGIN { printf "%.3f", ns / 1e7 / s }')
	for field in Rss Pss Private_Dirty; do
		ours=$(for p in $(family); do kib "$p" $field 2>/dev/null; done | awk '{ n += $1 } END { print n }') theirs=$(kib "$earlyoom" $field)
		echo "sidecar_memory: $n processes: $field $ours KiB, earlyoom $theirs KiB, ratio $(ratio "$ours" "$theirs")"
	done
	echo "sidecar_memory: $n processes: $cpu % of a core over $seconds s, claim 0.1 %, ratio $(ratio "$cpu" 0.1)"
	kill -9 "$launcher" # unshare ignores SIGTERM
	kill "$sidecar_pid"
	wait "$launcher" "$sidecar_pid" 2>/dev/null || true
	rm -f "$dir/socket"
done
