# SPDX-License-Identifier: Apache-2.0
"""SIGKILL that the OOM killer did not send, and its neighbours: OOM kills of others at the same time."""
from truth import Death, exits, signalled

ELSEWHERE = ("export other=$memory/death-$$-other; mkdir $other; limit $other 67108864",
             "(echo 0 >$other/cgroup.procs; exec hog 300M {rate} --name hog) >/dev/null 2>&1; echo done >$D/elsewhere")
# Several processes share one cgroup with a limit: a batch job, a login session.
SHARED = "around 67108864"
NEIGHBOUR = "await $D/begun; hog 300M --rate 200M >/dev/null 2>&1; echo done >$D/elsewhere"


def at_share(percent, kib):
    return Death(f"kill -9 of itself at {percent} % of its memory", signalled(9, victim="none"), argv=("hog", f"{kib}K", "--die", "9"), memory="64Mi")


DEATHS = [
    at_share(10, 6554), at_share(50, 32768), at_share(90, 58982), at_share(99, 64400),
    Death("kill -9 by somebody else", signalled(9, victim="none"), inside="echo $$ >$D/pid; exec sleep 60", memory="64Mi",
          outside="await $D/pid; sleep 0.5; kill -9 $(cat $D/pid)"),
    Death("kill -9 without a cgroup of its own", signalled(9, victim="none"), inside="kill -9 $$"),
    Death("kill -9 where the page cache had filled the memory", signalled(9, victim="none"), memory="64Mi", needs=frozenset({"here"}),
          inside="dd if=/dev/zero of=$D/big bs=1M count=200; kill -9 $$", after="rm $D/big"),
    Death("kill -9 of a child, and the shell passes 137 on", exits(137, "Killed", "ApplicationError", victim="none"), memory="64Mi",
          inside="sleep 60 & kill -9 $!; wait $!; exit $?"),
    Death("kill -9 of a child at 95 % of the memory, and the shell passes 137 on", exits(137, "Killed", "ApplicationError", victim="none"),
          memory="64Mi", inside="hog 61M --die 9; exit $?"),
    Death("kill -9 while a namesake is OOM-killed in another cgroup", signalled(9, victim="none"), memory="64Mi", ooms=1,
          before=ELSEWHERE[0], outside=ELSEWHERE[1].format(rate=""),
          inside="until [ -e $D/elsewhere ]; do sleep 0.02; done; exec hog 60M --die 9"),
    Death("kill -9 while a neighbour in the same cgroup is OOM-killed", signalled(9, honest={"KernelOOMContainer"}, victim="none"), ooms=1,
          before=SHARED, outside=NEIGHBOUR, inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; kill -9 $$"),
    Death("exit 1 while a neighbour in the same cgroup is OOM-killed", exits(1, honest={"KernelOOMContainer", "KernelOOMProcess"}, victim="none"),
          ooms=1, before=SHARED, outside=NEIGHBOUR, inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; exit 1"),
    Death("exit 0 while a neighbour in the same cgroup is OOM-killed and a child of ours ends", exits(0, victim="none"), ooms=1,
          before=SHARED, outside=NEIGHBOUR,
          inside="sleep 60 & c=$!; echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; kill $c; sleep 7; exit 0"),
    Death("SIGKILL by the hard limit on CPU time", signalled(9, victim="none"), inside="ulimit -t 1; exec die spin", memory="64Mi"),
    Death("exit 137, and nothing behind it", exits(137, honest={"Killed"}, victim="none"), inside="exit 137", memory="64Mi"),
]
