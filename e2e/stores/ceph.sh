# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Ceph for s3.sh, which sources this: Debian 12's monitor, object store daemon (it keeps objects in memory) and gateway for S3, unpacked into
# the cache without installing them. There is no manager, which only statistics and balancing need, and no authentication between these.
# What was removed is collected at once: by default it stays for two hours, by which a hundred killed uploads fill the store.

build_ceph() {
	local dir
	dir=$cache/ceph-16.2.15
	make_once "$dir" fetch_ceph && echo "$dir/root"
}

fetch_ceph() { # DIR
	"$here/../../tools/apt-install.sh" mmdebstrap && "$here/../../tools/sysroot.sh" amd64 "$1/root" ceph-mon,ceph-osd,radosgw &&
		# Not all of that folder: this machine's libc goes with its loader.
		ln -s "$1"/root/lib/x86_64-linux-gnu/libfuse.so.2 "$1/root/usr/lib/x86_64-linux-gnu/ceph"
}

write_ceph_conf() { # DIR ROOT PORT-OF-THE-MONITOR
	local libraries=$2/usr/lib/x86_64-linux-gnu
	cat >"$1/ceph.conf" <<-CONF
		[global]
		fsid = $(cat /proc/sys/kernel/random/uuid)
		mon host = v2:$address:$3
		mon initial members = a
		auth cluster required = none
		auth service required = none
		auth client required = none
		ms mon client mode = crc
		ms mon cluster mode = crc
		ms mon service mode = crc
		ms bind ipv6 = false
		public addr = $address
		cluster addr = $address
		osd pool default size = 1
		osd pool default min size = 1
		osd pool default pg num = 4
		osd crush chooseleaf type = 0
		osd objectstore = memstore
		memstore device bytes = 4294967296
		mon allow pool size one = true
		rgw gc obj min wait = 1
		rgw gc processor period = 2
		rgw gc processor max time = 2
		mon data avail crit = 0
		mon data = $1/mon
		osd data = $1/osd
		run dir = $1
		log file = $1/log/\$name
		log to stderr = false
		admin socket =
		pid file =
		keyring = $1/keyring
		plugin dir = $libraries/ceph
		erasure code dir = $libraries/ceph/erasure-code
		osd class dir = $libraries/rados-classes
	CONF
}

launch_ceph() { # DIR PORT ROOT
	local bin=$3/usr/bin port uuid
	port=$(free_ports 1) uuid=$(cat /proc/sys/kernel/random/uuid)
	mkdir -p "$1"/{mon,osd,log}
	: >"$1/keyring"
	write_ceph_conf "$1" "$3" "$port"
	export CEPH_CONF=$1/ceph.conf LD_LIBRARY_PATH=$3/usr/lib/x86_64-linux-gnu:$3/usr/lib/x86_64-linux-gnu/ceph
	"$bin/monmaptool" --create --addv a "[v2:$address:$port]" "$1/monmap" --fsid "$(sed -n 's/^fsid = //p' "$CEPH_CONF")" >&2
	"$bin/ceph-mon" --mkfs -i a --monmap "$1/monmap"
	launch "$1" mon "$bin/ceph-mon" -f -i a
	PYTHONPATH=$3/usr/lib/python3/dist-packages /usr/bin/python3 "$bin/ceph" osd new "$uuid" 0 >&2
	"$bin/ceph-osd" -i 0 --mkfs --osd-uuid "$uuid" 2>>"$1/log/osd"
	launch "$1" osd "$bin/ceph-osd" -f -i 0
	# It waits until the object store is up.
	"$bin/radosgw-admin" user create --uid test --display-name test --access-key "$key" --secret-key "$secret" >/dev/null
	launch "$1" s3 "$bin/radosgw" -f -n client.rgw --rgw-frontends "beast endpoint=$address:$2"
}
