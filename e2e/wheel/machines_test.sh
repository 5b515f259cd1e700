#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# machines_test.sh [VENV]: two machines of one Ray cluster under `afterglow run`, as an ordinary user: each has its own host name, network,
# processes and /tmp, and only a directory for the reports is shared. The head's GCS is killed. VENV has real Ray and the wheel, and
# a Python that others may run; without it one is made, with Ray from PyPI. Ends with "N passed, N failed".
set -u

cd "$(dirname "$0")/../.."
# What follows has no network.
if [ $# = 0 ]; then
	made=$(mktemp -d /var/tmp/machines_venv.XXXXXX)
	chmod 755 "$made"
	trap 'rm -rf "$made"' EXIT
	/usr/bin/python3 -m venv "$made" && "$made/bin/pip" install --quiet --disable-pip-version-check ray build/wheel/*.whl && e2e/wheel/machines_test.sh "$made"
	exit
fi
# Processes, mounts, network and host name are its own.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m -n -u -p -f --kill-child --mount-proc e2e/wheel/machines_test.sh "$@"
venv=$1
work=$(mktemp -d /var/tmp/machines_test.XXXXXX)
build=''
. e2e/kernel/check.sh

finish() {
	jobs -p | xargs -r kill 2>/dev/null
	wait
	umount "$work"/node?/tmp/venv
	rm -rf --one-file-system "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

chmod 755 "$work"
install -d -o 65532 -g 65532 "$work/shared"
ip link set lo up
ip link add bridge0 type bridge
ip link set bridge0 up

as_user() { setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all env -i HOME="$home" PATH="/tmp/venv/bin:/usr/bin:/bin" "$@"; }

# Runs `afterglow run -- ray start --block OPTIONS` on a machine of that number.
machine() { # NUMBER OPTIONS...
	local own=$work/node$1
	install -d -o 65532 -g 65532 "$own/home"
	install -d -m 1777 "$own/tmp"
	mkdir "$own/tmp/venv"
	mount --bind "$venv" "$own/tmp/venv"
	printf '127.0.0.1 localhost\n10.78.0.%s node%s\n' "$1" "$1" >"$own/hosts"
	mkfifo "$own/network"
	export home=$own/home
	export -f as_user
	AFTERGLOW_SHARED=$work/shared unshare -m -n -u -p -f --kill-child --mount-proc bash -c '
		mount --rbind "$1/tmp" /tmp && mount --bind "$1/hosts" /etc/hosts && hostname "node$2" && cd "$home" && read -r _ <"$1/network" &&
			ip link set lo up && ip addr add "10.78.0.$2/24" dev eth0 && ip link set eth0 up || exit
		own=$1 number=$2
		shift 2
		as_user python /tmp/venv/bin/afterglow run --store "$AFTERGLOW_SHARED" -- \
			python /tmp/venv/bin/ray start --block --disable-usage-stats --node-ip-address="10.78.0.$number" --num-cpus=1 \
			--object-store-memory=100000000 "$@"
	' sh "$own" "$@" >"$own/out" 2>"$own/err" &
	has_child() { child=$(pgrep -P "$unshare"); }
	unshare=$!
	wait_until has_child
	ip link add "machine$1" master bridge0 type veth peer name eth0 netns "$child"
	ip link set "machine$1" up
	echo >"$own/network"
}
runs() { grep -q 'This command will now block' "$work/node$1/out"; }
over() { grep -q '^afterglow: bundle' "$work/node$1/err"; }
lists() { tr -s ' ' <"$work/list" | grep -Eq "$1"; }
home=$work/node1/home

machine 1 --head --port=6379 --include-dashboard=false
check "the head's Ray starts" wait_until runs 1
machine 2 --address=10.78.0.1:6379
check "the other machine's Ray starts" wait_until runs 2
pkill -9 -f 'gcs/gcs_server --log_dir'
check "the head has a report" wait_until over 1
check "the other machine has a report" wait_until over 2

cp "$work/node2/err" "$work/err"
mount --rbind "$work/node1/tmp" /tmp
(cd "$home" && as_user python /tmp/venv/bin/afterglow list "$work/shared") >"$work/list" 2>"$work/err"
cat "$work/list"
check "the first cause is named with its machine" lists '^ray@node1 GCSFailed certain 1 '
check "what followed on the other machine names its cause" lists '^ray@node2 .* GCSFailed of the head'
(cd "$home" && as_user python /tmp/venv/bin/afterglow incidents --store "$work/shared") >"$work/list" 2>"$work/err"
cat "$work/list"
check "both are one incident" test "$(grep -c '^Incident' "$work/list")" = 1 -a "$(grep -cE '^  (first|then) ' "$work/list")" = 2
(cd "$home" && as_user python /tmp/venv/bin/afterglow page "$work/shared" all.html) >"$work/list" 2>"$work/err"
check "both are on one page" lists '^2 failures are in all.html'
check "the page has one incident" grep -q 'Incidents: 1,' "$home/all.html"
check "no report speaks of Kubernetes" test -z "$(grep -rlE 'kubelet|container|pod\b|rayStartParams' "$work/shared" --include=report.txt)"
umount -l /tmp
summary
