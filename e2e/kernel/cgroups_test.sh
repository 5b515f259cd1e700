#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel kills for the limit of another memory cgroup than the container's own: of one below it, of one above it, of one that the
# command moved to. The kills are real, each with the kernel log and without.
# Plain sh: runs in the test machine too. As root. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/cgroups_test.XXXXXX)
store=$work/store
. "$(dirname "$0")/check.sh"
trap end_cgroups EXIT
begin_cgroups cgroups
mkdir "$around/in"

# Removes what the last command left in its cgroup.
clean() { wait_until remove_tree "$around"/in/*-*; }

# The commands below call these functions.
cat >>"$work/lib" <<END
memory=$memory around=$around hog=$hog
own() { sed -n 's/^[0-9]*:memory:\\(.*\\)/\\1/p; s/^0::\\(.*\\)/\\1/p' /proc/self/cgroup | head -n 1; }
join() { echo 0 >"\$1/cgroup.procs"; } # also of a subshell, whose PID \$\$ is not
# Makes cgroups as raylet does. \$1 is the limit of the user's processes; empty: they have none.
isolate() {
	cgroup=\$memory\$(own)
	node=\$cgroup/ray-node_0a1b
	mkdir -p "\$node/system/leaf" "\$node/user/workers" "\$node/user/non-ray"
	while read -r pid; do echo "\$pid" >"\$node/user/non-ray/cgroup.procs"; done <"\$cgroup/cgroup.procs"
	for part in "\$cgroup" "\$node" "\$node/system" "\$node/user"; do hand_down "\$part"; done
	[ -z "\$1" ] || set_limit "\$node/user" "\$1"
}
END
. "$work/lib"

inside() { # COMMAND...: in a cgroup of the test's own, which keeps what the commands make
	(
		join "$around/in"
		exec "$@"
	)
}

watched() { # SCRIPT ARG... of exec: the script runs as the command
	printf '. %s/lib\n%s\n' "$work" "$1" >"$work/command"
	shift
	inside "$sidecar" exec --store "$store" --name case "$@" -- sh "$work/command" >"$work/out" 2>"$work/err"
	code=$?
}

# Does the same with a script whose last line but one is $alive. Fails if the script did not get there: the launcher and the script are in
# the full cgroup, too, and after the process that is to be killed the kernel may take them.
alive=": >$work/alive"
outlives() { # SCRIPT ARG... of exec
	rm -rf "$work/alive" "$store"
	clean
	watched "$@"
	[ -e "$work/alive" ]
}

# The whole container ends with one of its processes, but not for a limit below, which the others do not share.
until_undisturbed outlives 'isolate 24M
(join "$node/user/workers"; exec "$hog" 200M --rate 200M)
sleep 2
'"$alive"'
exit 7' --memory-max 300Mi --oom-group --kernel-log off
check "v$version: with --oom-group an OOM kill at a limit below leaves the command alone" test "$code" = 7
clean

# The victim's cgroup has reached its own limit as well, but long before. On v2 the kernel ends all processes by itself.
if [ "$version" = 1 ]; then
	watched 'cgroup=$memory$(own)
mkdir "$cgroup/small"
(join "$cgroup/small"; exec "$hog" 40M)
set_limit "$cgroup/small" 32M
(join "$cgroup/small"; echo 1000 >/proc/self/oom_score_adj; exec "$hog" 20M --hold) &
n=0
until [ "$(cat "$cgroup/small/memory.usage_in_bytes")" -gt 20000000 ] || [ $((n += 1)) = 600 ]; do sleep 0.1; done
"$hog" 88M --rate 40M --hold &
sleep 60
exit 7' --memory-max 96Mi --oom-group --kernel-log off
	check "with --oom-group an OOM kill at the own limit ends all, also where the victim is in a cgroup below" test "$code" = 137
	clean
fi

# The limit is that of a cgroup below the container's, as Ray's resource isolation sets one.
for log in auto off; do
	# The counters do not say who was taken.
	sure='\(certain\|likely\)'
	[ $log = off ] || sure=certain
	watched 'isolate 24M
join "$node/user/workers"
exec "$hog" 200M --rate 200M' --memory-max 300Mi --kernel-log $log
	check "v$version, log $log: an OOM kill below is seen" says "class KernelOOMContainer, $sure"
	check "v$version, log $log: the limit below is told" says 'its sub-cgroup "user" of Ray.s resource isolation .* reached its memory limit of 24.0 MiB'
	check "v$version, log $log: who is in it, too" says 'workers, drivers and what Ray did not start'
	check "v$version, log $log: what it is not" silent 'reached its memory limit of 300'
	clean

	until_undisturbed outlives 'isolate 24M
(join "$node/user/workers"; exec "$hog" 200M --rate 200M --name ray::leak)
sleep 6
'"$alive"'
true' --memory-max 300Mi --kernel-log $log
	check "v$version, log $log: a worker's OOM kill is seen while the command lives" says 'class KernelOOMProcess, certain'
	check "v$version, log $log: with the limit below" says 'its sub-cgroup "user" of Ray.s resource isolation .* reached its memory limit of 24.0 MiB'
	clean

	watched 'cgroup=$memory$(own)
mkdir -p "$cgroup/stay" "$cgroup/small"
while read -r pid; do echo "$pid" >"$cgroup/stay/cgroup.procs"; done <"$cgroup/cgroup.procs"
hand_down "$cgroup"
set_limit "$cgroup/small" 24M
join "$cgroup/small"
exec "$hog" 200M --rate 200M' --memory-max 300Mi --kernel-log $log
	# The command moves the launcher at once, perhaps before the sidecar has read the launcher's cgroup.
	check "v$version, log $log: a sub-cgroup of anybody is told by its name" \
		says 'its sub-cgroup "small" reached its memory limit of 24.0 MiB'
	clean

	# A process in a cgroup below meets the container's own limit.
	watched 'isolate
join "$node/user/workers"
exec "$hog" 200M --rate 200M' --memory-max 24Mi --kernel-log $log
	check "v$version, log $log: the container's limit met from below" says "class KernelOOMContainer, $sure"
	check "v$version, log $log: is the container's" says 'it reached its memory limit of 24.0 MiB'
	clean

	# The command moves to a cgroup elsewhere, as systemd-run --scope has it.
	mkdir -p "$around/scope"
	set_limit "$around/scope" 24M
	watched 'join "$around/scope"
exec "$hog" 200M --rate 20M' --kernel-log $log
	check "v$version, log $log: a command that moved away is followed" says 'class KernelOOMContainer'
	check "v$version, log $log: whose limit it was" says 'afterglow-cgroups-[0-9]*/scope.* reached its memory limit of 24.0 MiB'
	check "v$version, log $log: and it was the OOM killer" silent 'not by the OOM killer'
	rmdir "$around/scope"

	# The command is killed with kill -9, and the cgroups below it had nothing to do with that.
	watched 'isolate 24M
kill -9 $$' --memory-max 300Mi --kernel-log $log
	check "v$version, log $log: kill -9 is no OOM kill" says 'class Killed'
	clean
done

# A cgroup is removed, and its count of OOM kills with it, as systemd does with a scope: no report can be certain that there was none.
watched 'isolate 24M
(join "$node/user/workers"; exec "$hog" 200M --rate 400M)
rmdir "$node/user/workers"
kill -9 $$' --memory-max 300Mi --kernel-log off
check "v$version: a removed cgroup below rules nothing out" silent 'class Killed, certain'
clean

# The limit is that of a cgroup above the container's, as Slurm sets one for the job.
set_limit "$around/in" 24M
[ $version = 1 ] || hand_down "$around/in"
mkdir -p "$around/in/task"
(
	join "$around/in/task"
	exec "$sidecar" exec --store "$store" --name case --kernel-log off -- "$hog" 200M --rate 100M >"$work/out" 2>"$work/err"
)
check "v$version: the limit of a cgroup above is the limit" says 'of 24.0 MiB'
check "v$version: it was the OOM killer" says 'KernelOOM'
check "v$version: that cgroup is named" says 'afterglow-cgroups-[0-9]*/in'

summary
