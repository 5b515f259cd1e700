#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The node agent stands before Debian's own systemd-coredump: a pod's crash comes to its sidecar, and coredumpctl has every other one.
# Runs only in the test machine:	AFTERGLOW_VM_ROOT=$(e2e/kernel/systemd_root.sh) e2e/kernel/vm.sh e2e/kernel/node_systemd_test.sh
# Plain sh. Ends with "N passed, N failed".
[ -n "${AFTERGLOW_IN_VM:-}" ] || exit 1
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch node=$build/afterglow-node crash=$build/test/crash contain=$build/test/contain
work=$(mktemp -d /tmp/node_systemd.XXXXXX)
chmod 755 "$work"
. "$(dirname "$0")/check.sh"
uid=94eb36cd-29e1-478b-b365-4cb5dfc7d6fb
pod=/sys/fs/cgroup/kubepods/burstable/pod$uid
ray=$pod/a$(printf '%063d' 7) side=$pod/b$(printf '%063d' 7)
volume=$work/kubelet/pods/$uid/volumes/kubernetes.io~empty-dir/afterglow-node

# systemd would start these.
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
mkdir -p /run/systemd/journal /run/log/journal/0123456789abcdef0123456789abcdef /var/lib/systemd/coredump /var/log /var/tmp
/lib/systemd/systemd-journald >"$work/journald" 2>&1 &
systemd-socket-activate --seqpacket --accept -l /run/systemd/coredump /lib/systemd/systemd-coredump >"$work/socket" 2>&1 &
wait_until [ -S /run/systemd/coredump ]
wait_until [ -S /run/systemd/journal/socket ]
# Debian sets the pattern, and how many dumps there may be at a time.
sed -n 's/^kernel.core_pattern=//p' /usr/lib/sysctl.d/50-coredump.conf >/proc/sys/kernel/core_pattern
sed -n 's/^kernel.core_pipe_limit=//p' /usr/lib/sysctl.d/50-coredump.conf >/proc/sys/kernel/core_pipe_limit
before=$(cat /proc/sys/kernel/core_pattern)

crash_here() {
	sh -c "exec $crash" &
	dead=$!
	wait $dead 2>/dev/null
}
listed() { coredumpctl list --no-pager "$1" 2>/dev/null | grep -q -e "$1"; }
stored() { find /var/lib/systemd/coredump -name "core.crash.*.$1.*" | grep -q .; }
count_stored() { find /var/lib/systemd/coredump -name 'core.crash.*' | wc -l; }
crash_here
check "coredumpctl lists a crash without the agent" wait_until listed "$dead"

"$node" --kubelet "$work/kubelet" >"$work/err" 2>&1 &
agent=$!
took_over() { grep -q 'core_pattern was' "$work/err"; }
check "the agent takes the pattern over" wait_until took_over
crash_here
check "coredumpctl lists a foreign crash with it" wait_until listed "$dead"
check "the core of that crash is stored" wait_until stored "$dead"
check "coredumpctl says of it what it says without the agent" sh -c "coredumpctl info --no-pager $dead | grep -q 'Signal: 11 (SEGV)'"

for group in /sys/fs/cgroup /sys/fs/cgroup/kubepods /sys/fs/cgroup/kubepods/burstable $pod; do
	mkdir -p "$group"
	echo +memory >"$group/cgroup.subtree_control"
done
mkdir -p "$ray" "$side" "$volume" "$work/node" "$work/store" "$work/spool"
"$contain" --cgroup "$side" --memory own --pid sh -c "mount --bind $volume $work/node && exec \"\$@\"" sh "$sidecar" \
	--socket "$work/socket" --node-socket "$work/node/node.sock" --store "$work/store" --spool "$work/spool" --kernel-log off \
	--full-bundles 0 --grace 1 >"$work/sidecar" 2>&1 &
started=$!
wait_until [ -S "$volume/node.sock" ]
stored_so_far=$(count_stored)
"$contain" --cgroup "$ray" --pid "$launch" --socket "$work/socket" --name ray-worker --cores -- "$crash" >/dev/null 2>&1
has_backtrace() { grep -q deref_null $(find "$work/store" -name backtrace.txt) /dev/null; }
check "a crash in the pod: its backtrace is in the bundle" wait_until has_backtrace
check "systemd-coredump stores no core of the pod" test "$(count_stored)" = "$stored_so_far"

# The machine keeps no syslog file: its journal has the lines. The kernel's own log is one of journald's sources.
journal_says() {
	echo "<4>kubelet[812]: \"Probe failed\" podUID=\"$uid\" probe 77" >/dev/kmsg
	echo "<4>kubelet[812]: \"Probe failed\" podUID=\"of another\" probe 78" >/dev/kmsg
}
journal_has() { journalctl -q --no-pager -D /run/log/journal SYSLOG_IDENTIFIER=kubelet 2>/dev/null | grep -q 'probe 77'; }
in_bundle() { find "$work/store" -name syslog.log -exec cat {} + | grep -q "$1"; }
# The agent looks each second, on a busy machine later: the longer the container lives, the surer the line is there before its end.
for seconds in 4 10 30; do
	"$contain" --cgroup "$ray" --pid "$launch" --socket "$work/socket" --name ray-worker -- \
		sh -c "sleep 2; : >$work/says; sleep $seconds; exit 3" >/dev/null 2>&1 &
	lives=$!
	wait_until [ -e "$work/says" ]
	rm "$work/says"
	journal_says
	wait $lives
	wait_until in_bundle 'probe 77' && break
done
check "journald has the line that names the pod" journal_has
check "it is in the bundle" in_bundle 'kubelet[^ ]*: "Probe failed" .*probe 77'
not() { ! "$@"; }
check "the line about another pod is not" not in_bundle 'probe 78'

kill -9 "$agent"
wait "$agent" 2>/dev/null
crash_here
check "coredumpctl lists a foreign crash while the agent is dead" wait_until listed "$dead"
"$node" restore
check "the pattern is Debian's again" test "$(cat /proc/sys/kernel/core_pattern)" = "$before"
kill "$started"
summary
