# SPDX-License-Identifier: Apache-2.0
"""The whole machine runs out of memory: only in the virtual machine, and one at a time."""
from common import SELF, VM
from truth import Death, exits, oom, signalled

ALL = "echo 1 >/proc/sys/vm/overcommit_memory"
NOT_OURS = ("its memory limit of",)


def node(name, truth, **more):
    return Death(f"the node's memory: {name}", truth, needs=VM, alone=True, before=ALL, **more)


DEATHS = [
    node("one process", oom("KernelOOMNode", never=NOT_OURS, victim="fact"), inside=SELF + "hog 3G", memory="4Gi"),
    node("one process without a cgroup of its own", oom("KernelOOMNode", never=NOT_OURS, victim="fact"), inside=SELF + "hog 3G"),
    node("a child whose 137 the shell passes on", oom("KernelOOMNode", signal=0, never=NOT_OURS, victim="fact"), memory="4Gi",
         inside="hog 3G & echo victim $! >>$D/facts; wait $!; exit $?"),
    node("a small command, in place of a neighbour that holds it all", oom("KernelOOMNode", never=NOT_OURS, victim="fact"), memory="64Mi",
         inside="echo 1000 >/proc/self/oom_score_adj; echo $$ >$D/begun; " + SELF + "hog 20M --hold", outside="await $D/begun; sleep 1; neighbour hog 3G"),
    node("kill -9, while a neighbour dies of it", signalled(9, victim="none", never=NOT_OURS), memory="64Mi",
         inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.05; done; kill -9 $$",
         outside="await $D/begun; neighbour hog 3G; echo done >$D/elsewhere"),
    node("exit 1, while a neighbour dies of it", exits(1, victim="none", never=NOT_OURS), memory="64Mi",
         inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.05; done; exit 1",
         outside="await $D/begun; neighbour hog 3G; echo done >$D/elsewhere"),
]
