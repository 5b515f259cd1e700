# SPDX-License-Identifier: Apache-2.0
"""Resources other than the cgroup's memory that run out: resource limits, disks, processes, descriptors."""
from truth import Death, exits, signalled

DEATHS = [
    Death("no address space: an exception that nobody catches", signalled(6, victim="none"), inside="ulimit -v 200000; exec eat bad-alloc 10", memory="300Mi"),
    Death("no address space: an exception, and exit 1", exits(1, victim="none"), inside="ulimit -v 200000; exec eat memory-error 10", memory="300Mi"),
    Death("no address space just below the memory limit, and exit 1", exits(1, victim="none"), inside="ulimit -v 62000; exec eat memory-error 2", memory="64Mi"),
    Death("no address space even to start", exits(127, "ApplicationError", honest={"CommandNotFound"}), inside="ulimit -v 1000; exec die assert", needs=frozenset({"here"})),
    Death("CPU time, and SIGXCPU", signalled(24), inside="ulimit -S -t 1; exec die spin"),
    Death("file size, and SIGXFSZ", signalled(25), inside="ulimit -f 10; exec dd if=/dev/zero of=$D/f bs=1k count=1000"),
    Death("file size, and exit 1 as SIGXFSZ is ignored", exits(1), inside="trap '' XFSZ; ulimit -f 10; dd if=/dev/zero of=$D/f bs=1k count=1000 || exit 1"),
    Death("open files, and exit 1", exits(1, "ApplicationError", "FileDescriptorsExhausted"), inside="ulimit -n 20; exec die files"),
    Death("a full disk, and exit 1", exits(1, "DiskFull", "ApplicationError"), before="small size=1m", inside="dd if=/dev/zero of=$D/small/f bs=64k count=100 || exit 1"),
    Death("a disk that fills beside one that was full at the start", exits(1, "DiskFull", never=["as at the start"]),
          before="small size=1m; dd if=/dev/zero of=$D/small/f bs=64k count=100; mkdir $D/fills; mount -t tmpfs -o size=1m none $D/fills",
          inside="dd if=/dev/zero of=$D/fills/f bs=64k count=100 || exit 1"),
    Death("a full disk, and exit 3 for another reason", exits(3, honest={"DiskFull"}), before="small size=1m",
          inside="dd if=/dev/zero of=$D/small/f bs=64k count=100; sleep 1; exit 3"),
    Death("a disk that was full before, and exit 3 for another reason", exits(3, honest={"DiskFull"}),
          before="small size=1m; dd if=/dev/zero of=$D/small/f bs=64k count=100", inside="exit 3"),
    Death("a disk that is full and read-only, as images are, and exit 3", exits(3), inside="exit 3",
          before="small size=1m; dd if=/dev/zero of=$D/small/f bs=64k count=100; mount -o remount,ro $D/small"),
    Death("a full disk under a mapping, and SIGBUS", signalled(7, "BusError", "DiskFull"), before="small size=1m", argv=("die", "map-full", "$D/small/f")),
    Death("a full disk, and kill -9", signalled(9), before="small size=1m", inside="dd if=/dev/zero of=$D/small/f bs=64k count=100; kill -9 $$"),
    Death("a disk without inodes, and exit 1", exits(1, "DiskFull", "ApplicationError"), before="small size=1m,nr_inodes=10",
          inside="for i in 1 2 3 4 5 6 7 8 9 10 11; do touch $D/small/$i || exit 1; done"),
    Death("processes, and exit 1", exits(1, "ProcessLimit", "ApplicationError"), before="pids 20", argv=("die", "forks", "50")),
    Death("processes early on, and exit 3 for another reason", exits(3, honest={"ProcessLimit"}), before="pids 20", inside="die forks 50; sleep 2; exit 3"),
    Death("processes early on, and kill -9", signalled(9), before="pids 20", inside="die forks 50; sleep 1; kill -9 $$"),
    Death("processes early on, and a crash", signalled(11), before="pids 20", inside="die forks 50; sleep 1; exec probe fault segv"),
    Death("locked memory that the limit forbids, and exit 1", exits(1), inside="ulimit -l 64; exit 1"),
]
