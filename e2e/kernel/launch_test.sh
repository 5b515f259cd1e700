#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# launch_test.sh [TOPIC...]: runs the launcher's tests of these topics, or all, of which each is a program, build/test/launch_TOPIC_test. All of
# them run, also after a failure. Plain sh, as it also runs in the machines of vm.sh. launch_testing.h says what the environment sets.
build=${AFTERGLOW_BUILD:-build}
status=0
# Some tests are those of other users, to whom a tree below /root is closed.
programs=$(mktemp -d /tmp/launch_programs.XXXXXX)
trap 'rm -r "$programs"' EXIT
chmod 755 "$programs"
mkdir "$programs/test"
cp "$build/afterglow-launch" "$programs"
cp "$build/test/probe" "$programs/test"

if [ "$#" = 0 ]; then
	for program in "$build"/test/launch_*_test; do
		topic=${program##*/launch_}
		set -- "$@" "${topic%_test}"
	done
fi
for topic; do
	echo "== the launcher: $topic"
	AFTERGLOW_BUILD=$programs "$build/test/launch_${topic}_test" || status=1
done
exit "$status"
