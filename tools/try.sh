#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# try.sh BUILD_DIRECTORY: a program that leaks, in a memory cgroup of 256 MiB, and one that crashes, both with Afterglow around them.
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

cat <<END

\$ afterglow-sidecar exec --store $store --name crash -- crash --threads 3

END
if grep -q '^[|@]' /proc/sys/kernel/core_pattern; then
	echo "(This machine sends its cores elsewhere: the report says where.)"
fi
mkdir -p "$store/work"
crash=$(realpath "$build/test/crash") sidecar=$(realpath "$build/afterglow-sidecar") kept=$(realpath "$store")
(cd "$store/work" && exec "$sidecar" exec --store "$kept" --name crash -- "$crash" --threads 3)
status=$?
echo
echo "exit code $status; what is left:"
find "$store/local/crash" -type f | sort | sed 's/^/  /'
if [ "$status" != 139 ]; then
	echo "try: expected exit code 139 (SIGSEGV), got $status" >&2
	exit 1
fi
trace=$(find "$store/local/crash" -name backtrace.txt -exec sed -n '1,2s/^/  /p; /^Thread .*(crashed)/,/^$/s/^/  /p' {} +)
printf '%s\n' "$trace"
if ! grep -q '^[|@]' /proc/sys/kernel/core_pattern && ! grep -q 'crash\.c:[0-9]' <<<"$trace"; then
	echo "try: the backtrace has no line of crash.c" >&2
	exit 1
fi
