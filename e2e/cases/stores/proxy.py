# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy that counts, and cuts connections where it is told to."""

import contextlib
import socket
import struct
import threading


class Proxy:
    """Forwards 127.0.0.1:port to a target. cut() is asked for each connection: after how many bytes from
    the client it is reset, None for never."""

    def __init__(self, target, cut=lambda: None):
        self.target = target
        self.cut = cut
        self.sent = 0  # bytes from clients, passed on
        self.connections = 0
        self.open = 0  # of them, those that still pass on what came
        self.lock = threading.Lock()
        self.cuts = 0
        self.hang = False  # take everything, pass on nothing
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.connections += 1
                with self.lock:
                    self.open += 1
                threading.Thread(target=self._serve, args=(client, self.cut()), daemon=True).start()

    @staticmethod
    def _reset(client):
        with contextlib.suppress(OSError):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.shutdown(socket.SHUT_RD)
        client.close()

    def _serve(self, client, limit):
        try:
            self._forward(client, limit)
        finally:
            with self.lock:
                self.open -= 1

    def _forward(self, client, limit):
        try:
            server = socket.create_connection(self.target)
        except OSError:
            self._reset(client)
            return
        back = threading.Thread(target=self._copy_back, args=(server, client), daemon=True)
        back.start()
        passed = 0
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.hang:
                    continue
                if limit is not None and passed + len(data) > limit:
                    server.sendall(data[: limit - passed])
                    self.sent += limit - passed
                    self.cuts += 1
                    server.close()
                    self._reset(client)
                    return
                server.sendall(data)
                passed += len(data)
                self.sent += len(data)
        # Also of a client that was killed the server is to know.
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)
        back.join(timeout=30)
        client.close()
        server.close()

    @staticmethod
    def _copy_back(server, client):
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
