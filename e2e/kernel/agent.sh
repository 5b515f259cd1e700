# SPDX-License-Identifier: Apache-2.0
# A node for the scripts that test afterglow-node: pods as the kubelet makes them, with their cgroups below $around and their directories
# below $work, and the agent. Sourced after check.sh, plain sh. A script sets $build and $work, calls begin_node first, and end_node in
# its trap on EXIT.
agent='' tracefs='' number=0
node=$build/afterglow-node contain=$build/test/contain
instance=afterglow-test-$$ tracing=/sys/kernel/tracing
# What a script in a container does until the test makes $work/go.
# shellcheck disable=SC2034
await_go="until [ -e $work/go ]; do sleep 0.2; done"

begin_node() { # NAME
	begin_cgroups "$1"
	for part in "$around/kubepods" "$around/kubepods/burstable"; do
		mkdir "$part"
		hand_down "$part"
	done
	mkdir -p "$work/var/log"
	[ -d $tracing/instances ] || { mount -t tracefs tracefs $tracing && tracefs=mounted; }
}

# Kills the agent, and ends the script as end_cgroups does.
end_node() {
	[ -z "$agent" ] || kill_agent
	rmdir "$tracing/instances/$instance" 2>/dev/null
	[ -z "$tracefs" ] || umount $tracing
	end_cgroups
}

# The agent opens the kernel log last of all, so then it has started.
reads_the_log() { ls -l "/proc/$agent/fd" 2>/dev/null | grep -q /dev/kmsg; }
start_agent() { # OPTION...
	"$node" --cores off --root "$work" --kubelet /kubelet --instance "$instance" "$@" >>"$work/agent" 2>&1 &
	agent=$!
	wait_until reads_the_log
}
stop_agent() {
	kill $agent
	wait $agent
	agent=''
}
kill_agent() {
	kill -9 $agent
	wait $agent 2>/dev/null
	agent=''
}

# A container's ID in the pod of this number.
id() { printf '%s%063d' "$1" "$number"; }
# Sets $uid, $pod, and $ray and $side, which are the cgroups of its containers.
add_pod() {
	number=$((number + 1))
	uid=$(printf '%08d-1111-1111-1111-%012d' $$ $number)
	pod=$around/kubepods/burstable/pod$uid
	ray=$pod/$(id a) side=$pod/$(id b)
	mkdir "$pod"
	hand_down "$pod"
	mkdir "$ray" "$side"
	add_volume "$uid" "$number"
}
# The kubelet's directory for the agent's socket is there before any container of the pod starts. By $work/nodeNAME the path of the
# socket is as short as it has to be.
add_volume() { # UID NAME
	volume=$work/kubelet/pods/$1/volumes/kubernetes.io~empty-dir/afterglow-node
	mkdir -p "$volume"
	ln -s "$volume" "$work/node$2"
}

# Replaces this shell by a sidecar. Its sockets and its spool have this name.
run_sidecar() { # CGROUP NAME OPTION...
	cgroup=$1 name=$2
	shift 2
	exec "$contain" --cgroup "$cgroup" --memory own --pid "$build/afterglow-sidecar" --socket "$work/socket$name" \
		--node-socket "$work/node$name/node.sock" --spool "$work/spool$name" --kernel-log off --grace 1 "$@"
}

# The pod's Ray container, whose command is a script. Its output is in $work/out. With $host_pid set it has no PID namespace of its own.
begin_ray() { # CONTAINER SCRIPT
	printf '%s\n' "$2" >"$work/command"
	# shellcheck disable=SC2046
	"$contain" --cgroup "$ray" --memory own $([ -n "${host_pid:-}" ] || echo --pid) "$build/afterglow-launch" --socket "$work/socket$number" --name "$1" -- \
		sh "$work/command" >"$work/out" 2>&1 &
	ray_pid=$!
}
