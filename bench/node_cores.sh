#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a core that is not for a sidecar takes longer when the node agent's program stands in
# between: a process of 20 MiB crashes with and without it, in turns, before a program that reads
# all of the core and before a file's name. core_pattern is the machine's, so it runs in the test
# machine:
#	AFTERGLOW_VM_FILES=bench/node_cores.sh e2e/kernel/vm.sh bench/node_cores.sh
# Also the agent's memory. On this machine: what the program takes until it has started the one from
# before, beside that one alone; the best of 20 turns.
crash=build/test/crash node=build/afterglow-node
if [ -z "${AFTERGLOW_IN_VM:-}" ]; then
	program=$(mktemp -d)/afterglow-core1
	cp $node "$program"
	for turn in $(seq 20); do
		a=$(date +%s%N)
		for _ in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
		b=$(date +%s%N)
		for _ in 1 2 3 4 5 6 7 8 9 10; do "$program" $$ 11 0 1 '|/bin/true'; done
		echo $(((b - a) / 10000)) $((($(date +%s%N) - b) / 10000))
	done | sort -n | awk 'NR == 1 || $1 < a { a = $1 } NR == 1 || $2 < b { b = $2 }
		END { printf "/bin/true: %d us, by way of the program %d us: %d us more for each core\n", a, b, b - a }'
	rm -r "${program%/*}"
	exit
fi
turns=${NODE_CORES_TURNS:-7} crashes=5
ulimit -c unlimited
mkdir -p /var/lib/afterglow /cores
mount -t tmpfs tmpfs /cores
cp $node /var/lib/afterglow/afterglow-core1
# The kernel waits for the reader's end.
echo 16 >/proc/sys/kernel/core_pipe_limit
now_ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }
round() { # PATTERN: ms that the crashes take
	echo "$1" >/proc/sys/kernel/core_pattern
	began=$(now_ms)
	for _ in $(seq $crashes); do $crash --memory 20 2>/dev/null; done
	echo $(($(now_ms) - began))
	rm -f /cores/*
}
compare() { # WHAT PATTERN: the median of the turns' ratios
	ours="|/var/lib/afterglow/afterglow-core1 %P %s %c %d $2"
	round "$2" >/dev/null
	round "$ours" >/dev/null
	for turn in $(seq "$turns"); do
		# The order alternates, because each run finds the machine as the run before left it.
		if [ $((turn % 2)) = 0 ]; then
			a=$(round "$2") b=$(round "$ours")
		else
			b=$(round "$ours") a=$(round "$2")
		fi
		echo "$a $b"
	done | awk -v what="$1" -v crashes=$crashes '
		{ direct[NR] = $1; ours[NR] = $2; ratio[NR] = $2 / $1 }
		function median(of,  i, j, n, t) {
			n = NR
			for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (of[j] < of[i]) { t = of[i]; of[i] = of[j]; of[j] = t }
			return of[int((n + 1) / 2)]
		}
		END { r = median(ratio); printf "%s: a core takes %.1f ms, by way of the program %.1f ms; ratio %.3f (%.3f to %.3f)\n", what,
			median(direct) / crashes, median(ours) / crashes, r, ratio[1], ratio[NR] }'
}
compare "before a program" '|/bin/md5sum'
compare "before a file's name" '/cores/core.%p'
echo core >/proc/sys/kernel/core_pattern
$node 2>/dev/null &
agent=$!
sleep 5
grep -E '^(VmRSS|VmHWM)' /proc/$agent/status
kill $agent
wait $agent
