# SPDX-License-Identifier: Apache-2.0
"""Exit codes, also those that look like a signal's, and commands that cannot be started."""
from truth import CLASS_OF_SIGNAL, Death, exits

NOT_STARTED = {126: "CommandNotExecutable", 127: "CommandNotFound"}


def by_itself(code):
    looks_like = NOT_STARTED.get(code) or CLASS_OF_SIGNAL.get(code - 128) or ("Signaled" if 128 < code <= 192 else None)
    return Death(f"exit {code}, and nothing behind it", exits(code, honest={looks_like} if looks_like else ()), inside=f"exit {code}")


DEATHS = [
    *(by_itself(code) for code in (0, 1, 2, 3, 64, 100, 124, 125, 126, 127, 128, 129, 130, 131, 134, 135, 136, 139, 141, 143, 152, 159, 192, 200, 255)),
    Death("a command that is not there", exits(127, "CommandNotFound"), argv=("no-such-command",)),
    Death("a command that is not there, in a shell", exits(127, "CommandNotFound", "ApplicationError"), inside="no-such-command"),
    Death("a script whose interpreter is not there", exits(127, "CommandNotFound", "CommandNotExecutable"), argv=("$D/script.x",),
          before="printf '#!/no/such\\n' >$D/script.x; chmod +x $D/script.x"),
    Death("a shared library that is not there", exits(127, "ApplicationError", honest={"CommandNotFound"}),
          argv=("/lib64/ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", "/none", "--preload", "/none/libx.so", "$tools/test/absent")),
    Death("a file that is not executable", exits(126, "CommandNotExecutable"), argv=("$D/plain",), before="echo echo >$D/plain"),
    Death("a directory as the command", exits(126, "CommandNotExecutable"), argv=("$D",)),
    Death("a file of no known format", exits(126, "CommandNotExecutable"), argv=("$D/garbage",),
          before="printf '\\001\\002\\003garbage' >$D/garbage; chmod +x $D/garbage"),
    Death("exit 0, and a record is asked for", exits(0, "Completed", reported=True), inside="exit 0", options="--record-success"),
    Death("a program whose loader is not there", exits(127, "CommandNotFound", "CommandNotExecutable"), argv=("$D/program",),
          before="sed 's|/lib64/ld-linux-x86-64.so.2|/lib64/ld-linux-x86-64.so.X|' $tools/test/die >$D/program; chmod +x $D/program"),
    Death("a program of another machine", exits(126, "CommandNotExecutable"), argv=("$D/program",),
          before="{ head -c 18 $tools/test/die; printf '\\267\\0'; tail -c +21 $tools/test/die; } >$D/program; chmod +x $D/program"),
    Death("a program that is being written", exits(126, "CommandNotExecutable"), argv=("$D/program",),
          before="cp $tools/test/probe $D/program; exec 9>>$D/program"),
    Death("a script whose interpreter is not executable", exits(126, "CommandNotExecutable"), argv=("$D/script.x",),
          before="echo echo >$D/plain; printf '#!%s/plain\\n' $D >$D/script.x; chmod +x $D/script.x"),
    Death("a name in PATH that is not executable", exits(126, "CommandNotExecutable"), argv=("plain-name",), before="echo echo >$D/plain-name; PATH=$PATH:$D"),
    Death("a path below here that is not there", exits(127, "CommandNotFound"), argv=("./no/such",)),
    Death("a link that leads nowhere", exits(127, "CommandNotFound"), argv=("$D/link",), before="ln -s /no/such $D/link"),
    Death("a link to itself", exits(126, "CommandNotExecutable", "CommandNotFound"), argv=("$D/link",), before="ln -s $D/link $D/link"),
    Death("a name that is too long", exits(126, "CommandNotExecutable", "CommandNotFound"), argv=("/" + "x" * 300,)),
    Death("a path through a file", exits(126, "CommandNotExecutable", "CommandNotFound"), argv=("$D/plain/program",), before="echo echo >$D/plain"),
    Death("a filesystem that forbids programs", exits(126, "CommandNotExecutable"), argv=("$D/small/probe",),
          before="small size=4m,noexec; cp $tools/test/probe $D/small/"),
    Death("exec of a command that is not there, in a shell", exits(127, "CommandNotFound", "ApplicationError"), inside="exec no-such-command"),
    Death("env of a command that is not there", exits(127, "CommandNotFound", "ApplicationError"), argv=("env", "A=1", "no-such-command")),
    Death("timeout of a command that is not there", exits(127, "CommandNotFound", "ApplicationError"), argv=("timeout", "5", "no-such-command")),
    Death("a program that runs for a while, and then exits with 127", exits(127, honest={"CommandNotFound"}), inside="hog 20M; sleep 2; exit 127"),
    Death("a program that runs for a while, and then exits with 126", exits(126, honest={"CommandNotExecutable"}), inside="hog 20M; sleep 2; exit 126"),
    Death("a shell whose last command was not executable", exits(126, "CommandNotExecutable", "ApplicationError"), inside="/tmp"),
    Death("a usage error of a program", exits(2), argv=("probe", "no-such-deed")),
    Death("set -e, and a command that fails", exits(1), inside="set -e; false; exit 0"),
    Death("timeout, and exit 124", exits(124, says=["timeout reports that its limit of time"]), argv=("timeout", "1", "sleep", "60"), needs=frozenset({"here"})),
    Death("exit 1 of a command that leaves a daemon behind", exits(1), inside="(setsid sleep 3 &) ; exit 1"),
    Death("exit 0 of a command that leaves a daemon behind", exits(0), inside="(setsid sleep 3 &) ; exit 0"),
    Death("exit 5 through env, nice and nohup", exits(5), argv=("env", "A=1", "nice", "-n", "5", "nohup", "sh", "-c", "exit 5"), needs=frozenset({"here"})),
    Death("exit 7 of a process whose first thread had ended before", exits(7), argv=("die", "thread-exit")),
    Death("exit 1 of a command whose stderr speaks of an OOM kill", exits(1, victim="none"), memory="64Mi",
          inside="echo 'Memory cgroup out of memory: Killed process 7 (python)' >&2; exit 1"),
    Death("exit 1 of a command whose stderr speaks of full disks and files", exits(1, victim="none"), memory="64Mi",
          inside="echo 'OSError: [Errno 28] No space left on device; Too many open files' >&2; exit 1"),
    Death("exit 1 at 98 % of the memory", exits(1, victim="none"), memory="64Mi", inside="hog 62M --hold & sleep 1; exit 1"),
    Death("exit 3 after a read of files larger than the memory", exits(3, victim="none"), memory="32Mi", needs=frozenset({"here"}),
          before="dd if=/dev/zero of=$D/big bs=1M count=150", argv=("eat", "mapped", "$D/big"), after="rm $D/big"),
]
