#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# apptainer_test.sh [ROOT]: Apptainer of Debian sid, by user namespaces as an ordinary user: what dies in an image below `afterglow run`, which is
# in the image or around it. ROOT is a root of sid with Apptainer and Python; without it one is made. Ends with "N passed, N failed".
set -u

cd "$(dirname "$0")/../.."
if [ $# = 0 ]; then
	tools/apt-install.sh mmdebstrap
	made=$(mktemp -d /var/tmp/apptainer_root.XXXXXX)
	trap 'rm -rf --one-file-system "$made"' EXIT
	chmod 755 "$made"
	# A mirror may have had no new sid for more than a week.
	mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' --variant=minbase --include=apptainer,python3-venv,ca-certificates \
		sid "$made/root" && e2e/wheel/apptainer_test.sh "$made/root"
	exit
fi
[ -n "${AFTERGLOW_OWN_MOUNTS:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m -p -f --kill-child "$0" "$@"
root=$(realpath "$1")
work=$(mktemp -d "$root/var/tmp/apptainer_test.XXXXXX")
home=${work#"$root"} # as the user sees it
build=''
. e2e/kernel/check.sh
find_memory_cgroups
cgroup=$memory/afterglow-apptainer-$$-$RANDOM

finish() {
	until rmdir "$cgroup" 2>/dev/null || [ ! -e "$cgroup" ]; do
		xargs -r kill -9 <"$cgroup/cgroup.procs" 2>/dev/null
		sleep 0.1
	done
	rm -rf --one-file-system "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT
make_limit() { mkdir -p "$cgroup" && echo "$1" >"$cgroup/$limit"; }

# The image is the root itself, by links. In a chroot the kernel gives nobody a user namespace, so the root becomes the root of the mounts.
image=$root/image
[ -d "$image" ] || { mkdir "$image" && cp -al "$root"/{bin,etc,lib,lib64,sbin,usr} "$image" && mkdir "$image"/{dev,home,opt,proc,root,run,srv,sys,tmp,var}; } || exit
grep -q ^tester: "$root/etc/passwd" || echo "tester:x:65532:65532::$home:/bin/sh" >>"$root/etc/passwd"
cp build/wheel/* "$work"
mkdir "$work/t"
chmod 755 "$work"
chown -R 65532:65532 "$work"
mount --bind "$root" "$root"
mkdir -p "$root/old"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
make_limit 4G || exit

as_user() { # WORDS of a shell
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" unshare -m sh -c '
		cd "$1" && pivot_root . old && umount -l /old && shift && exec "$@"' sh "$root" \
		setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all env -i HOME="$home" PATH="$home/venv/bin:/usr/bin:/bin:/usr/sbin:/sbin" \
		TMPDIR="$home/t" sh -c "cd; ulimit -c unlimited 2>/dev/null; $1"
}
run() {
	as_user "$1" >"$work/out" 2>"$work/err"
	code=$?
}
says() { tr -s ' \n' ' ' <"$work/err" | grep -Eq "$1"; }

check "pip installs the wheel" as_user 'python3 -m venv venv && venv/bin/pip install --quiet --no-index --disable-pip-version-check *.whl'
exec='apptainer --silent exec --userns /image'
run "$exec python3 -c 'print(6 * 7)'"
check "Apptainer runs as an ordinary user" test "$code$(cat "$work/out")" = 042
for place in in around; do
	case $place in
	in) with="$exec $home/venv/bin/afterglow run --" ;;
	around) with="afterglow run -- $exec" ;;
	esac
	make_limit 4G
	run "$with python3 -c 'print(6 * 7)'"
	check "afterglow $place the image: a command that succeeds leaves no word" test "$code$(cat "$work/out")" = 042 -a ! -s "$work/err"
	run "$with python3 -c 'import ctypes; ctypes.string_at(0)'"
	check "afterglow $place the image: a crash ends with 139" test "$code" = 139
	check "afterglow $place the image: a crash has its class" says 'class Segfault, '
	run "$with sh -c 'exit 3'"
	check "afterglow $place the image: an exit code is an error of the application" says 'class ApplicationError, '
	make_limit 200M
	run "$with python3 -c 'b = []
while True: b.append(bytearray(1 << 20))'"
	check "afterglow $place the image: a leak ends with 137" test "$code" = 137
	check "afterglow $place the image: a leak is the OOM killer's" says 'class KernelOOM(Container|Process|Pod), '
done
summary
