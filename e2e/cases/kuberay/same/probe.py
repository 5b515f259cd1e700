# SPDX-License-Identifier: Apache-2.0
"""probe.py WHAT [ARGUMENT...]: runs in a pod under test, and prints what a process there can observe.

Each line that counts begins with "@same " and goes on in JSON. WHAT:
  look [CODE]         prints what this process sees of itself, and exits with CODE
  work [HANDLE...]    prints that too, then works until it is killed; HANDLE says what it does with signals (do_HANDLE below)
  orphan              leaves a grandchild behind, and prints what became of it
  init                the same as work, but refuses to be anything but process 1
  crash               a child of this process crashes with some memory; prints whether this process lives, and how large the core is
  hog                 the same, but the child asks for more memory than there is
"""

import ctypes
import json
import os
import pathlib
import resource
import signal
import stat
import sys
import time

# The preStop hook makes it, and SIGTERM follows.
STOP = pathlib.Path("/same/stop")
libc = ctypes.CDLL(None, use_errno=True)
PRCTL = {"dumpable": 3, "keepcaps": 7, "securebits": 27, "timerslack": 30, "no_new_privs": 39, "thp_disable": 42}
GET_CHILD_SUBREAPER, GET_PDEATHSIG = 37, 2


def say(**what):
    os.write(1, ("\n@same " + json.dumps(what) + "\n").encode())


def text(path):
    return pathlib.Path(path).read_text(errors="backslashreplace")


def prctl_pointer(option):
    value = ctypes.c_int()
    libc.prctl(option, ctypes.byref(value), 0, 0, 0)
    return value.value


def descriptor(number):
    mode = os.fstat(number).st_mode
    kind = next(name for name, test in (("pipe", stat.S_ISFIFO), ("socket", stat.S_ISSOCK), ("terminal", lambda _m: os.isatty(number)),
                                        ("device", stat.S_ISCHR), ("file", lambda _m: True)) if test(mode))
    return kind + (" " + os.readlink(f"/proc/self/fd/{number}") if kind == "device" else "")


def descriptors():
    found = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            found[number] = descriptor(int(number))
        except OSError:  # that of the list itself
            pass
    return found


def mounts():
    """Returns place to kind and options. What the node calls its source is not the same for any two pods."""
    lines = [line.split() for line in text("/proc/self/mountinfo").splitlines()]
    return {m[4]: m[m.index("-") + 1] + " " + m[5] for m in lines if not m[4].startswith("/sys/fs/cgroup")}


def environment(pid):
    """Returns the environment with which a process was started; None if this user may not see it."""
    try:
        return {name: value for name, _, value in (v.partition("=") for v in text(f"/proc/{pid}/environ").split("\0") if v)}
    except PermissionError:
        return None


def processes():
    names = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            names[text(f"/proc/{pid}/comm").strip()] = text(f"/proc/{pid}/status").split("State:")[1].split()[0] == "Z"
        except OSError:
            pass
    # In a shared PID namespace another container may just be made.
    return {name: zombie for name, zombie in names.items() if not name.startswith("runc:")}


def seen():
    """Returns what a process inherits, or reads of itself."""
    status = dict(line.split(":", 1) for line in text("/proc/self/status").splitlines())
    return {
        "process_1": os.getpid() == 1,
        "argv": text("/proc/self/cmdline").split("\0"),
        "environment": environment("self"), "environment_of_1": environment(1),
        "directory": os.getcwd(), "umask": status["Umask"].strip(),
        "ids": [os.getresuid(), os.getresgid(), sorted(os.getgroups())],
        "status": {k: status[k].strip() for k in status if k.startswith(("Cap", "Sig", "NoNew", "Seccomp", "Cpus_", "Mems_", "Speculation"))
                   and k not in ("SigQ", "SigPnd")},
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
        "oom_score_adj": text("/proc/self/oom_score_adj").strip(), "coredump_filter": text("/proc/self/coredump_filter").strip(),
        "nice": os.nice(0), "scheduler": os.sched_getscheduler(0), "affinity": sorted(os.sched_getaffinity(0)),
        "personality": libc.personality(0xffffffff),
        "prctl": {name: libc.prctl(number, 0, 0, 0, 0) for name, number in PRCTL.items()},
        "subreaper": prctl_pointer(GET_CHILD_SUBREAPER), "parent_death_signal": prctl_pointer(GET_PDEATHSIG),
        "session": {"leader": os.getsid(0) == os.getpid(), "group_leader": os.getpgrp() == os.getpid(),
                    "foreground": os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()},
        "descriptors": descriptors(), "mounts": mounts(), "processes": processes(),
    }


# --- what a command may do with SIGTERM ---


def do_default():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def do_ignore():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def do_exit():
    signal.signal(signal.SIGTERM, lambda number, _frame: (say(signal=number), os._exit(3)))


def do_once():
    """Handles the first, and has the second do what it does by default."""
    signal.signal(signal.SIGTERM, lambda number, _frame: (say(signal=number), do_default(), os.kill(1, signal.SIGTERM)))


def do_block():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def do_forward():
    """Does what dumb-init does: the child leads a session, and gets what this process gets."""
    child = os.fork()
    if child == 0:
        os.setsid()
        do_exit()
        work()
    signal.signal(signal.SIGTERM, lambda number, _frame: os.kill(-child, number))
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status))


def do_sigwait():
    """Does what tini does: all signals are blocked, and waited for; the child gets them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGCHLD})
        do_default()
        work()
    while True:
        number = signal.sigwait({signal.SIGTERM, signal.SIGCHLD})
        if number == signal.SIGTERM:
            say(signal=number)
            os.kill(child, number)
        else:
            _, status = os.waitpid(child, 0)
            os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


def work():
    """Says that it is ready, and how long it works after the pod was asked to stop."""
    say(ready=True)
    while not STOP.exists():
        time.sleep(0.05)
    began = time.monotonic()
    while True:
        say(worked=time.monotonic() - began)
        if signal.SIGTERM in signal.sigpending() and signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []):
            signal.sigwait({signal.SIGTERM})
            say(signal=signal.SIGTERM, blocked=True)
        time.sleep(0.2)


# --- the rest of what is asked for ---


def orphan():
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            while os.getppid() != 1:
                time.sleep(0.01)
            os.write(write_end, str(os.getpid()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    orphaned = os.read(read_end, 20).decode()
    if os.getpid() == 1:  # nobody else reaps it
        os.waitpid(int(orphaned), 0)
    while os.path.exists(f"/proc/{orphaned}"):
        time.sleep(0.01)
    say(orphan="gone")


def bear(what):
    """Has a child do something deadly, and says that this process outlived it."""
    child = os.fork()
    if child == 0:
        what()
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    cores = sum(f.stat().st_size > 0 and f.stat().st_blocks * 512 for f in pathlib.Path(".").glob("core*"))
    say(child=ended, core="none" if cores == 0 else "some" if cores < 40 << 20 else "large")


def crash():
    kept = os.urandom(60 << 20)
    assert kept
    ctypes.string_at(0)


def hog():
    pathlib.Path("/proc/self/oom_score_adj").write_text("1000")
    kept = []
    while True:
        kept.append(b"x" * (8 << 20))


def main(what, *arguments):
    if what == "orphan":
        return orphan()
    if what in ("crash", "hog"):
        return bear(globals()[what])
    if what == "init" and os.getpid() != 1:
        sys.exit(100)
    say(sees=seen())
    if what == "look":
        sys.exit(int(arguments[0]) if arguments else 0)
    for handle in arguments:
        globals()["do_" + handle]()
    return work()


main(*sys.argv[1:])
