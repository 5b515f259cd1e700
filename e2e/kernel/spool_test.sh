#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bundles go from the spool to a store that is a directory, although the store is not there, read-only, removed, or down for longer than
# the pod lives; or there is no room, or a container dies again and again. In the end every report is there and whole.
# Ends with "N passed, N failed".

# Its mounts are its own: a sidecar of another suite would take a disk that is full here for one of its container.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}${AFTERGLOW_IN_VM:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
set -uo pipefail
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
probe=$build/test/probe
work=$(mktemp -d /tmp/spool_test.XXXXXX)
sidecar=''
. "$(dirname "$0")/check.sh"

finish() {
	[ -z "$sidecar" ] || kill -9 "$sidecar" 2>/dev/null
	umount "$work"/*/store "$work"/*/spool 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT

# start CASE [OPTION...] starts a sidecar with a spool and a store of its own; a second sidecar of the case finds both as they are.
start() {
	at=$work/$1
	shift
	mkdir -p "$at"
	[ -e "$at/spool" ] || mkdir "$at/spool"
	POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789 AFTERGLOW_CLUSTER=demo "$build/afterglow-sidecar" --socket "$at/s" \
		--spool "$at/spool" --kernel-log off --grace 60 --reconnect 1 "$@" >>"$at/log" 2>>"$at/err" &
	sidecar=$!
	wait_until [ -S "$at/s" ]
}

# Ends the sidecar as the kubelet does. $took is in seconds.
stop() {
	local began=$SECONDS
	kill -TERM "$sidecar"
	wait "$sidecar"
	took=$((SECONDS - began))
	sidecar=''
	rm -f "$at/s"
}

dies() { # NAME EXIT
	"$build/afterglow-launch" --name "$1" --socket "$at/s" -- "$probe" exit "$2" 2>/dev/null
}

bundles() { find "$1" -name MANIFEST.json 2>/dev/null | wc -l; }
has() { [ "$(bundles "$at/$1")" = "$2" ]; }
has_pages() { [ "$(find "$at/store" -name report.html | wc -l)" = "$1" ]; }
says() { grep -rqs "$2" "$at/$1"; }
# Asks the same, and prints what each report is if none of them says it.
one_says() { says "$1" "$2" || { grep -rhE '^  (when|class|repeated|signature) ' "$at/$1" --include=report.txt | sed 's/^/     /' && false; }; }

# Checks that every bundle's manifest lists what is there, as it is, with a report among it, and that nothing half-written is to be seen.
whole() {
	local manifest
	[ -z "$(find "$1" -name '.*.partial')" ] || return 1
	find "$1" -name MANIFEST.json >"$work/manifests"
	while read -r manifest; do
		python3 - "$manifest" <<'END' || return 1
import hashlib, json, pathlib, sys
manifest = pathlib.Path(sys.argv[1])
files = {f["name"]: f for f in json.loads(manifest.read_text())["files"]}
assert {"report.txt", "report.json"} <= files.keys()
for name, f in files.items():
    data = (manifest.parent / name).read_bytes()
    assert len(data) == f["sizeBytes"] and hashlib.sha256(data).hexdigest() == f["sha256"], name
END
	done <"$work/manifests"
}

# Nothing goes wrong.
start plain --store "$work/plain/store"
mkdir "$at/store"
dies ray-worker 9
check "a bundle comes to the store" wait_until has store 1
check "the bundle leaves the spool" wait_until has spool 0
check "it is whole" whole "$at/store"
check "its report names the store" says store/ml "bundle     $at/store/ml/demo/"
check "what is said of it says that it is on its way" says log 'still in this pod, on its way there'
check "that it has come is an event" wait_until says log '"event":"shipped"'
stop
check "with nothing left to do the pod goes at once ($took s)" test "$took" -lt 50

# The store is not there when the pod dies, and is when the next sidecar starts.
start down --store "$work/down/store" --grace 3
dies ray-worker 9
check "without a store the bundle stays" wait_until says log '"kind":"store-missing"'
stop
check "the pod waits for its grace and no longer ($took s)" test "$took" -le 40
check "nothing is lost" has spool 1
check "nothing is torn" whole "$at/spool"
mkdir "$at/store"
start down --store "$work/down/store"
check "the next sidecar ships it" wait_until has store 1
check "it is whole there" whole "$at/store"
check "it left the spool" wait_until has spool 0
stop

# The store is removed, and comes back before the end of the pod.
start removed --store "$work/removed/store"
mkdir "$at/store"
dies one 9
wait_until has store 1
mv "$at/store" "$at/away"
dies two 9
check "what dies meanwhile is in the spool" wait_until says log '"kind":"store-missing"'
mv "$at/away" "$at/store"
stop
check "it is shipped before the pod goes" has store 2
check "both are whole" whole "$at/store"
check "the spool is empty" has spool 0

# The store is read-only.
mkdir -p "$work/readonly/store"
mount -t tmpfs -o ro tmpfs "$work/readonly/store"
start readonly --store "$work/readonly/store"
dies ray-worker 9
check "a read-only store is named" wait_until says log '"kind":"read-only"'
stop
check "nobody will mend that in the grace of a pod ($took s)" test "$took" -lt 50
check "the report stays" has spool 1
mount -o remount,rw "$work/readonly/store"
start readonly --store "$work/readonly/store"
check "when it is mended it is shipped" wait_until has store 1
stop
check "the bundle is whole" whole "$at/store"

# The store has room for less than a bundle.
mkdir -p "$work/full/store"
mount -t tmpfs -o size=16k tmpfs "$work/full/store"
start full --store "$work/full/store"
dies ray-worker 9
check "a full store is named" wait_until says log '"kind":"no-space"'
mount -o remount,size=8m "$work/full/store"
stop
check "when there is room it is shipped" has store 1
check "the bundle is whole" whole "$at/store"

# The pod has no room for a bundle.
mkdir -p "$work/tight/spool" "$work/tight/store"
mount -t tmpfs -o size=1m tmpfs "$work/tight/spool"
start tight --store "$work/tight/store"
dies ray-worker 9
check "with no room for a bundle there is a report" wait_until has store 1
check "the report says what is missing" says store/ml 'all but this report'
check "the report is whole" whole "$at/store"
check "it holds nothing else" test "$(find "$at/store" -type f | wc -l)" = 3
stop

# The spool cannot be written: the failure is reported all the same, and with a directory in memory its bundle comes to the store.
port=$(free_port)
answers() { curl -s "http://127.0.0.1:$port$1" >"$at/got" && grep -q -e "$2" "$at/got"; } # PATH PATTERN
ro_spool() { # CASE: with a bundle in it that was not shipped
	mkdir -p "$work/$1/spool" "$work/$1/store"
	mount -t tmpfs -o size=64m tmpfs "$work/$1/spool"
}
ro_spool rospool
start rospool
dies before 9
wait_until has spool 1
stop
start rospool --http "127.0.0.1:$port"
mount -o remount,ro "$work/rospool/spool"
"$build/afterglow-launch" --name ray-worker --socket "$at/s" -- "$probe" exit 7 2>"$at/stderr"
check "a read-only spool: the death is on the container's stderr" says stderr 'ended with exit code 7'
check "the death is on the sidecar's stdout, too" says log 'ended with exit code 7'
check "it is a failure" wait_until answers /failures '"container":"ray-worker"'
check "the failure has its class and no bundle" grep -qE '"exitCode":7.*"bundleIn":"nowhere"' "$at/got"
check "the failure says why it has no bundle" grep -q '"spool":{"failing":true,"error":"[^"]*Read-only' "$at/got"
check "the health says it" answers /healthz 'the spool cannot be written: .*Read-only'
check "a metric says it" answers /metrics '^afterglow_spool_failing 1$'
mount -o remount,rw "$work/rospool/spool"
dies ray-worker 8
check "once it is mended, bundles are there again" wait_until has spool 2
check "once it is mended, the health says so" answers /healthz '^ok$'
stop
umount "$work/rospool/spool"

ro_spool aside
mkdir "$work/aside/memory"
start aside --store "$work/aside/store" --spool-fallback "$work/aside/memory" --http "127.0.0.1:$port"
mount -o remount,ro "$work/aside/spool"
dies ray-worker 9
check "with a place in memory its bundle comes to the store" wait_until has store 1
check "the bundle is whole" whole "$at/store"
check "the bundle has its page" has_pages 1
check "nothing stays behind" wait_until test -z "$(find "$at/memory" -name MANIFEST.json)"
check "it is said all the same" answers /metrics '^afterglow_spool_failing 1$'
stop
# The spool cannot be written from the beginning: the directory in memory also keeps what the next sidecar needs.
start aside --store "$work/nostore" --spool-fallback "$work/aside/memory" --http "127.0.0.1:$port" --grace 2
dies late 9
stop
start aside --store "$work/aside/store" --spool-fallback "$work/aside/memory" --http "127.0.0.1:$port"
check "what waited in memory is shipped by the next sidecar" wait_until has store 2
check "the next sidecar knows of the failure" answers /failures '"container":"late"'
stop
check "both bundles are whole" whole "$at/store"
umount "$work/aside/spool"

# A container dies again and again with the exit code of a shell whose command died by a signal: equal ends are one crash.
start loop --store "$work/loop/store" --http "127.0.0.1:${port:=$(free_port)}"
mkdir "$at/store"
for _ in $(seq 40); do dies ray-worker 139; done
check "of forty deaths the first, some reports and the number are kept" wait_until has store 12
wait_until has spool 0
# The containers did not wait for the last reports.
all_counted() { curl -s "http://127.0.0.1:$port/metrics" >"$at/metrics" && says metrics '^afterglow_failures_total{class="Segfault"} 40$'; }
wait_until all_counted
check "one of them is whole, with its page" has_pages 1
check "a report says how often it came" says store/ml 'the same crash for the 32nd time since'
check "all are whole" whole "$at/store"
check "they take little room" test "$(du -sk "$at" | cut -f1)" -lt 2000
check "those of which only the number is kept are counted" says metrics '^afterglow_failures_counted_only_total 28$'
check "all forty are failures" says metrics '^afterglow_failures_total{class="Segfault"} 40$'
dies ray-worker 7
check "another exit is another crash" wait_until has_pages 2
for _ in 1 2 3; do dies ray-worker 7; done
check "of ends that only look alike every report is kept" wait_until has store 16
check "the report of such an end says that it does not know more" one_says store/ml 'it ended like this for the 4th time since .*, perhaps of'
stop
start loop --store "$work/loop/store"
dies ray-worker 139
stop
check "the next sidecar goes on counting" has_pages 2

# There are more deaths than the spool may hold.
start many --spool-bundles 3
for n in 1 2 3 4 5; do dies "c$n" 9; sleep 0.1; done
check "the oldest bundles go" wait_until has spool 3
dies c6 9
check "the next report says so" wait_until says spool/ml 'dropped    1 bundle of earlier failures'
check "the rest is whole" wait_until whole "$at/spool" # the oldest is on its way out
stop

# The store has bundles of the cluster that are older.
start kept --store "$work/kept/store" --keep-bundles 2
mkdir -p "$at/store/ml/demo/old.0/c/20200101T000000.000Z-Killed" "$at/store/ml/other/old.0/c/20200101T000000.000Z-Killed"
echo '{"files":[]}' | tee "$at/store/ml/demo/old.0/c/20200101T000000.000Z-Killed/MANIFEST.json" \
	>"$at/store/ml/other/old.0/c/20200101T000000.000Z-Killed/MANIFEST.json"
dies one 9
dies two 9
stop
start kept --store "$work/kept/store" --keep-bundles 2
check "of this cluster the newest two are kept" wait_until has store/ml/demo 2
check "the old one is gone" wait_until test ! -e "$at/store/ml/demo/old.0/c/20200101T000000.000Z-Killed"
check "another cluster's is not touched" has store/ml/other 1
stop

summary
