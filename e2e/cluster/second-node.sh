#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# second-node.sh up IMAGE...|lose|down: a second node on this machine, with a kubelet and a containerd of its own. It has the images
# of the first one that are named. Only pods that tolerate the taint "second" come to it.
#   lose  as a machine that loses its power: nothing of it runs any more, and nobody says goodbye
#   down  the same, and what it left behind goes, too
# Its directory and its cgroup lie within the cluster's, so that down.sh removes them as well.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=teardown.sh
. "$here/teardown.sh"

second=afterglow-second
dir=$run/second
socket=$dir/containerd.sock
# The first node has the bridge's address; both are in one network namespace.
ip=$node_link_ip
port=10350

kubectl() { "$run/bin/kubectl" --kubeconfig "$kubeconfig" --request-timeout=60s "$@"; }

make_cgroup() {
	local hierarchy
	for hierarchy in "$cgroup_mount"/*/"$cgroup" "$cgroup_mount/$cgroup"; do
		[ -d "$hierarchy" ] || continue
		mkdir -p "$hierarchy/second"
		if [ -e "$hierarchy/cpuset.cpus" ] && [ ! -e "$hierarchy/cgroup.controllers" ]; then
			cat "$hierarchy/cpuset.cpus" >"$hierarchy/second/cpuset.cpus"
			cat "$hierarchy/cpuset.mems" >"$hierarchy/second/cpuset.mems"
		fi
	done
}

start_containerd() {
	sed "s#\"$run/containerd/root\"#\"$dir/root\"#; s#\"$run/containerd/state\"#\"$dir/state\"#; s#$containerd_socket#$socket#
		s#\"$run/containerd/opt\"#\"$dir/opt\"#; s#\"$run/containerd/runc\"#\"$dir/runc\"#" "$run/etc/containerd.toml" >"$dir/containerd.toml"
	start_containerd_of second-containerd "$dir/containerd.toml"
	wait_for second-containerd 120 "the second containerd to answer" ctr "$socket" version
}

# The sandbox's image, and those that are named.
copy_images() {
	ctr "$containerd_socket" images export - "$sandbox_image" "$@" |
		ctr "$socket" images import --local --snapshotter "$(cat "$run/snapshotter")" - >/dev/null
}

start_kubelet() {
	sed "s#^address: .*#address: $ip\nport: $port\nhealthzPort: 0#; s#^cgroupRoot: .*#cgroupRoot: /$cgroup/second#
		s#^tlsCertFile: .*#tlsCertFile: $dir/server.crt#; s#^tlsPrivateKeyFile: .*#tlsPrivateKeyFile: $dir/server.key#
		s#unix://.*#unix://$socket#; s#^podLogsDir: .*#podLogsDir: $dir/logs#; /^healthzBindAddress/d" "$run/etc/kubelet.yaml" >"$dir/kubelet.yaml"
	start second-kubelet "$run/bin/kubelet" --config "$dir/kubelet.yaml" --kubeconfig "$dir/kubeconfig" --root-dir "$dir/kubelet" \
		--cert-dir "$dir/pki" --hostname-override "$second" --node-ip "$ip" --register-with-taints "second=true:NoSchedule"
	wait_for second-kubelet 240 "the second node to be ready" ready
}

ready() {
	[ "$(kubectl get node "$second" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}')" = True ]
}

up() {
	[ -e "$marker" ] || die "the cluster is not up"
	down
	mkdir -p "$dir"/{logs,kubelet,pki}
	node_credentials "$dir" "$second" "$ip"
	make_cgroup
	start_containerd
	copy_images "$@"
	start_kubelet
	step "node $second is ready"
}

pids() {
	find "$cgroup_mount/$cgroup/second" "$cgroup_mount"/*/"$cgroup/second" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -nu || true
}

lose() {
	local daemon pid i
	for daemon in second-kubelet second-containerd; do
		if pid=$(pid_of "$daemon"); then kill -KILL "$pid" 2>/dev/null || true; fi
		rm -f "$run/pids/$daemon"
	done
	kill_shims "$socket"
	# A process that has to give back gigabytes on a busy machine takes its time.
	for ((i = 0; i < 600; i++)); do
		pid=$(pids)
		[ -n "$pid" ] || return 0
		# shellcheck disable=SC2086 # one argument per pid
		kill -KILL $pid 2>/dev/null || true
		sleep 0.1
	done
	die "processes of $second do not die"
}

down() {
	lose
	kubectl delete node "$second" --ignore-not-found >/dev/null
	our_mounts | while IFS= read -r target; do
		if [[ $target == "$dir"/* ]]; then umount -l "$target" 2>/dev/null || true; fi
	done
	find "$cgroup_mount/$cgroup/second" "$cgroup_mount"/*/"$cgroup/second" -depth -type d -exec rmdir {} + 2>/dev/null || true
	rm -rf --one-file-system "$dir"
}

need_root
case ${1:-} in
up) shift && up "$@" ;;
lose | down) "$1" ;;
*) die "usage: second-node.sh up IMAGE...|lose|down" ;;
esac
