# SPDX-License-Identifier: Apache-2.0
# Common to the measurements: where the programs are, a directory that goes away, a sidecar.
BUILD=$(realpath "../${BUILD:-build}")
dir=$(mktemp -d /tmp/afterglow-bench.XXXXXX)
started=()
cleanup() {
	for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT

# What is PID 1 of a PID namespace, as in a container; needs root.
container=(unshare --pid --fork --mount-proc --kill-child)

# start COMMAND...: in the background, its PID in $pid, ended at the end.
start() {
	"$@" >>"$dir/log" 2>&1 &
	pid=$!
	started+=("$pid")
}

start_sidecar() { # OPTION...
	mkdir -p "$dir/store"
	start "$BUILD/afterglow-sidecar" --socket "$dir/socket" --store "$dir/store" --spool "$dir/spool" --grace 1 "$@"
	sidecar_pid=$pid
	until [ -S "$dir/socket" ]; do sleep 0.05; done
}

# kib PID FIELD: a line of smaps_rollup.
kib() { awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/smaps_rollup"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
