#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel kills containers as a whole while no sidecar listens: before its first start, and while it is being restarted. The node agent
# keeps what it saw, and the sidecar reports it at /failures as soon as it listens. Runs only in the test machine (vm.sh), because
# memory.oom.group is a file of cgroup v2, and busybox's wget reads /failures. Plain sh, as root. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
hog=$build/test/hog
port=18095
ulimit -c 0
work=$(mktemp -d /tmp/node_early.XXXXXX)
. "$(dirname "$0")/check.sh"
. "$(dirname "$0")/agent.sh"
trap end_node EXIT
begin_node early
if [ "$version" != 2 ]; then
	echo "not here: this machine has cgroup v1, which kills no container as a whole"
	exit 1
fi

make_pod() {
	add_pod
	container_id=$(id a)
	echo 1 >"$ray/memory.oom.group"
}

start_ray() { # SCRIPT
	rm -f "$work/go" "$work/ready"
	begin_ray ray-head "echo >$work/ready; $1"
	wait_until [ -e "$work/ready" ]
}
end_ray() {
	wait $ray_pid
	code=$?
}

start_sidecar() {
	{
		export POD_NAMESPACE=ml POD_NAME=w POD_UID="$uid"
		run_sidecar "$side" "$number" --http "127.0.0.1:$port" --reconnect 1
	} >"$work/err" 2>&1 &
	side_pid=$!
}
stop_sidecar() {
	# shellcheck disable=SC2046
	kill -9 $(cat "$side/cgroup.procs") 2>/dev/null
	wait $side_pid 2>/dev/null
}

answers() { wget -q -O "$work/answer" "http://127.0.0.1:$port/failures" 2>/dev/null && grep -q "$1" "$work/answer"; }
settled() { answers '"unmetEnds":{"settled":true'; }
end_is() { # PATTERN: what the answer says of the only end
	sed 's/.*"unmetEnds"//' "$work/answer" | grep -q "$1"
}
shows() { settled && end_is "$1"; }
no_end() { end_is '"ends":\[\]'; }
end_pod() {
	stop_sidecar
	wait_until remove_tree "$pod"
}

dies_early() { # SENTENCE: the container dies without a sidecar, which starts then
	end_ray
	check "$1: the container was killed" [ "$code" = 137 ]
	start_sidecar
	check "$1: the sidecar answers" wait_until settled
	cat "$work/agent" "$work/answer" >"$work/err"
}

start_agent --syslog off

# As the kubelet does it: the container ends before the agent can have looked at its processes.
make_pod
set_limit "$ray" 24M
start_ray "$hog 200M & $hog 200M; sleep 60"
dies_early "its own limit"
check "its own limit: the container is named by its ID" wait_until shows "\"containerID\":\"$container_id\""
check "its own limit: the class is certain" wait_until shows '"class":"KernelOOMContainer","confidence":"certain"'
check "its own limit: the limit is known" wait_until shows '"cause":"it reached its memory limit of 24.0 MiB","memory":{"limitBytes":25165824}'
check "its own limit: the kernel's line is the evidence" wait_until shows "Tasks in [^\"]*/$container_id are going to be killed due to memory.oom.group set"
end_pod

make_pod
set_limit "$pod" 24M
start_ray "$hog 200M"
dies_early "the pod's limit"
check "the pod's limit: the class is certain, and says that it was the pod's" wait_until shows "\"containerID\":\"$container_id\".*\"class\":\"KernelOOMPod\",\"confidence\":\"certain\""
end_pod

# The agent has seen its processes, and the kernel writes a line and a record for each that it kills.
make_pod
set_limit "$ray" 64M
start_ray "for i in \$(seq 150); do sleep 60 & done; echo >$work/many; $await_go; $hog 200M"
wait_until [ -e "$work/many" ]
sleep 5
touch "$work/go"
dies_early "many processes"
check "many processes: certain" wait_until shows "\"containerID\":\"$container_id\".*\"class\":\"KernelOOMContainer\",\"confidence\":\"certain\""
check "many processes: the record of the first is there" wait_until shows "the OOM killer took the container's first process"
end_pod

# What a container below its own cgroup does to itself is not the container's limit.
make_pod
start_ray "$await_go; sleep 60"
hand_down "$ray" 2>/dev/null
launcher=$(head -n 1 "$ray/cgroup.procs")
kill -9 "$launcher"
dies_early "a SIGKILL"
check "a SIGKILL: nobody says that it was an OOM kill" no_end
end_pod

# An agent that starts again knows nothing of what the one before it saw.
make_pod
set_limit "$ray" 24M
start_ray "$hog 200M"
end_ray
kill_agent
start_agent --syslog off
start_sidecar
check "an agent that was killed meanwhile: the sidecar waits no longer" wait_until settled
check "an agent that was killed meanwhile: nothing is claimed" no_end
end_pod

# The next instance of a container has another ID.
make_pod
set_limit "$ray" 24M
start_ray "$hog 200M"
end_ray
wait_until remove_tree "$ray"
first=$container_id
container_id=$(id c)
ray=$pod/$container_id
mkdir "$ray"
echo 1 >"$ray/memory.oom.group"
start_ray "exit 137"
dies_early "an instance that ends by itself after one that was killed"
check "two instances: the first is named" wait_until shows "\"containerID\":\"$first\""
check "two instances: the second is not" sh -c "! sed 's/.*\"unmetEnds\"//' $work/answer | grep -q $container_id"
end_pod

# The sidecar has met the container, and is killed before it.
make_pod
set_limit "$ray" 24M
start_sidecar
wait_until grep -q 'the node agent sees' "$work/err" || wait_until answers failures
start_ray "$await_go; $hog 200M"
check "a sidecar that is killed: it had met the container" wait_until grep -q '"event":"attached"' "$work/err"
stop_sidecar
touch "$work/go"
dies_early "a sidecar that is killed before its container"
check "a sidecar that is killed before its container: certain" \
	wait_until shows "\"containerID\":\"$container_id\".*\"class\":\"KernelOOMContainer\",\"confidence\":\"certain\""
end_pod

# A sidecar that listens sees the end itself, and the agent has nothing to add.
make_pod
set_limit "$ray" 24M
start_sidecar
wait_until answers failures
start_ray "$await_go; $hog 200M"
check "a sidecar that listens: it has met the container" wait_until grep -q '"event":"attached"' "$work/err"
touch "$work/go"
end_ray
check "a sidecar that listens: it reports the end" wait_until answers '"class":"KernelOOMContainer"'
check "a sidecar that listens: no unmet end" no_end
end_pod

# Sidecars of some pods never come, and the agent does not keep the ends of their containers for ever.
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$agent/status"; }
before=$(resident)
rounds=0
while [ $rounds -lt 4 ]; do
	rounds=$((rounds + 1))
	make_pod
	set_limit "$ray" 24M
	start_ray "$hog 200M"
	end_ray
	wait_until remove_tree "$pod"
done
echo "the agent's resident memory: $before kB, with the ends of $rounds pods $(resident) kB"
check "the agent stays below 2 MiB" [ "$(resident)" -lt 2048 ]
stop_agent
summary
