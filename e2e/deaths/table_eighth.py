# SPDX-License-Identifier: Apache-2.0
"""
These deaths are of programs in Python, of shells and of their children, by causes that the other tables lack: timers, limits of a process, exec in
the middle, sessions, handlers, and files that are cut or removed. Each is brought about as root and as an ordinary user, unless it needs root.
"""
from common import HERE, LIVES, PYTHON
from truth import Death, exits, oom, signalled

NOBODY = "as_nobody; "
PYTHON3 = ("/usr/bin/python3", "-c")


def users(name, truth, inside="", code="", table="eighth", **more):
    """The death as root and as an ordinary user."""
    argv = (*PYTHON3, code.strip() + "\n") if code else ()
    needs = more.pop("needs", frozenset()) | (PYTHON if code else frozenset()) | HERE
    before = more.pop("before", "")
    return [Death(f"{table}: {name}{who}", truth, inside=inside, argv=argv, before=first + before, needs=needs, **more)
            for who, first in (("", ""), (", of an ordinary user", NOBODY))]


def timer(which, signo):
    return users(f"a timer of its own runs out, {which}", signalled(signo, victim="none"), code=f"""
import signal
signal.setitimer(signal.ITIMER_{which}, 0.5)
while True: pass""")


def by_child(signo):
    return users(f"a child sends its parent signal {signo}", signalled(signo, victim="none"), code=f"""
import os, time
if os.fork() == 0:
    time.sleep(1.5)
    os.kill(os.getppid(), {signo})
    os._exit(0)
time.sleep(60)""")


def limit(name, truth, what, value, code, **more):
    return users(f"the limit {what} of a process: {name}", truth, code=f"""
import resource, os, sys, time
resource.setrlimit(resource.RLIMIT_{what}, ({value}, {value}))
{code}""", **more)


def handler(name, truth, body, **more):
    """A handler of SIGUSR1, which comes after a second."""
    return users(f"a handler that {name}", truth, code=f"""
import os, signal, sys, time
def handler(*_):
    {body}
signal.signal(signal.SIGALRM, handler)
signal.alarm(1)
while True: time.sleep(0.1)""", **more)


def child(name, truth, body, then, **more):
    """A child that is seen by a sample, and what its parent does when it has ended."""
    return users(f"a child that {name}", truth, code=f"""
import ctypes, mmap, os, resource, signal, sys, time
pid = os.fork()
if pid == 0:
    time.sleep(2)
    {body}
    os._exit(0)
{then}""", **more)


WAIT = "_, status = os.waitpid(pid, 0)\n"
SIGNALS = [d for which, signo in (("REAL", 14), ("VIRTUAL", 26), ("PROF", 27)) for d in timer(which, signo)] + [
    d for signo in (1, 3, 6, 9, 10, 11, 15, 31, 40) for d in by_child(signo)]
LIMITS = [d for ds in (
    limit("memory for an array", exits(1, victim="none"), "AS", 300 << 20, "bytearray(1 << 30)"),
    limit("memory for an array", exits(1, victim="none"), "DATA", 100 << 20, "bytearray(1 << 30)"),
    limit("files, and an exception", exits(1, "ApplicationError", "FileDescriptorsExhausted"), "NOFILE", 16, "kept = [open('/dev/null') for _ in range(50)]"),
    limit("a file that grows, and an exception", exits(1), "FSIZE", 10000, "f = open(os.environ['D'] + '/f', 'wb', 0)\nfor _ in range(100): f.write(b'x' * 1000)"),
    limit("a small stack, and a recursion in C", signalled(11, victim="none"), "STACK", 1 << 20, """
sys.setrecursionlimit(10**9)
class A:
    def __repr__(self): return repr(self)
import threading
threading.stack_size(1 << 20)
t = threading.Thread(target=lambda: repr(A())); t.start(); t.join()"""),
    limit("locked memory, and an exception", exits(1), "MEMLOCK", 4096, """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.mlockall(3) and os.getuid(): raise OSError(ctypes.get_errno(), 'mlockall')
raise SystemExit(1)"""),
) for d in ds]
HANDLERS = [d for ds in (
    handler("aborts", signalled(6, victim="none"), "os.abort()"),
    handler("exits with 143", exits(143, honest={"Terminated"}), "os._exit(143)"),
    handler("exits with 139", exits(139, honest={"Segfault"}, victim="none"), "os._exit(139)"),
    handler("raises an exception", exits(1), "raise RuntimeError('no progress')"),
    handler("ends itself by SIGKILL", signalled(9, victim="none"), "os.kill(os.getpid(), 9)"),
    handler("becomes another program, which crashes", signalled(11, victim="none"), "os.execv('/bin/sh', ['sh', '-c', 'kill -SEGV $$'])"),
    handler("raises KeyboardInterrupt", signalled(2, victim="none"), "raise KeyboardInterrupt"),
) for d in ds]
CHILDREN = [d for ds in (
    child("crashes, and its parent ends by the same signal", signalled(11, victim="none"), "ctypes.string_at(0)", WAIT + "os.kill(os.getpid(), os.WTERMSIG(status))"),
    child("crashes in a session of its own, and exit 5", exits(5, says=("had crashed with SIGSEGV",)), "os.setsid(); ctypes.string_at(0)", WAIT + "sys.exit(5)"),
    child("crashes while SIGCHLD is ignored, and exit 0", exits(0, reported=True, lives={"Segfault"}), "ctypes.string_at(0)",
          "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\ntime.sleep(5)"),
    child("is sent SIGSEGV by its parent, and exit 1", exits(1, says=("was ended by SIGSEGV",)), "time.sleep(60)", "time.sleep(3)\nos.kill(pid, 11)\n" + WAIT + "sys.exit(1)"),
    child("is killed by its parent, and exit 1", exits(1, says=("was ended by SIGKILL",), victim="none"), "time.sleep(60)",
          "time.sleep(3)\nos.kill(pid, 9)\n" + WAIT + "sys.exit(1)"),
    child("becomes another program, which aborts, and exit 1", exits(1, says=("had crashed with SIGABRT",)),
          "os.execv('/bin/sh', ['sh', '-c', 'sleep 1; kill -ABRT $$'])", WAIT + "sys.exit(1)"),
    child("reads a file that is cut, and exit 1", exits(1, says=("had crashed with SIGBUS",)),
          "f = open(os.environ['D'] + '/cut', 'w+b'); f.truncate(8192); m = mmap.mmap(f.fileno(), 8192); f.truncate(0); m[0]", WAIT + "sys.exit(1)"),
    child("meets its limit of processor time, and exit 1", exits(1, says=("was ended by SIGXCPU",)),
          "resource.setrlimit(resource.RLIMIT_CPU, (1, 60))\n    while True: pass", WAIT + "sys.exit(1)"),
    child("ends by SIGPIPE, and exit 1", exits(1, never=("crashed",)), "signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), 13)", WAIT + "sys.exit(1)"),
    child("ends with 139 of its own, and its parent passes it on", exits(139, honest={"Segfault"}, never=("had crashed",)), "os._exit(139)", WAIT + "sys.exit(139)"),
    child("ends with 137 of its own, and exit 1", exits(1, never=("SIGKILL", "OOM killer took"), victim="none"), "os._exit(137)", WAIT + "sys.exit(1)"),
    child("outlives its parent, which exits with 4, and crashes", exits(4, lives={"Segfault"}), "time.sleep(2); ctypes.string_at(0)", "time.sleep(3)\nsys.exit(4)"),
    child("has its program's file removed, and crashes, and exit 1", exits(1, says=("had crashed with SIGSEGV",)),
          "import shutil; p = os.environ['D'] + '/gone'; shutil.copy('/bin/sleep', p); n = os.fork(); n or os.execv(p, [p, '60']); time.sleep(1); os.remove(p);"
          " time.sleep(1); os.kill(n, 11)\n    time.sleep(1)", WAIT + "sys.exit(1)"),
) for d in ds]
STORIES = [d for ds in (
    users("exec in the middle, and kill -9", signalled(9, victim="none"), code="import os, time\ntime.sleep(1)\nos.execv('/bin/sh', ['sh', '-c', 'sleep 1; kill -9 $$'])"),
    users("exec in the middle, and exit 3", exits(3), code="import os, time\ntime.sleep(1)\nos.execv('/bin/sh', ['sh', '-c', 'sleep 1; exit 3'])"),
    users("a recursion without end in Python", exits(1), code="def f(): f()\nf()"),
    users("output that cannot be written at the end", exits(120), code="import sys\nsys.stdout = open('/dev/full', 'w')\nsys.stdout.write('x')"),
    users("a thread with an exception, and exit 0", exits(0), code="import threading, time\nt = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join()"),
    users("os._exit in a thread", exits(9), code="import os, threading, time\nthreading.Thread(target=lambda: os._exit(9)).start()\ntime.sleep(60)"),
    users("SIGPIPE, which it does not ignore", signalled(13, victim="none"), inside="{ sleep 1; echo b; } | true; kill -PIPE $$"),
    users("kill 0 of a child in a group of its own, and exit 2", exits(2, never=("crashed",)), inside="setsid --wait sh -c 'sleep 1.5; kill 0'; exit 2"),
    users("closed descriptors, and exit 6", exits(6), inside="exec 0<&- 1>&- 2>&-; exit 6"),
    users("a removed working directory, and exit 7", exits(7), inside="mkdir $D/w; cd $D/w; rmdir $D/w; exit 7"),
    users("a shell whose limit of files is five, and exit 8", exits(8), inside="ulimit -n 5; exit 8"),
    users("bash: pipefail, and the first program crashes", exits(139, "Segfault", victim="none"), inside="exec bash -c 'set -o pipefail; (sleep 1.5; kill -SEGV $BASHPID) | cat'"),
    users("bash: wait -n for a child that is killed", exits(137, "Killed", "ApplicationError", victim="none"), inside="exec bash -c 'sh -c \"sleep 1.5; kill -9 \\$\\$\" & sleep 60 & wait -n'"),
    users("bash: a trap of EXIT that fails, and exit 1", exits(1), inside="exec bash -c 'trap \"exit 1\" EXIT; exit 0'"),
    users("xargs of a command that is killed, and exit 125", exits(125), inside="echo a | xargs sh -c 'sleep 1.5; kill -9 $$'"),
    users("two children, of which one crashes and one is killed, and exit 1", exits(1, says=("SIGSEGV", "SIGKILL"), victim="none"),
          inside="sh -c 'sleep 2; exec probe fault segv' & a=$!; sh -c 'sleep 2.3; kill -9 $$' & wait $a; wait; exit 1"),
    users("a child stops itself, and its parent gives up with 3", exits(3), inside="sh -c 'sleep 1; kill -STOP $$' & sleep 4; kill -9 $!; exit 3"),
    users("an illegal instruction, and exit 1 of its parent", exits(1, says=("had crashed with SIGILL",)), inside="sh -c 'sleep 2; exec die fault trap'; exit 1"),
    users("seccomp ends a child, and exit 1 of its parent", exits(1, says=("was ended by SIGSYS|had crashed with SIGSYS",)), inside="sh -c 'sleep 2; exec die seccomp kill'; exit 1"),
    users("a stack that overflows in a child, and exit 1 of its parent", exits(1, says=("had crashed with SIGSEGV",)), inside="sh -c 'sleep 2; exec die stack'; exit 1"),
    users("a stack that is smashed in a child, and exit 1 of its parent", exits(1, says=("had crashed with SIGABRT",)), inside="sh -c 'sleep 2; exec die fault smash'; exit 1"),
) for d in ds]
# Kinds of memory that a limit of its own counts.
MEMORY = [
    Death("eighth: memory of memfd", oom(), argv=(*PYTHON3, "import os\nf = os.memfd_create('m')\nwhile True: os.write(f, b'x' * (1 << 20))\n"), memory="64Mi", ooms=1, needs=PYTHON | HERE),
    Death("eighth: shared memory of System V", oom(), memory="64Mi", ooms=1, needs=PYTHON | HERE, argv=(*PYTHON3, """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
n = libc.shmget(0, 300 << 20, 0o1600)
at = libc.shmat(n, None, 0)
libc.shmctl(n, 0, None)
ctypes.memset(at, 1, 300 << 20)
""")),
    Death("eighth: a child is OOM-killed three times, and exit 0", exits(0, reported=True, lives=LIVES), memory="64Mi", ooms=3, needs=HERE,
          inside="for i in 1 2 3; do hog 300M --rate 100M; done; exit 0"),
    Death("eighth: a program that another one became is OOM-killed", oom(), memory="64Mi", ooms=1, needs=PYTHON | HERE,
          argv=(*PYTHON3, "import os, time\ntime.sleep(1)\nos.execvp('hog', ['hog', '300M', '--rate', '100M'])\n")),
    Death("eighth: a process in a session of its own is OOM-killed, and exit 1", oom("KernelOOMContainer", "KernelOOMProcess", exit=1, signal=0), memory="64Mi", ooms=1,
          needs=HERE, inside="setsid --wait hog 300M --rate 100M; exit 1"),
    Death("eighth: memory that a child's limit refuses, beside a large sibling, and exit 1", exits(1, victim="none"), memory="128Mi", needs=PYTHON | HERE,
          inside="hog 90M --hold & sleep 1; /usr/bin/python3 -c 'import resource; resource.setrlimit(resource.RLIMIT_AS, (99 << 20, 99 << 20)); bytearray(1 << 30)' || exit 1"),
    Death("eighth: kill -9 of a child at the limit by its parent, and exit 1", exits(1, says=("was ended by SIGKILL",), victim="none"), memory="64Mi", needs=HERE,
          inside="hog 60M --hold & sleep 2; kill -9 $!; wait; exit 1"),
]
DEATHS = SIGNALS + LIMITS + HANDLERS + CHILDREN + STORIES + MEMORY
