#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sampling_age.sh: how old the last sample is when the OOM killer takes a command, by fill rate.
# Needs root. Aim: on cgroup v2 20 ms at the median and 50 ms at p99, on v1 100 ms at p99. Needs
# nothing but busybox, so "sampling_age.sh --vm" runs the same in the v2 machine. That one is
# emulated: its figures are no measure of real hardware, and its kernel log's clock drifts away from
# the wall's, so that only the age at the end can be told. Two ages: at the kill as the kernel log
# has it, which the sampler answers for; and at the end as the launcher's wait tells it (sampleAgeMs
# of a report), which holds the kernel's own time for killing and taking memory apart. BENCH_RUNS
# deaths per rate, BENCH_RATES, BENCH_LIMIT (below 256M).
set -eu
build=${BUILD:-build}
runs=${BENCH_RUNS:-20} rates=${BENCH_RATES:-50M 200M 1G 0} limit=${BENCH_LIMIT:-128M}
if [ "${1:-}" = --vm ]; then
	cd "$(dirname "$0")/.."
	exec e2e/kernel/vm.sh sh -c "BENCH_RUNS=$runs BENCH_LIMIT=$limit; BENCH_RATES='$rates'
$(sed 1d bench/sampling_age.sh)"
fi
[ -d "$build" ] || build=../$build
version="v2${AFTERGLOW_IN_VM:+, in a machine of vm.sh}" p99_aim=50
ages="kill end"
[ -z "${AFTERGLOW_IN_VM:-}" ] || ages=end
[ -e /sys/fs/cgroup/cgroup.controllers ] || version=v1 p99_aim=100
dir=$(mktemp -d "${TMPDIR:-/tmp}/sampling_age.XXXXXX")
trap 'rm -rf "$dir"' EXIT

value() { sed -n "s/^.*\"$1\":[[:space:]]*\"\{0,1\}\([^\",]*\).*/\1/p" "$2" | sed -n 1p; }

# One line: sample age, end of the command, the kernel's time of the kill, and of two marks with the
# wall clock's between.
death() {
	report=$(echo "$dir"/store/*/"$1"/*-KernelOOM*/report.json)
	[ -f "$report" ] || return 0
	echo "sampling_age begins" >/dev/kmsg
	wall=$(date -u +%H:%M:%S.%N)
	echo "sampling_age $wall" >/dev/kmsg
	dmesg | awk -v age="$(value sampleAgeMs "$report")" -v end="$(value endedAt "$report")" '
		function day(t) { sub(/.*T/, "", t); split(t, p, ":"); return p[1] * 3600 + p[2] * 60 + p[3] }
		{ at = $0; sub(/^\[ */, "", at); sub(/\].*/, "", at) }
		/Killed process [0-9]+ \(hog\)/ { kill = at } # not "invoked oom-killer": that is rate-limited
		/sampling_age begins/ { begins = at }
		/sampling_age [0-9]/ { mark = at; wall = $NF }
		END { printf "%s %.6f %s %s %s %.6f\n", age, day(end), kill, begins, mark, day(wall) }'
}

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
		death "r$i"
	done >"$dir/deaths"
	awk -v ages="$ages" '{ age[NR] = $1; end[NR] = $2; kill[NR] = $3
			if (NR == 1 || $6 - $4 < high) high = $6 - $4
			if (NR == 1 || $6 - $5 > low) low = $6 - $5 }
		END { for (i = 1; i <= NR; i++) {
			a = age[i] - (end[i] - kill[i] - (high + low) / 2) * 1000
			# Further off than the clocks are known it was no sample of before the kill.
			if (ages ~ /kill/ && a < -2 - (high - low) * 500)
				printf "sampling_age: one last sample is of %.0f ms after the kill\n", -a >"/dev/stderr"
			print "kill", a < 0 ? 0 : a
			print "end", age[i] } }' "$dir/deaths" >"$dir/ages"
	for what in $ages; do
		awk -v what="$what" '$1 == what { print $2 }' "$dir/ages" | sort -n | awk -v what="$what" -v version="$version" \
			-v label="$label" -v runs="$runs" -v aim=$p99_aim '
			{ a[NR] = $1 }
			END {
				if (NR < runs) { printf "sampling_age: only %d of %d deaths were of the OOM killer\n", NR, runs; if (!NR) exit 1 }
				at = int(NR * 0.99 + 0.999999)
				if (version ~ /v2/) also = " (aim 20 ms)"
				printf "sampling_age: cgroup %s, %s, at the %s: median %.0f ms%s, p99 of %d %.0f ms, aim %d ms, ratio %.2f\n",
					version, label, what, a[int((NR + 1) / 2)], also, NR, a[at], aim, a[at] / aim
			}'
	done
done
