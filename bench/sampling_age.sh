#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sampling_age.sh: how old the last sample is when the OOM killer ends a command, by fill rate. Needs root.
# Aim: on cgroup v2 20 ms at the median and 50 ms at p99, on v1 100 ms at p99. Needs nothing but busybox, so
# "sampling_age.sh --vm" runs the same in the v2 machine. That one is emulated: the kernel's own way from the limit to
# the end of the process takes a tenth of a second and more there, so its figures are no measure of v2 on real hardware.
# The end is when the launcher's wait returns, so the age holds the time in which the kernel kills and tears down.
# BENCH_RUNS deaths per rate, BENCH_RATES, BENCH_LIMIT (below 256M).
set -eu
build=${BUILD:-build}
runs=${BENCH_RUNS:-20} rates=${BENCH_RATES:-50M 200M 1G 0} limit=${BENCH_LIMIT:-128M}
if [ "${1:-}" = --vm ]; then
	cd "$(dirname "$0")/.."
	exec e2e/kernel/vm.sh sh -c "BENCH_RUNS=$runs BENCH_LIMIT=$limit; BENCH_RATES='$rates'
$(sed 1d bench/sampling_age.sh)"
fi
[ -d "$build" ] || build=../$build
version="v2${AFTERGLOW_IN_VM:+, emulated}" p99_aim=50
[ -e /sys/fs/cgroup/cgroup.controllers ] || version=v1 p99_aim=100
dir=$(mktemp -d "${TMPDIR:-/tmp}/sampling_age.XXXXXX")
trap 'rm -rf "$dir"' EXIT

age() { sed -n 's/^.*"sampleAgeMs":[[:space:]]*\([0-9]*\).*/\1/p' "$1" | sed -n 1p; }
for rate in $rates; do
	rate_option='' label="what memset reaches"
	[ "$rate" = 0 ] || rate_option="--rate $rate" label="$rate/s"
	rm -rf "$dir/store"
	i=0
	while [ "$i" -lt "$runs" ]; do
		i=$((i + 1))
		# shellcheck disable=SC2086 # two words or none
		"$build/afterglow-sidecar" exec --memory-max "$limit" --kernel-log off --store "$dir/store" --name "r$i" -- \
			"$build/test/hog" 256M $rate_option >"$dir/log" 2>&1 </dev/null || true
	done
	for report in "$dir"/store/*/r*/*-KernelOOM*/report.json; do age "$report"; done | sort -n >"$dir/ages"
	awk -v version="$version" -v label="$label" -v runs="$runs" -v aim=$p99_aim '
		{ a[NR] = $1 }
		END {
			if (NR < runs) { printf "sampling_age: only %d of %d deaths were of the OOM killer and have a sample\n", NR, runs; if (!NR) exit 1 }
			at = int(NR * 0.99 + 0.999999)
			if (version ~ /v2/) also = " (aim 20 ms)"
			printf "sampling_age: cgroup %s, %s: median %d ms%s, p99 of %d %d ms, worst %d ms, aim %d ms at p99, ratio %.2f\n",
				version, label, a[int((NR + 1) / 2)], also, NR, a[at], a[NR], aim, a[at] / aim
		}' "$dir/ages"
done
