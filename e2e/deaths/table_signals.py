# SPDX-License-Identifier: Apache-2.0
"""Signals, by kill and by fault."""
from truth import SIGNALS, Death, exits, signalled

# A signal that was sent is no fault of the program.
SENT = (r"(?i)invalid (address|memory)|segfault at|null pointer",)


def sent(signo):
    return Death(f"{SIGNALS[signo]}, sent to itself", signalled(signo, never=SENT, victim="none"), argv=("probe", "signal", str(signo)))


def fault(kind, signo):
    return Death(f"a fault of the processor: {kind}", signalled(signo), argv=("probe", "fault", kind), memory="64Mi")


DEATHS = [
    *(sent(signo) for signo in (1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14, 15, 24, 25, 31, 34, 40, 64)),
    *(fault(kind, signo) for kind, signo in (("segv", 11), ("bus", 7), ("fpe", 8), ("ill", 4), ("trap", 5))),
    Death("SIGSEGV by a fault in a thread", signalled(11), argv=("die", "thread")),
    Death("SIGSEGV by a handler that raises it again", signalled(11), argv=("die", "reraise")),
    Death("a fault behind a handler that exits with 1", exits(1), argv=("die", "catch")),
    Death("SIGSEGV of a child whose parent exits with 1", exits(1, honest={"Segfault"}), argv=("die", "child-fault")),
    Death("a stack that overflows", signalled(11), argv=("die", "stack"), memory="64Mi"),
    Death("abort() by glibc for a double free", signalled(6), argv=("die", "double-free")),
    Death("abort() by an assertion", signalled(6), argv=("die", "assert")),
    Death("SIGBUS for a file that was cut under its mapping", signalled(7), argv=("die", "truncated", "$D/file")),
    Death("SIGSYS by seccomp", signalled(31), argv=("die", "seccomp")),
    Death("abort() by glibc for a heap that was written over", signalled(6), argv=("die", "heap")),
    Death("SIGSEGV by a fault at 95 % of its memory", signalled(11), argv=("hog", "61M", "--die", "11"), memory="64Mi"),
    Death("SIGSEGV by somebody else", signalled(11, never=SENT), inside="echo $$ >$D/pid; exec sleep 60", outside="await $D/pid; kill -11 $(cat $D/pid)"),
    Death("SIGABRT by somebody else, as a watchdog sends it", signalled(6), inside="echo $$ >$D/pid; exec sleep 60", outside="await $D/pid; kill -6 $(cat $D/pid)"),
    Death("SIGHUP by somebody else", signalled(1), inside="echo $$ >$D/pid; exec sleep 60", outside="await $D/pid; kill -1 $(cat $D/pid)"),
    Death("SIGSEGV behind env and nice", signalled(11), argv=("env", "A=1", "nice", "probe", "fault", "segv"), needs=frozenset({"here"})),
    Death("SIGSEGV of a child, and the shell passes 139 on", exits(139, "Segfault", "ApplicationError"), inside="probe fault segv; exit $?"),
    Death("SIGABRT of a child, and the shell passes 134 on", exits(134, "Abort", "ApplicationError"), inside="die assert; exit $?"),
    Death("SIGBUS of a child, and the shell passes 135 on", exits(135, "BusError", "ApplicationError"), inside="probe fault bus; exit $?"),
    Death("SIGTERM of a child, and the shell passes 143 on", exits(143, "Terminated", "ApplicationError"), inside="sleep 60 & kill $!; wait $!; exit $?"),
    Death("SIGSEGV of a child, and exit 143 of the shell for its own reasons", exits(143, honest={"Terminated", "Segfault"}),
          inside="probe fault segv; exit 143"),
    Death("SIGSEGV of a child, and exit 134 of the shell for its own reasons", exits(134, honest={"Abort", "Segfault"}), inside="probe fault segv; exit 134"),
    Death("an init program that exits with its child's 139", exits(139, "Segfault", "ApplicationError"), argv=("die", "like-child", "11")),
    Death("an init program that exits with its child's 137", exits(137, "Killed", "ApplicationError"), argv=("die", "like-child", "9")),
    Death("an init program that exits with its child's 159", exits(159, "Signaled", "ApplicationError"), argv=("die", "like-child", "31")),
    Death("SIGSEGV with a core", signalled(11), argv=("die", "thread"), before="ulimit -c unlimited; cd $D", needs=frozenset({"here"})),
    Death("SIGSEGV of a child with a core, and exit 1", exits(1, honest={"Segfault"}), argv=("die", "child-fault"), before="ulimit -c unlimited"),
]
