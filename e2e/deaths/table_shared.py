# SPDX-License-Identifier: Apache-2.0
"""Deaths in a cgroup that other processes share with the command, as under Slurm or in a login session: exec without
--memory-max."""
from common import HONEST, SELF
from truth import Death, exits, oom, signalled

SHARED = "around 67108864"
NEIGHBOUR = "await $D/begun; neighbour hog 300M --rate 200M >/dev/null 2>&1; echo done >$D/elsewhere"
UNTIL = "echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; "
# In another cgroup altogether; a command without a limit cannot see its counters.
OTHER = "export other=$memory/death-$$-other; mkdir $other; limit $other 67108864"
ELSEWHERE = "(echo 0 >$other/cgroup.procs; neighbour hog 300M --name {name}) >/dev/null 2>&1; echo done >$D/elsewhere"
LIVES_HONEST = {"KernelOOMProcess"}


def beside(name, truth, how, **more):
    return Death(f"{name} while a neighbour in the same cgroup is OOM-killed", truth, before=SHARED, outside=NEIGHBOUR, inside=UNTIL + how, ooms=1, **more)


def by_itself(code):
    return exits(code, honest=HONEST | {"Killed"}, lives_honest=LIVES_HONEST, victim="none")


def by_signal(signo):
    return signalled(signo, honest=HONEST, lives_honest=LIVES_HONEST, victim="none")


DEATHS = [
    beside("kill -9", by_signal(9), "kill -9 $$"),
    beside("kill -9 at once of a namesake", by_signal(9), "exec hog 10M --die 9"),
    beside("exit 1", by_itself(1), "exit 1"),
    beside("exit 137", by_itself(137), "exit 137"),
    beside("a crash", by_signal(11), "exec probe fault segv"),
    beside("exit 1 of a command with --oom-group", by_itself(1), "sleep 3; exit 1", options="--oom-group"),
    beside("exit 0 of a command, of which a child ends,", exits(0, lives_honest=LIVES_HONEST, victim="none"),
           "sleep 60 & c=$!; sleep 0.2; kill $c; sleep 7; exit 0"),
    beside("exit 0 of a command, of which a child is killed with kill -9,", exits(0, lives_honest=LIVES_HONEST, victim="none"),
           "sleep 60 & c=$!; sleep 0.2; kill -9 $c; sleep 7; exit 0"),
    Death("exit 0 of a command, of which children end all the time, while a neighbour in the same cgroup is OOM-killed",
          exits(0, lives_honest=LIVES_HONEST, victim="none"), before=SHARED, outside=NEIGHBOUR, ooms=1,
          inside="echo $$ >$D/begun; n=0; while [ $n -lt 70 ]; do sleep 0.1; n=$((n + 1)); done; exit 0"),
    Death("kill -9 in a shared cgroup in which a neighbour was OOM-killed before the start", signalled(9, victim="none"), ooms=1,
          before=SHARED + "; neighbour hog 300M", inside="exec hog 60M --die 9"),
    Death("exit 137 in a shared cgroup in which a neighbour was OOM-killed before the start", exits(137, honest={"Killed"}, victim="none"), ooms=1,
          before=SHARED + "; neighbour hog 300M", inside="exit 137"),
    Death("an OOM kill of the command for the limit of the cgroup that it shares", oom("KernelOOMContainer", "KernelOOMPod", victim="fact"), before=SHARED,
          inside=SELF + "hog 300M --rate 100M", ooms=1),
    Death("an OOM kill of a child for the limit of the cgroup that it shares, and exit 1",
          oom("KernelOOMContainer", "KernelOOMProcess", "KernelOOMPod", exit=1, signal=0, victim="fact", honest={"ApplicationError"}), before=SHARED, ooms=1,
          inside="hog 300M --rate 100M & echo victim $! >>$D/facts; wait $!; exit 1"),
    Death("an OOM kill of the command, small as it is, while a neighbour holds the shared cgroup's memory",
          oom("KernelOOMContainer", "KernelOOMPod", victim="fact"), before=SHARED + "; hog 50M --hold & sleep 1", ooms=1,
          inside="echo 1000 >/proc/self/oom_score_adj; " + SELF + "hog 30M --rate 30M"),
    Death("kill -9 while a namesake is OOM-killed in another cgroup", signalled(9, victim="none"), memory="64Mi", ooms=1, before=OTHER,
          outside=ELSEWHERE.format(name="hog"), inside="until [ -e $D/elsewhere ]; do sleep 0.02; done; exec hog 60M --die 9"),
    Death("kill -9 right after the OOM kill of a namesake of the same size in another cgroup", signalled(9, victim="none"), memory="80Mi", ooms=1,
          before=OTHER + "; (echo 0 >$other/cgroup.procs; neighbour hog 300M)", inside="exec hog 63M --die 9"),
    Death("kill -9 in the root cgroup while a namesake is OOM-killed in a cgroup of its own", signalled(9, honest=HONEST, victim="none"), ooms=1,
          before=OTHER, outside=ELSEWHERE.format(name="hog"), inside="until [ -e $D/elsewhere ]; do sleep 0.02; done; exec hog 60M --die 9"),
    Death("exit 1 in the root cgroup while a namesake is OOM-killed in a cgroup of its own",
          exits(1, honest=HONEST, lives_honest=LIVES_HONEST, victim="none"), ooms=1, before=OTHER, outside=ELSEWHERE.format(name="sh"),
          inside="until [ -e $D/elsewhere ]; do sleep 0.02; done; sleep 1; exit 1"),
    Death("an OOM kill of the command while a namesake of the same size is OOM-killed in another cgroup", oom(victim="fact"), memory="64Mi", ooms=2,
          before=OTHER, outside=ELSEWHERE.format(name="hog"), inside=SELF + "hog 300M"),
]
