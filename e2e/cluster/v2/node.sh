#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# node.sh up ARCHIVE|crash|down: a second node of the cluster in User Mode Linux, as nodes are in production: cgroup v2 alone, systemd
# and its cgroup driver, a current containerd and runc, and a kubelet that has containers die whole (memory.oom.group). It has the
# Ray image and those in the archive. Only pods that tolerate the taint "v2" come to it.
#   up    a new machine each time, whatever the last one left
#   crash as if it had lost its power for a moment: the machine starts again with the disk that it had
#   down  switches it off, as down.sh of the cluster does, too
# The tests' volumes have the same path there. Its logs: v2/*.log and log/v2-machine.log (its console) in the run directory.
# AFTERGLOW_V2_MEMORY is the machine's memory in MiB (default 6144), AFTERGLOW_V2_CPUS the number of its processors (default 1).
set -euo pipefail
# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=lib.sh
. "$here/v2/lib.sh"

kubectl() { "$run/bin/kubectl" --kubeconfig "$kubeconfig" --request-timeout=10s "$@"; }
in_netns() { nsenter --net="/run/netns/$netns" "$@"; }

write_kubelet_config() {
	# The limits of disks are those of the first node: they are not what is tested.
	cat <<-EOT
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		tlsCertFile: /run/node/server.crt
		tlsPrivateKeyFile: /run/node/server.key
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: /run/node/ca.crt}
		authorization: {mode: Webhook}
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		cgroupDriver: systemd
		failSwapOn: false
		clusterDNS: [$node_ip]
		clusterDomain: cluster.local
		evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
		imageGCHighThresholdPercent: 100
		imageGCLowThresholdPercent: 99
		registryPullQPS: 0
		eventRecordQPS: 0
		runtimeRequestTimeout: 10m
		featureGates: {KubeletCrashLoopBackOffMax: true}
		crashLoopBackOff: {maxContainerRestartPeriod: 1s}
	EOT
}

# What the machine reads at its start and writes its logs to.
make_share() {
	local share=$v2_dir/share
	mkdir -p "$share" "$run/e2e-volumes"
	node_credentials "$share" "$v2_node" "$v2_ip"
	cp "$run/pki/ca.crt" "$v2/containerd.toml" "$share/"
	write_kubelet_config >"$share/kubelet.yaml"
	cp "$1" "$share/images.tar"
	ln -s share/kubelet.log share/containerd.log "$v2_dir/"
}

make_network() {
	in_netns ip link add "$v2_link" type veth peer name "$v2_machine_link"
	in_netns ip address add "$v2_link_ip/30" dev "$v2_link"
	in_netns ip link set "$v2_link" up
	in_netns ip link set "$v2_machine_link" up
	in_netns ip route add "$v2_pod_cidr" via "$v2_ip"
	ip route replace "$v2_cidr" via "$node_link_ip"
}

remove_network() {
	if [ -e "/run/netns/$netns" ]; then in_netns ip link delete "$v2_link" 2>/dev/null || true; fi
	ip route delete "$v2_cidr" 2>/dev/null || true
}

# It takes every packet of its link, by a raw socket: with a tap device, a kernel for several processors dies at once, as it locks a
# queue that it has not made. It writes its disk to a file of its own. Its memory is a file in /dev/shm, as large as what it has touched.
start_machine() { # KERNEL DISK
	# Each page of a process is a mapping of this kernel's, which allows 65,530 of them by default. down.sh puts that back.
	[ "$(sysctl -n vm.max_map_count)" -ge 1048576 ] || sysctl -qw vm.max_map_count=1048576
	start v2-machine "$1" mem="${AFTERGLOW_V2_MEMORY:-6144}M" ncpus="${AFTERGLOW_V2_CPUS:-1}" seccomp=on uml_dir="$v2_dir/" umid=machine \
		ubd0="$v2_dir/disk.cow,$2" root=/dev/ubda rootfstype=ext4 rw vec0:transport=raw,ifname="$v2_machine_link",depth=128,gro=1 \
		con=null con0=null,fd:1 ssl=null cgroup_no_v1=all psi=1 quiet panic=-1 systemd.getty_auto=no \
		afterglow.node="$v2_dir/share" afterglow.volumes="$run/e2e-volumes"
	weigh
}

# Its share of the processors is that of the first node's pods: it would starve beside a build or other tests. down.sh of the cluster
# ends what is in its cgroups.
weigh() {
	local group
	for group in "$cgroup_mount/cpu/$cgroup" "$cgroup_mount/$cgroup"; do
		if [ -e "$group/cpu.shares" ] || [ -e "$group/cpu.weight" ]; then
			mkdir -p "$group/v2-machine"
			pid_of v2-machine >"$group/v2-machine/cgroup.procs"
		fi
	done
}

ready() {
	[ "$(kubectl get node "$v2_node" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}')" = True ]
}

up() {
	local kernel disk
	[ -e "$marker" ] || die "the cluster is not up"
	[ "$#" = 1 ] || die "usage: node.sh up ARCHIVE"
	kernel=$("$here/../kernel/uml/build.sh")
	disk=$("$v2/disk.sh")
	down
	make_share "$1"
	make_network
	start_machine "$kernel" "$disk"
	wait_for v2-machine 300 "the node $v2_node to be ready" ready
	step "node $v2_node is ready: $(kubectl get node "$v2_node" -o jsonpath='{.status.nodeInfo.kernelVersion}, {.status.nodeInfo.containerRuntimeVersion}')"
}

kill_machine() {
	local pid
	if pid=$(pid_of v2-machine); then
		kill -KILL "$pid" 2>/dev/null || true
		while pid_of v2-machine >/dev/null; do sleep 0.1; done
	fi
}

# What the machine has not written yet is lost. The kubelet is heard again some seconds later.
crash() {
	pid_of v2-machine >/dev/null || die "$v2_node is not up"
	kill_machine
	start_machine "$("$here/../kernel/uml/build.sh")" "$("$v2/disk.sh")"
}

down() {
	kill_machine
	rm -f "$run/pids/v2-machine"
	[ ! -e "$kubeconfig" ] || kubectl delete node "$v2_node" --ignore-not-found >/dev/null || true
	remove_network
	rmdir "$cgroup_mount"/{,cpu/}"$cgroup/v2-machine" 2>/dev/null || true
	rm -rf --one-file-system "$v2_dir"
}

need_root
case ${1:-} in
up) shift && up "$@" ;;
crash | down) "$1" ;;
*) die "usage: node.sh up ARCHIVE|crash|down" ;;
esac
