# SPDX-License-Identifier: Apache-2.0
"""OOM kills for limits above, below and beside the container's own cgroup, and kills that only look like them."""
from common import BELOW, BOTH, LIB, NOT_OURS, SELF
from truth import Death, exits, oom, signalled

OTHER = "export other=$memory/death-$$-other; mkdir $other; limit $other 33554432"

ABOVE = [
    Death("the limit of a cgroup above, for a child whose 137 the shell passes on", oom("KernelOOMPod", signal=0, never=NOT_OURS, victim="fact"),
          before="around 50331648", inside="hog 280M --rate 200M & echo victim $! >>$D/facts; wait $!; exit $?", memory="300Mi", ooms=1),
    Death("the limit of a cgroup two levels above", oom("KernelOOMPod", never=NOT_OURS, victim="fact"), ooms=1,
          before="around 50331648; top=$inner; mkdir -p $top/a/b; [ $version = 1 ] || { echo $$ >$memory/cgroup.procs; echo +memory >$top/cgroup.subtree_control; "
                 "echo +memory >$top/a/cgroup.subtree_control; }; echo $$ >$top/a/b/cgroup.procs",
          inside=SELF + "hog 280M --rate 200M", memory="300Mi"),
    Death("equal limits of its own and of the cgroup above", oom("KernelOOMContainer", "KernelOOMPod", victim="fact"), before="around 67108864",
          inside=SELF + "hog 280M --rate 200M", memory="64Mi", ooms=1),
    Death("its own limit, a little below that of the cgroup above", oom(victim="fact"), before="around 75497472",
          inside=SELF + "hog 280M --rate 200M", memory="64Mi", ooms=1),
    Death("the limit of a cgroup above, which a neighbour had used up", oom("KernelOOMPod", never=NOT_OURS, victim="fact"), ooms=1, memory="300Mi",
          before="around 67108864; hog 40M --hold & sleep 1",
          inside="echo 1000 >/proc/self/oom_score_adj; " + SELF + "hog 40M --rate 40M"),
    Death("kill -9, after a neighbour was OOM-killed for the limit of the cgroup above", signalled(9, victim="none", never=("memory limit of",)), ooms=1,
          memory="300Mi", before="around 67108864", outside="await $D/begun; neighbour hog 300M --rate 200M; echo done >$D/elsewhere",
          inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; sleep 0.5; kill -9 $$"),
    Death("the limit of a cgroup above, when the log had no room for the kernel's report",
          oom("KernelOOMPod", never=NOT_OURS, victim="fact"), before="flood; around 50331648", inside=SELF + "hog 280M --rate 200M", memory="300Mi", alone=True),
]

ABOVE += [
    Death("the limit of a cgroup above, after it had met its own with memory that could be freed", oom("KernelOOMPod", victim="fact"), memory="64Mi", ooms=1,
          before="around 134217728", inside="eat lazy 200; echo $$ >$D/begun; until [ -e $D/full ]; do sleep 0.1; done; sleep 1; "
                                            "echo 1000 >/proc/self/oom_score_adj; " + SELF + "hog 45M --rate 20M --hold",
          outside="await $D/begun; hog 100M --hold & sleep 1; echo yes >$D/full; await $D/code; kill $!"),
    Death("all of a cgroup above with memory.oom.group, for a neighbour's memory", oom("KernelOOMPod", "KernelOOMContainer", "KernelOOMNode"), memory="64Mi", ooms=1,
          needs=frozenset({"v2"}), before="around 134217728; echo 1 >$outer/memory.oom.group", inside="echo $$ >$D/begun; sleep 60",
          outside="await $D/begun; sleep 1; neighbour hog 300M --rate 200M"),
]

BELOW_DEATHS = [
    Death("the limit of a cgroup below: that of a sidecar's exec in the command, whose 137 it passes on",
          oom(*BOTH, signal=0, never=NOT_OURS), memory="300Mi", ooms=1,
          inside=LIB + "$tools/afterglow-sidecar exec --memory-max 32Mi --store $D/inner -- hog 100M --rate 100M; exit $?"),
    Death("all of a cgroup below with memory.oom.group, and exit 137 of the shell", oom(*BOTH, signal=0, never=NOT_OURS), memory="300Mi", ooms=1,
          needs=frozenset({"v2"}), inside=LIB + "c=$(below $(cgroup_of $$) sub 33554432); echo 1 >$c/memory.oom.group; "
          "sh -c 'echo $$ >'$c'/cgroup.procs; hog 20M --hold & hog 100M --rate 100M'; exit $?"),
    Death("the limit of a cgroup below: a child, and exit 0 after 8 s",
          exits(0, "KernelOOMProcess", reported=True, lives={"KernelOOMProcess"}, never=NOT_OURS, victim="fact"), inside=BELOW + "sleep 8; exit 0",
          memory="300Mi", ooms=1),
    Death("the limit of a cgroup below that is removed at once: a child, and exit 1", oom(*BOTH, exit=1, signal=0, never=NOT_OURS, victim="fact",
          honest={"ApplicationError"}), inside=BELOW + "rmdir $c; exit 1", memory="300Mi", ooms=1),
    Death("the limit of a cgroup below: a child, and kill -9 of the command 2 s later",
          signalled(9, honest=set(BOTH), lives={"KernelOOMProcess"}, never=NOT_OURS, victim="fact"), inside=BELOW + "sleep 2; kill -9 $$",
          memory="300Mi", ooms=1),
    Death("the limit of a cgroup below: a child, and exit 3 after 7 s, for its own reasons",
          exits(3, lives={"KernelOOMProcess"}, honest=set(BOTH), never=NOT_OURS, victim="fact"), inside=BELOW + "sleep 7; exit 3",
          memory="300Mi", ooms=1),
    Death("its own limit, met by a process in a cgroup below that has none", oom(victim="fact"), memory="64Mi", ooms=1,
          inside=LIB + "c=$(below $(cgroup_of $$) sub 1073741824); echo $$ >$c/cgroup.procs; " + SELF + "hog 300M --rate 200M"),
    Death("its own limit, met by a child in a cgroup below that has none", oom(*BOTH, signal=0, victim="fact"), memory="64Mi", ooms=1,
          inside=LIB + "c=$(below $(cgroup_of $$) sub 1073741824); sh -c 'echo $$ >'$c'/cgroup.procs; " + SELF + "hog 300M --rate 200M'; exit $?"),
    Death("the limit of a cgroup two levels below", oom(*BOTH, never=NOT_OURS, victim="fact"), memory="300Mi", ooms=1,
          inside=LIB + "c=$(below $(below $(cgroup_of $$) sub 134217728) leaf 33554432); echo $$ >$c/cgroup.procs; " + SELF + "hog 100M --rate 100M"),
    Death("kill -9 of the command in a cgroup below, near that one's limit", signalled(9, victim="none"), memory="300Mi",
          inside=LIB + "c=$(below $(cgroup_of $$) sub 33554432); echo $$ >$c/cgroup.procs; exec hog 31M --die 9"),
    Death("cgroup.kill of the command's own cgroup below", signalled(9, victim="none"), memory="300Mi", needs=frozenset({"v2"}),
          inside=LIB + "c=$(below $(cgroup_of $$) sub 33554432); echo $$ >$c/cgroup.procs; echo 1 >$c/cgroup.kill; sleep 60"),
]

BESIDE = [
    Death("a child that moved to another cgroup, by that one's limit; the shell passes 137 on",
          oom(*BOTH, "KernelOOMPod", signal=0, never=NOT_OURS, victim="fact"), memory="300Mi", ooms=1, before=OTHER,
          inside="sh -c 'echo $$ >$other/cgroup.procs; " + SELF + "hog 100M --rate 100M'; exit $?"),
    Death("kill -9 of a command that moved to another cgroup", signalled(9, victim="none"), memory="300Mi", before=OTHER,
          inside="echo $$ >$other/cgroup.procs; exec hog 30M --die 9"),
    Death("kill -9 of a command that moved to another cgroup, in which a neighbour was OOM-killed before",
          signalled(9, honest=set(BOTH), victim="none"), memory="300Mi", ooms=1, before=OTHER + "; (echo 0 >$other/cgroup.procs; neighbour hog 100M)",
          inside="echo $$ >$other/cgroup.procs; sleep 1; exec hog 30M --die 9"),
    Death("a command that moved to another cgroup exits with 1", exits(1, victim="none"), memory="300Mi", before=OTHER,
          inside="echo $$ >$other/cgroup.procs; sleep 1; exit 1"),
    Death("a command that moved to the root cgroup, killed with kill -9", signalled(9, victim="none"), memory="300Mi",
          inside="echo $$ >$memory/cgroup.procs; exec hog 30M --die 9"),
]

DEATHS = ABOVE + BELOW_DEATHS + BESIDE
