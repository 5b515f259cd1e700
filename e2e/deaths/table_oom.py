# SPDX-License-Identifier: Apache-2.0
"""OOM kills by the kernel: which limit was met, which process was killed, and what became of the command."""
from common import CHILD, SELF
from truth import Death, exits, oom, signalled

KILLED_CONTAINER = r"^Container \S+ was killed"


def child_then_exit(code, after, because):
    """A child is killed; the command exits some time later, because of that or for a reason of its own."""
    lives = {"KernelOOMProcess"}
    name = f"a child is OOM-killed, the command exits {code} after {after} s" + (", for its own reasons" if code and not because else "")
    if code == 0:
        truth = exits(0, "KernelOOMProcess", reported=True, lives=lives, victim="fact", never=(KILLED_CONTAINER,))
    elif because:
        truth = oom("KernelOOMContainer", "KernelOOMProcess", exit=code, signal=0, honest={"ApplicationError"}, lives=lives, victim="fact")
    else:
        truth = exits(code, "ApplicationError", "KernelOOMProcess", honest={"KernelOOMContainer", "Killed"}, lives=lives, victim="fact")
    return Death(name, truth, inside=f"{CHILD} sleep {after}; exit {code}", memory="64Mi", ooms=1)


def child_then_kill(after):
    """A death that looks like an OOM kill of the command, but is not."""
    return Death(f"a child is OOM-killed, and {after} s later somebody kills the command with kill -9",
                 signalled(9, honest={"KernelOOMContainer", "KernelOOMProcess"}, lives={"KernelOOMProcess"}, victim="fact"),
                 inside=f"echo $$ >$D/pid; {CHILD} echo now >$D/killed; sleep 60", memory="64Mi", ooms=1,
                 outside=f"await $D/killed; sleep {after}; kill -9 $(cat $D/pid)")


DEATHS = [
    Death("a leak, as fast as it goes", oom(victim="fact"), inside=SELF + "hog 300M", memory="64Mi", ooms=1),
    Death("a leak of 100 MB/s", oom(victim="fact"), inside=SELF + "hog 300M --rate 100M", memory="96Mi", ooms=1),
    Death("a slow leak of 10 MB/s", oom(victim="fact"), inside=SELF + "hog 300M --rate 10M", memory="32Mi", ooms=1),
    Death("a child, and the shell passes 137 on", oom("KernelOOMContainer", "KernelOOMProcess", signal=0, victim="fact"),
          inside=CHILD + "exit $?", memory="64Mi", ooms=1),
    Death("a grandchild, whose shells pass 137 on", oom("KernelOOMContainer", "KernelOOMProcess", signal=0, victim="fact"),
          inside=f"sh -c '{CHILD} exit $?'; exit $?", memory="64Mi", ooms=1),
    *(child_then_exit(0, after, True) for after in (0.1, 1, 4, 8, 20)),
    *(child_then_exit(1, after, True) for after in (0.1, 1, 4)),
    *(child_then_exit(1, after, False) for after in (8, 20)),
    *(child_then_exit(137, after, True) for after in (0.1, 4)),
    *(child_then_kill(after) for after in (0.1, 1, 4, 8)),
    Death("shared memory without a name", oom(victim="fact"), inside=SELF + "hog 300M --rate 200M --shm", memory="64Mi", ooms=1),
    Death("a file in /dev/shm that outgrows the limit", oom(victim="fact"), memory="64Mi", ooms=1,
          inside=SELF + "dd if=/dev/zero of=/dev/shm/death.$$ bs=1M count=300", after="rm -f /dev/shm/death.*"),
    Death("memory that is locked", oom(victim="fact"), inside=SELF + "eat locked 200", memory="64Mi", ooms=1),
    Death("a group of three children with --oom-group", oom(), memory="64Mi", options="--oom-group", ooms=1,
          inside="hog 300M --rate 15M --children 3; exit 1"),
    Death("a fork bomb that uses up the memory", oom("KernelOOMContainer", "KernelOOMProcess", "ApplicationError", exit=1, signal=0, lives={"KernelOOMProcess"}),
          argv=("eat", "bomb", "100"), memory="64Mi", ooms=10),
    Death("the limit of a cgroup above", oom("KernelOOMPod", victim="fact"), before="around 50331648",
          inside=SELF + "hog 280M --rate 200M", memory="300Mi", ooms=1),
    Death("the limit of a cgroup below, which the command made for itself",
          oom("KernelOOMContainer", "KernelOOMProcess", never=("memory limit of 300.0 MiB",), victim="fact"), memory="300Mi", ooms=1,
          inside=". e2e/deaths/lib.sh; c=$(below $(cgroup_of $$) sub 33554432); echo $$ >$c/cgroup.procs; " + SELF + "hog 100M --rate 100M"),
    Death("the limit of a cgroup below, in which a child runs",
          oom("KernelOOMContainer", "KernelOOMProcess", signal=0, never=("memory limit of 300.0 MiB",), victim="fact"), memory="300Mi", ooms=1,
          inside=". e2e/deaths/lib.sh; c=$(below $(cgroup_of $$) sub 33554432); "
                 "sh -c 'echo $$ >'$c'/cgroup.procs; " + SELF + "hog 100M --rate 100M'; exit $?"),
    Death("memory of the kernel's own, in pipes", oom(), argv=("eat", "pipes", "200"), memory="64Mi", ooms=1),
    Death("little memory, as an earlier process had filled /dev/shm", oom(victim="fact"), memory="64Mi", ooms=1,
          inside="dd if=/dev/zero of=/dev/shm/death-early.$$ bs=1M count=50 2>/dev/null; " + SELF + "hog 20M --rate 20M",
          after="rm -f /dev/shm/death-early.*"),
    Death("two equal leakers at once with --oom-group", oom(never=("not parallelism",)), memory="64Mi", options="--oom-group", ooms=1,
          inside="hog 300M --rate 40M --children 2; exit 1"),
    Death("the launcher itself, by oom_score_adj 1000", oom("KernelOOMContainer", "KernelOOMProcess", honest={"Unknown"}), memory="64Mi", ooms=1,
          inside="echo 1000 >/proc/$PPID/oom_score_adj; hog 300M --rate 100M --hold"),
    Death("a child that is reaped three seconds later", oom("KernelOOMContainer", "KernelOOMProcess", exit=1, signal=0, victim="fact"), memory="64Mi",
          ooms=1, inside="hog 300M --rate 200M & echo victim $! >>$D/facts; sleep 3; wait $!; exit 1"),
    Death("three children, one after the other, then exit 1", oom("KernelOOMContainer", "KernelOOMProcess", exit=1, signal=0, lives={"KernelOOMProcess"}), memory="64Mi", ooms=3,
          inside="for i in 1 2 3; do hog 300M --rate 300M; done; exit 1"),
    Death("a child behind || true, and exit 0 at once", exits(0, "KernelOOMProcess", reported=True, lives={"KernelOOMProcess"}, never=(KILLED_CONTAINER,)),
          memory="64Mi", ooms=1, inside="hog 300M --rate 200M || true"),
    Death("a child behind a shell that exits with 3", oom("KernelOOMContainer", "KernelOOMProcess", exit=3, signal=0, honest={"ApplicationError"}),
          memory="64Mi", ooms=1, inside="hog 300M --rate 200M || exit 3"),
    Death("the limit was raised while it ran", oom(victim="fact", never=("limit of 32.0 MiB",)), memory="32Mi", ooms=1,
          inside=". e2e/deaths/lib.sh; limit $(cgroup_of $$) 83886080; " + SELF + "hog 300M --rate 60M"),
    Death("the limit was lowered below what it used", oom(victim="fact", never=("limit of 128.0 MiB",)), memory="128Mi", ooms=1, needs=frozenset({"v2"}),
          inside=SELF + "hog 100M --hold", outside=". e2e/deaths/lib.sh; await $D/facts; sleep 3; limit $(cgroup_of $(cut -d' ' -f2 $D/facts)) 50331648"),
    Death("when the log had no room for the kernel's report", oom(victim="fact"), before="flood", inside=SELF + "hog 300M --rate 300M",
          memory="64Mi", alone=True),
    Death("a process that shares its memory with its parent, as after vfork", oom("KernelOOMContainer", "KernelOOMProcess"), memory="64Mi", ooms=1,
          argv=("eat", "vfork", "200")),
    Death("memory that could be freed, and then more that could not", oom(victim="fact"), memory="64Mi", ooms=1,
          inside="eat lazy 200; " + SELF + "hog 300M --rate 200M"),
    Death("a daemon that two forks left behind, and exit 0 of the command after 8 s",
          exits(0, "KernelOOMProcess", reported=True, lives={"KernelOOMProcess"}, never=(KILLED_CONTAINER,)), memory="64Mi", ooms=1,
          inside=". e2e/deaths/lib.sh; (setsid sh -c 'hog 300M --rate 200M; echo over >$D/dead' &); await $D/dead; sleep 8; exit 0"),
    *(Death(f"a process by the name of {what}", oom(victim="fact"), memory="64Mi", ooms=1,
            inside=f"echo victim $$ >>$D/facts; exec hog 300M --rate 200M --name '{name}'")
      for what, name in (("another's kill", "a) Killed process 1 (init"), ("brackets", "ray::f() [x] (y)"), ("two lines", "one\ntwo"), ("afterglow-launch", "afterglow-launch"))),
    Death("a small process with oom_score_adj 1000 in place of the large one",
          exits(0, "KernelOOMProcess", reported=True, lives={"KernelOOMProcess"}, victim="fact", never=(KILLED_CONTAINER,)), memory="64Mi", ooms=1,
          inside="(echo 1000 >/proc/self/oom_score_adj; exec hog 20M --hold --name innocent) & echo victim $! >>$D/facts; sleep 0.5; "
                 "hog 50M --rate 50M; sleep 1; exit 0"),
    Death("a command that moved to another cgroup, by that one's limit",
          oom("KernelOOMContainer", "KernelOOMPod", never=("memory limit of 300.0 MiB",), victim="fact"), memory="300Mi", ooms=1,
          before="export other=$memory/death-$$-other; mkdir $other; limit $other 33554432",
          inside="echo $$ >$other/cgroup.procs; " + SELF + "hog 100M --rate 100M"),
]
