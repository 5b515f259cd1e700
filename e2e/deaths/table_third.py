# SPDX-License-Identifier: Apache-2.0
"""Combinations: an OOM kill together with a request to stop, signals that are passed on, a sidecar that is frozen, a
kernel log that is lost."""
from common import ASKED, BELOW, BOTH, CHILD, FROZEN, HONEST, LIB, LIVES, NOT_OURS, SELF, V2, VM, WAIT, asked
from truth import Death, exits, oom, signalled

OVER = "(sleep 3; echo yes >$D/over) & "


def after_oom(code_or_signal, **more):
    return code_or_signal(honest=HONEST, lives=LIVES, victim="fact", **more)


PASSED_ON = [
    Death("a child is OOM-killed, and its parent kills itself by the same signal",
          signalled(9, honest=HONEST, lives=LIVES), memory="64Mi", ooms=1, argv=("odd-end", "as", "hog", "300M", "--rate", "200M")),
    Death("a small child is OOM-killed in place of its large parent, which kills itself by the same signal",
          signalled(9, honest=HONEST, lives=LIVES), memory="64Mi", ooms=1, argv=("odd-end", "hold", "40", "sh", "-c", "echo 1000 >/proc/self/oom_score_adj; exec hog 300M")),
    Death("a child is killed with kill -9, and its parent kills itself by the same signal", signalled(9, victim="none"), memory="64Mi",
          argv=("odd-end", "as", "hog", "60M", "--die", "9")),
    Death("a child crashes, and its parent kills itself by the same signal", signalled(11), argv=("odd-end", "as", "probe", "fault", "segv")),
    Death("a fault behind a handler that exits with 139", exits(139, "Segfault", "ApplicationError"), argv=("odd-end", "code")),
    Death("a fault while SIGSEGV is blocked", signalled(11), argv=("odd-end", "blocked")),
    Death("a fault in the handler of a fault", signalled(11), argv=("odd-end", "twice")),
    Death("its tracer ends, and the kernel kills what it traced", signalled(9, victim="none"), memory="64Mi", argv=("odd-end", "tracer")),
    Death("a thread of it is killed with SIGKILL", signalled(9, victim="none"), memory="64Mi", argv=("odd-end", "thread")),
    Death("sys.exit(137) of a Python program", exits(137, honest={"Killed"}, victim="none"), memory="64Mi", needs=frozenset({"python"}),
          argv=("/usr/bin/python3", "-c", "import sys; sys.exit(137)")),
    Death("sys.exit(-9) of a Python program", exits(247, victim="none"), memory="64Mi", needs=frozenset({"python"}),
          argv=("/usr/bin/python3", "-c", "import sys; sys.exit(-9)")),
    Death("os.kill(os.getpid(), 9) in a thread of a Python program", signalled(9, victim="none"), memory="64Mi", needs=frozenset({"python"}),
          argv=("/usr/bin/python3", "-c", "import os, threading, time; threading.Thread(target=lambda: os.kill(os.getpid(), 9)).start(); time.sleep(60)")),
    Death("MemoryError of a Python program under ulimit -v", exits(1, victim="none"), memory="300Mi", needs=frozenset({"python"}),
          inside="ulimit -v 200000; exec /usr/bin/python3 -c 'x = bytearray(1 << 30)'"),
    Death("the OOM kill of a PID namespace's init, and its parent passes 137 on", oom(*BOTH, signal=0, lives=LIVES), memory="64Mi", ooms=1,
          argv=("odd-end", "apart", "hog", "300M", "--rate", "200M")),
]

STOPPED = [
    Death("an OOM kill in a cgroup below, then SIGTERM, and exit 0 of a handler",
          exits(0, "KernelOOMProcess", lives=LIVES, never=(*NOT_OURS, r"^Container \S+ was killed"), victim="fact"), memory="300Mi", ooms=1,
          inside=BELOW + "trap 'exit 0' TERM; echo $$ >$D/pid; while :; do sleep 0.1; done", outside="await $D/pid; sleep 1; kill $(cat $D/pid)"),
    Death("an OOM kill in a cgroup below, then SIGTERM, and exit 1 of a handler", after_oom(lambda **k: exits(1, never=NOT_OURS, **k)), memory="300Mi", ooms=1,
          inside=BELOW + "trap 'exit 1' TERM; echo $$ >$D/pid; while :; do sleep 0.1; done", outside="await $D/pid; sleep 1; kill $(cat $D/pid)"),
    Death("a child is OOM-killed while the command stops for SIGTERM, and exit 143 of it",
          exits(143, "Terminated", "ApplicationError", honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1,
          inside="trap '" + CHILD + "exit 143' TERM; echo $$ >$D/pid; while :; do sleep 0.1; done", outside="await $D/pid; kill $(cat $D/pid)"),
    Death("memory.high slows it down, then SIGTERM and kill -9, as after a failed probe", signalled(9, victim="none"), memory="300Mi", needs=V2,
          inside=LIB + "echo 33554432 >$(cgroup_of $$)/memory.high; trap '' TERM; echo $$ >$D/pid; exec hog 60M --hold",
          outside="await $D/pid; sleep 2; kill $(cat $D/pid); sleep 1; kill -9 $(cat $D/pid)"),
    asked("asked to stop from outside, and exit 3 of a handler", exits(3, "Terminated"), "trap 'exit 3' TERM; echo $$ >$D/begun; while :; do sleep 0.1; done"),
    asked("asked to stop from outside, and exit 0 of a handler", exits(0), "trap 'exit 0' TERM; echo $$ >$D/begun; while :; do sleep 0.1; done"),
    # Process 1 has to catch SIGTERM, or the kernel drops it, and so does the launcher in its place.
    asked("asked to stop from outside, and it does", signalled(15), "trap 'trap - TERM; kill $$' TERM; echo $$ >$D/begun; while :; do sleep 0.1; done"),
    asked("asked to stop from outside, and all of it killed after the grace period", signalled(9, victim="none"),
          "trap '' TERM; echo $$ >$D/begun; while :; do sleep 0.1; done", outside=ASKED + "; sleep 2; kill -9 $(cat $D/launcher)"),
    asked("asked to stop from outside, and a crash on the way", signalled(11), "trap 'exec probe fault segv' TERM; echo $$ >$D/begun; while :; do sleep 0.1; done"),
    asked("asked to stop from outside, a child is OOM-killed on the way, and exit 1",
          exits(1, "Terminated", honest=HONEST | {"ApplicationError"}, lives=LIVES), "trap '" + CHILD.replace("echo victim $! >>$D/facts; ", "") + "exit 1' TERM; "
          "echo $$ >$D/begun; while :; do sleep 0.1; done", ooms=1),
    asked("asked to stop from inside, and exit 3 of a handler", exits(3, "Terminated"),
          "trap 'exit 3' TERM; echo $$ >$D/begun; sleep 1; kill 1; while :; do sleep 0.1; done", outside="true"),
    asked("a signal that means nothing to it, and exit 3 for its own reasons", exits(3, honest={"Terminated"}),
          "trap '' TERM; echo $$ >$D/begun; sleep 2; exit 3"),
]

LIMITS = [
    Death("a child is OOM-killed, and then the command", oom(lives=LIVES, victim="fact"), memory="64Mi", ooms=2, inside=CHILD + "sleep 1; " + SELF + "hog 300M --rate 200M"),
    Death("the limit of a cgroup above takes a neighbour, and the command exits with 5", exits(5, victim="none"), memory="300Mi", ooms=1,
          before="around 67108864", inside=WAIT + "sleep 0.3; exit 5", outside="await $D/begun; neighbour hog 300M --rate 200M; echo yes >$D/done"),
    Death("the limit of a cgroup above takes a neighbour, and the command is sent SIGTERM a second later", signalled(15, victim="none"), memory="300Mi", ooms=1,
          before="around 67108864", inside="echo $$ >$D/begun; exec sleep 60",
          outside="await $D/begun; neighbour hog 300M --rate 200M; sleep 1; kill $(cat $D/begun)"),
    Death("all of its cgroup with memory.oom.group, but for a process that was moved away", oom(), memory="64Mi", ooms=1, needs=V2, options="--oom-group",
          before="export other=$memory/death-$$-other; mkdir $other",
          inside="sh -c 'echo $$ >$other/cgroup.procs; exec sleep 5' & sleep 0.5; hog 300M --rate 100M; exit 1"),
    Death("nobody may be taken, and kill -9 of the command that waits for memory", signalled(9, victim="none", honest=HONEST), memory="64Mi", needs=VM,
          inside=LIB + "for p in $(cat $(cgroup_of $$)/cgroup.procs); do echo -1000 >/proc/$p/oom_score_adj; done; echo $$ >$D/pid; exec hog 300M",
          outside="await $D/pid; sleep 2; kill -9 $(cat $D/pid)"),
    Death("the limit is raised after a child was OOM-killed, and exit 3", after_oom(lambda **k: exits(3, never=NOT_OURS, **k)), memory="64Mi", ooms=1,
          inside=LIB + CHILD + "limit $(cgroup_of $$) 314572800; sleep 2; exit 3"),
    Death("an OOM kill in one of a hundred cgroups below, and kill -9 of the command a second later",
          after_oom(lambda **k: signalled(9, never=NOT_OURS, **k)), memory="300Mi", ooms=1,
          inside=LIB + "own=$(cgroup_of $$); n=0; while [ $n -lt 100 ]; do mkdir $own/many$n; n=$((n + 1)); done; " + BELOW.replace(LIB, "") + "sleep 1; kill -9 $$"),
    Death("a group is OOM-killed in a cgroup below, and kill -9 of the command at once",
          after_oom(lambda **k: signalled(9, never=NOT_OURS, **k)), memory="300Mi", ooms=1, needs=V2,
          inside=BELOW.replace("sh -c", "echo 1 >$c/memory.oom.group; sh -c") + "kill -9 $$"),
    Death("an OOM kill in a cgroup below that is gone at once, and kill -9 of the command 3 s later",
          after_oom(lambda **k: signalled(9, never=NOT_OURS, **k)), memory="300Mi", ooms=1, inside=BELOW + "rmdir $c; sleep 3; kill -9 $$"),
    Death("an OOM kill in a cgroup below that is gone half a second later, and exit 0 after 8 s",
          exits(0, "KernelOOMProcess", reported=True, lives=LIVES, never=(*NOT_OURS, "the node or a cgroup above"), victim="fact"), memory="300Mi", ooms=1,
          inside=BELOW + "sleep 0.5; rmdir $c; sleep 8; exit 0"),
    Death("cgroup.kill of all of it", signalled(9, "Killed", "Unknown", victim="none"), memory="64Mi", needs=V2, inside="echo $$ >$D/pid; exec hog 50M --hold",
          outside=LIB + "await $D/pid; sleep 1; echo 1 >$(cgroup_of $(cat $D/pid))/cgroup.kill"),
    Death("kill -9 of a frozen command", signalled(9, victim="none"), memory="64Mi", needs=V2, before="export other=$memory/death-$$-other; mkdir $other",
          inside="echo $$ >$D/pid; exec hog 50M --hold",
          outside=LIB + "await $D/pid; sleep 1; c=$(cgroup_of $(cat $D/pid)); echo 1 >$c/cgroup.freeze; sleep 1; kill -9 $(cat $D/pid); sleep 1; echo 0 >$c/cgroup.freeze"),
    Death("an OOM kill of a command whose name looks like the kernel's words", oom(victim="fact"), memory="64Mi", ooms=1,
          inside=SELF + "hog 300M --rate 200M --name 'a) x,pid=1 [2]'"),
    *(Death(f"a child is OOM-killed, and kill -9 of the command {s} s later", after_oom(lambda **k: signalled(9, **k)), memory="64Mi", ooms=1,
            inside=CHILD + f"sleep {s}; kill -9 $$") for s in (9.8, 10.3)),
    Death("a child is OOM-killed, and exit 1 of the command 10.3 s later", after_oom(lambda **k: exits(1, **k)), memory="64Mi", ooms=1, inside=CHILD + "sleep 10.3; exit 1"),
]

UNSEEN = [
    Death("a child is OOM-killed under a frozen sidecar, and kill -9 of the command 2 s later", after_oom(lambda **k: signalled(9, **k)), memory="64Mi", ooms=1,
          inside=WAIT + OVER + CHILD + "sleep 2; kill -9 $$", outside=FROZEN),
    Death("a small child is OOM-killed in place of its large parent under a frozen sidecar, and the parent kills itself by the same signal",
          signalled(9, honest=HONEST, lives=LIVES), memory="64Mi", ooms=1,
          inside="echo $$ >$D/begun; exec odd-end hold 40 sh -c 'echo 1000 >/proc/self/oom_score_adj; exec hog 300M'",
          outside="await $D/begun; sleep 0.9; kill -STOP $(cat $D/exec); sleep 2; kill -CONT $(cat $D/exec)"),
    Death("a group is OOM-killed in a cgroup below under a frozen sidecar, and kill -9 of the command a second later",
          after_oom(lambda **k: signalled(9, never=NOT_OURS, **k)), memory="300Mi", ooms=1, needs=V2,
          inside=WAIT + OVER + BELOW.replace("sh -c", "echo 1 >$c/memory.oom.group; sh -c") + "sleep 1; kill -9 $$", outside=FROZEN),
    Death("an OOM kill of the command under a frozen sidecar", oom(victim="fact"), memory="64Mi", ooms=1, inside=WAIT + OVER + SELF + "hog 300M --rate 200M", outside=FROZEN),
    Death("kill -9 near the limit under a frozen sidecar", signalled(9, victim="none"), memory="64Mi", inside=WAIT + OVER + "exec hog 61M --die 9", outside=FROZEN),
    Death("a child is OOM-killed under a frozen sidecar, and exit 3 of the command a second later", after_oom(lambda **k: exits(3, **k)), memory="64Mi", ooms=1,
          inside=WAIT + OVER + CHILD + "sleep 1; exit 3", outside=FROZEN),
    Death("a child is OOM-killed in a cgroup below under a frozen sidecar, and kill -9 of the command 2 s later",
          after_oom(lambda **k: signalled(9, never=NOT_OURS, **k)), memory="300Mi", ooms=1, inside=WAIT + OVER + BELOW + "sleep 2; kill -9 $$", outside=FROZEN),
    Death("an OOM kill of the command, and the kernel log is written over", oom(victim="fact"), memory="64Mi", ooms=1, needs=VM, alone=True,
          inside=WAIT + SELF + "hog 300M --rate 100M", outside="await $D/begun; echo yes >$D/done; while [ ! -s $D/code ]; do wrap 100; done"),
    Death("a child is OOM-killed, the kernel log is written over, and kill -9 of the command", after_oom(lambda **k: signalled(9, **k)), memory="64Mi", ooms=1,
          needs=VM, alone=True, inside=LIB + CHILD + "wrap 1500; kill -9 $$"),
    Death("the clock is set back a day between the OOM kill of a child and kill -9 of the command", after_oom(lambda **k: signalled(9, **k)), memory="64Mi", ooms=1,
          needs=VM, alone=True, inside=CHILD + "date -s @$(($(date +%s) - 86400)); sleep 2; kill -9 $$"),
    Death("a child is OOM-killed, and another one with its PID is killed with kill -9, whose 137 the shell passes on",
          after_oom(lambda **k: exits(137, "Killed", "ApplicationError", **k)), memory="64Mi", ooms=1, needs=VM, alone=True,
          inside=CHILD + "sleep 2; p=$(sed -n 's/victim //p' $D/facts); echo $((p - 1)) >/proc/sys/kernel/ns_last_pid; sleep 60 & [ $! = $p ] && echo reused; "
                 "kill -9 $!; wait $!; exit $?"),
]

DEATHS = PASSED_ON + STOPPED + LIMITS + UNSEEN
