#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a core that is not for a sidecar takes longer when the node agent's program stands in
# between: processes of 20 MiB that crash, in turns with and without it, before a program that reads
# all of the core. core_pattern is the machine's, so it runs in the test machine:
#	AFTERGLOW_VM_FILES=bench/node_cores.sh e2e/kernel/vm.sh bench/node_cores.sh
# Also the agent's memory.
[ -n "${AFTERGLOW_IN_VM:-}" ] || exit 1
crash=build/test/crash node=build/afterglow-node
ulimit -c unlimited
mkdir -p /var/lib/afterglow
cp $node /var/lib/afterglow/afterglow-core1
direct='|/bin/md5sum' ours='|/var/lib/afterglow/afterglow-core1 %P %s %c %d |/bin/md5sum'
now_ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }
round() { # PATTERN: ms that ten crashes take
	echo "$1" >/proc/sys/kernel/core_pattern
	began=$(now_ms)
	for _ in 1 2 3 4 5 6 7 8 9 10; do $crash --memory 20 2>/dev/null; done
	echo $(($(now_ms) - began))
}
# The kernel waits for the reader's end.
echo 16 >/proc/sys/kernel/core_pipe_limit
round "$direct" >/dev/null
for _ in 1 2 3 4 5; do
	echo "ten cores, direct: $(round "$direct") ms, by the agent's program: $(round "$ours") ms"
done
echo core >/proc/sys/kernel/core_pattern
$node 2>/dev/null &
agent=$!
sleep 5
grep -E '^(VmRSS|VmHWM)' /proc/$agent/status
kill $agent
wait $agent
