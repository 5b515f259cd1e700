# SPDX-License-Identifier: Apache-2.0
"""Parts that several tables share: where a death can happen, sets of classes, pieces of shell commands, and kinds of deaths."""
from truth import Death, exits

V1, V2, VM, HERE, PYTHON = (frozenset({place}) for place in ("v1", "v2", "vm", "here", "python"))
BOTH = ("KernelOOMContainer", "KernelOOMProcess")
HONEST = {"KernelOOMContainer", "KernelOOMProcess", "KernelOOMPod"}
LIVES = {"KernelOOMProcess"}
NOT_KILLED = (r"^Container \S+ was killed",)
# For a limit of 32 or 64 MiB below or above a container with 300.
NOT_OURS = ("memory limit of 300.0 MiB",)

LIB = ". e2e/deaths/lib.sh; "
LEAK = "hog 300M --rate 200M"
# What the kernel takes is named in the facts.
SELF = "echo victim $$ >>$D/facts; exec "
CHILD = f"{LEAK} & echo victim $! >>$D/facts; wait $!; "
# A child in a cgroup below the container's, of 32 MiB.
BELOW = LIB + "c=$(below $(cgroup_of $$) sub 33554432); sh -c 'echo $$ >'$c'/cgroup.procs; " + SELF + "hog 100M --rate 100M'; "
WAIT = "echo $$ >$D/begun; until [ -e $D/done ]; do sleep 0.05; done; "
LOOP = "echo $$ >$D/begun; while :; do sleep 0.1; done"
# Commands that run outside the container: another process joins the command's cgroup; the command is asked to stop; the sidecar is
# frozen for some seconds, as happens when the node's disk or memory is busy.
JOIN = "await $D/begun; sleep 0.5; (echo 0 >$(cgroup_of $(cat $D/begun))/cgroup.procs; "
ASKED = "await $D/begun; await $D/launcher; sleep 0.5; kill $(cat $D/launcher)"
FROZEN = "await $D/begun; sleep 1; kill -STOP $(cat $D/exec); echo yes >$D/done; await $D/over; sleep 1; kill -CONT $(cat $D/exec)"


def asked(name, truth, inside, outside=ASKED, **more):
    return Death(f"pod: {name}", truth, inside=inside, memory="64Mi", pod=True, outside=outside, before="apart_pids=yes", **more)


def passed_on(code, *classes, **more):
    return exits(code, *classes, "ApplicationError", **more)


def python(name, truth, code, **more):
    return Death(f"Python: {name}", truth, argv=("/usr/bin/python3", "-c", code.strip() + "\n"), needs=PYTHON, **more)
