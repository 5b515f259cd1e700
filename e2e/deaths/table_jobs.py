# SPDX-License-Identifier: Apache-2.0
"""Jobs of ordinary users without Kubernetes: parents that start ranks as torchrun does, or workers as a DataLoader does, and a scheduler that ends
a job in two steps. The cgroup, where it has a limit, is shared with others and not the user's, as a scheduler's or a container's is."""
from common import HERE, LIVES, python
from truth import Death, exits, oom, signalled

NOBODY = "as_nobody; "
SHARED = NOBODY + "around 134217728; "
OOM = ("KernelOOMContainer", "KernelOOMProcess", "KernelOOMPod")
# Starts four ranks and looks at them five times a second. When one fails, it stops the others and exits with 1, as torchrun does.
TORCHRUN = """
import ctypes, os, signal, subprocess, sys, time
RANK = {rank!r}
ranks = [subprocess.Popen([sys.executable, "-c", RANK if n == 2 else "import time; time.sleep(60)"]) for n in range(4)]
while all(rank.poll() is None for rank in ranks):
    time.sleep(0.2)
for rank in ranks:
    if rank.poll() is None:
        rank.terminate()
for rank in ranks:
    rank.wait()
raise SystemExit(1)
"""
# Workers of multiprocessing; an exception in the parent's handler of SIGCHLD, as PyTorch's DataLoader has it.
LOADER = """
import ctypes, multiprocessing, os, signal, time
def work(n):
    time.sleep(2)
    {work}
    time.sleep(60)
workers = [multiprocessing.Process(target=work, args=(n,), daemon=True) for n in range(3)]
def failed(*_):
    for worker in workers:
        if worker.exitcode:
            raise RuntimeError(f"DataLoader worker (pid {{worker.pid}}) is killed by signal: {{-worker.exitcode}}.")
signal.signal(signal.SIGCHLD, failed)
for worker in workers:
    worker.start()
while True:
    time.sleep(0.2)
"""
LEAK = "b = []\nwhile True: b.append(bytearray(1 << 20)); time.sleep(0.01)"


def torchrun(name, truth, rank, before=NOBODY, **more):
    return Death(f"torchrun: {name}", truth, argv=("/usr/bin/python3", "-c", TORCHRUN.format(rank="import ctypes, os, time\ntime.sleep(2)\n" + rank)),
                 before=before, needs=HERE, **more)


def loader(name, truth, work, before=NOBODY, **more):
    return Death(f"DataLoader: {name}", truth, argv=("/usr/bin/python3", "-c", LOADER.format(work=work.replace("\n", "\n    "))),
                 before=before, needs=HERE, **more)


DEATHS = [
    torchrun("a rank crashes", exits(1, says=("had crashed with SIGSEGV",), victim="none"), "ctypes.string_at(0)"),
    torchrun("a rank aborts", exits(1, says=("had crashed with SIGABRT",), victim="none"), "os.abort()"),
    torchrun("a rank ends by kill -9", exits(1, says=("was ended by SIGKILL",), victim="none"), "os.kill(os.getpid(), 9)"),
    torchrun("a rank has an exception", exits(1, never=("had crashed", "was ended by"), victim="none"), "1 / 0"),
    torchrun("a rank is OOM-killed", oom(*OOM, exit=1, signal=0, honest={"ApplicationError"}), LEAK, before=SHARED, ooms=1),
    loader("a worker crashes", exits(1, says=("had crashed with SIGSEGV",), victim="none"), "ctypes.string_at(0) if n == 1 else None"),
    loader("a worker ends by kill -9", exits(1, says=("was ended by SIGKILL",), victim="none"), "os.kill(os.getpid(), 9) if n == 1 else None"),
    loader("a worker is OOM-killed", oom(*OOM, exit=1, signal=0, honest={"ApplicationError"}),
           "b = []\nwhile n == 1: b.append(bytearray(1 << 20)); time.sleep(0.01)", before=SHARED, ooms=1),
    python("an exception of an ordinary user", exits(1), "1 / 0", before=NOBODY),
    python("a leak of an ordinary user", oom(*OOM), "import time\n" + LEAK, before=SHARED, ooms=1),
    Death("a time limit of timeout, and exit 124", exits(124), inside="exec timeout 2 sleep 60", before=NOBODY),
    Death("a scheduler asks the job to stop, which it does", signalled(15, says=("asked to stop",)), inside="echo $$ >$D/begun; exec sleep 60", before=NOBODY,
          outside="await $D/begun; sleep 1; kill $(cat $D/exec)"),
    Death("a scheduler asks the job to stop, and kills it two seconds later", signalled(9, "Killed", "Terminated", says=("asked to stop",)),
          inside="trap '' TERM; echo $$ >$D/begun; sleep 60; sleep 60", before=NOBODY,
          outside="await $D/begun; sleep 1; kill $(cat $D/exec); sleep 3; kill -9 $(cat $D/begun)"),
    Death("a rank is OOM-killed, and the job goes on to its own exit 0", exits(0, reported=True, lives=LIVES), before=SHARED, ooms=1, needs=HERE,
          inside="hog 300M --rate 100M; sleep 3; exit 0"),
]
