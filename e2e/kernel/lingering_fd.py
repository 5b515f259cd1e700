#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lingering_fd.py SOCKET: sends the sidecar TCP sockets with SO_LINGER and data that nobody takes: the last close of one sleeps.

Prints "sent" and stays: the other ends must not go away."""
import array
import socket
import struct
import sys
import threading
import time

WORDS = (b"core 1", b"hello 1 rtp x 1 1 1", b"hello 1 ttt x 1 1 1", b"nonsense")
server = socket.create_server(("127.0.0.1", 0), backlog=64)
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
kept = [server]
for i in range(12):
    full = socket.create_connection(server.getsockname())
    kept.append(server.accept()[0])
    full.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    full.setblocking(False)
    try:
        while True:
            full.send(bytes(65536))
    except BlockingIOError:
        pass
    full.setblocking(True)
    launcher = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    launcher.connect(sys.argv[1])
    launcher.sendmsg([WORDS[i % len(WORDS)]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [full.fileno()]))])
    kept.append(launcher)
    # As a rule the sidecar's copy is the last one then. Where ours is, it is this thread that sleeps.
    threading.Thread(target=full.close, daemon=True).start()
print("sent", flush=True)
while True:
    time.sleep(3600)
