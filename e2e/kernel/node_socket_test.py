#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The node agent on a node that sends cores to a socket (Linux 6.16): it leaves the pattern alone and says so, and the cores still come to
the socket, from the process that crashed. core_pattern is this machine's, and for two seconds cores of all its processes come here. So no
target runs this; where nobody else needs cores: AFTERGLOW_OWN_CORE_PATTERN=yes e2e/kernel/node_socket_test.py
"""

import contextlib
import os
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time

PATTERN = "/proc/sys/kernel/core_pattern"
MODES = "/proc/sys/kernel/core_modes"
BUILD = os.environ.get("AFTERGLOW_BUILD", "build")
# struct coredump_req and coredump_ack of linux/coredump.h: the size twice, or the size and nothing; the mask.
REQUEST, ACK = struct.Struct("=IIQ"), struct.Struct("=IIQ")
KERNEL_WRITES = 1
PATIENCE_S = 60


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@contextlib.contextmanager
def pattern_of(value):
    before = read(PATTERN)
    write(PATTERN, value)
    try:
        yield
    finally:
        write(PATTERN, before)


@contextlib.contextmanager
def agent(work):
    """A node agent for cores alone; gives the file with what it says."""
    said = os.path.join(work, "said")
    with open(said, "w", encoding="utf-8") as file:
        process = subprocess.Popen([f"{BUILD}/afterglow-node", "--directory", os.path.join(work, "directory"), "--signals", "off",
                                    "--syslog", "off", "--kernel-lines", "off"], stderr=file)
    try:
        yield said
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def wait_for(condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def crash():
    """Starts a process that dumps core, and does not wait for it: it ends when its core has been read."""
    def unlimited():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return subprocess.Popen([f"{BUILD}/test/crash"], preexec_fn=unlimited, stderr=subprocess.DEVNULL)


def receive_core(listener, asks_first):
    """The next core, and the PID of the process at the other end."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(PATIENCE_S)
        peer, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if asks_first:
            size, _, mask = REQUEST.unpack(connection.recv(REQUEST.size, socket.MSG_WAITALL))
            connection.recv(size - REQUEST.size)
            assert mask & KERNEL_WRITES
            connection.sendall(ACK.pack(ACK.size, 0, KERNEL_WRITES))
            # enum coredump_mark, which Linux 6.18 sends as four bytes.
            assert connection.recv(4, socket.MSG_WAITALL) == bytes(4), "the kernel did not take the answer"
        with connection.makefile("rb") as stream:
            return stream.read(), peer


def check(prefix, work):
    path = os.path.join(work, "socket")
    value = f"{prefix}{path}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(PATIENCE_S)
        with pattern_of(value), agent(work) as said:
            wait_for(lambda: "Cores stay as they are" in read(said))
            assert read(PATTERN) == value
            dead = crash()
            core, peer = receive_core(listener, asks_first=prefix == "@@")
            dead.wait(PATIENCE_S)
            assert (core[:4], peer) == (b"\x7fELF", dead.pid), (core[:4], peer, dead.pid)
    assert "node-agent.md" in read(said)


def main():
    if "socket" not in (read(MODES) if os.path.exists(MODES) else ""):
        print("skipped: this kernel sends cores to no socket (Linux 6.16)")
        return 0
    if os.environ.get("AFTERGLOW_OWN_CORE_PATTERN") != "yes":
        print("skipped: core_pattern is this machine's (AFTERGLOW_OWN_CORE_PATTERN=yes)")
        return 0
    for prefix in ("@", "@@"):
        with tempfile.TemporaryDirectory() as work:
            check(prefix, work)
            print(f"{prefix}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
