# SPDX-License-Identifier: Apache-2.0
"""Deaths as in a pod: the launcher has a cgroup of its own, and the sidecar may be away at that moment."""
from common import CHILD, LIVES
from truth import Death, exits, oom, signalled

AWAY = frozenset({"Unknown"})
BOTH = {"KernelOOMContainer", "KernelOOMProcess"}
ATTACHED = ". e2e/deaths/lib.sh; attached; "
# The command waits until the sidecar has been killed, and dies while it is away.
GONE = "echo $$ >$D/begun; until [ -e $D/gone ]; do sleep 0.05; done; "
KILL = "await $D/begun; attached; sleep 1; kill -9 $(cat $D/sidecar); gone $(cat $D/sidecar); echo now >$D/gone; "


def pod(name, truth, inside, **more):
    return Death(f"pod: {name}", truth, inside=inside, memory="64Mi", pod=True, **more)


def away(name, truth, inside, seconds, **more):
    return pod(f"{name}, while the sidecar is away for {seconds} s", truth, GONE + inside, outside=KILL + f"sleep {seconds}; pod_sidecar", **more)


DEATHS = [
    pod("an OOM kill of the command", oom(victim="fact"), "sleep 1; echo victim $$ >>$D/facts; exec hog 300M --rate 200M", ooms=1),
    pod("kill -9", signalled(9, victim="none"), "sleep 1; kill -9 $$"),
    pod("a child is OOM-killed, and kill -9 of the command 2 s later", signalled(9, honest=BOTH, lives=LIVES, victim="fact"),
        "sleep 1; " + CHILD + "sleep 2; kill -9 $$", ooms=1),
    pod("a child is OOM-killed before the sidecar starts, and kill -9 of the command 3 s after it has", signalled(9, honest=BOTH, lives=LIVES, victim="fact"),
        CHILD + ATTACHED + "sleep 3; kill -9 $$", ooms=1, before="late=4"),
    pod("a child is OOM-killed before the sidecar starts, and exit 1 3 s after it has", exits(1, honest=BOTH, lives=LIVES, victim="fact"),
        CHILD + ATTACHED + "sleep 3; exit 1", ooms=1, before="late=4"),
    *(away(name, truth, how, seconds, ooms=ooms) for seconds in (1, 5) for name, truth, how, ooms in (
        ("an OOM kill of the command", oom(honest=AWAY, victim="fact"), "echo victim $$ >>$D/facts; exec hog 300M", 1),
        ("kill -9", signalled(9, honest=AWAY, victim="none"), "kill -9 $$", 0),
        ("exit 3", exits(3, honest=AWAY, victim="none"), "exit 3", 0),
        ("a crash", signalled(11, honest=AWAY), "exec probe fault segv", 0))),
    # The launcher waits for the sidecar, as in a pod whose container fails soon after its start: nothing is lost.
    *(away(f"{name}, and the launcher waits", truth, how, 1, ooms=ooms, before="waits=120") for name, truth, how, ooms in (
        ("an OOM kill of the command", oom(victim="fact"), "echo victim $$ >>$D/facts; exec hog 300M", 1),
        ("kill -9", signalled(9, victim="none"), "kill -9 $$", 0),
        ("exit 3", exits(3, victim="none"), "exit 3", 0),
        ("a crash", signalled(11), "exec probe fault segv", 0))),
    away("an OOM kill of a child, before kill -9 of the command", signalled(9, honest=BOTH, lives=LIVES, victim="fact"), CHILD + "kill -9 $$", 5, ooms=1),
    away("an OOM kill of a child, 4 s before kill -9 of the command", signalled(9, honest=BOTH, lives=LIVES, victim="fact"), CHILD + "sleep 4; kill -9 $$", 2, ooms=1),
    away("an OOM kill of a child, 10 s before kill -9 of the command", signalled(9, honest=BOTH, lives=LIVES, victim="fact"), CHILD + "sleep 10; kill -9 $$", 2, ooms=1),
    away("an OOM kill of a child, 10 s before exit 3", exits(3, honest=BOTH, lives=LIVES, victim="fact"), CHILD + "sleep 10; exit 3", 2, ooms=1),
]
