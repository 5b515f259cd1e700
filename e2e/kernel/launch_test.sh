#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# launch_test.sh TOPIC...: runs the launcher's tests of these topics, of which each is a program, build/test/launch_TOPIC_test. All of
# them run, also after a failure. Plain sh, as it also runs in the machines of vm.sh. launch_testing.h says what the environment sets.
build=${AFTERGLOW_BUILD:-build}
status=0

[ "$#" -gt 0 ] || { echo "usage: launch_test.sh TOPIC..." >&2 && exit 2; }
for topic; do
	echo "== the launcher: $topic"
	"$build/test/launch_${topic}_test" || status=1
done
exit "$status"
