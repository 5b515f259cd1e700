#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# try.sh BUILD_DIRECTORY: a program that leaks, in a memory cgroup of 256 MiB, with Afterglow around it.
set -uo pipefail

build=$1
store=$build/try
rm -rf "$store"
cat <<END
\$ afterglow-sidecar exec --memory-max 256Mi --store $store --name leak -- hog 1G --rate 150M

END
"$build/afterglow-sidecar" exec --memory-max 256Mi --store "$store" --name leak -- "$build/test/hog" 1G --rate 150M
status=$?
echo
echo "exit code $status; what is left:"
find "$store" -type f | sort | sed 's/^/  /'
if [ "$status" != 137 ]; then
	echo "try: expected exit code 137 (killed at the limit), got $status" >&2
	exit 1
fi
