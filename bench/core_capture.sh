#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# core_capture.sh: afterglow-pack beside zstd -1 on the same core, and beside what the disk takes;
# the child's peak memory. The core is of a process with half its memory noise. Ratios are against
# the slower of the two, so 1 is "as fast as can be".
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
mib=${BENCH_CORE_MIB:-768} rounds=${BENCH_ROUNDS:-5}
pack=$BUILD/afterglow-pack

case $(cat /proc/sys/kernel/core_pattern) in
'|'* | '@'* | /*)
	echo "core_capture: not measured: kernel.core_pattern is no plain file name" >&2
	exit 1
	;;
esac
(cd "$dir" && ulimit -c unlimited && exec "$BUILD/test/crash" --memory "$mib") 2>/dev/null || true
core=$(find "$dir" -maxdepth 1 -name 'core*' | head -n 1)
bytes=$(stat -c %s "$core")

# seconds COMMAND...: best of several rounds, each durable on the disk at its end; the core is in
# the page cache for all.
cat "$core" >/dev/null
seconds() {
	local best= begin t
	for _ in $(seq "$rounds"); do
		rm -f "$dir/out"
		sync
		begin=$EPOCHREALTIME
		"$@"
		t=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
		best=$(awk -v a="$t" -v b="${best:-$t}" 'BEGIN { print (a < b) ? a : b }')
	done
	echo "$best"
}
with_zstd() { zstd -1 -q -f "$core" -o "$dir/out" && sync "$dir/out"; }
with_pack() { "$pack" --mode "$1" --core-fd 3 --out-fd 4 3<"$core" 4>"$dir/out" >"$dir/answer"; }
# The same number of bytes as the compressed core has.
with_dd() { dd if="$dir/compressed" of="$dir/out" bs=1M conv=fdatasync status=none; }

zstd=$(seconds with_zstd)
cp "$dir/out" "$dir/compressed"
disk=$(seconds with_dd)
full=$(seconds with_pack full)
packed=$(stat -c %s "$dir/out")
summary=$(seconds with_pack summary)
rate() { awk -v b="$bytes" -v t="$1" 'BEGIN { printf "%.0f MiB/s", b / t / 1048576 }'; }
slower=$(awk -v a="$zstd" -v b="$disk" 'BEGIN { print (a > b) ? a : b }')
echo "core_capture: a core of $((bytes >> 20)) MiB to $((packed >> 20)) MiB: afterglow-pack $(rate "$full"), zstd -1 $(rate "$zstd")," \
	"the disk alone would allow $(rate "$disk"); ratio to the slower $(ratio "$slower" "$full") (aim: 0.90)"
echo "core_capture: its summary: $(awk -v t="$summary" 'BEGIN { printf "%.0f ms", t * 1000 }'), $(($(stat -c %s "$dir/out") >> 10)) KiB"

cost() { # COMMAND...: peak memory in KiB, processor time in seconds
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, pass_fds=(3, 4))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, round(used.ru_utime + used.ru_stime, 2))' "$@" 3<"$core" 4>"$dir/out"
}
read -r pack_peak pack_cpu < <(cost "$pack" --mode full --core-fd 3 --out-fd 4)
read -r zstd_peak zstd_cpu < <(cost zstd -1 -q -f "$core" -o "$dir/out")
echo "core_capture: processor time afterglow-pack $pack_cpu s (with the SHA-256), zstd -1 $zstd_cpu s, ratio $(ratio "$pack_cpu" "$zstd_cpu")"
echo "core_capture: peak memory afterglow-pack $pack_peak KiB, zstd -1 $zstd_peak KiB, ratio $(ratio "$pack_peak" "$zstd_peak")"
