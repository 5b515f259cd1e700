# SPDX-License-Identifier: Apache-2.0
"""The command `afterglow`. It only says which program does what is asked for, and becomes that program: they are static, and lie in
bin/ beside this file."""

import os
import signal
import sys

VERSION = "@VERSION@"
HELP = """usage: afterglow run [OPTION...] -- COMMAND [ARGUMENT...]
       afterglow stack [-o json] [PID|NAME]
       afterglow list|incidents|show|open|memory|page|explain [ARGUMENT] [OPTION...]
Says why a Ray program, or any other, ended: with proof, without root, without Kubernetes.

  run -- COMMAND         run a command, exit as it does, and explain its death and that of processes below it
  stack [PID|NAME]       print what is running below `run` now: the stacks of all processes, of one, or of those
                         with NAME in their names; native and Python's, equal ones together
  list [DIR]             list the deaths so far, the newest last; DIR: of all machines that write below it
  incidents [ID]         print which death of a Ray cluster brought about which, also on several machines
  show [NAME]            print the report of one; NAME is that of the list or of a command (default: the newest)
  open [NAME]            open its page, with charts and logs, in a browser
  memory [COMMAND [BEFORE]]  print what each task and actor of a command needed, and the memory= that follows
  page [DIR [FILE]]      write all deaths below DIR as one HTML page (default: afterglow.html)
  explain CODE|CLASS     explain an exit code or a class: explain 137

  --store DIR            where the deaths are kept: $XDG_STATE_HOME/afterglow or ~/.local/state/afterglow by default.
                         run --store takes the address of an object store as well
  run --memory-max SIZE  run COMMAND with a memory limit of its own, where this machine lets you
  run --help             all options of run
  list --since AGE, --class CLASS, --by-signature
"""
# afterglow's word for it, and the program's
LISTING = {"list": "list", "incidents": "incidents", "show": "show", "open": "report", "memory": "memory", "page": "page"}


HERE = os.path.dirname(os.path.abspath(__file__))


def forget_python():
    """What Python changed of this process when it started: the program, and what it runs, are to find what we found."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        with open("/proc/self/environ", "rb") as file:
            names = [variable.split(b"=")[0] for variable in file.read().split(b"\0")]
    except OSError:
        return
    if b"LC_CTYPE" not in names:
        os.environ.pop("LC_CTYPE", None)


def become(program, *words):
    path = os.path.join(HERE, "bin", program)
    forget_python()
    try:
        os.execv(path, ["afterglow", *words])
    except OSError as error:
        sys.exit(f"afterglow: {path}: {error.strerror}")


def default_store():
    """As afterglow-sidecar has it. Before the first run there is none: then a directory that has no bundle stands for it."""
    state = os.environ.get("XDG_STATE_HOME") or os.environ.get("HOME", "") + "/.local/state"
    store = os.path.join(state, "afterglow")
    try:
        os.stat(store)
    except FileNotFoundError:
        return os.path.join(HERE, "bin")
    except OSError:
        pass  # the program says why it cannot be read
    return store


def with_page(words):
    """page DIR FILE: the directory first, unlike the program's words."""
    names = [word for word in words if not word.startswith("-")]
    if len(names) != len(words) or len(names) > 2:
        sys.stderr.write("afterglow: page takes DIR and FILE\n")
        sys.exit(2)
    return ["--store", names[0] if names else default_store(), names[1] if names[1:] else "afterglow.html"]


def main():
    command, *words = sys.argv[1:] or ["--help"]
    if command == "run":
        become("afterglow-sidecar", "exec", *words)
    if command in ("--help", "-h", "help") or set(words) & {"--help", "-h"}:
        print(HELP, end="")
    elif command == "stack":
        become("afterglow-sidecar", "stack", *words)
    elif command == "--version":
        print(f"afterglow {VERSION}")
    elif command == "explain":
        become("kubectl-afterglow", "explain", *words)
    elif command == "page":
        become("kubectl-afterglow", "page", *with_page(words))
    elif command in LISTING:
        if command == "list" and words and not words[0].startswith("-"):
            words = ["--store", *words]
        if not any(word.split("=")[0] == "--store" for word in words):
            words = ["--store", default_store(), *words]
        become("kubectl-afterglow", LISTING[command], *words)
    else:
        sys.stderr.write(f"afterglow: {command!r} is not a command; afterglow --help lists them\n")
        sys.exit(2)
