# SPDX-License-Identifier: Apache-2.0
"""OOM kills that samples, counters and the log show in a misleading way: memory that a fork shares, memory that no process
holds, PIDs that the log and the sidecar number differently, limits that are met or changed at the last moment."""
from common import BOTH, HONEST, JOIN, LEAK, LIB, LIVES, NOT_KILLED, PYTHON, SELF, V1
from truth import Death, Truth, exits, oom, signalled

# Nobody holds more than all of the memory.
PERCENT = r"\b(10[1-9]|1[1-9]\d|[2-9]\d\d) %"


def after_oom(code_or_signal, *args, **more):
    return code_or_signal(*args, honest=HONEST, lives=LIVES, **more)


def shared(name, how, **more):
    """A child that shares its parent's memory is OOM-killed, and the parent ends by the same signal."""
    return Death(f"a child that shares its parent's memory {name} is OOM-killed, and the parent kills itself by the same signal",
                 after_oom(signalled, 9, never=(PERCENT,)), memory="64Mi", ooms=1, argv=("odd-end", *how.split()), **more)


def numbered(name, truth, inside="", argv=(), **more):
    """As in a pod, the kernel log has the PIDs of the node, which the sidecar does not know."""
    more.setdefault("memory", "64Mi")
    before = "own_pids\n" + more.pop("before", "")
    return Death(f"in a PID namespace: {name}", truth, inside=inside, argv=argv, before=before, alone=True, **more)


SHARED = [
    shared("by a fork at once", "fork 40 40"),
    shared("by a fork a second later", "fork 40 40 1000"),
    shared("by a mapping at once", "map 40 40"),
    shared("by a mapping a second later", "map 40 40 1000"),
    Death("a child that shares its parent's memory by a fork is OOM-killed, and exit 137 of the parent", oom(*BOTH, signal=0, never=(PERCENT,)), memory="64Mi", ooms=1,
          argv=("odd-end", "fork-code", "40", "40", "500")),
    Death("Python: a pool of six that share what their parent loaded, of which the OOM killer takes the one that leaks",
          oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}, never=(PERCENT, r"held [2-9]\d\d\.\d MiB")), memory="96Mi", ooms=1, needs=PYTHON,
          argv=("/usr/bin/python3", "-c", """
import os, sys, time
loaded = bytearray(45 << 20)
def work(i):
    x = [bytearray(1)]
    while i == 5: x.append(bytearray(1 << 20)); time.sleep(0.01)
    time.sleep(60)
for i in range(6):
    child = os.fork()
    if child == 0: work(i)
os.waitpid(child, 0)
sys.exit(1)
""")),
]

NUMBERED = [
    numbered("an OOM kill of the command", oom(), "exec hog 300M --rate 100M", ooms=1),
    numbered("an OOM kill of a child, whose 137 the shell passes on", oom(*BOTH, signal=0), LEAK + " & wait $!; exit $?", ooms=1),
    numbered("a child is OOM-killed, and its parent kills itself by the same signal", after_oom(signalled, 9), argv=("odd-end", "as", *LEAK.split()), ooms=1),
    numbered("a child that shares its parent's memory by a fork is OOM-killed, and the parent kills itself by the same signal",
             after_oom(signalled, 9), argv=("odd-end", "fork", "40", "40", "1000"), ooms=1),
    numbered("a child that shares its parent's memory by a mapping is OOM-killed, and the parent kills itself by the same signal",
             after_oom(signalled, 9), argv=("odd-end", "map", "40", "40", "1000"), ooms=1),
    numbered("a small child is OOM-killed in place of its large parent, which kills itself by the same signal", after_oom(signalled, 9), ooms=1,
             argv=("odd-end", "hold", "40", "sh", "-c", "echo 1000 >/proc/self/oom_score_adj; exec hog 300M")),
    numbered("a child is OOM-killed, and kill -9 of the command 2 s later", after_oom(signalled, 9), LEAK + " & wait $!; sleep 2; kill -9 $$", ooms=1),
    numbered("kill -9 near the limit", signalled(9), "exec hog 61M --die 9"),
    numbered("kill -9 right after the OOM kill of a namesake of the same size in another cgroup", signalled(9, victim="none"), "exec hog 63M --die 9", memory="80Mi", ooms=1,
             before="export other=$memory/death-$$-other; mkdir $other; limit $other 67108864; (echo 0 >$other/cgroup.procs; neighbour hog 300M)"),
    numbered("the limit of a cgroup above", oom("KernelOOMPod"), "exec hog 280M --rate 200M", before="around 50331648", memory="300Mi", ooms=1),
    numbered("exit 1, as a daemon was OOM-killed before", after_oom(exits, 1, "ApplicationError", "KernelOOMProcess"), f"(setsid {LEAK} &); sleep 3; exit 1", ooms=1),
]

# The victim of the OOM killer holds hardly any memory, or another process holds more.
OF_NOBODY = [
    Death("the command's page tables", oom(victim="fact"), memory="64Mi", ooms=1, inside=SELF + "eat tables 200"),
    Death("a child's page tables beside a larger process, and the shell passes 137 on", oom(*BOTH, signal=0, victim="fact", lives=LIVES), memory="64Mi", ooms=1,
          inside="hog 20M --hold & eat tables 200 & echo victim $! >>$D/facts; wait $!; exit $?"),
    Death("messages in sockets that nobody reads", oom(), memory="64Mi", ooms=1, argv=("eat", "sockets", "200")),
    Death("names of empty files in a tmpfs", oom(), memory="64Mi", ooms=1, before="small size=100m,nr_inodes=0", argv=("eat", "names", "$D/small")),
    Death("kill -9 while page tables fill 90 % of the memory", signalled(9, victim="none"), memory="64Mi", inside="eat tables 56; kill -9 $$"),
    Death("kill -9 while names of empty files fill most of the memory", signalled(9, victim="none"), memory="64Mi", before="small size=100m,nr_inodes=40000",
          inside="eat names $D/small; kill -9 $$"),
    Death("an OOM kill of one process among three hundred", oom(*BOTH, signal=0, victim="fact", lives=LIVES), memory="128Mi", ooms=1,
          inside="n=0; while [ $n -lt 300 ]; do sleep 60 & n=$((n + 1)); done; hog 300M --rate 200M & echo victim $! >>$D/facts; wait $!; exit $?"),
    Death("shared memory of Python's multiprocessing", oom("KernelOOMContainer"), memory="64Mi", ooms=1, needs=PYTHON, after="rm -f /dev/shm/death-py.*",
          argv=("/usr/bin/python3", "-c", "import mmap, os\nf = open('/dev/shm/death-py.%d' % os.getpid(), 'w+b')\nf.truncate(300 << 20)\n"
                "m = mmap.mmap(f.fileno(), 0)\nfor i in range(300): m[i << 20:(i + 1) << 20] = b'x' * (1 << 20)\n")),
]

MOMENTS = [
    Death("its own limit was met by memory that could be freed, and a moment later it is OOM-killed for the limit of the cgroup above",
          oom("KernelOOMPod", victim="fact"), memory="64Mi", ooms=1, before="around 134217728",
          inside="echo 1000 >/proc/self/oom_score_adj; eat lazy 200; echo yes >$D/begun; " + SELF + "hog 55M --rate 200M --hold",
          outside="await $D/begun; hog 110M --hold & await $D/code; kill $!"),
    Death("its own limit was met by memory that could be freed, and a moment later a child is OOM-killed for the limit of the cgroup above, with --oom-group",
          oom("KernelOOMPod"), memory="64Mi", ooms=1, before="around 134217728", options="--oom-group",
          inside="eat lazy 200; (echo 1000 >/proc/self/oom_score_adj; exec hog 55M --rate 200M --hold) & echo yes >$D/begun; wait; sleep 5; exit 1",
          outside="await $D/begun; hog 110M --hold & await $D/code; kill $!"),
    Death("its own limit was met by memory that could be freed, and a moment later somebody kills it with kill -9", signalled(9, victim="none"), memory="64Mi",
          inside="eat lazy 200; exec hog 55M --die 9"),
    Death("its limit is raised right after it was OOM-killed", oom(victim="fact", never=("limit of 300",)), memory="64Mi", ooms=1,
          inside="echo $$ >$D/begun; " + SELF + "hog 300M --rate 100M",
          outside=LIB + "await $D/begun; c=$(cgroup_of $(cat $D/begun)); while grep -q VmRSS /proc/$(cat $D/begun)/status; do :; done; limit $c 314572800"),
    Death("an OOM kill of a command that SIGSTOP had stopped", oom(victim="fact"), memory="64Mi", ooms=1,
          inside="echo 1000 >/proc/self/oom_score_adj; echo $$ >$D/begun; " + SELF + "hog 20M --hold",
          outside="await $D/begun; sleep 1; kill -STOP $(cat $D/begun); " + JOIN.replace("await $D/begun; sleep 0.5; ", "") + "neighbour hog 55M --rate 60M --hold) & "
                  "await $D/code; kill -9 $(sed -n 's/neighbour //p' $D/facts)"),
    Death("an OOM kill of a command in a frozen cgroup of the freezer", oom(victim="fact"), memory="64Mi", ooms=1, needs=V1,
          inside="echo 1000 >/proc/self/oom_score_adj; echo $$ >$D/begun; " + SELF + "hog 20M --hold",
          outside="await $D/begun; f=/sys/fs/cgroup/freezer/death-$$; mkdir $f; sleep 1; cat $D/begun >$f/cgroup.procs; echo FROZEN >$f/freezer.state; "
                  + JOIN.replace("await $D/begun; sleep 0.5; ", "") + "neighbour hog 55M --rate 60M --hold) & sleep 3; echo THAWED >$f/freezer.state; "
                  "await $D/code; kill -9 $(sed -n 's/neighbour //p' $D/facts); rmdir $f"),
    Death("a limit on memory and swap together, as Docker sets it", oom(victim="fact"), memory="64Mi", ooms=1, needs=V1,
          inside=LIB + "c=$(cgroup_of $$); echo 67108864 >$c/memory.memsw.limit_in_bytes; " + SELF + "hog 300M --rate 100M"),
    Death("a peak that somebody set back just before kill -9", signalled(9, victim="none"), memory="64Mi", needs=V1,
          inside=LIB + "hog 60M; echo 0 >$(cgroup_of $$)/memory.max_usage_in_bytes; kill -9 $$"),
    Death("a peak that somebody set back a second before an OOM kill", oom(victim="fact"), memory="64Mi", needs=V1, ooms=1,
          inside=LIB + "hog 60M; echo 0 >$(cgroup_of $$)/memory.max_usage_in_bytes; sleep 1; " + SELF + "hog 300M --rate 100M"),
    Death("a child in a cgroup below is OOM-killed, of a command with --oom-group, and exit 0 after 8 s",
          exits(0, "KernelOOMProcess", reported=True, lives=LIVES, never=("memory limit of 300.0 MiB", *NOT_KILLED), victim="fact"), memory="300Mi", ooms=1, options="--oom-group",
          inside=LIB + "c=$(below $(cgroup_of $$) sub 33554432); sh -c 'echo $$ >'$c'/cgroup.procs; " + SELF + "hog 100M --rate 100M'; sleep 8; exit 0"),
    Death("a child is OOM-killed, its own children wanted to die with it, and the shell passes 137 on", oom(*BOTH, signal=0, victim="fact", lives=LIVES), memory="64Mi", ooms=1,
          inside="sh -c '/usr/bin/setpriv --pdeathsig KILL sleep 60 & exec hog 300M --rate 200M' & echo victim $! >>$D/facts; wait $!; exit $?"),
    Death("a tracer whose program is OOM-killed, and which ends as that did",
          Truth(137, frozenset({*BOTH, "Killed"}), signal=-1, honest=frozenset({"KernelOOMPod"}), lives=frozenset(LIVES)), memory="64Mi", ooms=1,
          needs=frozenset({"strace"}), argv=("strace", "-f", "-o", "/dev/null", *LEAK.split())),
    Death("two of a pool are OOM-killed one after the other, and exit 1", oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}, lives=LIVES), memory="96Mi", ooms=2,
          inside="hog 300M --rate 100M & a=$!; wait $a; hog 300M --rate 100M & wait $!; exit 1"),
    Death("three cgroups below, of which the second one's group is OOM-killed, and exit 3 of the command 2 s later",
          after_oom(exits, 3, never=("memory limit of 300.0 MiB",)), memory="300Mi", ooms=1,
          inside=LIB + "own=$(cgroup_of $$); below $own a 67108864; c=$(below $own b 33554432); below $own c 67108864; "
                 "sh -c 'echo $$ >'$c'/cgroup.procs; exec hog 100M --rate 100M'; sleep 2; exit 3"),
]

OTHER = "export other=$memory/death-$$-other; mkdir $other; limit $other 33554432"
# The command, or a child, is in another cgroup for less time than passes between two samples.
BRIEFLY = [
    Death("a command that moved to another cgroup is OOM-killed there at once",
          oom("KernelOOMContainer", "KernelOOMPod", never=("memory limit of 300.0 MiB",), victim="fact"), memory="300Mi", ooms=1, before=OTHER,
          inside="sleep 1; echo $$ >$other/cgroup.procs; " + SELF + "hog 100M"),
    Death("a command that moved to another cgroup soon after its start is OOM-killed there at once",
          oom("KernelOOMContainer", "KernelOOMPod", never=("memory limit of 300.0 MiB",), victim="fact"), memory="300Mi", ooms=1, before=OTHER,
          inside="sleep 0.35; echo $$ >$other/cgroup.procs; " + SELF + "hog 100M"),
    Death("a command that moved to another cgroup is killed with kill -9 there at once", signalled(9, victim="none"), memory="300Mi", before=OTHER,
          inside="sleep 1; echo $$ >$other/cgroup.procs; kill -9 $$"),
    Death("a command in a cgroup below that it made a moment before is OOM-killed at once", oom(*BOTH, never=("memory limit of 300.0 MiB",), victim="fact"), memory="300Mi", ooms=1,
          inside=LIB + "sleep 1; c=$(below $(cgroup_of $$) sub 33554432); echo $$ >$c/cgroup.procs; " + SELF + "hog 100M"),
    Death("a command in a cgroup below is OOM-killed at once, and somebody removes that cgroup at once",
          oom(*BOTH, never=("memory limit of 300.0 MiB",), victim="fact", honest={"Unknown"}), memory="300Mi", ooms=1,
          inside=LIB + "sleep 1; c=$(below $(cgroup_of $$) sub 33554432); echo $c >$D/below; echo $$ >$c/cgroup.procs; " + SELF + "hog 100M",
          outside="await $D/below; c=$(cat $D/below); while ! grep -qs . $c/cgroup.procs; do :; done; until rmdir $c 2>/dev/null; do [ -e $c ] || break; done"),
    Death("a child in a cgroup below that is there for a moment is OOM-killed, and the command kills itself with kill -9 at once",
          after_oom(signalled, 9, never=("memory limit of 300.0 MiB",)), memory="300Mi", ooms=1,
          inside=LIB + "sleep 1; c=$(below $(cgroup_of $$) sub 33554432); sh -c 'echo $$ >'$c'/cgroup.procs; exec hog 100M'; rmdir $c; kill -9 $$"),
    Death("a child in another cgroup for a moment is OOM-killed there, and the command kills itself with kill -9 at once",
          after_oom(signalled, 9, never=("memory limit of 300.0 MiB",)), memory="300Mi", ooms=1, before=OTHER,
          inside="sleep 1; sh -c 'echo $$ >$other/cgroup.procs; exec hog 100M'; kill -9 $$"),
    Death("a child in a cgroup below that is there for a moment is OOM-killed, and exit 0 after 8 s",
          exits(0, "KernelOOMProcess", lives=LIVES, never=("memory limit of 300.0 MiB", *NOT_KILLED)), memory="300Mi", ooms=1,
          inside=LIB + "sleep 1; c=$(below $(cgroup_of $$) sub 33554432); sh -c 'echo $$ >'$c'/cgroup.procs; exec hog 100M'; rmdir $c; sleep 8; exit 0"),
]

# Names of processes that could make a report, or the kernel's line, be misread.
NAMES = [
    *(Death(f"an OOM kill of a process whose name is {what}", oom(victim="fact"), memory="64Mi", ooms=1,
            inside=f"n=$(printf '{name}'); {SELF}hog 300M --rate 200M --name \"$n\"")
      for what, name in (("empty", ""), ("not UTF-8", "\\377\\376x"), ("a terminal's command", "\\033[31mx"), ("a format", "%%s%%n%%d"), ("raylet", "raylet"),
                         ("longer than the kernel keeps", "ray::a_task_with_a_name_that_is_long"))),
    Death("kill -9 while a neighbour is OOM-killed in a cgroup whose path contains the command's", signalled(9, victim="none"), memory="64Mi", ooms=1,
          inside="echo $$ >$D/begun; until [ -e $D/done ]; do sleep 0.05; done; sleep 0.3; exec hog 50M --die 9",
          outside="await $D/begun; own=$(cgroup_of $(cat $D/begun)); c=$memory/death-$$-x,task_memcg=${own#$memory}; mkdir -p $c; limit $c 67108864; "
                  "(echo 0 >$c/cgroup.procs; neighbour hog 300M); echo yes >$D/done"),
    Death("an OOM kill in a cgroup below with commas and blanks in its name", oom(*BOTH, never=("memory limit of 300.0 MiB",), victim="fact"), memory="300Mi", ooms=1,
          inside=LIB + "c=$(below $(cgroup_of $$) 'a,task=b,pid=1 c' 33554432); echo $$ >\"$c/cgroup.procs\"; " + SELF + "hog 100M --rate 100M"),
]

DEATHS = SHARED + NUMBERED + OF_NOBODY + MOMENTS + BRIEFLY + NAMES
