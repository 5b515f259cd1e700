# SPDX-License-Identifier: Apache-2.0
"""hangs.py NAME DIR: hangs in the way of that name, and writes its PID to the file DIR/NAME first."""
import ctypes
import http.server
import os
import signal
import subprocess
import sys
import threading
import time


def deadlock():
    one, other = threading.Lock(), threading.Lock()
    one.acquire()

    def holds_other():
        with other:
            one.acquire()

    threading.Thread(target=holds_other, daemon=True).start()
    while not other.locked():
        time.sleep(0.01)
    yield
    other.acquire()


def waits_for_mutex():
    libc = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(64)
    has_it = threading.Event()

    def takes_it():
        libc.pthread_mutex_lock(mutex)
        has_it.set()
        time.sleep(1000)

    threading.Thread(target=takes_it, daemon=True).start()
    has_it.wait()
    yield
    libc.pthread_mutex_lock(mutex)


def rank_sleeps():
    yield
    time.sleep(1000)


def loops_in_c():
    # It holds the GIL: ctypes.PyDLL does not give it up.
    bytes_of = ctypes.PyDLL(None).memset
    memory = ctypes.create_string_buffer(1 << 20)
    yield
    while True:
        for _ in range(1 << 20):
            bytes_of(memory, 0, len(memory))


def stopped():
    yield
    os.kill(os.getpid(), 19)


def blocks_its_loop():
    import asyncio

    async def handler():
        time.sleep(1000)

    yield
    asyncio.run(handler())


def child_in_the_kernel():
    # The parent of a vfork is in state D until its child has ended, which here never does.
    libc = ctypes.CDLL(None)
    yield
    if libc.vfork() == 0:
        while True:
            libc.pause()


def writes_to_a_disk():
    # It is frozen before that, so the write waits in state D.
    with open(os.path.join(sys.argv[2], "disk", "data"), "wb", buffering=0) as file:
        yield
        while not os.path.exists(os.path.join(sys.argv[2], "frozen")):
            time.sleep(0.1)
        file.write(b"x")


def reads_from_a_server():
    # Somebody stops the NFS server before that.
    with open(os.path.join(sys.argv[2], "nfs", "data"), "rb", buffering=0) as file:
        yield
        while not os.path.exists(os.path.join(sys.argv[2], "stopped")):
            time.sleep(0.1)
        file.read()


def waits_for_child():
    child = subprocess.Popen(["sleep", "1000"])
    yield
    child.wait()


def ignores_the_request():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    yield
    time.sleep(1000)


def stops_slowly():
    # What it does after the request ends when it has been looked at.
    looked = os.path.join(sys.argv[2], "looked")

    def save(*_):
        while not os.access(looked, os.F_OK):  # no function of Python, which would be the innermost now and then
            time.sleep(0.1)
        os._exit(5)

    signal.signal(signal.SIGTERM, save)
    yield
    while True:
        time.sleep(1000)


def answers_no_more():
    # Answers until there is a file `hang`.
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if os.path.exists(os.path.join(sys.argv[2], "hang")):
                stands()
            self.send_response(200)
            self.end_headers()
            with open(os.path.join(sys.argv[2], "answered"), "w", encoding="ascii"):
                pass

    def stands():
        time.sleep(1000)

    server = http.server.HTTPServer(("127.0.0.1", 52365), Handler)
    yield
    server.serve_forever()


def deep_threads():
    # To sort takes some KiB of the stack: together these are as much as is ever copied.
    all_are_there = threading.Barrier(81)

    def deep(n):
        if n:
            return sorted([0], key=lambda _: deep(n - 1))
        all_are_there.wait()
        return time.sleep(1000)

    for _ in range(80):
        threading.Thread(target=deep, args=(30,), daemon=True).start()
    all_are_there.wait()
    yield
    time.sleep(1000)


def fills_memory():
    # More when somebody has looked, until the kernel ends it.
    yield
    kept = [bytearray(b"x") * (150 << 20)]
    while not os.path.exists(os.path.join(sys.argv[2], "looked_at_memory")):
        time.sleep(0.1)
    while True:
        kept.append(bytearray(b"x") * (8 << 20))


if __name__ == "__main__":
    hang = globals()[sys.argv[1]]()
    next(hang)
    with open(os.path.join(sys.argv[2], sys.argv[1]), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    next(hang, None)
