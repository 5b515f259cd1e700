#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# wsl_test.sh: the shape of WSL 2 without systemd, as far as it can be had without Windows: e2e/kernel/uml.sh e2e/wheel/wsl_test.sh. An ordinary user's
# processes are in the root of cgroup v2, which hands no controller down and has no limit and no counter; process 1 is no service manager;
# the kernel log may not be read; and the kernel hands cores to a program of process 1. Ends with "N passed, N failed".
set -u

cd "$(dirname "$0")/../.."
[ -n "${AFTERGLOW_IN_VM:-}" ] || exec e2e/kernel/uml.sh "$0" "$@"
build=$(realpath "${AFTERGLOW_BUILD:-build}")
work=$(mktemp -d /tmp/wsl_test.XXXXXX)
. e2e/kernel/check.sh
trap '[ "$failed" = 0 ] || exit 1' EXIT

echo '-cpu -memory -pids' >/sys/fs/cgroup/cgroup.subtree_control
echo '|/wsl-capture-crash %t %E %p %s' >/proc/sys/kernel/core_pattern
echo 1 >/proc/sys/kernel/dmesg_restrict
chmod 755 "$work"
install -d -o 65532 -g 65532 "$work/home"
cp "$build"/wheel/*.tar.gz "$work" && tar -C "$work" -xf "$work"/*.tar.gz && mv "$work"/afterglow-ray-*/ "$work/command" || exit

as_user() { env -C "$work/home" setpriv --reuid=65532 --regid=65532 --clear-groups env -i HOME="$work/home" PATH="$work/command:$build/test:/usr/bin:/bin" "$@"; }
run() {
	as_user afterglow run "$@" >"$work/out" 2>"$work/err"
	code=$?
}
says() { tr -s ' \n' ' ' <"$work/err" | grep -Eq "$1"; }

check "the user's processes are in the root of cgroup v2" test "$(cat /proc/self/cgroup)$(cat /sys/fs/cgroup/cgroup.subtree_control)" = 0::/
run -- true
check "a command that succeeds leaves no word" test "$code" = 0 -a ! -s "$work/err"
run -- probe fault segv
check "a crash ends with 139" test "$code" = 139
check "a crash has its class" says 'class Segfault, certain'
check "the program that gets the core is named" says 'core_pattern.*wsl-capture-crash|wsl-capture-crash.*core_pattern'
cat "$work/err"
run -- sh -c 'exit 3'
check "an exit code has its class" says 'class ApplicationError, (certain|likely)'
cat "$work/err"
run -- sh -c 'kill -9 $$'
check "a kill -9 ends with 137" test "$code" = 137
check "a kill -9 is not asserted to be the OOM killer's" says 'class Killed, '
cat "$work/err"
run --memory-max 64Mi -- echo ran
check "a limit that cannot be had does not keep the command from running" test "$code$(cat "$work/out")" = 0ran
check "one line says why there is no limit" test "$(wc -l <"$work/err")" = 1
cat "$work/err"
strange='kubelet|\b[Cc]ontainers?\b|\b[Pp]ods?\b|node agent|rayStartParams'
check "no report speaks of Kubernetes" test -z "$(grep -rlE "$strange" "$work/home" --include=report.txt)"
as_user afterglow list
summary
