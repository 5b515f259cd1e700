#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""http_flood.py PORT SECONDS: 15 connections, each of which always has one more request, and reads the answers."""
import selectors
import socket
import sys
import time

port, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
requests = b"".join(b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % path for path in (b"memory", b"failures", b"metrics", b"nothing")) * 50
selector = selectors.DefaultSelector()


def connect():
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setblocking(False)
    selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)


for _ in range(15):
    connect()
read = 0
while time.monotonic() < end:
    for key, events in selector.select(0.1):
        try:
            if events & selectors.EVENT_READ:
                data = key.fileobj.recv(1 << 20)
                if not data:
                    raise ConnectionResetError
                read += len(data)
            if events & selectors.EVENT_WRITE:
                key.fileobj.send(requests)
        except BlockingIOError:
            pass
        except OSError:
            selector.unregister(key.fileobj)
            key.fileobj.close()
            connect()
print(read)
