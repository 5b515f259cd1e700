#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Containers die in pods of every shape that hides or moves a container's memory: privileged with the host's cgroup namespace, with a
# shared PID namespace, with a limit on the pod alone, with Ray's resource isolation. The sidecar is a container of its own beside it,
# with namespaces as a runtime makes them (contain.c), so it sees cgroups as a real one does. It does not read the kernel log. Some pods
# have the network of their node, which they share with other pods.
# Plain sh: runs in the test machine too. As root. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch hog=$build/test/hog contain=$build/test/contain
ulimit -c 0
work=$(mktemp -d /tmp/pods_test.XXXXXX)
. "$(dirname "$0")/check.sh"
trap end_cgroups EXIT
begin_cgroups pods
echo "hog=$hog" >>"$work/lib"

# Cgroups have the names that runtimes give them, with systemd's driver or without.
id() { printf '%s%063d' "$1" "$number"; }
number=0
make_pod() { # systemd|plain
	number=$((number + 1))
	pod=$around/pod$number
	case $1 in
	systemd) ray=$pod/cri-containerd-$(id a).scope side=$pod/cri-containerd-$(id b).scope ;;
	*) ray=$pod/$(id a) side=$pod/$(id b) ;;
	esac
	mkdir "$pod"
	hand_down "$pod"
	mkdir "$ray" "$side"
	store=$work/store$number
	mkdir "$store"
}

start_sidecar() { # OPTION... of contain
	# shellcheck disable=SC2086
	"$contain" --cgroup "$side" --memory own "$@" "$sidecar" --socket "$work/socket$number" --store "$store" \
		--spool "$work/spool$number" --kernel-log off --grace 1 ${http:+--http $http} >"$work/err" 2>&1 &
	started=$!
	wait_until [ -S "$work/socket$number" ] || exit 1
}

# Runs the Ray container, whose command is a script. The options are those of contain.
run_ray() { # SCRIPT OPTION...
	begin_ray "$@"
	end_ray
}
begin_ray() {
	printf '. %s/lib\nown=%s\n%s\n' "$work" "$ray" "$1" >"$work/command"
	shift
	"$contain" --cgroup "$ray" "$@" "$launch" --socket "$work/socket$number" --name ray-worker -- sh "$work/command" \
		>/dev/null 2>&1 &
	ray_pid=$!
}
end_ray() {
	wait $ray_pid
	check "a report came" wait_until reported
	kill $started
	wait $started
	wait_until remove_tree "$pod"
}
http=
reported() { grep -q '"event":"ended"' "$work/err"; }

# The OOM killer is to take the hog, and neither the launcher nor the sidecar.
oom_spares_us
leak="exec sh -c '$as_victim $hog 200M --rate 200M'"
isolate='node=$own/ray-node_0a1b
mkdir -p "$node/system/leaf" "$node/user/workers" "$node/user/non-ray"
while read -r pid; do echo "$pid" >"$node/user/non-ray/cgroup.procs"; done <"$own/cgroup.procs"
for part in "$own" "$node" "$node/system" "$node/user"; do hand_down "$part"; done
set_limit "$node/user" 24M
echo 0 >"$node/user/workers/cgroup.procs"
'

# On v1 no container sees more than its own cgroup, unless the whole hierarchy is mounted into it.
for driver in systemd plain; do
	for sees in own host; do
		shape="v$version, $driver names, sees $sees"
		make_pod $driver
		set_limit "$ray" 24M
		start_sidecar --pid
		run_ray "$leak" --memory $sees --pid
		check "$shape: an OOM kill is seen" says 'class KernelOOMContainer'
		check "$shape: the limit is told" says 'its memory limit of 24.0 MiB'
		check "$shape: memory was sampled" says '"limitBytes":25165824'
	done
done

# The sidecar is in the full cgroup, too. Fails if the kernel took it after the hog.
with_a_limit_on_the_pod() {
	make_pod systemd
	set_limit "$pod" 24M
	start_sidecar --pid
	begin_ray "$leak" --memory $sees --pid
	wait $ray_pid
	sleep 0.5
	kill -0 $started 2>/dev/null && return
	wait $started
	wait_until remove_tree "$pod"
	false
}
# False if another process of this machine was OOM-killed meanwhile: a report that had no other source would not rule that out.
with_a_command_that_kills_itself() {
	make_pod systemd
	set_limit "$ray" 300M
	start_sidecar --pid
	kills=$(grep '^oom_kill ' /proc/vmstat)
	run_ray "until grep -q '\"event\":\"attached\"' $work/err; do sleep 0.05; done; kill -9 \$\$" --memory $sees --pid
	[ "$(grep '^oom_kill ' /proc/vmstat)" = "$kills" ]
}
for sees in own host; do
	shape="v$version, sees $sees"
	until_undisturbed with_a_limit_on_the_pod
	end_ray
	check "$shape, a limit on the pod alone: the OOM kill is seen" says 'class KernelOOM'
	check "$shape, a limit on the pod alone: nobody says that it was not" silent 'not by the OOM killer\|not the OOM killer'
	# On v2 a container that sees its own cgroup alone sees no limit above. On v1 memory.stat has that limit.
	[ "$version$sees" = 2own ] || check "$shape, a limit on the pod alone: it is told" says 'memory limit of 24.0 MiB'

	until_undisturbed with_a_command_that_kills_itself
	check "$shape: kill -9 is no OOM kill" says 'class Killed, certain'

	# shareProcessNamespace: the launcher is not PID 1, and sidecar and container see each other.
	make_pod systemd
	set_limit "$ray" 24M
	start_sidecar
	run_ray "$leak" --memory $sees
	check "$shape, a shared PID namespace: an OOM kill is seen" says 'class KernelOOM'
	check "$shape, a shared PID namespace: the limit is told" says 'its memory limit of 24.0 MiB'
done

# Ray's resource isolation in a privileged container makes its cgroups below the one that it finds itself in.
make_pod systemd
set_limit "$ray" 300M
start_sidecar --pid
run_ray "$isolate$leak" --memory host --pid
check "v$version, isolation in a privileged container: an OOM kill is seen" says 'class KernelOOMContainer'
check "v$version, isolation in a privileged container: its limit is told" \
	says 'its sub-cgroup "user" of Ray.s resource isolation .* reached its memory limit of 24.0 MiB'

# With Ray's default for its path these are at the top of the machine's hierarchy instead, outside of the pod.
make_pod systemd
set_limit "$ray" 300M
mkdir -p "$around/ray-node_0a1b/user"
hand_down "$around/ray-node_0a1b"
set_limit "$around/ray-node_0a1b/user" 24M
hand_down "$around/ray-node_0a1b/user"
mkdir "$around/ray-node_0a1b/user/workers"
start_sidecar --pid
run_ray "echo 0 >$around/ray-node_0a1b/user/workers/cgroup.procs
exec sh -c '$as_victim $hog 200M --rate 20M'" --memory host --pid
check "v$version, isolation outside of the pod: an OOM kill is seen" says 'class KernelOOM'
check "v$version, isolation outside of the pod: its limit is told" says 'reached its memory limit of 24.0 MiB'

# A privileged container may move itself to the top of the hierarchy. There the whole machine is counted, with all cgroups of others.
make_pod systemd
ray=$memory
start_sidecar --pid
run_ray "until grep -q '\"event\":\"attached\"' $work/err; do sleep 0.05; done; kill -9 \$\$" --memory host --pid
check "v$version, at the top of the hierarchy: the machine's memory is not its own" silent 'no limit\|reached its memory limit'
check "v$version, at the top of the hierarchy: the report says what it lacks" says 'missing memory of the container'

# A sidecar that starts anew, or late, finds a container whose cgroups are out of sight: the launcher has the descriptor.
make_pod systemd
set_limit "$ray" 24M
: >"$work/err"
begin_ray "mount -t tmpfs none /sys/fs/cgroup && : >$work/hidden
until grep -q '\"event\":\"attached\"' $work/err; do sleep 0.1; done
$leak" --memory own --pid
check "v$version, cgroups out of sight: they are hidden" wait_until [ -e "$work/hidden" ]
start_sidecar --pid
end_ray
check "v$version, cgroups out of sight: an OOM kill is seen" says 'class KernelOOMContainer'
check "v$version, cgroups out of sight: memory was sampled" says '"limitBytes":25165824'

# hostNetwork: the sidecars of two pods on one node ask for the same port. The one that comes second does without, and no report needs it.
http=:$((30000 + $$ % 2000))
make_pod systemd
start_sidecar --pid
neighbour=$started first=$pod
wait_until says 'listens on'
check "v$version, hostNetwork: the first sidecar of the node has the port" silent 'metrics and health are not served'
make_pod systemd
set_limit "$ray" 24M
start_sidecar --pid
run_ray "$leak" --memory own --pid
check "v$version, hostNetwork: the second one finds it taken" says 'metrics and health are not served'
check "v$version, hostNetwork: and reports all the same" says 'class KernelOOMContainer'
make_pod systemd
start_sidecar --pid
check "v$version, hostNetwork: the third one finds it taken" wait_until says 'metrics and health are not served'
kill $neighbour
wait $neighbour
check "v$version, hostNetwork: when the port is free, it serves" wait_until says 'metrics and health are served now'
kill $started
wait $started
wait_until remove_tree "$first"
wait_until remove_tree "$pod"

summary
