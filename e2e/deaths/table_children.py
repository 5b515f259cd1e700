# SPDX-License-Identifier: Apache-2.0
"""Children that die while their parent goes on, exits with 0 or with a code of its own, without a core: root's and an ordinary user's, and OOM
kills in a cgroup that others share. How a child ended is read by a pidfd, for which Linux 6.15 is needed where its parent reaps it at once."""
from common import HERE, LIVES, python
from truth import CLASS_OF_SIGNAL, SIGNALS, Death, exits, oom, signalled

NOBODY = "as_nobody; "
SHARED = "around 67108864; "
# It lives long enough to be seen by a sample.
CHILD = {11: "exec probe fault segv", 6: "exec die assert", 8: "exec die fault divide", 4: "exec die fault trap", 5: "exec probe fault trap",
         9: "kill -9 $$", 15: "kill -TERM $$"}
CRASHES = (11, 6, 8, 4)
USERS = {"": "", ", of an ordinary user": NOBODY}
OOM_CHILD = "hog 300M --rate 100M"


def child(signo, then):
    return f"sh -c 'sleep 2; {CHILD[signo]}'; {then}"


def each(make, signals=CRASHES):
    return [make(signo, CLASS_OF_SIGNAL[signo], SIGNALS[signo], who, before) for signo in signals for who, before in USERS.items()]


def crashed_and_0(signo, of_class, name, who, before):
    return Death(f"a child ends by {name}, and exit 0{who}", exits(0, reported=True, lives={of_class}), inside=child(signo, "exit 0"), before=before, needs=HERE)


def crashed_and_lives(signo, of_class, name, who, before):
    return Death(f"a child ends by {name}, and exit 0 after 13 s{who}", exits(0, reported=True, lives={of_class}), inside=child(signo, "sleep 13; exit 0"),
                 before=before, needs=HERE)


def crashed_and_1(signo, of_class, name, who, before):
    return Death(f"a child ends by {name}, and exit 1{who}", exits(1, says=(rf"had crashed with {name}", rf"was ended by {name}")),
                 inside=child(signo, "exit 1"), before=before, needs=HERE)


def crashed_and_code(signo, of_class, name, who, before):
    return Death(f"a child ends by {name}, and the shell passes its code on{who}",
                 exits(128 + signo, of_class, says=(rf"was ended by {name}",)), inside=child(signo, "exit $?"), before=before, needs=HERE)


def killed_and_1(signo, of_class, name, who, before):
    return Death(f"a child ends by {name}, which no kernel sent, and exit 1{who}", exits(1, says=(rf"was ended by {name}",), victim="none"),
                 inside=child(signo, "exit 1"), before=before, needs=HERE)


def killed_and_0(signo, of_class, name, who, before):
    """A parent may kill its children: that alone is no failure."""
    return Death(f"a child ends by {name}, and exit 0{who}", exits(0), inside=child(signo, "exit 0"), before=before)


def crashed_long_before(signo, of_class, name, who, before):
    return Death(f"a child ends by {name}, and exit 1 after 14 s{who}", exits(1, lives={of_class}, never=("had crashed",)),
                 inside=child(signo, "sleep 14; exit 1"), before=before, needs=HERE)


def crashed_and_killed(signo, of_class, name, who, before):
    return Death(f"a child ends by {name}, and then kill -9 of the command{who}", signalled(9, lives={of_class}, victim="none"),
                 inside=child(signo, "kill -9 $$"), before=before)


CHILDREN = (each(crashed_and_0) + each(crashed_and_lives, (11, 6)) + each(crashed_and_1) + each(crashed_and_code) + each(killed_and_1, (9,)) +
            each(killed_and_0, (9, 15)) + each(crashed_long_before, (11, 6)) + each(crashed_and_killed, (11, 6)))

STORIES = [
    Death("of three children the second crashes, and exit 1 of their parent", exits(1, says=("had crashed with SIGSEGV",)), needs=HERE,
          inside="sh -c 'sleep 3' & sh -c 'sleep 2; exec probe fault segv' & p=$!; sh -c 'sleep 3' & wait $p; exit 1"),
    Death("all of four children abort, and exit 1 of their parent", exits(1, says=("had crashed with SIGABRT",)), needs=HERE,
          inside="for i in 1 2 3 4; do sh -c 'sleep 2; exec die assert' & done; wait; exit 1"),
    Death("a child of a child crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}), needs=HERE,
          inside="sh -c 'sh -c \"sleep 2; exec probe fault segv\"; exit 0'; exit 0"),
    Death("an orphan crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}), needs=HERE,
          inside="sh -c '(sleep 2; exec probe fault segv) &'; sleep 4; exit 0"),
    Death("a child ignores its SIGTERM and is killed with kill -9 by its parent, and exit 0", exits(0),
          inside="sh -c 'trap \"\" TERM; sleep 60' & p=$!; sleep 2; kill $p; sleep 1; kill -9 $p; wait; exit 0"),
    Death("children that crash one after the other get one report in a minute, and exit 0", exits(0, reported=True, lives={"Segfault"}), needs=HERE,
          inside="for i in 1 2 3; do sh -c 'sleep 2; exec probe fault segv'; done; exit 0"),
    Death("a child that fails with a code of its own, and exit 0", exits(0), inside="sh -c 'sleep 2; exit 7'; exit 0"),
    Death("a child is asked to stop, and exit 1", exits(1, never=("was ended by SIGTERM",)), inside=child(15, "exit 1")),
    Death("a child that nobody waits for crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}), needs=HERE,
          inside="sh -c 'sleep 2; exec probe fault segv' & exec sleep 5"),
    python("a worker of multiprocessing crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}), """
import ctypes, multiprocessing, time
def work():
    time.sleep(2)
    ctypes.string_at(0)
p = multiprocessing.Process(target=work)
p.start()
p.join()"""),
    python("a worker of multiprocessing calls os._exit(42), and exit 0", exits(0), """
import multiprocessing, os, time
def work():
    time.sleep(2)
    os._exit(42)
p = multiprocessing.Process(target=work)
p.start()
p.join()"""),
    Death("another process sends the command SIGSEGV", signalled(11), inside="echo $$ >$D/pid; exec sleep 60", outside="await $D/pid; sleep 1; kill -SEGV $(cat $D/pid)"),
]

SHARED_CGROUP = [
    Death(f"in a shared cgroup a child is OOM-killed, {then}{who}", truth, inside=f"{OOM_CHILD}; {end}", before=before + SHARED, ooms=1, needs=HERE)
    for who, before in USERS.items()
    for then, end, truth in (
        ("and exit 0", "exit 0", exits(0, reported=True, lives=LIVES)),
        ("and exit 0 after 8 s", "sleep 8; exit 0", exits(0, reported=True, lives=LIVES)),
        ("and exit 1", "exit 1", oom("KernelOOMContainer", "KernelOOMProcess", "KernelOOMPod", exit=1, signal=0, honest={"ApplicationError"})),
    )
] + [
    Death("in a shared cgroup a neighbour is OOM-killed, and exit 0", exits(0, victim="none"), ooms=1, before=SHARED,
          inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; sleep 1; exit 0",
          outside="await $D/begun; neighbour hog 300M --rate 200M; echo done >$D/elsewhere"),
    Death("in a shared cgroup a neighbour is OOM-killed, and a child crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}, victim="none"), ooms=1,
          before=SHARED, needs=HERE, inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; " + child(11, "exit 0"),
          outside="await $D/begun; neighbour hog 300M --rate 200M; echo done >$D/elsewhere"),
]

DEATHS = CHILDREN + STORIES + SHARED_CGROUP
