#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The backtrace of a core is complete with the registers and notes that the kernel of this architecture writes into it, and afterglow-pack
# makes a summary of it. The test has no time limits, so it can run in an emulated machine:
#	AFTERGLOW_VM_ARCH=arm64 e2e/kernel/vm.sh e2e/kernel/core_of_machine_test.sh
# Plain sh. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
work=$(mktemp -d /tmp/core_of_machine.XXXXXX)
. "$(dirname "$0")/check.sh"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c unlimited
"$build/test/crash" --threads 3 --memory 4 2>/dev/null
check "the kernel wrote a core" [ -s "$(find . -name 'core*')" ]
mv core* core 2>/dev/null

frames_are_there() { # FILE: of the thread that crashed, and of the three that wait
	grep -q 'SIGSEGV' "$1" && grep -q ' in deref_null' "$1" && grep -q ' in main' "$1" && [ "$(grep -c '^Thread ' "$1")" = 4 ]
}
"$build/afterglow-unwind" --core core >backtrace 2>err
check "the backtrace has all threads" frames_are_there backtrace
"$build/afterglow-pack" --mode summary --core-fd 5 --out-fd 6 5<core 6>packed.zst >said 2>>err
check "a summary is made of it" [ -s packed.zst ]
[ "$failed" = 0 ] || head -n 40 backtrace err
summary
