# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy before the API server, which can lose what comes back. TLS goes through untouched: it only counts bytes."""

import socket
import threading


class Proxy:
    """Forwards connections; cut() ends the existing ones, lose_answers() lets requests through and no answer back."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.sockets = []
        self.losing = False
        self.black_hole = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.listener.fileno() < 0:
                    return
                client.close()
                continue
            with self.lock:
                self.sockets += [client, server]
            threading.Thread(target=self.copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, True), daemon=True).start()

    def copy(self, source, target, is_answer):
        """Until either side ends. Answers are lost by hanging up in place of them."""
        try:
            while data := source.recv(65536):
                if is_answer and self.losing:
                    break
                if source in self.black_hole:
                    continue
                target.sendall(data)
        except OSError:
            pass
        for end in source, target:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def lose_answers(self, losing):
        """From now on the API server hears, and is not heard: its next byte on a connection ends that."""
        self.losing = losing

    def swallow(self):
        """The connections that exist stay open, and nothing comes through them any more."""
        with self.lock:
            self.black_hole.update(self.sockets)

    def cut(self):
        """Ends the connections that exist."""
        with self.lock:
            for end in self.sockets:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.sockets = []

    def close(self):
        self.listener.close()
        self.cut()
