#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The directory store is on real NFS: the kernel's server has a network namespace of its own, and two nodes mount from it. Such a store
# has faults of its own: the server squashes owners, the export is full, read-only or was replaced, the server stops, the network is cut
# under a soft mount, and under a sidecar on a hard one, shippers are killed, and two nodes ship and prune at once.
# Runs only in the test machine:	AFTERGLOW_VM_ROOT=$(e2e/kernel/nfs_root.sh) AFTERGLOW_VM_MODULES='nfsd nfsv3 nfsv4 veth loop' \
#					e2e/kernel/vm.sh e2e/kernel/nfs_test.sh
# Plain sh. Ends with "N passed, N failed".
[ -n "${AFTERGLOW_IN_VM:-}" ] || exit 1
export PATH="/usr/sbin:/usr/bin:$PATH"
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
work=$(mktemp -d /tmp/nfs_test.XXXXXX)
chmod 755 "$work"
. "$(dirname "$0")/check.sh"
mkdir "$work/bundles" "$work/export" "$work/small" "$work/a" "$work/b"

# --- The server and the second node ---

# busybox would take its own programs of these names.
ip=/bin/ip
as_sidecar='/usr/bin/setpriv --reuid=65532 --regid=65532 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs'
unshare -n -u sleep 100000 &
server=$!
unshare -n -u sleep 100000 &
node_b=$!
has_namespaces() { [ "$(readlink /proc/$server/ns/net)" != "$(readlink /proc/self/ns/net)" ] && [ "$(readlink /proc/$node_b/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
wait_until has_namespaces
in_server() { nsenter -t $server -n -u "$@"; }
in_b() { nsenter -t $node_b -n -u "$@"; }

# An NFS server knows its clients by their host names.
hostname node-a
in_server hostname server
in_b hostname node-b
in_server $ip link set lo up
in_b $ip link set lo up
$ip link add to-server type veth peer name to-a netns $server
$ip addr add 10.9.1.2/24 dev to-server
$ip link set to-server up
in_server $ip addr add 10.9.1.1/24 dev to-a
in_server $ip link set to-a up
in_server $ip link add to-b type veth peer name to-server netns $node_b
in_server $ip addr add 10.9.2.1/24 dev to-b
in_server $ip link set to-b up
in_b $ip addr add 10.9.2.2/24 dev to-server
in_b $ip link set to-server up

truncate -s 96M "$work/disk"
truncate -s 4M "$work/small-disk"
mkfs.ext4 -q "$work/disk"
mkfs.ext4 -q -O ^has_journal -m 0 "$work/small-disk"
mount -o loop "$work/disk" "$work/export"
mount -o loop "$work/small-disk" "$work/small"
rmdir "$work/export/lost+found" "$work/small/lost+found"

# In Debian, maintainer scripts and systemd do this.
mkdir -p /run/rpcbind /var/lib/nfs/rpc_pipefs /var/lib/nfs/nfsdcld /var/lib/nfs/sm
ln -s /run /var/run
touch /var/lib/nfs/etab /var/lib/nfs/rmtab /etc/exports
echo '_rpc:x:106:65534::/run/rpcbind:/bin/false' >>/etc/passwd
printf 'sunrpc 111/tcp portmapper\nsunrpc 111/udp portmapper\n' >/etc/services
printf 'tcp 6 TCP\nudp 17 UDP\n' >/etc/protocols
in_server mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
in_server mount -t nfsd nfsd /proc/fs/nfsd
in_server rpcbind -w
has_rpcbind() { in_server netstat -ltn | grep -q ':111 '; }
wait_until has_rpcbind
in_server nfsdcld
in_server rpc.mountd
# After a start the server waits so long for clients that it knows; 90 s without these.
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo 10 >/proc/fs/nfsd/nfsv4leasetime
start_server() { echo 4 >/proc/fs/nfsd/threads; }
stop_server() { echo 0 >/proc/fs/nfsd/threads; }
wait_until start_server 2>/dev/null

share() { # DIRECTORY OPTIONS
	in_server exportfs -o "no_subtree_check,sync,$2" "*:$1" || exit 1
}
# Shares a directory that belongs to the sidecar's user.
make_export() { # NAME OPTIONS
	mkdir "$work/export/$1" "$work/a/$1"
	chown 65532:65532 "$work/export/$1"
	share "$work/export/$1" "$2"
}
mount_a() { mount.nfs "10.9.1.1:$1" "$2" -o "retry=0,$3"; }             # EXPORT DIRECTORY OPTIONS
mount_b() { in_b mount.nfs "10.9.2.1:$1" "$2" -o "retry=0,$3"; }
# A hard mount with these options asks the server again after two seconds, in place of a minute.
hard=vers=4.2,hard,timeo=20

# --- Bundles ---

make_bundle() { # NAME BYTES: in $work/bundles, with a core of so many bytes
	at=$work/bundles/$1
	mkdir -p "$at"
	echo 'it died' >"$at/report.txt"
	head -c "$2" /dev/urandom >"$at/core.python.7.zst"
	sum_report=$(sha256sum <"$at/report.txt") sum_core=$(sha256sum <"$at/core.python.7.zst")
	printf '{"apiVersion":"afterglow.dev/v1alpha1","kind":"Manifest","files":[%s,%s]}' \
		"{\"name\":\"report.txt\",\"sizeBytes\":8,\"sha256\":\"${sum_report%% *}\"}" \
		"{\"name\":\"core.python.7.zst\",\"sizeBytes\":$2,\"sha256\":\"${sum_core%% *}\"}" >"$at/MANIFEST.json"
	chown -R 65532:65532 "$at"
}

# Sets $code; what it printed is in $work/out.
ship() { # NAME STORE [OPTION...]
	name=$1 store=$2
	shift 2
	$as_sidecar "$build/afterglow-ship" --store "$store" --as "$name" "$@" "$work/bundles/$name" >"$work/out" 2>"$work/err"
	code=$?
}
shipped() { ship "$@" && [ "$code" = 0 ] && grep -q '"result":"shipped"' "$work/out"; }
fails() { # KIND CODE NAME STORE [OPTION...]
	kind=$1 wanted=$2
	shift 2
	ship "$@"
	[ "$code" = "$wanted" ] && grep -q "\"result\":\"failed\".*\"kind\":\"$kind\"" "$work/out"
}

# Checks that each file is as the manifest of the bundle in this directory says.
whole() { # DIRECTORY
	[ -s "$1/MANIFEST.json" ] || return 1
	tr -d ' \t\n' <"$1/MANIFEST.json" | sed 's/"dropped".*//; s/},{/}\n{/g' |
		sed -n 's/.*{"name":"\([^"]*\)","sizeBytes":[0-9]*,"sha256":"\([0-9a-f]*\)"}.*/\2  \1/p' >"$work/sums"
	grep -q ' report.txt$' "$work/sums" && (cd "$1" && sha256sum -c "$work/sums" >/dev/null 2>&1)
}
all_whole() { # DIRECTORY
	[ -z "$(find "$1" -name '.*.partial')" ] || return 1
	find "$1" -name MANIFEST.json >"$work/manifests"
	while read -r manifest; do
		whole "${manifest%/*}" || return 1
	done <"$work/manifests"
}
nothing_hidden() { [ -z "$(find "$1" -name '.*')" ]; }
# Checks that no file has its final name unless it is whole.
no_halves() { # NAME DIRECTORY
	for file in report.txt core.python.7.zst MANIFEST.json; do
		[ ! -e "$2/$1/$file" ] || cmp -s "$2/$1/$file" "$work/bundles/$1/$file" || return 1
	done
}

begin_ship() { # NAME STORE [OPTION...]: in the background
	name=$1 store=$2
	shift 2
	$as_sidecar "$build/afterglow-ship" --store "$store" --as "$name" "$@" "$work/bundles/$name" >"$work/out" 2>"$work/err" &
	shipper=$!
}
has_stopped_or_ended() { ! grep -qs '^State:.[^TZ]' "/proc/$shipper/status"; }
is_unfinished() { [ "$(stat -c %s "$1" 2>/dev/null || echo "$2")" -lt "$2" ]; } # FILE BYTES
# Begins to ship and stops the shipper while it writes the core. One that was quicker than our look begins again.
stop_under_way() { # EXPORT NAME STORE [OPTION...]
	partial=$1/$2/.core.python.7.zst.partial
	shift
	for _ in $(seq 100); do
		begin_ship "$@"
		while [ -e "/proc/$shipper/exe" ] && [ ! -e "$partial" ]; do :; done
		kill -STOP $shipper 2>/dev/null
		wait_until has_stopped_or_ended
		is_unfinished "$partial" "$(stat -c %s "$work/bundles/$1/core.python.7.zst")" && return
		kill -CONT $shipper 2>/dev/null
		wait $shipper
		$as_sidecar rm -rf "${2:?}/$1" "$work/bundles/$1/.ship"
	done
	return 1
}
printed() { grep -q "$1" "$work/out"; }
has_ended() { ! grep -qs '^State:.[^Z]' "/proc/$1/status"; }

# --- A bundle comes to the store in each version of the protocol ---

make_bundle plain 2000000
make_export plain rw,root_squash
for version in 4.2 4.1 3; do
	options=vers=$version,hard
	# NFSv3's locks need a daemon of their own; a bundle needs no lock of the server.
	[ $version != 3 ] || options=$options,nolock
	[ $version != 4.1 ] || options=$options,nconnect=4
	check "NFS $version: the export is mounted" mount_a "$work/export/plain" "$work/a/plain" "$options"
	check "NFS $version: a bundle comes to the store" shipped plain "$work/a/plain"
	check "NFS $version: it is whole" whole "$work/export/plain/plain"
	check "NFS $version: its owner is the sidecar" test "$(stat -c %u:%g "$work/export/plain/plain/report.txt")" = 65532:65532
	$as_sidecar "$build/afterglow-ship" --read --store "$work/a/plain" --as plain >"$work/tar" 2>"$work/err"
	mkdir "$work/back"
	tar -x -C "$work/back" -f "$work/tar"
	check "NFS $version: it is read back" cmp "$(find "$work/back" -name core.python.7.zst)" "$work/bundles/plain/core.python.7.zst"
	rm -rf "$work/back" "$work/export/plain/plain" "$work/bundles/plain/.ship"
	umount "$work/a/plain"
done

# --- The server decides who may write ---

make_bundle owners 100000
make_export owners rw,root_squash
chown 1000:1000 "$work/export/owners"
mount_a "$work/export/owners" "$work/a/owners" "$hard"
check "a directory of another user is refused" fails permission 3 owners "$work/a/owners"
check "the reason is printed" grep -q 'ermission denied' "$work/out"
chown 0:65532 "$work/export/owners"
chmod 2770 "$work/export/owners"
check "the group of fsGroup is enough" wait_until shipped owners "$work/a/owners"
check "the bundle of the group is whole" whole "$work/export/owners/owners"
make_export squash rw,all_squash
chown 65534:65534 "$work/export/squash"
mount_a "$work/export/squash" "$work/a/squash" "$hard"
check "a server that squashes everybody is no hindrance" shipped owners "$work/a/squash"
check "the squashed bundle is whole" whole "$work/export/squash/owners"
check "it belongs to whom the server takes for everybody" test "$(stat -c %u:%g "$work/export/squash/owners/report.txt")" = 65534:65534
make_export readonly ro
mount_a "$work/export/readonly" "$work/a/readonly" "$hard"
check "a read-only export is named" fails read-only 3 owners "$work/a/readonly"

# --- The export is full ---

make_bundle large 5000000
make_bundle fits 1500000
mkdir "$work/a/small"
chown 65532:65532 "$work/small"
share "$work/small" rw
mount_a "$work/small" "$work/a/small" "$hard"
check "a full export is named" fails no-space 1 large "$work/a/small"
check "the room that there is is printed" grep -q 'no room for core.python.7.zst' "$work/out"
check "the report is there" cmp "$work/small/large/report.txt" "$work/bundles/large/report.txt"
check "nothing is left of what does not fit" nothing_hidden "$work/small"
check "the manifest is not there" test ! -e "$work/small/large/MANIFEST.json"
# The export fills up while a file is written: statfs promised room.
check "a shipper is stopped in the middle" stop_under_way "$work/small" fits "$work/a/small"
head -c 4000000 /dev/zero >"$work/small/other" 2>/dev/null
kill -CONT $shipper
wait $shipper
check "an export that fills up meanwhile is named" printed '"kind":"no-space"'
check "no half file is there" no_halves fits "$work/small"
check "nothing is left behind" nothing_hidden "$work/small"
rm "$work/small/other"
check "when there is room the bundle comes" shipped fits "$work/a/small"
check "the bundle is whole" whole "$work/small/fits"

# --- A shipper is killed ---

make_bundle killed 6000000
make_export main rw,root_squash
mount_a "$work/export/main" "$work/a/main" "$hard"
check "a shipper is stopped in the middle" stop_under_way "$work/export/main" killed "$work/a/main"
kill -9 $shipper
wait $shipper
check "kill -9 leaves no half file under its name" no_halves killed "$work/export/main"
check "the next run finishes it" shipped killed "$work/a/main"
check "it is whole" whole "$work/export/main/killed"
check "nothing else is left" nothing_hidden "$work/export/main"

# --- The server stops while a bundle is shipped ---

make_bundle stopped 6000000
check "a shipper is stopped in the middle" stop_under_way "$work/export/main" stopped "$work/a/main" --deadline 3
stop_server
kill -CONT $shipper
check "hard mount: the result is printed although the server does not answer" wait_until printed '"kind":"deadline"'
start_server
wait $shipper
check "its process ends once the server is back" test $? = 1
check "no half file has its name" no_halves stopped "$work/export/main"
check "the next run ships the bundle" shipped stopped "$work/a/main"
check "it is whole" whole "$work/export/main/stopped"
check "nothing else is left" nothing_hidden "$work/export/main"

# --- The network is cut under a soft mount ---

# The client still has a route and sends, as it does when something between it and the server breaks.
cut_network() { in_server $ip link set to-a down; }
mend_network() { in_server $ip link set to-a up; }
make_export soft rw,root_squash
# The client gives up after a second. On a slow machine it may do so although the server answers, hence the second tries.
mount_soft() { mount_a "$work/export/soft" "$work/a/soft" vers=4.2,soft,timeo=10,retrans=0; }
check "soft mount: the export is mounted" wait_until mount_soft
check "soft mount: a bundle comes" wait_until shipped owners "$work/a/soft"
cut_network
check "soft mount: no answer is an error of its own, and no missing directory" fails io 1 fits "$work/a/soft"
check "the words of the error are printed" grep -q '"retry":true.*Input/output error' "$work/out"
mend_network
check "soft mount: the bundle comes once the server answers" wait_until shipped fits "$work/a/soft"
make_bundle halfway 6000000
check "soft mount: a shipper is stopped in the middle" stop_under_way "$work/export/soft" halfway "$work/a/soft"
cut_network
kill -CONT $shipper
wait $shipper
check "soft mount: a cut in the middle of a file is named" printed '"retry":true.*"kind":"io"'
check "soft mount: no half file has its name" no_halves halfway "$work/export/soft"
mend_network
check "soft mount: the next run ships the bundle" wait_until shipped halfway "$work/a/soft"
check "it is whole" whole "$work/export/soft/halfway"
check "nothing else is left" nothing_hidden "$work/export/soft"

# --- The network is cut under a sidecar whose store is a hard mount ---

# A launcher obeys no process of another user that it sees.
launch="$as_sidecar $build/afterglow-launch --socket $work/cut/s"
start_sidecar() {
	rm -f "$work/cut/s"
	POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789 AFTERGLOW_CLUSTER=demo $as_sidecar "$build/afterglow-sidecar" \
		--socket "$work/cut/s" --spool "$work/cut/spool" --store "$work/a/cut" --kernel-log off --grace 2 --reconnect 1 \
		--http 127.0.0.1:9095 >>"$work/cut/log" 2>>"$work/err" &
	sidecar=$!
	wait_until [ -S "$work/cut/s" ]
}
dies() { $launch --name "$1" -- "$build/test/probe" exit 9 2>>"$work/err"; }
# busybox's wget looks for services in libraries that are not here.
get() { printf 'GET %s HTTP/1.0\r\n\r\n' "$1" | nc 127.0.0.1 9095 2>/dev/null; }
healthy() { get /healthz | grep -q '^ok'; }
has_failure() { get /failures | grep -q "\"container\":[[:space:]]*\"$1\""; }
samples() { get /metrics | sed -n 's/^afterglow_container_samples_total{container="living"} //p'; }
has_samples() { [ "$(samples)" -gt "$1" ] 2>/dev/null; }
# find complains of what is renamed while it walks.
arrived() { [ -n "$(find "$work/export/cut" -path "*/$1/*/MANIFEST.json" 2>/dev/null)" ]; }
waits() { [ -n "$(find "$work/cut/spool" -path "*/$1/*/MANIFEST.json")" ]; }
shipper_is_stuck() { for pid in $(pidof afterglow-ship); do grep -qs '^State:.D' "/proc/$pid/status" && return; done; return 1; }

mkdir -p "$work/cut/spool" /sys/fs/cgroup/living
chown 65532:65532 "$work/cut" "$work/cut/spool"
make_export cut rw,root_squash
mount_a "$work/export/cut" "$work/a/cut" "$hard"
: >"$work/err"
start_sidecar
"$build/test/contain" --cgroup /sys/fs/cgroup/living --memory own $launch --name living -- \
	sh -c "until [ -e '$work/leave' ]; do sleep 0.2; done; exit 3" 2>>"$work/err" &
living=$!
check "the sidecar samples a container" wait_until has_samples 0
dies one
check "the sidecar ships a death" wait_until arrived one
cut_network
dies two
check "network cut: the next death has its verdict" wait_until has_failure two
check "its shipper waits in the kernel" wait_until shipper_is_stuck
check "/healthz answers" wait_until healthy
check "samples go on" wait_until has_samples "$(samples)"
touch "$work/leave"
wait $living
check "a death beside a stuck shipper has its verdict" wait_until has_failure living
kill $sidecar
check "SIGTERM ends the sidecar although the server does not answer" wait_until has_ended $sidecar
wait $sidecar
check "what did not come to the store is kept" waits two
check "the other bundle is kept, too" waits living
mend_network
start_sidecar
check "the next sidecar ships it when the network is back" wait_until arrived two
check "the sidecar ships what came after it" wait_until arrived living
check "all bundles are whole" wait_until all_whole "$work/export/cut"
kill $sidecar
wait $sidecar

# --- The export is replaced by another directory of its name ---

make_export replaced rw,root_squash
mount_a "$work/export/replaced" "$work/a/replaced" "$hard"
check "before: a bundle comes" shipped owners "$work/a/replaced"
mv "$work/export/replaced" "$work/export/former"
rm -rf "$work/export/former"
mkdir "$work/export/replaced"
chown 65532:65532 "$work/export/replaced"
in_server exportfs -f
check "an export that was replaced is named" fails store-missing 1 owners "$work/a/replaced"
check "the error is printed" grep -q 'Stale file handle' "$work/out"
umount -l "$work/a/replaced"
check "it is mounted again" mount_a "$work/export/replaced" "$work/a/replaced" "$hard"
check "the bundle comes to the new export" shipped owners "$work/a/replaced"
check "the bundle on the new export is whole" whole "$work/export/replaced/owners"

# --- Two nodes ship and prune at once ---

make_export both rw,root_squash
mkdir "$work/b/both"
mount_a "$work/export/both" "$work/a/both" "$hard"
check "a second node mounts the export" mount_b "$work/export/both" "$work/b/both" "$hard"
make_bundle both-a 200000
make_bundle both-b 200000
place() { echo "ml/demo/pod-$1.0/worker/2026010${2}T000000.000Z-Killed"; } # NODE DAY
prune() { $as_sidecar "$build/afterglow-sidecar" prune --below ml/demo "$@" >>"$work/pruned" 2>&1; }
ship_as() { # NODE DAY
	$as_sidecar "$build/afterglow-ship" --store "$work/$1/both" --as "$(place "$1" "$2")" "$work/bundles/both-$1" >/dev/null 2>"$work/err-$1"
}
on_both() { # FUNCTION
	$1 a &
	first=$!
	$1 b
	second=$?
	wait $first && [ $second = 0 ]
}
count() { find "$work/export/both" -name "$1" | wc -l; }

ship_four() { for day in 1 2 3 4; do ship_as "$1" $day; done; }
on_both ship_four
check "both ship to one store" test "$(count MANIFEST.json)" = 8
# There is room for each report, and for no core.
prune_cores() { prune --keep-bytes 150000 "$work/$1/both"; }
on_both prune_cores
check "both prune at once: the cores go" test "$(count 'core.*')" = 0
check "pruning removes nothing else" test "$(count MANIFEST.json)/$(count report.txt)" = 8/8
check "what is left is whole" all_whole "$work/export/both"

ship_and_prune() {
	for day in 5 6 7 8; do
		ship_as "$1" $day
		prune --keep-bundles 4 "$work/$1/both"
	done
}
on_both ship_and_prune
# A bundle that the other node took for too old meanwhile is shipped again, as the sidecar does.
ship_newest() { ship_as "$1" 7 && ship_as "$1" 8; }
check "each can ship what it has to" on_both ship_newest
prune_four() { prune --keep-bundles 4 "$work/$1/both"; }
on_both prune_four
there() { [ -e "$work/export/both/$(place "$1" "$2")/MANIFEST.json" ]; }
newest_are_there() { there a 7 && there a 8 && there b 7 && there b 8; }
check "the newest of both are kept" newest_are_there
check "no other bundle is left" test "$(count MANIFEST.json)" = 4
check "they are whole" all_whole "$work/export/both"

# Somebody reads a core on the node that removes it: the client keeps the file as .nfs... until it is closed.
mkdir "$work/reader"
chown 65532:65532 "$work/reader"
$as_sidecar sh -c "exec 7<'$work/a/both/$(place a 7)/core.python.7.zst' && touch '$work/reader/open' &&
	until [ -e '$work/reader/go' ]; do sleep 0.1; done && cat <&7 >'$work/reader/read'" &
reader=$!
wait_until [ -e "$work/reader/open" ]
prune --keep-bundles 2 "$work/a/both"
touch "$work/reader/go"
wait $reader
check "who reads a file that is removed on the same node reads all of it" cmp "$work/reader/read" "$work/bundles/both-a/core.python.7.zst"
# The leftovers of that are removed when they are a day old. The client does not wait for its own removal of the file.
remove_leftovers() {
	find "$work/export/both" -name '.*.partial' -exec touch -d '2020-01-01 00:00:00' {} +
	prune --keep-bundles 2 "$work/a/both"
	nothing_hidden "$work/export/both"
}
check "the directory that could not be removed meanwhile goes later" wait_until remove_leftovers
check "two bundles are left" test "$(count MANIFEST.json)" = 2

summary
