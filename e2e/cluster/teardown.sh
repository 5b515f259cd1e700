# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of lib.sh
# Removes what a cluster left behind, however it ended: after a plain down.sh,
# a failed start, kill -9 of everything, or a reboot. Sourced after lib.sh.
#
# Nothing is stopped gently: all state is thrown away with the run directory,
# and what cannot be refused cannot hang.

daemons=(kubelet kube-proxy coredns kube-scheduler kube-controller-manager
	kube-apiserver etcd containerd)

kill_daemons() {
	local name pid
	for name in "${daemons[@]}" second-kubelet second-containerd v2-machine; do
		if pid=$(pid_of "$name"); then kill -KILL "$pid" 2>/dev/null || true; fi
	done
}

# kill_shims SOCKET: shims outlive containerd on purpose. They name its socket as their argument.
kill_shims() {
	local proc args
	for proc in /proc/[0-9]*; do
		[[ $(readlink "$proc/exe" 2>/dev/null) == */containerd-shim-runc-v2* ]] || continue
		{ args=$(tr '\0' ' ' <"$proc/cmdline"); } 2>/dev/null || continue
		if [[ $args == *"-address $1 "* ]]; then
			kill -KILL "${proc#/proc/}" 2>/dev/null || true
		fi
	done
}

# The pods' processes are those in our cgroups, whatever they have forked.
pod_pids() {
	find "$cgroup_mount/$cgroup" "$cgroup_mount"/*/"$cgroup" -name cgroup.procs \
		-exec cat {} + 2>/dev/null | sort -nu
}

kill_pods() {
	local i pids
	for ((i = 0; i < 50; i++)); do
		pids=$(pod_pids)
		[ -n "$pids" ] || return 0
		# shellcheck disable=SC2086 # one argument per pid
		kill -KILL $pids 2>/dev/null || true
		sleep 0.1
	done
	step "processes that do not die: $(tr '\n' ' ' <<<"$pids")"
}

remove_cgroups() {
	local root i
	for root in "$cgroup_mount/$cgroup" "$cgroup_mount"/*/"$cgroup"; do
		[ -d "$root" ] || continue
		# A cgroup stays busy for a moment after its last process.
		for ((i = 0; i < 20; i++)); do
			find "$root" -depth -type d -exec rmdir {} + 2>/dev/null || true
			[ -d "$root" ] || break
			sleep 0.1
		done
	done
}

# Mount points at and below the run directory, the latest first.
our_mounts() {
	local target
	tac /proc/self/mountinfo | cut -d' ' -f5 | while read -r target; do
		target=$(printf '%b' "$target")
		if [[ $target == "$run" || $target == "$run"/* ]]; then printf '%s\n' "$target"; fi
	done
}

unmount_all() {
	local target
	our_mounts | while IFS= read -r target; do
		umount "$target" 2>/dev/null || umount -l "$target" 2>/dev/null || true
	done
}

remove_network() {
	ip link delete "$host_link" 2>/dev/null || true # and the routes through it
	if [ -e "/run/netns/$netns" ]; then ip netns delete "$netns"; fi
}

# Only within the boot they were changed in: another one began with its own.
restore_sysctls() {
	local key value
	[ -r "$run/sysctls" ] && [ "$(cat "$run/boot")" = "$(boot_id)" ] || return 0
	while read -r key value; do
		sysctl -qw "$key=$value" 2>/dev/null || true
	done <"$run/sysctls"
}

# Files that the programs insist on putting outside their directories.
remove_strays() {
	local link dir
	for link in /var/log/containers/*.log; do
		[[ $(readlink "$link") == "$run"/* ]] && rm -f "$link"
	done
	rm -rf "$shim_sockets"
	for link in /var/lib/cni/results/"$netns"-* /var/lib/cni/results/cni-loopback-*; do
		grep -qsF "$run/" "$link" && rm -f "$link"
	done
	[ -r "$run/new-dirs" ] || return 0
	tac "$run/new-dirs" | while IFS= read -r dir; do
		case $dir in
		*/device-plugins) rm -f "$dir/kubelet.sock" "$dir/kubelet_internal_checkpoint" "$dir/DEPRECATION" ;;
		esac
		rmdir "$dir" 2>/dev/null || true
	done
}

# A step that fails must not keep those after it from their work.
teardown() {
	[ -e "$marker" ] || return 0
	set +e
	kill_daemons
	kill_shims "$containerd_socket"
	kill_shims "$run/second/containerd.sock"
	kill_pods
	remove_cgroups
	remove_strays
	unmount_all
	remove_network
	restore_sysctls
	[ -z "$(our_mounts)" ] || die "cannot unmount: $(our_mounts | tr '\n' ' ')"
	rm -rf --one-file-system "$run" || die "cannot remove $run"
	set -e
}
