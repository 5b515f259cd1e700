#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nfs_root.sh: prints the path of a directory with Debian's NFS server and client (debian_root.sh).
exec "$(dirname "$0")/debian_root.sh" nfs 'nfs-kernel-server nfs-common rpcbind iproute2 libtirpc3 libtirpc-common libevent-core-2.1-7 libwrap0
	libnsl2 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libkeyutils1 libsqlite3-0 libbpf1 libelf1 libmnl0 libbsd0 libmd0' \
	'usr/sbin/rpc.mountd usr/sbin/exportfs usr/sbin/nfsdcld sbin/rpcbind sbin/mount.nfs etc/netconfig bin/ip sbin/mkfs.ext4 usr/bin/setpriv'
