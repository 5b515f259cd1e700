#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The node itself runs out of memory. Only in the test machine (vm.sh), where there is nobody else.
# Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
passed=0 failed=0

memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
if [ "$memory" -gt 1000000 ]; then
	echo "not here: this machine has $memory kB of memory"
	exit 1
fi
echo 1 >/proc/sys/vm/overcommit_memory

said=$("$build/afterglow-sidecar" exec --store /tmp/node --name case --memory-max 4Gi -- "$build/test/hog" 3G 2>&1)
code=$?

check() { # SENTENCE PATTERN
	if echo "$said" | grep -q "$2"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $1"
		echo "$said" | sed 's/^/      /'
	fi
}
check "the class is KernelOOMNode, certain" 'class  *KernelOOMNode, certain'
check "the sentence says that the node had none left" 'killed by the kernel: the node had no memory left'
check "the kernel's line is the evidence" 'kernel log: Out of memory: Killed process [0-9]* (hog)'
check "the largest process is named" 'One process, hog, held'
said=$code
check "the exit code is that of SIGKILL" '^137$'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
