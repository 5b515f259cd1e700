# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy before the API server, which can cut connections or swallow what goes through them. TLS stays whole."""

import ctypes
import socket
import struct
import threading

SO_ATTACH_FILTER = 26


class Proxy:
    """Forwards connections until told otherwise."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.sockets = []
        self.swallowing = self.refusing = False
        self.dead = set()  # sockets that nothing is sent to
        self.countdown = 0  # packets of the client's until an answer is lost
        self.doomed = set()  # sockets whose next answer is lost
        self.lost = 0
        self.swallowed = 0  # packets of the client's
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                if self.refusing:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.listener.fileno() < 0:
                    return
                client.close()
                continue
            with self.lock:
                self.sockets += [client, server]
            threading.Thread(target=self.copy, args=(client, server), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client), daemon=True).start()

    def copy(self, source, target):
        """Forwards one connection until either side ends it."""
        try:
            while data := source.recv(65536):
                if source in self.doomed:
                    self.lost += 1
                    break
                self.count(source, target)
                if self.swallowing:
                    self.swallowed += self.is_clients(source)
                elif target not in self.dead:
                    target.sendall(data)
        except OSError:
            pass
        for end in source, target:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def is_clients(self, end):
        return self.sockets.index(end) % 2 == 0

    def count(self, source, target):
        with self.lock:
            if self.countdown and self.is_clients(source):
                self.countdown -= 1
                if self.countdown == 0:
                    self.doomed.add(target)

    def lose_answer(self, nth):
        """Lets the nth packet from the client reach the API server, and then ends the connection in place of the answer."""
        with self.lock:
            self.countdown = nth

    def swallow(self):
        """Keeps all connections open, new ones too, and forwards nothing any more."""
        self.swallowing = True

    def black_hole(self):
        """
        Lets the connections that exist go dead: nothing of the client's arrives any more, not even to be acknowledged, and
        nothing is sent to it; new ones work. The filter ("ret 0", sock_filter of linux/filter.h) drops all packets
        before TCP sees them.
        """
        program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
        with self.lock:
            for client in self.sockets[::2]:
                try:
                    client.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                                      struct.pack("HP", 1, ctypes.addressof(program)))
                except OSError:
                    continue
                self.dead.add(client)

    def refuse(self, refusing=True):
        """Closes new connections at once."""
        self.refusing = refusing

    def cut(self):
        """Ends the connections that exist."""
        with self.lock:
            for end in self.sockets:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.listener.close()
        self.cut()
