#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# node.sh up ARCHIVE...|down: a second node of the cluster in a virtual machine, as nodes are in production: cgroup v2 alone, systemd
# and its cgroup driver, a current containerd and runc, and a kubelet that has containers die whole (memory.oom.group). It has the
# Ray image and those in the archives. Only pods that tolerate the taint "v2" come to it.
#   up    a new machine each time, whatever the last one left; half a minute under software emulation
#   down  switches it off, as down.sh of the cluster does, too
# The tests' volumes have the same path there. Its logs: v2/*.log in the run directory.
# AFTERGLOW_V2_MEMORY is the machine's memory in MiB (default 3072).
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
	printf '%s\n' "$run/e2e-volumes" >"$share/volumes"
	node_credentials "$share" "$v2_node" "$v2_ip"
	cp "$run/pki/ca.crt" "$v2/containerd.toml" "$share/"
	write_kubelet_config >"$share/kubelet.yaml"
	cp "$1" "$share/images.tar"
	ln -s share/kubelet.log share/containerd.log "$v2_dir/"
}

make_network() {
	in_netns ip tuntap add dev "$v2_link" mode tap
	in_netns ip address add "$v2_link_ip/30" dev "$v2_link"
	in_netns ip link set "$v2_link" up
	in_netns ip route add "$v2_pod_cidr" via "$v2_ip"
	ip route replace "$v2_cidr" via "$node_link_ip"
}

remove_network() {
	if [ -e "/run/netns/$netns" ]; then in_netns ip link delete "$v2_link" 2>/dev/null || true; fi
	ip route delete "$v2_cidr" 2>/dev/null || true
}

start_share() { # NAME DIRECTORY
	start "v2-$1" /usr/lib/qemu/virtiofsd --socket-path="$v2_dir/$1.sock" -o "source=$2" -o cache=auto
	wait_for "v2-$1" 120 "the share $1" test -S "$v2_dir/$1.sock"
}

start_machine() {
	local disk memory=${AFTERGLOW_V2_MEMORY:-3072}
	disk=$1
	qemu-img create -q -f qcow2 -b "$disk/disk.img" -F raw "$v2_dir/disk.qcow2"
	start v2-machine qemu-system-x86_64 -accel tcg,thread=multi,tb-size=512 -cpu max -smp 1 -m "$memory" -nodefaults -no-user-config \
		-display none -no-reboot -kernel "$disk/vmlinuz" -initrd "$disk/initramfs" \
		-append "console=ttyS0 quiet panic=-1 no_timer_check cgroup_no_v1=all psi=1 systemd.getty_auto=no mitigations=off nowatchdog audit=0 apparmor=0" \
		-object "memory-backend-memfd,id=memory,size=${memory}M,share=on" -numa node,memdev=memory \
		-drive "file=$v2_dir/disk.qcow2,if=virtio,cache=unsafe" \
		-netdev "tap,id=net,ifname=$v2_link,script=no,downscript=no" -device virtio-net-pci,netdev=net \
		-chardev "socket,id=node,path=$v2_dir/node.sock" -device vhost-user-fs-pci,chardev=node,tag=node \
		-chardev "socket,id=volumes,path=$v2_dir/volumes.sock" -device vhost-user-fs-pci,chardev=volumes,tag=volumes \
		-serial "file:$v2_dir/console.log"
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
	local disk
	[ -e "$marker" ] || die "the cluster is not up"
	[ "$#" = 1 ] || die "usage: node.sh up ARCHIVE"
	"$here/../../tools/apt-install.sh" qemu-system-x86 qemu-utils
	disk=$("$v2/disk.sh" | tail -n 1)
	down
	make_share "$1"
	make_network
	start_share node "$v2_dir/share"
	start_share volumes "$run/e2e-volumes"
	start_machine "$disk"
	wait_for v2-machine 300 "the node $v2_node to be ready" ready
	step "node $v2_node is ready: $(kubectl get node "$v2_node" -o jsonpath='{.status.nodeInfo.kernelVersion}, {.status.nodeInfo.containerRuntimeVersion}')"
}

down() {
	local daemon pid
	for daemon in v2-machine v2-node v2-volumes; do
		if pid=$(pid_of "$daemon"); then
			kill -KILL "$pid" 2>/dev/null || true
			while pid_of "$daemon" >/dev/null; do sleep 0.1; done
		fi
		rm -f "$run/pids/$daemon"
	done
	[ ! -e "$kubeconfig" ] || kubectl delete node "$v2_node" --ignore-not-found >/dev/null || true
	remove_network
	rmdir "$cgroup_mount"/{,cpu/}"$cgroup/v2-machine" 2>/dev/null || true
	rm -rf --one-file-system "$v2_dir"
}

need_root
case ${1:-} in
up) shift && up "$@" ;;
down) down ;;
*) die "usage: node.sh up ARCHIVE|down" ;;
esac
