# SPDX-License-Identifier: Apache-2.0
"""Situations around a command that occur in practice: init programs, worker pools, processes that kill others, other
limits, and requests to stop that go wrong."""
from common import ASKED, BOTH, CHILD, FROZEN, HERE, HONEST, LEAK, LIB, LIVES, LOOP, NOT_KILLED, PYTHON, SELF, V1, V2, asked, passed_on, python
from truth import Death, Truth, exits, oom, signalled

# Its PID is the one of the container's own namespace.
CHILD_BELOW = CHILD.replace("echo victim $! >>$D/facts; ", "")
# Whoever started it is gone, and it is the init program's.
ORPHAN = LIB + f"(setsid sh -c '{LEAK}; echo over >$D/dead' &); await $D/dead; "
# A child in a cgroup below, which has room enough; whoever is outside learns its directory.
ROOMY = LIB + "c=$(below $(cgroup_of $$) sub 268435456); sh -c 'echo $$ >'$c'/cgroup.procs; echo '$c' >$D/c; exec hog 40M --hold'; exit $?"
PYTHON_LEAK = "x = []\\nwhile True: x.append(bytearray(1 << 20))"


def after_oom(code_or_signal, **more):
    return code_or_signal(honest=HONEST, lives=LIVES, **more)


def of_method(method):
    """A child of multiprocessing that is OOM-killed, after which its parent gives up."""
    return python(f"a child of multiprocessing by {method} is OOM-killed, and exit 1 of its parent", oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}),
                  f"""
import multiprocessing as m, sys
if __name__ == '__main__':
    p = m.get_context('{method}').Process(target=exec, args=('{PYTHON_LEAK}',))
    p.start()
    p.join()
    sys.exit(1 if p.exitcode else 0)""", memory="128Mi", ooms=1)


SUPERVISORS = [
    Death("an init program whose child is OOM-killed", oom(*BOTH, signal=0), memory="64Mi", ooms=1, argv=("odd-end", "init", *LEAK.split())),
    Death("an init program whose child is killed with kill -9", passed_on(137, "Killed", victim="none"), memory="64Mi",
          argv=("odd-end", "init", "sh", "-c", "kill -9 $$")),
    Death("an init program whose child crashes", passed_on(139, "Segfault"), argv=("odd-end", "init", "probe", "fault", "segv")),
    Death("an init program that passes SIGTERM on, and its child ends by it", passed_on(143, "Terminated"),
          argv=("odd-end", "init", "sh", "-c", "echo $PPID >$D/pid; exec sleep 60"), outside="await $D/pid; kill $(cat $D/pid)"),
    Death("an init program whose orphan is OOM-killed, and exit 0 of its child after 8 s",
          exits(0, "KernelOOMProcess", reported=True, lives=LIVES, never=NOT_KILLED), memory="64Mi", ooms=1,
          argv=("odd-end", "init", "sh", "-c", ORPHAN + "sleep 7; exit 0")),
    Death("an init program whose orphan is OOM-killed, and kill -9 of its child 2 s later", after_oom(lambda **k: passed_on(137, "Killed", **k)), memory="64Mi", ooms=1,
          argv=("odd-end", "init", "sh", "-c", ORPHAN + "sleep 2; kill -9 $$")),
    Death("shells in shells, the innermost of which has its command OOM-killed, and exit 1 of the outermost",
          oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}), memory="64Mi", ooms=1, inside=f"sh -c 'sh -c \"{LEAK}; exit 7\" || exit 3' || exit 1"),
    Death("shells and an init program in turn, and kill -9 of what they run", passed_on(137, "Killed", victim="none"), memory="64Mi",
          inside="odd-end init sh -c 'hog 30M --die 9; exit $?'; exit $?"),
    # That of GNU ends itself by its child's signal: then somebody else than the OOM killer ended the command.
    Death("timeout of a command that is OOM-killed in time", Truth(137, frozenset({*BOTH, "Killed"}), signal=-1, honest=frozenset({"KernelOOMPod"})),
          memory="64Mi", ooms=1, argv=("timeout", "60", *LEAK.split())),
    Death("timeout -k of a command near its limit that does not stop", Truth(137, frozenset({"Killed", "ApplicationError"}), signal=-1, victim="none"), memory="64Mi",
          argv=("timeout", "-k", "1", "2", "sh", "-c", "trap '' TERM; hog 55M --hold & while :; do sleep 0.1; done")),
    Death("a program that is started by several others in its place is OOM-killed", oom(victim="fact"), memory="64Mi", ooms=1,
          inside=SELF + "env A=1 sh -c 'exec hog 300M --rate 100M --name $0' third"),
    Death("a program under a name of its starter's choice is OOM-killed", oom(), memory="64Mi", ooms=1, needs=HERE,
          argv=("bash", "-c", f"exec -a 'ray::trainer' {LEAK}")),
]

POOLS = [
    of_method("fork"), of_method("spawn"), of_method("forkserver"),
    python("a child of multiprocessing that its parent kills, and exit 1", exits(1, victim="none"), """
import multiprocessing as m, sys, time
if __name__ == '__main__':
    p = m.get_context('spawn').Process(target=time.sleep, args=(60,))
    p.start()
    time.sleep(1)
    p.kill()
    p.join()
    sys.exit(1)""", memory="128Mi"),
    python("a loader of data with four workers, of which the OOM killer takes the third", oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}), """
import multiprocessing as m, signal, time
def work(i):
    x = [bytearray(4 << 20)]
    while i == 2: x.append(bytearray(1 << 20))
    time.sleep(60)
def notice(signo, frame):
    raise RuntimeError('DataLoader worker is killed by signal: Killed.')
signal.signal(signal.SIGCHLD, notice)
for i in range(4): m.get_context('fork').Process(target=work, args=(i,), daemon=True).start()
time.sleep(60)""", memory="128Mi", ooms=1),
    Death("Python: a pool that waits for ever for a worker that was OOM-killed, until timeout -s KILL",
          Truth(137, frozenset({"Killed", "ApplicationError"}), signal=-1, honest=frozenset(HONEST), lives=frozenset(LIVES)), memory="96Mi", ooms=1, needs=PYTHON,
          argv=("timeout", "-s", "KILL", "9", "/usr/bin/python3", "-c",
                f"import multiprocessing as m\nm.get_context('fork').Pool(2).apply(exec, ('{PYTHON_LEAK}',))\n")),
    Death("a command whose input ends as the OOM killer took who wrote it, and exit 1", oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}), memory="64Mi", ooms=1,
          inside=LEAK + " | { cat >/dev/null; exit 1; }"),
    Death("two children crash, and the shell passes the second one's 134 on", passed_on(134, "Abort"), inside="probe fault segv & die assert; exit $?"),
    Death("glibc finds a double free in a child, and exit 1 of its parent", exits(1, honest={"Abort"}), inside="die double-free || exit 1"),
    Death("a watchdog ends a child with SIGABRT, and exit 1", exits(1, honest={"Abort"}), inside="sleep 60 & sleep 1; kill -6 $!; wait $!; exit 1"),
    Death("a stopped child is OOM-killed in place of a larger one, and exit 0 after 8 s",
          exits(0, "KernelOOMProcess", reported=True, lives=LIVES, victim="fact", never=NOT_KILLED), memory="64Mi", ooms=1,
          inside=LIB + "(echo 1000 >/proc/self/oom_score_adj; exec odd-end hold 30 sh -c 'echo yes >$D/held; exec sleep 20') & v=$!; echo victim $v >>$D/facts; "
                 "await $D/held; kill -STOP $v; hog 45M --rate 45M; sleep 8; exit 0"),
    # Both are gone when the sidecar looks again, and the one that was taken is the smaller one.
    Death("a small child is OOM-killed in place of a large one, which ends well under a frozen sidecar",
          exits(0, "KernelOOMProcess", reported=True, lives=LIVES, victim="fact", never=NOT_KILLED), memory="64Mi", ooms=1,
          inside="(echo 1000 >/proc/self/oom_score_adj; exec hog 15M --hold) & echo victim $! >>$D/facts; sleep 0.5; echo $$ >$D/begun; "
                 "odd-end hold 40 hog 15M; sleep 8; exit 0",
          outside=FROZEN.replace("sleep 1; kill -STOP", "sleep 0.9; kill -STOP").replace("await $D/over; sleep 1", "sleep 2")),
]

KILLERS = [
    Death("a killer of large processes takes a child with kill -9 near the limit, and exit 1", exits(1, victim="none"), memory="64Mi",
          inside="hog 58M --hold & echo $! >$D/pid; wait $! || exit 1", outside="await $D/pid; sleep 2; kill -9 $(cat $D/pid)"),
    Death("a killer of large processes sends a child SIGTERM near the limit, and the shell passes 143 on", passed_on(143, "Terminated", victim="none"), memory="64Mi",
          inside="hog 58M --hold & echo $! >$D/pid; wait $!; exit $?", outside="await $D/pid; sleep 2; kill $(cat $D/pid)"),
    Death("all of a cgroup below is killed with kill -9, and the shell passes 137 on", passed_on(137, "Killed", victim="none"), memory="300Mi",
          inside=ROOMY, outside="await $D/c; sleep 1; kill_all KILL $(cat $D/c)"),
    Death("cgroup.kill of a cgroup below, and the shell passes 137 on", passed_on(137, "Killed", victim="none"), memory="300Mi", needs=V2,
          inside=ROOMY, outside="await $D/c; sleep 1; echo 1 >$(cat $D/c)/cgroup.kill"),
    Death("a cgroup below is frozen, all of it killed with kill -9, and thawed, and the shell passes 137 on", passed_on(137, "Killed", victim="none"), memory="300Mi",
          needs=V2, inside=ROOMY,
          outside="await $D/c; c=$(cat $D/c); sleep 1; echo 1 >$c/cgroup.freeze; sleep 1; kill_all KILL $c; sleep 1; echo 0 >$c/cgroup.freeze"),
    Death("kill -9 of a command in a frozen cgroup of the freezer", signalled(9, victim="none"), memory="64Mi", needs=V1, inside="echo $$ >$D/pid; exec hog 50M --hold",
          outside="await $D/pid; f=/sys/fs/cgroup/freezer/death-$$; mkdir $f; cat $D/pid >$f/cgroup.procs; echo FROZEN >$f/freezer.state; sleep 1; "
                  "kill -9 $(cat $D/pid); sleep 1; echo THAWED >$f/freezer.state; await $D/code; rmdir $f"),
]

LIMITS = [
    Death("no room in the data segment: an exception that nobody catches", signalled(6, victim="none"), inside="ulimit -d 100000; exec eat bad-alloc 10", memory="300Mi"),
    Death("no room in the data segment: an exception, and exit 1", exits(1, victim="none"), inside="ulimit -d 100000; exec eat memory-error 10", memory="300Mi"),
    Death("no address space for a child, which aborts, and exit 1", exits(1, honest={"Abort"}, victim="none"),
          inside="(ulimit -v 200000; exec eat bad-alloc 10) || exit 1", memory="300Mi"),
    Death("CPU time of a command that ignores SIGXCPU, and SIGKILL by the hard limit", signalled(9, victim="none"), memory="64Mi",
          inside="trap '' XCPU; ulimit -t 2; ulimit -S -t 1; exec die spin"),
    Death("CPU time of a child, and the shell passes 152 on", passed_on(152, "Signaled"), inside="(ulimit -S -t 1; exec die spin); exit $?"),
    Death("a small stack that overflows", signalled(11), inside="ulimit -s 256; exec die stack"),
    Death("a stack that overflows in a child, and exit 1", exits(1, honest={"Segfault"}), inside="die stack || exit 1", memory="64Mi"),
    Death("a full /dev/shm under a mapping, and SIGBUS", signalled(7, "BusError", "DiskFull"), before="small size=1m; mount --bind $D/small /dev/shm",
          argv=("die", "map-full", "/dev/shm/f")),
    Death("a full /dev/shm under a child's mapping, and exit 1", exits(1, "ApplicationError", "DiskFull", honest={"BusError"}),
          before="small size=1m; mount --bind $D/small /dev/shm", inside="die map-full /dev/shm/f || exit 1"),
    Death("a shell that cannot fork any more, and exit 1", exits(1, "ProcessLimit", "ApplicationError"), before="pids 20",
          inside="sh -c 'while sleep 5 & do :; done' || exit 1", after="sleep 6"),
    python("a thread that cannot be started", exits(1, "ProcessLimit", "ApplicationError"),
           "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,), daemon=True).start()", before="pids 20"),
    Death("memory.high slows it down, and exit 4 for its own reasons", exits(4, victim="none"), memory="300Mi", needs=V2,
          inside=LIB + "echo 33554432 >$(cgroup_of $$)/memory.high; timeout 4 hog 60M --rate 60M --hold; exit 4"),
    Death("memory.high slows it down, its limit is lowered to that, and it is OOM-killed", oom(victim="fact", never=("limit of 300.0 MiB",)), memory="300Mi", needs=V2, ooms=1,
          inside=LIB + "c=$(cgroup_of $$); echo 33554432 >$c/memory.high; (sleep 3; limit $c 36700160) & " + SELF + "hog 100M --rate 50M"),
]

STOPS = [
    Death("signals that ask it to stop, which it ignores, and exit 3 for its own reasons", exits(3, victim="none"), memory="64Mi",
          inside="trap '' TERM INT HUP; echo $$ >$D/pid; sleep 4; exit 3", outside="await $D/pid; kill $(cat $D/pid); kill -INT $(cat $D/pid); kill -HUP $(cat $D/pid)"),
    Death("SIGTERM to the sidecar, which the command ignores, and an OOM kill of the command 2 s later", oom(victim="fact"), memory="64Mi", ooms=1,
          inside="trap '' TERM; echo $$ >$D/pid; sleep 4; " + SELF + "hog 300M --rate 100M", outside="await $D/pid; sleep 1; kill $(cat $D/exec)"),
    asked("asked to stop from outside near its limit, and all of it killed after the grace period", signalled(9, victim="none"),
          "trap '' TERM; hog 55M --hold & " + LOOP, outside=ASKED + "; sleep 2; kill -9 $(cat $D/launcher)"),
    asked("asked to stop from outside, a child crashes on the way, and exit 1", exits(1, "Terminated", "ApplicationError", honest={"Segfault"}),
          "trap 'probe fault segv; exit 1' TERM; " + LOOP),
    asked("asked to stop from outside, it kills a child that hangs, and exit 0", exits(0), "sleep 60 & c=$!; trap 'kill -9 $c; exit 0' TERM; " + LOOP),
    asked("asked to stop from outside, a child is OOM-killed on the way, and exit 0", exits(0, lives=LIVES, never=NOT_KILLED),
          "trap '" + CHILD_BELOW + "exit 0' TERM; " + LOOP, ooms=1),
    asked("asked to stop from outside, a child is OOM-killed on the way, and all of it killed 2 s later", after_oom(lambda **k: signalled(9, **k)),
          "trap '" + CHILD_BELOW + "sleep 60' TERM; " + LOOP, outside=ASKED + "; sleep 5; kill -9 $(cat $D/launcher)", ooms=1),
    asked("a child is OOM-killed, asked to stop from outside 3 s later, and exit 1 of a handler",
          exits(1, "Terminated", "KernelOOMProcess", honest=HONEST | {"ApplicationError"}, lives=LIVES),
          "trap 'exit 1' TERM; " + CHILD_BELOW + LOOP, outside="await $D/begun; sleep 3; " + ASKED, ooms=1),
    asked("asked to stop by SIGINT from outside, and exit 130 of a handler", exits(130, "Interrupted", "Terminated", "ApplicationError"),
          "trap 'exit 130' INT; " + LOOP, outside=ASKED.replace("kill ", "kill -INT ")),
    asked("asked to stop by SIGQUIT from outside, and exit 2 of a handler", exits(2, "Terminated", honest={"ApplicationError"}),
          "trap 'exit 2' QUIT; " + LOOP, outside=ASKED.replace("kill ", "kill -QUIT ")),
    asked("asked to stop from outside twice, and exit 143 of a handler after the second time", exits(143, "Terminated", "ApplicationError"),
          "n=0; trap 'n=$((n + 1)); [ $n -lt 2 ] || exit 143' TERM; " + LOOP, outside=ASKED + "; sleep 2; kill $(cat $D/launcher)"),
    asked("asked to stop from outside, and its own program is not there any more, exit 127", exits(127, "Terminated", "CommandNotFound", "ApplicationError"),
          "trap 'no-such-command; exit $?' TERM; " + LOOP),
]

DEATHS = SUPERVISORS + POOLS + KILLERS + LIMITS + STOPS
