#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process reads from a hard NFS mount whose server, the kernel's own, has stopped: what `afterglow-sidecar stack` says of it. Runs in
# User Mode Linux alone (`make nfs-hang-test`), whose wchan names no function of NFS. Ends with "N passed, N failed".
set -u
[ -n "${AFTERGLOW_IN_VM:-}" ] || exit 1
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd) || exit
here=$(cd "$(dirname "$0")" && pwd)
work=/tmp/nfs_hang
. "$here/check.sh"
mkdir -p $work/{bin,store,nfs,export}
cp "$build"/afterglow-{launch,sidecar,unwind} "$here/hangs.py" $work/bin
chmod 755 $work/bin/*
chown 65532:65532 $work $work/store
mount -t tmpfs tmpfs $work/export
head -c 1048576 /dev/zero >$work/export/data
as_user() { exec setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all env -i HOME=$work TMPDIR=$work PATH=/usr/bin:/bin "$@"; }

/usr/bin/python3 "$here/nfs_server.py" $work/export $work/nfs >$work/mounted 2>$work/err &
server=$!
check "the kernel's NFS server shares a directory, and this machine mounts it" wait_until grep -q mounted $work/mounted
as_user $work/bin/afterglow-sidecar exec --store $work/store -- /usr/bin/python3 $work/bin/hangs.py reads_from_a_server $work >$work/err 2>&1 &
check "a process has a file of it open" wait_until test -s $work/reads_from_a_server
pid=$(cat $work/reads_from_a_server)
echo 0 >/proc/fs/nfsd/threads
touch $work/stopped
waits() { [ "$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat")" = D ]; }
check "it waits for the server in state D" wait_until waits
stack() { (as_user $work/bin/afterglow-sidecar stack "$pid" >$work/out 2>$work/err); }
sees() { stack && grep -Eq "hangs.py:[0-9]+ in reads_from_a_server" $work/out; }
check "it has its line of Python" wait_until sees
prints() { grep -Eq "$1" $work/out; }
check "it is said to be in the kernel" prints 'in the kernel, uninterruptible'
check "the file is named" prints "it works on $work/nfs/data"
kill -9 "$server" "$pid"
wait "$server" 2>/dev/null
summary
