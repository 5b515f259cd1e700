# SPDX-License-Identifier: Apache-2.0
"""Stops one thread of a program while its other threads go on."""

import contextlib
import ctypes
import os

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000  # waitpid(2): also of a thread


def ptrace(request, pid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_ulong, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, pid, None, None) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request:#x}, {pid})")


@contextlib.contextmanager
def main_thread(pid):
    """Stops the thread whose ID is the process's own. A signal would stop all threads; a tracer stops this one."""
    ptrace(SEIZE, pid)
    ptrace(INTERRUPT, pid)
    os.waitpid(pid, WALL)
    try:
        yield
    finally:
        ptrace(DETACH, pid)
