#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The node itself runs out of memory. Runs only in the test machine (vm.sh), where nothing else runs.
# Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
. "$(dirname "$0")/check.sh"

memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
if [ "$memory" -gt 1000000 ]; then
	echo "not here: this machine has $memory kB of memory"
	exit 1
fi
echo 1 >/proc/sys/vm/overcommit_memory

said=$("$build/afterglow-sidecar" exec --store /tmp/node --name case --memory-max 4Gi -- "$build/test/hog" 3G 2>&1)
code=$?

says() { echo "$said" | grep -q "$1"; }
check "the class is KernelOOMNode, certain" says 'class  *KernelOOMNode, certain'
check "the sentence says that the node had none left" says 'killed by the kernel: the node had no memory left'
check "the kernel's line is the evidence" says 'kernel log: Out of memory: Killed process [0-9]* (hog)'
check "the largest process is named" says 'One process, hog, held'
said=$code
check "the exit code is that of SIGKILL" says '^137$'
summary
