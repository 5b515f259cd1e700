#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# systemd_test.sh: the way to a memory limit that `afterglow run --memory-max` advises to a user whose systemd has the memory controller, with
# Debian's systemd as process 1 and its manager of that user, on cgroup v2: e2e/kernel/uml.sh e2e/wheel/systemd_test.sh. Ends with "N passed, N failed".
set -u

cd "$(dirname "$0")/../.."
[ -n "${AFTERGLOW_IN_VM:-}" ] || { tools/apt-install.sh systemd dbus dbus-user-session && exec e2e/kernel/uml.sh "$0" "$@"; }
build=$(realpath "${AFTERGLOW_BUILD:-build}")
work=$(mktemp -d /tmp/systemd_test.XXXXXX)
. e2e/kernel/check.sh
trap '[ "$failed" = 0 ] || exit 1' EXIT

user=65532 runtime=/run/user/65532
chmod 755 "$work"
install -d -m 700 -o $user -g $user "$work/home" "$runtime"
{ cat /etc/passwd && echo "tester:x:$user:$user::$work/home:/bin/sh"; } >"$work/passwd"
echo 0123456789abcdef0123456789abcdef >"$work/machine-id"
for file in passwd machine-id; do [ ! -e "/etc/$file" ] || mount --bind "$work/$file" "/etc/$file"; done
cp "$build"/wheel/*.tar.gz "$work" && tar -C "$work" -xf "$work"/*.tar.gz && mv "$work"/afterglow-ray-*/ "$work/command" || exit

# Of this machine's own units only the user's manager and the bus start, as others would clean /tmp. Who the user is comes from here, as nobody logs in.
units=$work/units
install -d "$units/user@.service.d"
cp /lib/systemd/system/{user@.service,dbus.service,dbus.socket} "$units"
printf '[Unit]\nDescription=What this test needs\nRequires=dbus.socket dbus.service user@%s.service\nAfter=user@%s.service\n' $user $user >"$units/default.target"
printf '[Unit]\nDefaultDependencies=no\n' | tee "$units/sysinit.target" "$units/basic.target" "$units/sockets.target" >"$units/shutdown.target"
printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n' >"$units/user-runtime-dir@.service"
printf '[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%%i HOME=%s\n' "$work/home" >"$units/user@.service.d/no-login.conf"
env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin SYSTEMD_UNIT_PATH="$units" unshare -p -m -f --mount-proc --kill-child \
	/lib/systemd/systemd --log-target=console --show-status=no </dev/null >"$work/systemd.log" 2>&1 &
unshared=$!
find_systemd() { systemd=$(pgrep -P "$unshared" -x systemd); }
wait_until find_systemd

# Runs a program as the user, among the processes that systemd sees.
as_user() {
	nsenter -t "$systemd" -p -m env -C "$work/home" setpriv --reuid=$user --regid=$user --clear-groups env -i HOME="$work/home" \
		XDG_RUNTIME_DIR=$runtime DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" PATH="$work/command:$build/test:/usr/bin:/bin" "$@"
}
answers() { as_user systemctl --user show-environment >"$work/err" 2>&1; }
check "the user's manager answers" wait_until answers
[ $failed = 0 ] || { tail -n 60 "$work/systemd.log" && exit 1; }

# Runs words of a shell where a desktop's terminal runs: in a service of the user's manager.
in_terminal() {
	as_user systemd-run --user --quiet --wait --pipe -p WorkingDirectory="$work/home" -E HOME="$work/home" -E XDG_RUNTIME_DIR=$runtime \
		-E DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" -E PATH="$work/command:$build/test:/usr/bin:/bin" sh -c "$1" >"$work/out" 2>"$work/err"
	code=$?
}
says() { tr -s ' \n' ' ' <"$work/err" | grep -Eq "$1"; }

# The same where a login by ssh runs: its cgroup belongs to root.
session=/sys/fs/cgroup/user.slice/user-$user.slice/session-1.scope
mkdir "$session"
in_session() {
	(echo $BASHPID >"$session/cgroup.procs" && as_user sh -c "$1") >"$work/out" 2>"$work/err"
	code=$?
}

in_terminal 'cat /proc/self/cgroup; afterglow run --memory-max 100Mi -- hog 300M --rate 100M'
check "a terminal is below the user's manager" grep -q "/user-$user.slice/user@$user.service/" "$work/out"
check "in a terminal the limit ends what exceeds it" test "$code" = 137
check "in a terminal the class of that is certain" says 'class KernelOOMContainer, certain'
in_session 'cat /proc/self/cgroup; afterglow run --memory-max 100Mi -- echo ran'
check "a login's session is beside the user's manager" grep -q "/user-$user.slice/session-1.scope" "$work/out"
check "in a login's session the command runs without the limit" test "$code$(tail -n 1 "$work/out")" = 0ran
check "and one line says how the user's manager gives one" says 'begin with `systemd-run --user --scope -p Delegate=yes` to have one'
check "it is one line" test "$(wc -l <"$work/err")" = 1
for place in session terminal; do
	"in_$place" 'systemd-run --user --scope --quiet -p Delegate=yes afterglow run --memory-max 100Mi -- hog 300M --rate 100M'
	check "begun so in a $place, the limit ends what exceeds it" test "$code" = 137
	check "begun so in a $place, the class of that is certain" says 'class KernelOOMContainer, certain'
	check "begun so in a $place, the limit is named" says 'limit of 100.0 MiB'
done
in_session 'systemd-run --user --scope --quiet -p Delegate=yes afterglow run --memory-max 100Mi -- sh -c "hog 300M --rate 100M; sleep 1; exit 0"'
check "begun so, a child that the limit ends is reported" says 'class KernelOOMProcess, certain'
in_terminal 'systemd-run --user --scope --quiet -p MemoryMax=100M afterglow run -- hog 300M --rate 100M'
check "a limit of the scope itself ends what exceeds it" test "$code" = 137
check "a limit of the scope itself is named, or no report follows its last line" says 'class KernelOOM|If the OOM killer takes Afterglow as well, no report follows'
empty() { ! find "/sys/fs/cgroup/user.slice/user-$user.slice" -name 'run-*.scope' | grep -q .; }
check "no scope stays" wait_until empty
summary
