# SPDX-License-Identifier: Apache-2.0
"""SIGKILL that the OOM killer did not send."""
from truth import Death, Truth, exits, signalled

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
    Death("SIGKILL by the hard limit on CPU time", signalled(9, victim="none"), inside="ulimit -t 1; exec die spin", memory="64Mi"),
    Death("exit 137, and nothing behind it", exits(137, honest={"Killed"}, victim="none"), inside="exit 137", memory="64Mi"),
    Death("exit 137 without a cgroup of its own, and nothing behind it", exits(137, honest={"Killed"}, victim="none"), inside="exit 137"),
    Death("exit 137 at 95 % of the memory", exits(137, honest={"Killed"}, victim="none"), inside="hog 61M --hold & sleep 1; exit 137", memory="64Mi"),
    Death("kill -9 by somebody else at 95 % of its memory", signalled(9, victim="none"), memory="64Mi",
          inside="echo $$ >$D/pid; exec hog 61M --hold", outside="await $D/pid; sleep 1.5; kill -9 $(cat $D/pid)"),
    Death("kill -9 of the launcher", signalled(9, "Killed", "Unknown", never=("command was ended by SIGKILL",), victim="none"), memory="64Mi",
          inside="echo $PPID >$D/pid; exec sleep 3", outside="await $D/pid; sleep 0.5; kill -9 $(cat $D/pid)"),
    Death("kill -9 of all processes of its cgroup", signalled(9, "Killed", "Unknown", victim="none"), memory="64Mi",
          inside="echo $$ >$D/pid; sleep 60 & exec hog 50M --hold", outside="await $D/pid; sleep 1; kill_all KILL $(cgroup_of $(cat $D/pid))"),
    Death("SIGTERM, and kill -9 after a grace of 2 s", signalled(9, victim="none"), memory="64Mi", inside="trap '' TERM; echo $$ >$D/pid; sleep 60",
          outside="await $D/pid; kill $(cat $D/pid); sleep 2; kill -9 $(cat $D/pid)"),
    Death("SIGTERM, and exit 1 of a handler", exits(1), memory="64Mi", inside="trap 'exit 1' TERM; echo $$ >$D/pid; while :; do sleep 0.1; done",
          outside="await $D/pid; kill $(cat $D/pid)"),
    Death("SIGTERM, and exit 143 of a handler", exits(143, "Terminated", "ApplicationError"), memory="64Mi",
          inside="trap 'exit 143' TERM; echo $$ >$D/pid; while :; do sleep 0.1; done", outside="await $D/pid; kill $(cat $D/pid)"),
    Death("SIGTERM to the sidecar, which hands it on", signalled(15), memory="64Mi", inside="echo $$ >$D/pid; exec sleep 60",
          outside="await $D/pid; sleep 0.5; kill $(cat $D/exec)"),
    Death("SIGINT to the sidecar, which hands it on", signalled(2), memory="64Mi", inside="trap - INT; echo $$ >$D/pid; exec probe sleep 60000",
          outside="await $D/pid; sleep 0.5; kill -INT $(cat $D/exec)"),
    Death("timeout -s KILL", Truth(137, frozenset({"Killed", "ApplicationError"}), signal=-1, victim="none"), argv=("timeout", "-s", "KILL", "1", "sleep", "60")),
    Death("timeout -k, and a command that does not stop", Truth(137, frozenset({"Killed", "ApplicationError"}), signal=-1, victim="none"),
          argv=("timeout", "-k", "1", "1", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")),
    Death("a PID namespace's end ends the command with SIGKILL", exits(0, victim="none"), memory="64Mi", needs=frozenset({"here"}),
          argv=("unshare", "-fp", "sh", "-c", "sleep 60 & sleep 1; exit 0")),
    Death("kill -9 while memory.high slows it down", signalled(9, victim="none"), memory="300Mi", needs=frozenset({"v2"}),
          before="", inside=". e2e/deaths/lib.sh; echo 33554432 >$(cgroup_of $$)/memory.high; echo $$ >$D/pid; exec hog 60M --hold",
          outside="await $D/pid; sleep 2; kill -9 $(cat $D/pid)"),
    Death("kill -9 while it waits for memory, as the OOM killer is off", signalled(9, victim="none", honest={"KernelOOMContainer"}), memory="64Mi",
          needs=frozenset({"v1"}), inside=". e2e/deaths/lib.sh; echo 1 >$(cgroup_of $$)/memory.oom_control; echo $$ >$D/pid; exec hog 300M",
          outside="await $D/pid; sleep 2; kill -9 $(cat $D/pid)"),
    Death("kill -9 beside a line in the kernel log that user space wrote", signalled(9, victim="none"), memory="64Mi",
          inside="echo \"<3>Memory cgroup out of memory: Killed process $$ (sh) total-vm:9kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0\" "
                 ">/dev/kmsg; kill -9 $$"),
    Death("kill -9 after the words of an OOM kill on stderr", signalled(9, victim="none"), memory="64Mi",
          inside="echo \"Out of memory: Killed process $$ (sh)\" >&2; kill -9 $$"),
    Death("kill -9 of a command with --oom-group", signalled(9, victim="none"), memory="64Mi", options="--oom-group", inside="sleep 60 & kill -9 $$"),
    Death("kill -9 of a child with --oom-group, and exit 0", exits(0, victim="none"), memory="64Mi", options="--oom-group",
          inside="hog 60M --die 9; sleep 6; exit 0"),
]
