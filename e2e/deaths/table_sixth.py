# SPDX-License-Identifier: Apache-2.0
"""Signals that arrive in roundabout ways, SIGKILL by the kernel for other reasons than memory, files that look like cores,
runtimes of other languages, ordinary users, and tools that pass an end on."""
from common import ASKED, HONEST, LIVES, LOOP, PYTHON, asked, passed_on, python
from truth import Death, exits, oom, signalled

JAVA, NODE, GCORE = frozenset({"java"}), frozenset({"node"}), frozenset({"gcore"})
# Nobody typed it: the kernel sent that signal.
NOBODY = (r"kill -9",)
CORES = "ulimit -c unlimited; cd $D"
GROW = "while (true) l.add(new byte[1 << 20]);"


def to_launcher(signo, name):
    return Death(f"{name} to the launcher, which hands it on", signalled(signo, victim="none"), memory="64Mi", inside=f"kill -{signo} $PPID; sleep 20; exit 9")


def java(name, truth, options, memory, code=GROW, **more):
    """A Java program, which is compiled first."""
    return Death(f"Java: {name}", truth, memory=memory, needs=JAVA, argv=("java", "-XX:+UseSerialGC", *options, "-cp", "$D", "J"),
                 before="cat >$D/J.java <<'END'\nclass J { public static void main(String[] a) { java.util.List<byte[]> l = new java.util.ArrayList<>(); "
                        + code + " } }\nEND\njavac -d $D $D/J.java", **more)


def node(name, truth, code, options=(), **more):
    return Death(f"Node.js: {name}", truth, argv=("node", *options, "-e", code), needs=NODE, **more)


def of_nobody(name, truth, inside="", argv=(), before="", **more):
    return Death(f"an ordinary user: {name}", truth, inside=inside, argv=argv, before=before + "as_nobody", **more)


SIGNALS = [
    to_launcher(11, "SIGSEGV"), to_launcher(6, "SIGABRT"), to_launcher(24, "SIGXCPU"), to_launcher(31, "SIGSYS"), to_launcher(40, "a real-time signal"),
    Death("the launcher is stopped while the command exits with 5, and goes on 3 s later", exits(5), memory="64Mi", inside="echo $PPID >$D/pid; kill -STOP $PPID; exit 5",
          outside="await $D/pid; sleep 3; kill -CONT $(cat $D/pid)"),
    Death("the launcher is stopped near the limit while the command is killed with kill -9", signalled(9, victim="none"), memory="64Mi",
          inside="echo $PPID >$D/pid; kill -STOP $PPID; exec hog 60M --die 9", outside="await $D/pid; sleep 3; kill -CONT $(cat $D/pid)"),
    Death("the launcher is stopped while a child is OOM-killed, and exit 3 at once", exits(3, honest=HONEST, lives=LIVES, victim="fact"), memory="64Mi", ooms=1,
          inside="echo $PPID >$D/pid; kill -STOP $PPID; hog 300M --rate 200M & echo victim $! >>$D/facts; wait $!; exit 3",
          outside="await $D/pid; sleep 4; kill -CONT $(cat $D/pid)"),
    Death("kill -9 of its own process group", signalled(9, victim="none"), memory="64Mi", argv=("setsid", "-w", "sh", "-c", "sleep 60 & kill -9 0")),
    Death("SIGKILL by the hard limit on CPU time, which nobody sent", signalled(9, victim="none", never=NOBODY), inside="ulimit -t 1; exec die spin", memory="64Mi"),
    Death("SIGKILL of a child by its hard limit on CPU time, and the shell passes 137 on", passed_on(137, "Killed", victim="none", never=NOBODY), memory="64Mi",
          inside="(ulimit -t 1; exec die spin); exit $?"),
    Death("its tracer ends, and the kernel kills what it traced, which nobody sent", signalled(9, victim="none", never=NOBODY), memory="64Mi", argv=("odd-end", "tracer")),
    Death("a child wants to die with its parent, of which the thread ends that forked it; 137 is passed on", passed_on(137, "Killed", victim="none"), memory="64Mi",
          argv=("odd-end", "thread-parent")),
    Death("SIGSYS of a child by seccomp, and the shell passes 159 on", passed_on(159, "Signaled"), inside="die seccomp; exit $?"),
    Death("file size of a child, and the shell passes 153 on", passed_on(153, "Signaled"), inside="(ulimit -f 10; exec dd if=/dev/zero of=$D/f bs=1k count=1000); exit $?"),
    Death("SIGTERM near the limit, and kill -9 2 s later, as by earlyoom", signalled(9, victim="none"), memory="64Mi", inside="trap '' TERM; echo $$ >$D/pid; exec hog 61M --hold",
          outside="await $D/pid; sleep 2; kill $(cat $D/pid); sleep 2; kill -9 $(cat $D/pid)"),
    Death("timeout --preserve-status of a command that ends by SIGINT", passed_on(130, "Interrupted"),
          argv=("timeout", "-s", "INT", "--preserve-status", "1", "sleep", "60")),
    Death("timeout of a command that ends by SIGSEGV, and exit 124", exits(124), argv=("timeout", "-s", "SEGV", "1", "sleep", "60")),
    Death("a pipeline whose last command crashes", passed_on(139, "Segfault"), inside="echo x | probe fault segv"),
    Death("a pipeline whose first command is OOM-killed, which nobody looks at, and exit 0", exits(0, "KernelOOMProcess", reported=True, lives=LIVES,
          never=(r"^Container \S+ was killed",)), memory="64Mi", ooms=1, inside="hog 300M --rate 200M | cat"),
    Death("thousand orphans, and exit 7", exits(7), inside="sh -c 'n=0; while [ $n -lt 1000 ]; do (exit 3) & n=$((n + 1)); done'; exit 7"),
    Death("an orphan crashes, and exit 6 a second later", exits(6, honest={"Segfault"}), inside="sh -c '(sleep 0.3; exec probe fault segv) &'; sleep 1.5; exit 6"),
]

LIMITS = [
    Death("threads run out, which C++ makes an abort", signalled(6, "Abort", "ProcessLimit"), before="pids 20", argv=("eat", "threads-abort", "100")),
    Death("threads run out in a child, and exit 1", exits(1, "ProcessLimit", "ApplicationError", honest={"Abort"}), before="pids 20", inside="eat threads-abort 100 || exit 1"),
    Death("processes early on, and an abort for other reasons 2 s later", signalled(6, honest={"ProcessLimit"}), before="pids 20", inside="die forks 50; sleep 2; exec die assert"),
    Death("a full disk, and an abort for other reasons 2 s later", signalled(6, honest={"DiskFull"}), before="small size=1m",
          inside="dd if=/dev/zero of=$D/small/f bs=64k count=100; sleep 2; exec die assert"),
    Death("a full disk that is empty again, and exit 3 for other reasons", exits(3, honest={"DiskFull"}), before="small size=1m",
          inside="dd if=/dev/zero of=$D/small/f bs=64k count=100; rm $D/small/f; exit 3"),
    Death("processes of a user, and exit 1", exits(1, "ApplicationError", "ProcessLimit"),
          argv=("setpriv", "--reuid", "65533", "--clear-groups", "prlimit", "--nproc=1", "die", "forks", "50")),
    Death("a full disk under a file that is only written by write, and a crash for it", signalled(11, "Segfault", "DiskFull"), before="small size=1m",
          inside="dd if=/dev/zero of=$D/small/f bs=64k count=100 || exec probe fault segv"),
    Death("a script with the line ends of Windows", exits(127, "CommandNotFound", "CommandNotExecutable"), argv=("$D/script.x",),
          before="printf '#!/bin/sh\\r\\nexit 0\\r\\n' >$D/script.x; chmod +x $D/script.x"),
    Death("a script without a first line that names its interpreter", exits(126, "CommandNotExecutable"), argv=("$D/script.x",),
          before="printf 'exit 0\\n' >$D/script.x; chmod +x $D/script.x"),
    Death("chroot into a directory without the command", exits(127, "CommandNotFound", "ApplicationError"), argv=("chroot", "$D", "/bin/none")),
    Death("chroot into no directory, and exit 125", exits(125), argv=("chroot", "/no/such", "/bin/none")),
    Death("nice of a file that is not executable", exits(126, "CommandNotExecutable", "ApplicationError"), before="echo echo >$D/plain", argv=("nice", "$D/plain")),
    Death("xargs of a command that fails, and exit 123", exits(123), inside="echo 1 | xargs false"),
    Death("xargs of a command that is not there", exits(127, "CommandNotFound", "ApplicationError"), inside="echo 1 | xargs no-such-command"),
]

# A file that looks like a core may not be from a crash.
FILES = [
    Death("a core of a process that lives on, as gcore makes it, and exit 0", exits(0), needs=GCORE, before=CORES,
          inside="sleep 60 & p=$!; sleep 1; gcore -o gcore $p; mv gcore.$p core; sleep 13; kill $p; exit 0"),
    Death("a core of a process that lives on, as gcore makes it, and exit 3", exits(3), needs=GCORE, before=CORES,
          inside="sleep 60 & p=$!; sleep 1; gcore -o gcore $p; mv gcore.$p core; sleep 1; kill $p; exit 3"),
    Death("a core of an earlier crash that is copied, and exit 0", exits(0, lives_honest={"Segfault", "Abort"}),
          before="ulimit -c unlimited; mkdir $D/old; (cd $D/old; die assert); mv $D/old/core $D/earlier; cd $D", inside="sleep 1; cp earlier core; sleep 13; exit 0"),
    Death("a core of an earlier crash that is copied, and exit 3", exits(3, honest={"Abort"}),
          before="ulimit -c unlimited; mkdir $D/old; (cd $D/old; die assert); mv $D/old/core $D/earlier; cd $D", inside="sleep 1; cp earlier core; sleep 1; exit 3"),
    Death("a core of a child that crashed, and exit 0 after 13 s", exits(0, lives={"Abort"}), before=CORES, inside="die assert; sleep 13; exit 0"),
]

RUNTIMES = [
    java("an OutOfMemoryError that nobody catches", exits(1, victim="none"), ("-Xmx16m",), "500Mi"),
    java("an OutOfMemoryError with ExitOnOutOfMemoryError", exits(3, victim="none"), ("-Xmx16m", "-XX:+ExitOnOutOfMemoryError"), "500Mi"),
    java("an OutOfMemoryError with CrashOnOutOfMemoryError", signalled(6, victim="none"), ("-Xmx16m", "-XX:+CrashOnOutOfMemoryError", "-XX:ErrorFile=/dev/null"), "500Mi"),
    java("a heap that is larger than the limit", oom(), ("-Xmx1g",), "100Mi", ooms=1),
    java("System.exit(143)", exits(143, honest={"Terminated"}), ("-Xmx16m",), "500Mi", code="System.exit(143);"),
    java("Runtime.halt(137)", exits(137, honest={"Killed"}, victim="none"), ("-Xmx16m",), "500Mi", code="Runtime.getRuntime().halt(137);"),
    Death("Java: SIGTERM, which its virtual machine answers with exit code 143", passed_on(143, "Terminated"), memory="500Mi", needs=JAVA,
          before="printf 'class J { public static void main(String[] a) throws Exception { Thread.sleep(60000); } }' >$D/J.java; javac -d $D $D/J.java",
          inside="echo $$ >$D/pid; exec java -Xmx16m -cp $D J", outside="await $D/pid; sleep 4; kill $(cat $D/pid)"),
    node("its own heap is full", signalled(6, victim="none"), "const a = []; for (;;) a.push(new Array(1e5).fill(1.5))", ("--max-old-space-size=30",), memory="500Mi"),
    node("an exception that nobody catches", exits(1), "throw new Error('no')"),
    node("process.abort()", signalled(6), "process.abort()"),
    node("memory beyond its heap", oom(), "const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))", memory="120Mi", ooms=1),
    python("Py_FatalError", signalled(6), "import ctypes; ctypes.pythonapi.Py_FatalError(b'no')"),
    python("faulthandler's time is over, and exit 1", exits(1), "import faulthandler, time; faulthandler.dump_traceback_later(1, exit=True); time.sleep(60)"),
    python("a stack that overflows in C", signalled(11), "import faulthandler; faulthandler._stack_overflow()"),
    Death("Python: its library is not there, and exit 1", exits(1), needs=PYTHON, inside="PYTHONHOME=/no/such exec /usr/bin/python3 -c pass"),
    python("subprocess.run whose time is over, and which kills its child, and exit 1", exits(1, victim="none"),
           "import subprocess; subprocess.run(['hog', '58M', '--hold'], timeout=2)", memory="96Mi"),
    python("a file that is cut under its mapping", signalled(7), """
import mmap, os, tempfile
f = tempfile.TemporaryFile()
f.truncate(8192)
m = mmap.mmap(f.fileno(), 8192)
f.truncate(0)
m[4096]"""),
    python("a worker of a pool crashes, and exit 1 of its parent", exits(1, honest={"Segfault"}), """
import ctypes
from concurrent.futures import ProcessPoolExecutor as P
with P(2) as p: print(p.submit(ctypes.string_at, 0).result())"""),
    python("a worker aborts, and its parent exits with its returncode", exits(250), "import subprocess, sys; sys.exit(subprocess.run(['die', 'assert']).returncode)"),
    python("kill -9 of a worker near the limit, and exit 1 of its parent", exits(1, victim="none"), """
import os, sys
child = os.fork()
if child == 0:
    x = bytearray(50 << 20)
    os.kill(os.getpid(), 9)
os.waitpid(child, 0)
sys.exit(1)""", memory="96Mi"),
]

USERS = [
    of_nobody("kill -9 of itself", signalled(9, victim="none"), "kill -9 $$"),
    of_nobody("a crash", signalled(11), argv=("probe", "fault", "segv")),
    of_nobody("exit 137, and nothing behind it", exits(137, honest={"Killed"}, victim="none"), "exit 137"),
    of_nobody("an OOM kill for the limit of the cgroup that it shares", oom("KernelOOMContainer", "KernelOOMPod"), "exec hog 300M --rate 100M", before="around 67108864; ", ooms=1),
    of_nobody("kill -9 while a neighbour in the same cgroup is OOM-killed", signalled(9, honest=HONEST, lives_honest=LIVES, victim="none"), ooms=1,
              inside="echo $$ >$D/begun; until [ -e $D/elsewhere ]; do sleep 0.02; done; kill -9 $$", before="around 67108864; ",
              outside="await $D/begun; neighbour hog 300M --rate 200M; echo done >$D/elsewhere"),
    of_nobody("a command that may not be reached", exits(126, "CommandNotExecutable", "CommandNotFound"), argv=("$D/closed/probe",),
              before="mkdir -m 700 $D/closed; cp $tools/test/probe $D/closed/; "),
]

STOPS = [
    asked("asked to stop from outside, and exit 137 of a handler", exits(137, "Terminated", honest={"Killed", "ApplicationError"}, victim="none"), "trap 'exit 137' TERM; " + LOOP),
    asked("asked to stop from outside, and the command is OOM-killed on the way", oom(), "trap 'exec hog 300M --rate 100M' TERM; " + LOOP, ooms=1),
    asked("asked to stop from outside, and exit 126 of a handler whose program is not executable",
          exits(126, "Terminated", "CommandNotExecutable", "ApplicationError"), "trap '/tmp; exit $?' TERM; " + LOOP),
    asked("asked to stop from outside, and an abort on the way", signalled(6), "trap 'exec die assert' TERM; " + LOOP),
    asked("asked to stop from outside, which it ignores, and kill -9 of itself 3 s later", signalled(9, victim="none"),
          "trap '' TERM; echo $$ >$D/begun; sleep 4; kill -9 $$", outside=ASKED),
    asked("SIGUSR1 from outside, which means nothing to stop, and exit 1 for its own reasons", exits(1), "trap '' USR1; echo $$ >$D/begun; sleep 3; exit 1",
          outside=ASKED.replace("kill ", "kill -USR1 ")),
    asked("SIGSEGV from outside to the launcher, which as process 1 would not have got it", exits(0), "echo $$ >$D/begun; exec sleep 5",
          outside=ASKED.replace("kill ", "kill -SEGV ")),
    asked("all of its PID namespace is killed with kill -9 near the limit", signalled(9, "Killed", "Unknown", victim="none"), "hog 60M --hold & " + LOOP,
          outside="await $D/begun; await $D/launcher; sleep 2; kill -9 $(cat $D/launcher)"),
]

DEATHS = SIGNALS + LIMITS + FILES + RUNTIMES + USERS + STOPS
