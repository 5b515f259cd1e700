# SPDX-License-Identifier: Apache-2.0
"""The OOM killer killed a child, and then the command ended for another reason: the kill is known, but did not end the
command."""
from common import CHILD, LIVES
from truth import Death, exits, signalled

# That the kill had to do with the end may be likely, never certain.
HONEST = {"KernelOOMContainer", "KernelOOMProcess"}


def after_oom(name, truth_of, how, **more):
    """Makes a death after an OOM kill of a child; truth_of makes the truth about what ended the command."""
    return Death(f"a child is OOM-killed, then {name}", truth_of, inside=CHILD + how, memory="64Mi", ooms=1, **more)


def its_own(code, *classes):
    return exits(code, *(classes or ("ApplicationError", "KernelOOMProcess")), honest=HONEST | {"Killed"}, lives=LIVES, victim="fact")


def by_signal(signo):
    return signalled(signo, honest=HONEST, lives=LIVES, victim="fact")


DEATHS = [
    after_oom("the command reads address 0", by_signal(11), "sleep 1; exec probe fault segv"),
    after_oom("the command aborts", by_signal(6), "sleep 1; exec die assert"),
    after_oom("the command kills itself with kill -9", by_signal(9), "sleep 2; kill -9 $$"),
    after_oom("somebody sends SIGTERM", by_signal(15), "echo $$ >$D/pid; exec sleep 60", outside="await $D/pid; sleep 1; kill $(cat $D/pid)"),
    after_oom("another child is killed with kill -9, whose 137 the shell passes on", its_own(137, "Killed", "ApplicationError"),
              "sleep 60 & sleep 1; kill -9 $!; wait $!; exit $?"),
    after_oom("another child crashes, whose 139 the shell passes on", its_own(139, "Segfault", "ApplicationError"), "sleep 1; probe fault segv; exit $?"),
    after_oom("the command fails for a file that is not there", its_own(1), "sleep 2; cat /no/such/file || exit 1"),
    after_oom("a command is not found", its_own(127, "CommandNotFound", "ApplicationError"), "sleep 1; no-such-command; exit $?"),
    after_oom("the CPU time is over", signalled(24, "Signaled", honest=HONEST, lives=LIVES, victim="fact"), "ulimit -S -t 1; exec die spin"),
    after_oom("files run out", its_own(1, "FileDescriptorsExhausted", "ApplicationError"), "sleep 1; ulimit -n 20; exec die files"),
    after_oom("kill -9 at 95 % of the memory", by_signal(9), "sleep 2; exec hog 61M --die 9"),
    Death("a daemon of the command is OOM-killed, and 1 s later the command fails for its own reasons",
          exits(1, "ApplicationError", "KernelOOMProcess", honest=HONEST, lives=LIVES), memory="64Mi", ooms=1,
          inside="(setsid hog 300M --rate 300M &); sleep 2; exit 1"),
    # The command ends first. What is left of it is killed while the launcher still lingers.
    Death("kill -9 of the command, and what it leaves behind is OOM-killed a moment later",
          signalled(9, honest=HONEST, lives=LIVES), memory="64Mi", ooms=1, inside="hog 300M --rate 60M & sleep 0.5; kill -9 $$"),
    Death("exit 3, and what it leaves behind is OOM-killed a moment later",
          exits(3, honest=HONEST, lives=LIVES), memory="64Mi", ooms=1, inside="hog 300M --rate 60M & sleep 0.5; exit 3"),
    Death("exit 0, and what it leaves behind is OOM-killed a moment later",
          exits(0, "KernelOOMProcess", lives=LIVES), memory="64Mi", ooms=1, inside="hog 300M --rate 60M & sleep 0.5; exit 0"),
    Death("two children at once: one OOM-killed, one killed with kill -9, and the shell passes the second's 137 on",
          exits(137, "Killed", "ApplicationError", honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1,
          inside="sleep 60 & s=$!; hog 300M --rate 200M & echo victim $! >>$D/facts; wait $!; kill -9 $s; wait $s; exit $?"),
]
