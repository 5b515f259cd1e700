# SPDX-License-Identifier: Apache-2.0
"""Ends of containers that memory.high of cgroup v2 slows down: the kernel does not kill them, they hang, and somebody ends what hangs."""
from common import LIB, V2
from truth import Death, exits, signalled

HIGH = "48.0 MiB"
# The command's cgroup gets memory.high; what fills it then grows slowly, and sleeps most of the time.
LEAK = LIB + "c=$(cgroup_of $$); echo 50331648 >$c/memory.high; echo $c >$D/cgroup; echo $$ >$D/begun; exec hog 300M --rate 20M"
SLOWED = "await $D/cgroup; until grep -q 'high [1-9]' $(cat $D/cgroup)/memory.events; do sleep 0.1; done; sleep 20; "
KILL = "kill -9 $(cat $D/begun)"
SAYS = (rf"slowed processes down at memory\.high of {HIGH}", rf"memory\.high of {HIGH} had slowed it down", r"Above memory\.high the kernel kills nothing")
# Nothing was slowed down, or not any more.
NOT_SLOWED = (r"memory\.high",)
# The limit of the pod, and what does not end on a request to stop.
POD = "p=$memory/death-$$-pod; await $D/launcher; echo 50331648 >$p/memory.high; echo $p >$D/cgroup; "


def high(name, truth, inside=LEAK, outside=SLOWED + KILL, **more):
    return Death(f"memory.high: {name}", truth, inside=inside, outside=outside, memory="300Mi", needs=V2, **more)


def high_pod(name, truth, inside, end):
    return high(name, truth, inside, outside=POD + SLOWED + end, pod=True, before="apart_pids=yes")


DEATHS = [
    high("a leak is slowed down for 20 s, and then kill -9", signalled(9, victim="none", says=SAYS)),
    high("a leak is slowed down for 20 s, and then SIGTERM", signalled(15, victim="none", says=SAYS), outside=SLOWED + KILL.replace("-9", "-TERM")),
    high("a leak is slowed down for 20 s, and then memory.high is raised, and kill -9 15 s later", signalled(9, victim="none", never=NOT_SLOWED),
         LEAK.replace("300M --rate 20M", "100M --rate 20M --hold"), SLOWED + "echo max >$(cat $D/cgroup)/memory.high; sleep 15; " + KILL),
    high("a process that stands still below memory.high is killed with kill -9", signalled(9, victim="none", never=NOT_SLOWED),
         LEAK.replace("300M --rate 20M", "40M --hold"), "await $D/cgroup; sleep 15; " + KILL),
    high("a leak in a cgroup below is slowed down for 20 s, and then kill -9 of the command", signalled(9, victim="none", says=(r"slowed processes down at memory\.high, ",)),
         LIB + "c=$(below $(cgroup_of $$) sub 268435456); echo 50331648 >$c/memory.high; echo $c >$D/cgroup; "
         "sh -c 'echo $$ >'$c'/cgroup.procs; exec hog 300M --rate 20M' & echo $$ >$D/begun; wait"),
    high("a leak is slowed down for 20 s, and exit 3 for other reasons", exits(3, victim="none", says=SAYS[:1], never=(r"may have hung",)),
         LEAK.replace("exec hog", "hog") + " & until [ -e $D/over ]; do sleep 0.5; done; kill -9 $!; exit 3", SLOWED + "echo yes >$D/over"),
    high_pod("a pod's leak is slowed down for 20 s, and it is asked to stop from outside", signalled(15, victim="none", says=SAYS),
             "exec hog 300M --rate 20M", "kill $(cat $D/launcher)"),
    high_pod("a pod's leak is slowed down for 20 s, asked to stop, which it ignores, and the whole pod is killed with kill -9",
             signalled(9, "Killed", "Unknown", victim="none", says=SAYS), "trap '' TERM; exec hog 300M --rate 20M",
             "kill $(cat $D/launcher); sleep 3; kill -9 $(cat $D/launcher)"),
]
