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
]
