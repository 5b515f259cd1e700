#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the disk of the node in User Mode Linux, and prints its path: Debian with systemd, current containerd and runc, the cluster's
# kubelet, and the Ray image unpacked. Two minutes; nothing when it is there already.
set -euo pipefail
# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=lib.sh
. "$here/v2/lib.sh"

need_root
programs=$("$here/build.sh" | tail -n 1)
out=$(v2_disk_dir)
print() {
	printf '%s\n' "$out/disk.img"
	exit 0
}
[ ! -e "$out/complete" ] || print
mkdir -p "$out"
exec 8>"$out.lock"
flock 8
[ ! -e "$out/complete" ] || print

"$here/../../tools/apt-install.sh" containernetworking-plugins e2fsprogs mmdebstrap >&2
ray=$("$here/../../images/ray/build.sh" | tail -n 1)
work=$(mktemp -d "$out/work.XXXXXX")
containerd_pid=
clean_up() {
	[ -z "$containerd_pid" ] || kill "$containerd_pid" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT
root=$work/root

make_debian() {
	step "Debian with systemd"
	mmdebstrap --quiet --variant=minbase --include=bindfs,crun,dbus,iproute2,libseccomp2,mount,procps,systemd-coredump,systemd-sysv,util-linux \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$root"
	rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
}

put_programs() {
	local unit
	install -m 755 -t "$root/usr/local/bin" "$programs"/{containerd,containerd-shim-runc-v2,ctr,runc}
	install -m 755 "$(bin_dir)/kube" "$root/usr/local/bin/kubelet"
	mkdir -p "$root/usr/lib/cni"
	cp -L /usr/lib/cni/{bridge,host-local,loopback} "$root/usr/lib/cni/"
	install -D -m 644 "$v2/root/cni.conflist" "$root/etc/cni/net.d/10-v2.conflist"
	install -D -m 644 "$v2/root/node.sh" "$root/usr/local/lib/node.sh"
	install -m 644 -t "$root/etc/systemd/system" "$v2/root"/*.service
	printf '%s\n' net.ipv4.ip_forward=1 vm.overcommit_memory=1 kernel.panic=10 kernel.panic_on_oops=1 kernel.core_pattern=core \
		>"$root/etc/sysctl.d/node.conf"
	echo "$v2_node" >"$root/etc/hostname"
	echo "127.0.0.1 localhost" >"$root/etc/hosts"
	rm -f "$root/etc/resolv.conf"
	echo "nameserver $node_ip" >"$root/etc/resolv.conf"
	for unit in getty.target systemd-logind.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
		e2scrub_reap.service fstrim.timer systemd-remount-fs.service systemd-update-utmp.service; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	ln -sf ../kubelet.service "$root/etc/systemd/system/multi-user.target.wants/kubelet.service"
}

# The node's own containerd unpacks the images here, where that takes seconds.
put_images() {
	local socket=$work/containerd.sock archive
	step "images"
	printf 'version = 3\nroot = "%s"\nstate = "%s"\ndisabled_plugins = [%s]\n[grpc]\naddress = "%s"\n[ttrpc]\naddress = "%s.ttrpc"\n' \
		"$root/var/lib/containerd" "$work/state" '"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"' \
		"$socket" "$socket" >"$work/containerd.toml"
	"$programs/containerd" --config "$work/containerd.toml" >"$work/containerd.log" 2>&1 &
	containerd_pid=$!
	for _ in $(seq 300); do
		if "$programs/ctr" -a "$socket" version >/dev/null 2>&1; then break; fi
		sleep 0.2
	done
	for archive in "$(bin_dir)/pause.tar" "$ray"; do
		"$programs/ctr" -a "$socket" -n k8s.io images import "$archive" >/dev/null
	done
	kill "$containerd_pid"
	wait "$containerd_pid" || true
	containerd_pid=
}

{
	make_debian
	put_programs
	put_images
	step "disk"
	mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=0 -d "$root" "$out/disk.img" 8G
	: >"$out/complete"
} >&2
print
