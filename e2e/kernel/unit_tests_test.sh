#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unit_tests_test.sh NAME...: runs unit tests on this machine's kernel: those that an emulator of single programs cannot run (NEED_OWN_KERNEL
# in the Makefile). NAME is a path below build/test. Plain sh. Ends with "N passed, N failed".
build=${AFTERGLOW_BUILD:-build}
. "$(dirname "$0")/check.sh"

for name; do
	"$build/test/$name" >/tmp/said 2>&1
	code=$?
	check "$name" test "$code" = 0
	# A test that finds no kernel to run on skips its cases.
	if [ "$code" != 0 ] || grep -q '^\[  SKIPPED \]' /tmp/said; then cat /tmp/said; fi
done
summary
