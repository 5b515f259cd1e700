#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Deaths on a node that is itself a container, as the nodes of kind are: its cgroup namespace and its PID namespace are below those of the
# machine, whose kernel names processes and cgroups as the node does not see them. Needs cgroup v2.
# Plain sh: runs in the test machine too. As root. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/node_kind.XXXXXX)
. "$(dirname "$0")/check.sh"
. "$(dirname "$0")/agent.sh"

# On the machine: makes the node, with the cgroup that a container engine gives it, and runs the rest of this script in there.
if [ -z "${AFTERGLOW_IN_NODE:-}" ]; then
	trap end_cgroups EXIT
	begin_cgroups kind
	mkdir "$around/docker-$(id 0).scope"
	AFTERGLOW_IN_NODE=1 "$contain" --cgroup "$around/docker-$(id 0).scope" --memory own --pid sh "$0"
	exit
fi

# A cgroup that hands controllers down has no process of its own. systemd moves itself to init.scope there.
mkdir /sys/fs/cgroup/init.scope
while read -r pid; do echo "$pid" >/sys/fs/cgroup/init.scope/cgroup.procs; done </sys/fs/cgroup/cgroup.procs
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
trap end_node EXIT
begin_node kind
: >"$work/var/log/syslog"
check "the node has a PID namespace of its own" test "$(cat /proc/1/comm)" = sh

attached() { grep -q '"event":"attached"' "$work/err"; }
reported() { grep -q '"event":"ended"' "$work/err"; }

# Runs a pod whose Ray container has this script as its command.
run_pod() { # SCRIPT [OPTION-OF-SIDECAR...]
	script=$1
	shift
	rm -f "$work/err" "$work/go"
	add_pod
	set_limit "$ray" 24M
	mkdir "$work/store$number"
	run_sidecar "$side" "$number" --store "$work/store$number" "$@" >"$work/err" 2>&1 &
	side_pid=$!
	wait_until [ -S "$work/socket$number" ] || exit 1
	begin_ray ray-worker "$script"
	wait_until attached || exit 1
}
end_pod() {
	check "$1: a report came" wait_until reported
	wait $ray_pid 2>/dev/null
	kill $side_pid
	wait $side_pid 2>/dev/null
	wait_until remove_tree "$pod"
}

oom_spares_us
leak="exec sh -c '$as_victim $hog 200M --rate 200M'"
run_pod "$leak"
end_pod "an OOM kill"
check "an OOM kill: it is seen" says 'class KernelOOMContainer, likely'
check "an OOM kill: the report names the limit" says 'its memory limit of 24.0 MiB'

run_pod "$leak" --kernel-log auto
end_pod "an OOM kill with the machine's kernel log"
check "an OOM kill with the machine's kernel log: it is certain" says 'class KernelOOMContainer, certain'
check "an OOM kill with the machine's kernel log: the report quotes its line, which has the machine's PID" says 'kernel log: .*Killed process .* (hog)'

# Records of signals and lines of the kernel log have PIDs of the machine, which are those of other processes here. So the agent sends none,
# and what a report says of a killer is what it says without an agent.
"$node" --cores off --root "$work" --kubelet /kubelet --instance "$instance" >"$work/agent" 2>&1 &
agent=$!
check "a node agent says that it sends nothing" wait_until grep -q 'not in the machine.s first PID namespace' "$work/agent"
run_pod "$await_go"
# Three looks of an agent at the processes of the node.
sleep 7
check "beside a node agent: a sidecar does not hear that somebody watches signals" silent 'the node agent sees'
while read -r pid; do
	! grep -qs afterglow-launc "/proc/$pid/comm" || kill -9 "$pid"
done <"$ray/cgroup.procs"
end_pod "beside a node agent, a kill -9"
check "beside a node agent, a kill -9: who sent it is missing" says 'missing .*who sent the SIGKILL'
summary
