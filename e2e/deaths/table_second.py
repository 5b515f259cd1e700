# SPDX-License-Identifier: Apache-2.0
"""More deaths that look like others, found after the verdicts of the other tables were right."""
from common import BOTH, CHILD, HERE, HONEST, JOIN, LIB, LIVES, SELF, VM, WAIT
from truth import Death, Truth, exits, oom, signalled

# Outside: what runs in a cgroup whose path looks like the command's. $own is the command's own.
OWN = "await $D/begun; own=$(cgroup_of $(cat $D/begun)); "


def alike(name, directory):
    """A namesake is OOM-killed in a cgroup whose path looks like the command's own, which is then killed with kill -9."""
    return Death(f"kill -9 while a namesake is OOM-killed in a cgroup {name}", signalled(9, victim="none"), memory="64Mi", ooms=1,
                 inside=WAIT + "sleep 0.3; exec hog 50M --die 9",
                 outside=OWN + f"c={directory}; mkdir -p $c; limit $c 67108864; (echo 0 >$c/cgroup.procs; neighbour hog 300M); echo yes >$D/done",
                 after="find $memory/death-$$-alike $memory/*/*/afterglow-*x -depth -type d -exec rmdir {} + 2>/dev/null")


def at_boundary(after):
    """A death close to the five seconds that the sidecar waits before it reports that a container lives on."""
    end = signalled(9, honest=HONEST, lives=LIVES, victim="fact")
    return [
        Death(f"a child is OOM-killed, and {after} s later the command kills itself with kill -9", end, memory="64Mi", ooms=1, inside=f"{CHILD} sleep {after}; kill -9 $$"),
        Death(f"a child is OOM-killed, and {after} s later the command exits with 0",
              exits(0, "KernelOOMProcess", reported=True, lives=LIVES, victim="fact", never=(r"^Container \S+ was killed",)), memory="64Mi", ooms=1,
              inside=f"{CHILD} sleep {after}; exit 0"),
        Death(f"a child is OOM-killed, and {after} s later the command exits with 9 for its own reasons",
              exits(9, honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1, inside=f"{CHILD} sleep {after}; exit 9"),
    ]


def faulty(name, signo, deed, **more):
    return Death(f"{name}", signalled(signo), argv=("die", *deed.split()), **more)


DEATHS = [
    *(d for after in (4.9, 5.1) for d in at_boundary(after)),
    alike("whose name begins like the command's", "${own}x"),
    alike("of the same path elsewhere", "$memory/death-$$-alike$(echo $own | sed \"s|^$memory||\")"),
    alike("whose name contains the command's", "$memory/death-$$-alike/x-${own##*/}"),
    Death("an OOM kill of the command, a shell with oom_score_adj 1000, in place of its child", oom(victim="fact"), memory="64Mi", ooms=2,
          inside="echo victim $$ >>$D/facts; hog 20M --hold & hog 300M --rate 60M & echo victim $! >>$D/facts; echo 1000 >/proc/$$/oom_score_adj; wait"),
    Death("an OOM kill before the command has begun: the smallest limit, and a large program", Truth(137, frozenset({"KernelOOMContainer"}), signal=9,
          honest=frozenset({"KernelOOMProcess", "Killed"}), never=("not by the OOM killer",)), memory="4Mi", ooms=1, argv=("hog", "50M")),
    Death("two children are OOM-killed a second apart, and kill -9 of the command a second later",
          signalled(9, honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=2, inside=CHILD + "sleep 1; " + CHILD + "sleep 1; kill -9 $$"),
    Death("two children are OOM-killed five seconds apart, and exit 137 at once", oom(*BOTH, signal=0, lives=LIVES, victim="fact"), memory="64Mi", ooms=2,
          inside=CHILD + "sleep 5; " + CHILD + "exit $?"),
    Death("a child is OOM-killed, and timeout -s KILL ends what came after it",
          Truth(137, frozenset({"Killed", "ApplicationError"}), signal=-1, honest=frozenset(HONEST), lives=frozenset(LIVES), victim="fact"), memory="64Mi", ooms=1,
          inside=CHILD + "exec timeout -s KILL 1 sleep 60"),
    Death("a child is OOM-killed, and the command becomes another program that exits with 137", exits(137, honest=HONEST | {"Killed"}, lives=LIVES, victim="fact"),
          memory="64Mi", ooms=1, inside=CHILD + "sleep 1; exec probe exit 137"),
    Death("a child is OOM-killed, and a second one with oom_score_adj 1000 is killed with kill -9, whose 137 the shell passes on",
          exits(137, "Killed", "ApplicationError", honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1,
          inside=CHILD + "(echo 1000 >/proc/self/oom_score_adj; exec hog 40M --hold) & sleep 1; kill -9 $!; wait $!; exit $?"),
    # Somebody enters the container, as with kubectl exec.
    Death("a process that entered the command's cgroup from outside is OOM-killed, and exit 0 after 8 s",
          exits(0, "KernelOOMProcess", lives={"KernelOOMProcess"}, never=(r"^Container \S+ was killed",)), memory="64Mi", ooms=1,
          inside="echo $$ >$D/begun; sleep 8; exit 0", outside=JOIN + "neighbour hog 300M --rate 200M)"),
    Death("a process that entered the command's cgroup from outside is OOM-killed, and kill -9 of the command a second later",
          signalled(9, honest=HONEST, lives=LIVES), memory="64Mi", ooms=1, inside=WAIT + "sleep 1; kill -9 $$",
          outside=JOIN + "neighbour hog 300M --rate 200M); echo yes >$D/done"),
    Death("a process that entered the command's cgroup from outside is OOM-killed, and exit 4 of the command a second later",
          exits(4, honest=HONEST, lives=LIVES), memory="64Mi", ooms=1, inside=WAIT + "sleep 1; exit 4",
          outside=JOIN + "neighbour hog 300M --rate 200M); echo yes >$D/done"),
    Death("the command is OOM-killed for what a process from outside uses up", oom(victim="fact"), memory="64Mi", ooms=1,
          inside="echo 1000 >/proc/self/oom_score_adj; echo $$ >$D/begun; " + SELF + "hog 20M --hold",
          outside=JOIN + "neighbour hog 55M --rate 60M --hold) & await $D/code; kill -9 $(sed -n 's/neighbour //p' $D/facts)"),
    Death("an OOM kill of the command, which takes long to die", oom(victim="fact"), memory="64Mi", ooms=1, inside=SELF + "slow-death 8 hog 300M --rate 100M"),
    Death("an OOM kill of a child, which takes long to die, and the shell passes 137 on", oom(*BOTH, signal=0, lives=LIVES, victim="fact"), memory="64Mi", ooms=1,
          inside="slow-death 8 hog 300M --rate 100M & echo victim $! >>$D/facts; wait $!; exit $?"),
    Death("an OOM kill of a child, which takes long to die, and kill -9 of the command a second after it was killed",
          signalled(9, honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1,
          inside="echo $$ >$D/begun; slow-death 8 hog 300M --rate 100M & echo victim $! >>$D/facts; wait",
          outside="await $D/begun; sleep 2; kill -9 $(cat $D/begun)"),
    Death("kill -9 of a command that takes long to die", signalled(9, victim="none"), memory="64Mi", inside="echo $$ >$D/begun; exec slow-death 8 hog 50M --hold",
          outside="await $D/begun; sleep 1; kill -9 $(cat $D/begun)"),
    Death("an OOM kill of a program whose first thread had ended", oom("KernelOOMContainer", "KernelOOMProcess"), memory="64Mi", ooms=1, argv=("eat", "leaderless", "300")),
    Death("an OOM kill of one of two threads' memory", oom(), memory="64Mi", ooms=1, argv=("eat", "threads", "300")),
    Death("kill -9 of a program whose first thread had ended", signalled(9, victim="none"), memory="64Mi",
          inside="echo $$ >$D/pid; exec eat leaderless 20", outside="await $D/pid; sleep 1; kill -9 $(cat $D/pid)"),
    Death("kill -9 after the limit was taken away and more than that was used", signalled(9, victim="none", never=("limit of 32.0 MiB",)), memory="32Mi",
          inside=LIB + "limit $(cgroup_of $$) 1073741824; exec hog 80M --die 9"),
    Death("kill -9 of a sidecar's exec in the command, whose 137 it passes on", exits(137, "Killed", "ApplicationError", victim="none"), memory="300Mi",
          inside=LIB + "$tools/afterglow-sidecar exec --memory-max 32Mi --store $D/inner -- sh -c 'kill -9 $$'; exit $?"),
    Death("an OOM kill under a sidecar's exec in the command, and kill -9 of the command 2 s later",
          signalled(9, honest=HONEST, lives=LIVES, never=("memory limit of 300.0 MiB",)), memory="300Mi", ooms=1,
          inside=LIB + "$tools/afterglow-sidecar exec --memory-max 32Mi --store $D/inner -- hog 100M --rate 100M; sleep 2; kill -9 $$"),
    Death("kill -9 in a cgroup below, 2 s after the OOM kill of a child there, for the container's own limit",
          signalled(9, honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1,
          inside=LIB + "c=$(below $(cgroup_of $$) sub 1073741824); echo $$ >$c/cgroup.procs; " + CHILD + "sleep 2; kill -9 $$"),
    Death("an OOM kill in a cgroup below while the command, in another one below, is killed with kill -9",
          signalled(9, honest=HONEST, lives=LIVES, victim="fact", never=("memory limit of 300.0 MiB",)), memory="300Mi", ooms=1,
          inside=LIB + "own=$(cgroup_of $$); a=$(below $own a 33554432); b=$(below $own b 33554432); echo $$ >$b/cgroup.procs; "
                 "sh -c 'echo $$ >'$a'/cgroup.procs; " + SELF + "hog 100M --rate 100M'; sleep 0.5; kill -9 $$"),
    Death("a shared cgroup below one with a limit: an OOM kill of the command for the upper one's", oom("KernelOOMPod", victim="fact"), ooms=1,
          before="around 50331648; [ $version = 2 ] || { mkdir $inner/deep; echo $$ >$inner/deep/cgroup.procs; }", inside=SELF + "hog 280M --rate 200M"),
    Death("a shared cgroup, a child is OOM-killed, and kill -9 of the command a second later", signalled(9, honest=HONEST, lives=LIVES, victim="fact"), ooms=1,
          before="around 67108864", inside=CHILD + "sleep 1; kill -9 $$"),
    Death("a shared cgroup, a neighbour is OOM-killed, and a child of the command killed with kill -9, whose 137 the shell passes on",
          exits(137, "Killed", "ApplicationError", honest=HONEST, victim="none"), before="around 67108864", ooms=1,
          inside=WAIT + "sleep 60 & kill -9 $!; wait $!; exit $?", outside="await $D/begun; neighbour hog 300M --rate 200M; echo yes >$D/done"),
    Death("two commands at once, each by its own limit", oom(victim="fact"), memory="64Mi", ooms=2, inside=SELF + "hog 300M --rate 100M",
          outside="await $D/facts; $tools/afterglow-sidecar exec --memory-max 64Mi --store $D/other -- hog 300M --rate 100M"),
    Death("two commands at once, one by its limit, and kill -9 of this one", signalled(9, victim="none"), memory="64Mi", ooms=1,
          inside=WAIT + "exec hog 60M --die 9", outside="await $D/begun; $tools/afterglow-sidecar exec --memory-max 64Mi --store $D/other -- hog 300M; echo yes >$D/done"),
    # Faults of other kinds.
    faulty("a write to memory that is read-only", 11, "fault readonly"),
    faulty("a jump to address 0", 11, "fault jump"),
    faulty("a jump into data", 11, "fault data"),
    faulty("an address that no memory can have", 11, "fault noncanonical"),
    faulty("an instruction that only the kernel may use", 11, "fault privileged"),
    faulty("__builtin_trap()", 4, "fault trap"),
    faulty("the least number divided by -1", 8, "fault divide"),
    faulty("glibc finds a stack that was written over", 6, "fault smash"),
    faulty("glibc finds a buffer that is too small", 6, "fault fortify"),
    Death("exec fails when there is no way back, for want of address space", Truth(139, frozenset({"Segfault", "Killed"}), signal=-1), needs=HERE,
          inside="ulimit -v 100; exec probe exit 0"),
    Death("SIGSEGV of a command that can leave no core, as it may not be read", signalled(11), argv=("$D/secret", "fault", "segv"),
          before="cp $tools/test/probe $D/secret; chmod 111 $D/secret"),
    Death("exit 139 of a Python program that saw its child crash", exits(139, "Segfault", "ApplicationError"), needs=frozenset({"python"}),
          argv=("/usr/bin/python3", "-c", "import subprocess, sys; sys.exit(128 - subprocess.run(['probe', 'fault', 'segv']).returncode)")),
    # The sidecar itself has a hard time.
    Death("an OOM kill under a sidecar with few descriptors", oom(victim="fact"), memory="64Mi", ooms=1, before="ulimit -n 40", inside=SELF + "hog 300M --rate 100M"),
    Death("an OOM kill under a sidecar that hardly gets the processor", oom(victim="fact"), memory="64Mi", ooms=1, inside=SELF + "hog 300M",
          before="renice -n 19 $$ >/dev/null 2>&1", outside="for i in 1 2 3 4; do timeout 4 die spin & done; wait"),
    Death("a child is OOM-killed, then kill -9, under a sidecar that hardly gets the processor", signalled(9, honest=HONEST, lives=LIVES, victim="fact"),
          memory="64Mi", ooms=1, inside="hog 300M & echo victim $! >>$D/facts; wait $!; kill -9 $$",
          before="renice -n 19 $$ >/dev/null 2>&1", outside="for i in 1 2 3 4; do timeout 4 die spin & done; wait"),
    Death("the clock is set forward an hour before an OOM kill", oom(victim="fact"), memory="64Mi", ooms=1, needs=VM, alone=True,
          inside="sleep 1; date -s @$(($(date +%s) + 3600)); " + SELF + "hog 300M --rate 100M"),
    Death("the clock is set back an hour before an OOM kill of a child, and exit 1 3 s later",
          exits(1, "ApplicationError", "KernelOOMProcess", honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1, needs=VM, alone=True,
          inside="sleep 1; date -s @$(($(date +%s) - 3600)); " + CHILD + "sleep 3; exit 1"),
    Death("the OOM killer is called by hand, by SysRq", oom("KernelOOMNode", victim="fact"), memory="300Mi", needs=VM, alone=True,
          inside=SELF + "hog 200M --hold", outside="await $D/facts; sleep 4; echo f >/proc/sysrq-trigger"),
]
