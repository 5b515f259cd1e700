# SPDX-License-Identifier: Apache-2.0
"""Signals that the kernel sends by itself, ends in threads and handlers, memory that stands still or falls just before a kill, cgroups
that are renamed or made anew, and programs that hide how their child ended."""
from common import FROZEN, WAIT
from table_third import CHILD, HONEST, LIB, LIVES, SELF
from truth import Death, exits, oom, signalled

V1, V2, HERE, PYTHON = frozenset({"v1"}), frozenset({"v2"}), frozenset({"here"}), frozenset({"python"})
BOTH = ("KernelOOMContainer", "KernelOOMProcess")
LEAK = "hog 300M --rate 200M"
# Cgroups of the CPU controller allow no real-time processes unless they are told to.
ALL_TIME = "echo $$ >/sys/fs/cgroup/cpu/cgroup.procs"
# Nobody typed it, and no other process sent it.
NOBODY = (r"kill -9", r"which a process gets when another")
# What the signal means as a rule need not be why it came.
AS_A_RULE = (r"which a process gets when",)
# The line of somebody else's crash, as if it were known to be of this container.
ASSERTED = (r"^sh\[\d+\]: segfault at",)
# A process that has no room, or does not run, cannot grow.
NO_LEAK = (r"not a leak",)
# Nobody takes back what is locked, or what has no file behind it.
TAKEN_BACK = (r"unless it cannot be written out in time",)
OTHER = "export other=$memory/death-$$-other; mkdir $other; limit $other 33554432"
# A child uses MIB in a cgroup below the container's, of 32 MiB.
SUB = LIB + "c=$(below $(cgroup_of $$) sub 33554432); "
IN_SUB = "sh -c 'echo $$ >'$c'/cgroup.procs; " + SELF + "hog 100M --rate 100M'; "
TOO_QUICK = (r"^Memory went from",)


def strange(name, truth, how, **more):
    return Death(name, truth, argv=("strange", *how.split()), memory="64Mi", **more)


def after_oom(code_or_signal, *args, **more):
    return code_or_signal(*args, honest=HONEST, lives=LIVES, **more)


def hides(name, code, inside="", argv=(), classes=BOTH, **more):
    """Its child is OOM-killed, and it ends with a code of its own for that."""
    return Death(name, oom(*classes, exit=code, signal=0, honest={"ApplicationError"}, lives=LIVES), inside=inside, argv=argv, memory="64Mi", ooms=1, **more)


def crash_beside(name, truth, inside):
    """A namesake crashes outside, of which the kernel's log has a line with a PID that the sidecar does not know."""
    return Death(f"{name} while a namesake crashes elsewhere on the node", truth, inside="echo $$ >$D/begun; until [ -e $D/done ]; do sleep 0.05; done; " + inside, memory="64Mi",
                 before="own_pids\ncp $tools/test/probe $D/sh", needs=HERE, alone=True,
                 outside="await $D/begun; $D/sh fault segv; $D/sh fault segv; echo yes >$D/done")


OF_THE_KERNEL = [
    strange("SIGKILL by seccomp's strict mode, which nobody sent", signalled(9, victim="none", never=NOBODY), "strict"),
    strange("SIGKILL by the hard limit on real time, which nobody sent", signalled(9, victim="none", never=NOBODY), "rttime 100000 300000", needs=HERE, before=ALL_TIME),
    strange("SIGIO of a pipe of its own, which nobody sent", signalled(29, never=NOBODY), "sigio"),
    strange("SIGUSR1 of a timer of its own, which nobody sent", signalled(10, never=NOBODY), "timer 10"),
    strange("a real-time signal of a timer of its own, which nobody sent", signalled(37, never=NOBODY), "timer 37"),
    strange("SIGHUP, as its terminal goes away", signalled(1), "hangup", needs=HERE),
    Death("SIGXFSZ by somebody else, which wrote no file", signalled(25, never=AS_A_RULE), memory="64Mi", inside="kill -XFSZ $$"),
    Death("SIGXCPU by somebody else, which used no time", signalled(24, never=AS_A_RULE), memory="64Mi", inside="echo $$ >$D/pid; exec sleep 60",
          outside="await $D/pid; sleep 1; kill -XCPU $(cat $D/pid)"),
    Death("SIGSYS by somebody else, without any filter", signalled(31, never=AS_A_RULE), memory="64Mi", inside="kill -SYS $$"),
    strange("a huge page of a machine that has none", signalled(7), "huge"),
    Death("whom a child traced that is OOM-killed, and the kernel ends it for that", after_oom(signalled, 9), memory="64Mi", ooms=1, argv=("strange", "traced", *LEAK.split())),
]

THREADS = [
    strange("an abort in a thread after the first one has ended", signalled(6), "leaderless-abort"),
    strange("an abort in the handler of a fault", signalled(6), "handler-abort"),
    strange("a stack that overflows in a thread", signalled(11), "thread-stack"),
    strange("a child crashes between vfork and exec, and exit 3", exits(3), "vfork-crash"),
    Death("kill -9 by a daemon of its own in another session", signalled(9, victim="none"), memory="64Mi", needs=HERE, inside="(setsid sh -c \"sleep 1; kill -9 $$\" &); exec hog 50M --hold"),
    Death("a child is OOM-killed, and its sibling at once kills their parent with kill -9", after_oom(signalled, 9, victim="fact"), memory="64Mi", ooms=1,
          inside="(" + CHILD + "kill -9 $$) & exec sleep 60"),
]

STANDING = [
    Death("a leak that waits at the limit for 13 s, and then is OOM-killed", oom(victim="fact", never=NO_LEAK), memory="64Mi", ooms=1, needs=V1,
          inside=LIB + "cgroup_of $$ >$D/cgroup; " + SELF + "hog 300M --rate 15M",
          outside="await $D/cgroup; c=$(cat $D/cgroup); echo 1 >$c/memory.oom_control; until grep -q 'under_oom 1' $c/memory.oom_control; do sleep 0.1; done; "
                  "sleep 13; echo 0 >$c/memory.oom_control"),
    Death("a leak that memory.high slows down for 14 s, and then its limit is lowered to that", oom(victim="fact", never=(*NO_LEAK, "limit of 300")), memory="300Mi", ooms=1, needs=V2,
          inside=LIB + "cgroup_of $$ >$D/cgroup; echo 50331648 >$(cgroup_of $$)/memory.high; " + SELF + "hog 300M --rate 20M",
          outside="await $D/cgroup; sleep 20; echo 50331648 >$(cat $D/cgroup)/memory.max"),
    Death("a leak that SIGSTOP stops for 13 s, and is OOM-killed for what another process uses", oom(*BOTH, victim="fact", never=NO_LEAK), memory="64Mi", ooms=1,
          inside="echo 1000 >/proc/self/oom_score_adj; echo $$ >$D/begun; " + SELF + "hog 300M --rate 4M",
          outside="await $D/begun; p=$(cat $D/begun); until grep -q 'VmRSS:.*[ \t]4[0-9]... kB' /proc/$p/status; do sleep 0.05; done; kill -STOP $p; sleep 13; "
                  "(echo 0 >$(cgroup_of $p)/cgroup.procs; neighbour hog 60M --rate 20M --hold) & await $D/code; kill -9 $(sed -n 's/neighbour //p' $D/facts)"),
    Death("one of six of a name leaks, and the others stand still", oom(*BOTH, signal=0, victim="fact", lives=LIVES, never=NO_LEAK), memory="64Mi", ooms=1,
          inside="for n in 1 2 3 4 5; do hog 7M --hold & done; hog 300M --rate 6M & echo victim $! >>$D/facts; wait $!; exit $?"),
    Death("a mapped file that is locked in memory", oom(never=TAKEN_BACK), memory="64Mi", ooms=1, needs=HERE, inside="head -c 200M /dev/zero >$D/model; exec strange locked-file $D/model",
          after="rm -f $D/model"),
    Death("files in a ramfs", oom(*BOTH, signal=-1, never=TAKEN_BACK), memory="64Mi", ooms=1,
          before="small size=1m; umount $D/small; mount -t ramfs none $D/small",
          inside="exec dd if=/dev/zero of=$D/small/f bs=64k count=3200"),
    Death("small children are OOM-killed one after the other in place of their parent that leaks, and then the parent", oom(*BOTH, victim="any", lives=LIVES), memory="64Mi", ooms=4,
          inside="(echo 1000 >/proc/self/oom_score_adj; hog 3M --hold & hog 3M --hold & exec hog 3M --hold) & sleep 0.5; exec hog 300M --rate 20M"),
    Death("an OOM kill of the command, which takes 15 s to die", oom(victim="fact"), memory="64Mi", ooms=1, inside=SELF + "slow-death 15 hog 300M --rate 100M"),
    Death("an OOM kill of the command, which takes 15 s to die, in a PID namespace", oom(), memory="64Mi", ooms=1, before="own_pids", needs=HERE, alone=True,
          inside="exec slow-death 15 hog 300M --rate 100M"),
    Death("an OOM kill of a child, which takes 15 s to die, and the shell passes 137 on", oom(*BOTH, signal=0, victim="fact", lives=LIVES), memory="64Mi", ooms=1,
          inside="slow-death 15 hog 300M --rate 100M & echo victim $! >>$D/facts; wait $!; exit $?"),
    Death("an OOM kill of a child, which takes 15 s to die, and exit 1 for that", oom(*BOTH, exit=1, signal=0, victim="fact", honest={"ApplicationError"}, lives=LIVES, never=("too long",)),
          memory="64Mi", ooms=1, inside="slow-death 15 hog 300M --rate 100M & echo victim $! >>$D/facts; wait $! || exit 1"),
    Death("an OOM kill of the command, which takes 15 s to die, and a child of it ends well at the same time", oom(victim="fact", lives_honest=LIVES), memory="64Mi", ooms=1,
          inside=LIB + "c=$(cgroup_of $$); (until grep -qs 'oom_kill [1-9]' $c/memory.oom_control $c/memory.events; do :; done) & " + SELF + "slow-death 15 hog 300M --rate 100M"),
    Death("a child that no sample has seen is OOM-killed under a frozen sidecar, and its shell, which has used nothing, passes 137 on",
          oom(*BOTH, signal=0, victim="fact", lives=LIVES, never=("most likely sh",)), memory="64Mi", ooms=1,
          inside=WAIT + LEAK + " & echo victim $! >>$D/facts; wait $!; c=$?; echo yes >$D/over; exit $c", outside=FROZEN),
    Death("kill -9 of a command that takes 15 s to die, and in that time a child of it is OOM-killed", after_oom(signalled, 9, victim="fact"), memory="64Mi", ooms=1,
          inside="(until [ -e $D/done ]; do sleep 0.05; done; " + LEAK + " & echo victim $! >>$D/facts; wait) & echo $$ >$D/begun; exec slow-death 15 sleep 60",
          outside="await $D/begun; sleep 1; kill -9 $(cat $D/begun); echo yes >$D/done"),
]

FALLING = [
    Death("its memory was almost full once, and later a child is OOM-killed at once in a cgroup below, and exit 1",
          after_oom(exits, 1, "KernelOOMProcess", "KernelOOMContainer", "ApplicationError", victim="fact", never=(*TOO_QUICK, "memory limit of 64.0 MiB")), memory="64Mi", ooms=1,
          inside=SUB + "hog 60M; sleep 2; sh -c 'echo $$ >'$c'/cgroup.procs; " + SELF + "hog 100M'; exit 1"),
    Death("its memory was almost full once, and later it is OOM-killed at once for the limit of the cgroup above",
          oom("KernelOOMPod", "KernelOOMNode", victim="fact", never=(r"to the limit of 64",)), memory="64Mi", ooms=1, before="around 83886080",
          inside="hog 62M; echo 1000 >/proc/self/oom_score_adj; echo $$ >$D/begun; " + SELF + "hog 3M --hold", outside="await $D/begun; sleep 3; hog 150M & sleep 2"),
    Death("a child is OOM-killed, its limit is lowered right after that, and exit 1", after_oom(exits, 1, *BOTH, victim="fact", never=("lowered to", "limit of 32")), memory="64Mi", ooms=1,
          inside=LIB + "c=$(cgroup_of $$); " + CHILD + "limit $c 33554432; exit 1"),
    Death("all of it is OOM-killed with --oom-group, and its limit is lowered right after that", oom(never=("lowered to", "limit of 32")), memory="64Mi", ooms=1,
          options="--oom-group", inside=LIB + "c=$(cgroup_of $$); echo $c >$D/cgroup; " + CHILD + "limit $c 33554432; sleep 5; exit 1",
          outside="await $D/cgroup; c=$(cat $D/cgroup); until grep -qs 'oom_kill [1-9]' $c/memory.oom_control $c/memory.events; do [ -e $c ] || break; done; limit $c 33554432"),
    Death("its limit is lowered while it leaks, and set as it was right after the OOM kill", oom(*BOTH, victim="fact", never=("limit of 300",)), memory="300Mi", ooms=1,
          inside="echo $$ >$D/begun; " + SELF + "hog 200M --rate 15M",
          outside=LIB + "await $D/begun; c=$(cgroup_of $(cat $D/begun)); sleep 1; limit $c 67108864; while grep -q VmRSS /proc/$(cat $D/begun)/status; do :; done; limit $c 314572800"),
]

CGROUPS = [
    Death("its cgroup is renamed, and then it is OOM-killed", oom(victim="fact"), memory="64Mi", ooms=1, needs=V1,
          inside=LIB + "c=$(cgroup_of $$); mv $c ${c}x; sleep 1; " + SELF + LEAK),
    Death("its cgroup is renamed, and then kill -9", signalled(9, victim="none"), memory="64Mi", needs=V1,
          inside=LIB + "c=$(cgroup_of $$); mv $c ${c}x; sleep 1; exec hog 50M --die 9"),
    Death("its cgroup is renamed, a child is OOM-killed, and kill -9 of the command 2 s later", after_oom(signalled, 9, victim="fact"), memory="64Mi", ooms=1, needs=V1,
          inside=LIB + "c=$(cgroup_of $$); mv $c ${c}x; sleep 1; " + CHILD + "sleep 2; kill -9 $$"),
    Death("a child is OOM-killed in a cgroup below that is then made anew, and kill -9 of the command 3 s later",
          after_oom(signalled, 9, victim="fact", never=("memory limit of 300",)), memory="300Mi", ooms=1,
          inside=SUB + "sleep 1; " + IN_SUB + "rmdir $c; mkdir $c; limit $c 33554432; sleep 3; kill -9 $$"),
    Death("children are OOM-killed in a cgroup below and in one that is made anew in its place, and exit 137 for other reasons 3 s later",
          oom(*BOTH, "Killed", signal=0, lives=LIVES, never=("memory limit of 300",), victim="fact"), memory="300Mi", ooms=2,
          inside=SUB + "sleep 1; " + IN_SUB + "rmdir $c; mkdir $c; limit $c 33554432; " + IN_SUB + "sleep 3; exit 137"),
    Death("a process of another cgroup that has the command's memory is OOM-killed there, and the kernel ends the command with it",
          signalled(9, "KernelOOMContainer", "KernelOOMPod", "KernelOOMNode", "KernelOOMProcess", honest={"Killed"}, lives=LIVES,
                    never=("memory limit of 64", "(?<!most likely )not by the OOM killer")), memory="64Mi", ooms=1, before=OTHER,
          inside="exec strange elsewhere $other >>$D/facts",
          outside="await $D/facts; sleep 2; (echo 0 >$other/cgroup.procs; neighbour hog 100M --rate 50M)"),
    Death("all of its cgroup with memory.oom.group, but for a process that the OOM killer spares", oom(), memory="64Mi", ooms=1, needs=V2, options="--oom-group",
          inside="sh -c 'echo -1000 >/proc/self/oom_score_adj; exec sleep 5' & sleep 0.5; " + LEAK + "; exit 1"),
]

PROGRAMS = [
    hides("a shell whose EXIT trap takes 12 s passes 137 of an OOM-killed child on", 137, "trap 'sleep 12' EXIT; hog 300M --rate 200M; exit $?", classes=(*BOTH, "Killed")),
    hides("set -e, and its command is OOM-killed", 137, "set -e; hog 300M --rate 200M; exit 3"),
    hides("pipefail, and the first command of a pipeline is OOM-killed", 137, argv=("bash", "-c", "set -o pipefail; hog 300M --rate 200M | cat; exit $?"), needs=HERE),
    hides("a handler of SIGCHLD that exits with 3, as a child is OOM-killed", 3, needs=PYTHON,
          argv=("/usr/bin/python3", "-c", "import os, signal, subprocess, time\nsignal.signal(signal.SIGCHLD, lambda *_: os._exit(3))\n"
                "subprocess.Popen(['hog', '300M', '--rate', '200M'])\ntime.sleep(60)\n")),
    hides("make, whose command is OOM-killed, and exit 2", 2, "printf 'all:\\n\\thog 300M --rate 200M\\n' >$D/Makefile; exec make -C $D", needs=HERE),
    hides("os.system of a command that is OOM-killed, and exit 9", 9, argv=("/usr/bin/python3", "-c", "import os, sys; sys.exit(os.system('exec hog 300M --rate 200M'))"), needs=PYTHON),
    hides("posix_spawn of a command that is OOM-killed, and exit 1", 1, needs=PYTHON,
          argv=("/usr/bin/python3", "-c", "import os, sys\np = os.posix_spawnp('hog', ['hog', '300M', '--rate', '200M'], os.environ)\nsys.exit(os.waitpid(p, 0)[1] != 0)\n")),
    Death("perl: die after fork fails for want of memory under ulimit -v", exits(12, victim="none"), memory="64Mi", needs=HERE, argv=("perl", "-e", "$! = 12; die 'no'")),
    Death("os.system of a command that is killed with kill -9, and exit 9", exits(9, victim="none"), memory="64Mi", needs=PYTHON,
          argv=("/usr/bin/python3", "-c", "import os, sys; sys.exit(os.system('exec hog 58M --die 9'))")),
    Death("nohup and setsid: SIGHUP is ignored, and exit 4", exits(4), memory="64Mi", needs=HERE, argv=("nohup", "setsid", "-w", "sh", "-c", "kill -HUP $$; sleep 1; exit 4")),
    Death("exec with arguments that are too long for the kernel, in a shell", exits(126, "CommandNotExecutable", "ApplicationError"), memory="64Mi", needs=HERE,
          inside="exec /bin/echo $(head -c 3000000 /dev/zero | tr '\\0' x)"),
    crash_beside("kill -SEGV of itself", signalled(11, never=ASSERTED), "exec sh -c 'kill -SEGV $$'"),
    crash_beside("exit 3", exits(3, never=("segfault at", "crashed")), "exit 3"),
    crash_beside("exit 139", exits(139, honest={"Segfault"}, never=ASSERTED), "exit 139"),
]

DEATHS = OF_THE_KERNEL + THREADS + STANDING + FALLING + CGROUPS + PROGRAMS
