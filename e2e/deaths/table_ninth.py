# SPDX-License-Identifier: Apache-2.0
"""
These deaths are of programs that start, wrap or collect others: pools and process objects of Python, make, find and xargs, daemons, other users,
roots and namespaces; and of what a program says or does at its very end. Each is brought about as root and as an ordinary user, unless it needs root.
"""
from functools import partial

from common import HERE, LIVES, PYTHON
from table_eighth import PYTHON3
from table_eighth import users as users_of
from truth import Death, exits, oom, signalled

users = partial(users_of, table="ninth")
CRASH = "import ctypes, time; time.sleep(1.5); ctypes.string_at(0)"
SEGV = ("SIGSEGV",)


def pool(name, truth, code, **more):
    """A program with children by one of Python's modules."""
    return users(f"Python: {name}", truth, code=f"""
import ctypes, os, signal, sys, time
def crash(*_): time.sleep(1.5); ctypes.string_at(0)
def leave(*_): time.sleep(1.5); os._exit(3)
if __name__ == '__main__':
    {code}""", **more)


PYTHONS = [d for ds in (
    pool("a process of multiprocessing crashes, and its exit code is passed on", exits(1, says=SEGV),
         "import multiprocessing as m; p = m.get_context('fork').Process(target=crash); p.start(); p.join(); sys.exit(p.exitcode != 0)"),
    pool("a process of multiprocessing leaves with 3, and exit 3", exits(3, never=("crashed", "SIG")),
         "import multiprocessing as m; p = m.get_context('fork').Process(target=leave); p.start(); p.join(); sys.exit(p.exitcode)"),
    pool("a worker of a pool of concurrent.futures crashes, and an exception", exits(1, says=SEGV),
         "import concurrent.futures as c, multiprocessing as m; e = c.ProcessPoolExecutor(2, m.get_context('fork')); e.submit(crash).result()"),
    pool("a program of subprocess crashes, which check=True makes an exception", exits(1, says=SEGV),
         f"import subprocess; subprocess.run([sys.executable, '-c', {CRASH!r}], check=True)"),
    pool("a program of asyncio crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}), f"""
    import asyncio
    async def main():
        p = await asyncio.create_subprocess_exec(sys.executable, '-c', {CRASH!r})
        await p.wait(); await asyncio.sleep(2)
    asyncio.run(main())"""),
    pool("a handler of SIGCHLD collects every child, one crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}), """
    def collect(*_):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]: pass
        except ChildProcessError: pass
    signal.signal(signal.SIGCHLD, collect)
    if os.fork() == 0: crash()
    end = time.time() + 5
    while time.time() < end: time.sleep(0.2)"""),
    pool("faulthandler writes a traceback of a crash", signalled(11, victim="none"), "import faulthandler; faulthandler.enable(); crash()"),
    pool("faulthandler ends it after its time, and exit 1", exits(1), "import faulthandler; faulthandler.dump_traceback_later(1.5, exit=True); time.sleep(60)"),
    pool("a function of atexit aborts", signalled(6, victim="none"), "import atexit; atexit.register(os.abort); time.sleep(1.5)"),
    pool("a function of atexit leaves with 4", exits(4), "import atexit; atexit.register(os._exit, 4); time.sleep(1.5)"),
    pool("a thread interrupts the main one", signalled(2, victim="none"), "import _thread, threading; threading.Timer(1, _thread.interrupt_main).start(); time.sleep(60)"),
    pool("sys.exit(256), which is none, and exit 0", exits(0), "sys.exit(256)"),
    pool("sys.exit of a text after a child's crash", exits(1, says=SEGV), f"import subprocess; subprocess.run([sys.executable, '-c', {CRASH!r}]); sys.exit('no result')"),
) for d in ds]
WRAPPERS = [d for ds in (
    users("find -exec of a program that crashes, and exit 0", exits(0, reported=True, lives={"Segfault"}),
          inside="mkdir $D/w; find $D/w -exec sh -c 'sleep 1.5; exec probe fault segv' ';'; sleep 1; exit 0"),
    users("xargs -P of programs, one of which crashes, and exit 125", exits(125, says=SEGV),
          inside="printf '1\\n2\\n' | xargs -P 2 -n 1 sh -c 'sleep 1.5; [ $0 = 1 ] || exec probe fault segv'"),
    users("env -i and exec -a of a program that crashes", signalled(11, victim="none"), inside="exec bash -c 'sleep 1; exec -a trainer env -i /bin/sh -c \"kill -SEGV \\$\\$\"'"),
    users("set -e and a command substitution that crashes", exits(139, "Segfault", victim="none"), inside="set -e; x=$(sleep 1.5; exec probe fault segv); echo $x"),
    users("a limit of file size ends dd, and exit 153 is passed on", exits(153, "Signaled", "ApplicationError"), inside="ulimit -f 10; (dd if=/dev/zero of=$D/f bs=64k count=9); exit $?"),
    users("a function of a shell that returns 137", exits(137, "Killed", "ApplicationError", victim="none", never=("OOM killer ended",)), inside="f() { return 137; }; sleep 1; f"),
    users("an exit code of 255", exits(255), inside="sleep 1; exit 255"),
    users("timeout -k of a command that ignores SIGTERM", signalled(9, victim="none"),
          inside="exec timeout -k 1 1 sh -c 'trap \"\" TERM; while :; do sleep 0.2; done'"),
    users("timeout of the first program of a pipeline, whose 124 nobody reads, and exit 0", exits(0), inside="timeout 1 sleep 60 | cat"),
    users("a limit of processes of a user, and exit 254", exits(254), inside="exec bash -c 'ulimit -u 1; sleep 1; (exit 3) || exit 254'"),
    users("a daemon of two forks crashes, and exit 0 later", exits(0, reported=True, lives={"Segfault"}),
          inside="(setsid sh -c '(sleep 1.5; exec probe fault segv) &' &) ; sleep 4; exit 0"),
) for d in ds]
ROOTS = [
    Death("ninth: another user's child crashes, and exit 1", exits(1, says=SEGV), needs=HERE, inside="setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'sleep 2; kill -SEGV $$'; exit 1"),
    Death("ninth: a child in a PID namespace of its own crashes, and exit 1", exits(1, says=SEGV), needs=HERE,
          inside="unshare -fp sh -c 'sh -c \"sleep 2; kill -SEGV \\$\\$\"; exit 3'; exit 1"),
    Death("ninth: a daemon of two forks is OOM-killed, and exit 0 later", exits(0, reported=True, lives=LIVES), memory="64Mi", ooms=1, needs=HERE,
          inside="(setsid sh -c '(sleep 1; exec hog 300M --rate 100M) &' &) ; sleep 6; exit 0"),
    Death("ninth: messages in sockets that nobody reads are named as the kernel's memory", oom(says=("Kernel memory .* held",)), memory="64Mi", ooms=1, needs=PYTHON | HERE,
          argv=(*PYTHON3, """
import socket, time
kept = []
while True:
    a, b = socket.socketpair(); a.setblocking(False); kept += [a, b]; time.sleep(0.002)
    try:
        while True: a.send(b'x' * 65536)
    except BlockingIOError: pass
""")),
    Death("ninth: a file in /dev/shm that fills the limit is named as shared memory", oom(says=("Shared memory .* held",)), memory="64Mi", ooms=1, needs=HERE,
          before="small size=200m; mount --bind $D/small /dev/shm", inside="sleep 1; exec dd if=/dev/zero of=/dev/shm/f bs=256k count=400"),
    Death("ninth: root ends an ordinary user's command by SIGKILL", signalled(9, victim="none"), needs=HERE, before="as_nobody; ", inside="echo $$ >$D/begun; sleep 60 & wait; sleep 60",
          outside="await $D/begun; sleep 1; kill -9 $(cat $D/begun)"),
    Death("ninth: an array in a file of /dev/shm is OOM-killed, and exit 1 of its parent", oom("KernelOOMContainer", "KernelOOMProcess", exit=1, signal=0), memory="64Mi", ooms=1, needs=PYTHON | HERE,
          before="small size=200m; mount --bind $D/small /dev/shm", argv=(*PYTHON3, """
import mmap, os, sys, time
pid = os.fork()
if pid == 0:
    f = open('/dev/shm/a', 'w+b'); f.truncate(150 << 20); m = mmap.mmap(f.fileno(), 150 << 20)
    for i in range(150): m[i << 20:(i + 1) << 20] = b'x' * (1 << 20); time.sleep(0.01)
os.waitpid(pid, 0); os.remove('/dev/shm/a'); sys.exit(1)
""")),
]
DEATHS = PYTHONS + WRAPPERS + ROOTS
