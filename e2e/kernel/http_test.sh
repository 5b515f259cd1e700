#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A container fills its memory and dies, and curl reads what the sidecar serves by HTTP. promtool judges the metrics.
# Ends with "N passed, N failed".
#
# PROMTOOL              default: that on the PATH, else that of tools/prometheus.sh
# AFTERGLOW_CACHE       default ~/.cache/afterglow
set -uo pipefail
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
promtool=${PROMTOOL:-$(command -v promtool || echo "$("$(dirname "$0")/../../tools/prometheus.sh")/promtool")}
work=$(mktemp -d /tmp/http_test.XXXXXX)
sidecar='' launcher=''
. "$(dirname "$0")/check.sh"

finish() {
	[ -z "$sidecar" ] || kill "$sidecar" 2>/dev/null
	[ -z "$launcher" ] || kill -9 "$launcher" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT

[ -x "$promtool" ] || { echo "http_test: no promtool"; exit 1; }

get() { curl -sS --max-time 60 "http://127.0.0.1:$port$1"; }
has() { grep -qE "$2" "$work/$1"; }
judged() { "$promtool" check metrics <"$work/$1"; }
whole_json() { python3 -m json.tool "$work/$1" >/dev/null; }

mkdir "$work/store"
port=$(free_port)
POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789 "$build/afterglow-sidecar" --socket "$work/s" --spool "$work/spool" \
	--store "$work/store" --http "127.0.0.1:$port" >"$work/log" 2>&1 &
sidecar=$!
wait_until [ -S "$work/s" ]
# The container lives until we have seen its metrics.
"$build/afterglow-launch" --name ray-worker --socket "$work/s" -- \
	sh -c "'$build/test/hog' 40M --hold & until [ -e '$work/seen' ]; do sleep 0.1; done; kill \$!; kill -SEGV \$\$" 2>/dev/null &
launcher=$!

is_sampled() { get /metrics >"$work/running" && has running 'samples_total\{container="ray-worker"\} [1-9]'; }
wait_until is_sampled
check "promtool has nothing to say of a running container" judged running
check "its memory is there" has running '^afterglow_container_memory_bytes\{container="ray-worker",kind="usage"\} [1-9]'
check "its samples are counted" has running '^afterglow_container_samples_total\{container="ray-worker"\} [1-9]'
samples() { get /metrics | sed -n 's/^afterglow_container_samples_total{container="ray-worker"} //p'; }
before=$(samples)
flooded=$(python3 "$(dirname "$0")/http_flood.py" "$port" 4)
check "a flood of requests is answered" test "$flooded" -gt 100000
check "a flood of requests does not stop the sampling" test "$(samples)" -ge $((before + 2))
check "it has not failed" has running '^afterglow_failures_total\{class="Segfault"\} 0$'
touch "$work/seen"
wait "$launcher"
launcher=
is_gone() { get /metrics >"$work/dead" && has dead '^afterglow_containers 0$'; }
wait_until is_gone
get /failures >"$work/failures"
check "promtool has nothing to say of a dead one" judged dead
check "its failure is counted" has dead '^afterglow_failures_total\{class="Segfault"\} 1$'
check "the time of its failure is there" has dead '^afterglow_last_failure_timestamp_seconds 1[0-9]{9}\.'
check "nothing of it is left" has dead '^afterglow_containers 0$'
check "failures are JSON" whole_json failures
check "its failure is listed" has failures '"class":"Segfault"'
check "it is healthy" test "$(get /healthz | head -n 1)" = ok

# Metrics count a core, if this machine writes cores into files.
case $(cat /proc/sys/kernel/core_pattern) in
'|'* | '@'* | /*) written=0 ;;
*) written=1 ;;
esac
mkdir "$work/cwd"
(cd "$work/cwd" && ulimit -S -c 0 && exec "$build/afterglow-launch" --cores --name ray-crash --socket "$work/s" -- \
	"$build/test/crash" --after 300 2>/dev/null)
is_packed() { get /metrics >"$work/crashed" && { [ "$written" = 0 ] || has crashed '^afterglow_cores_packed_total 1$'; }; }
wait_until is_packed
check "promtool has nothing to say of cores" judged crashed
check "a core is counted" has crashed "^afterglow_cores_captured_total $written\$"
check "the bytes of the core are counted" has crashed "^afterglow_cores_packed_bytes_total $([ "$written" = 0 ] && echo 0 || echo '[1-9][0-9]*')\$"
check "the backtrace of the core is counted" has crashed "^afterglow_backtraces_total\{result=\"made\"\} $written\$"
check "no core was dropped" has crashed '^afterglow_cores_dropped_total\{reason="no_room"\} 0$'

summary
