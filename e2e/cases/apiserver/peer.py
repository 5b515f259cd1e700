# SPDX-License-Identifier: Apache-2.0
"""
A peer that speaks HTTP between the operator and the real API server: it forwards, and where a script says so answers
itself, asks for something else, or hands on less than it got. test_faults.py checks its answers against real ones.
"""

import dataclasses
import http.client
import http.server
import json
import ssl
import threading
import time
import urllib.parse

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclasses.dataclass
class Request:
    """A request: what was asked, when, and how it was answered."""

    method: str
    path: str
    query: dict
    at: float
    status: int = 0  # 0: no answer, or not yet

    @property
    def plural(self):
        """Returns "pods" for ".../namespaces/ns/pods/name/status"."""
        parts = self.path.strip("/").split("/")[2 if self.path.startswith("/api/") else 3:]
        return parts[2 if parts[0] == "namespaces" and len(parts) > 2 else 0]

    @property
    def is_watch(self):
        return self.query.get("watch") == "1"

    @property
    def is_stream(self):
        """Returns whether this is a list that comes as a watch."""
        return self.query.get("sendInitialEvents") == "true"

    @property
    def starts_copy(self):
        """Returns whether this is a stream, or the first page of a list."""
        return self.method == "GET" and (self.is_stream or ("limit" in self.query and "continue" not in self.query))

    @property
    def resumes(self):
        return self.is_watch and not self.is_stream


class Rule:
    """A rule: which requests it applies to, how often, and what happens then, which is exactly one of the keyword arguments."""

    def __init__(self, meets, times=1, *, answer=None, hang_up=False, rewrite=None, lines=None, dribble=False, feed=None,
                 twice=False, hold=False):
        self.meets, self.left = meets, times
        self.answer, self.hang_up, self.rewrite, self.lines, self.dribble = answer, hang_up, rewrite, lines, dribble
        self.feed, self.twice, self.hold = feed, twice, hold
        self.used = 0
        self.given_up = 0  # requests on hold whose client hung up

    @property
    def done(self):
        return self.left <= 0


HANG_UP = Rule(None, hang_up=True)


class PeerServer(http.server.ThreadingHTTPServer):
    """The peer runs until the test ends."""

    daemon_threads = True
    request_queue_size = 128  # of 5 a burst loses some, which come again a second later


class Peer:
    """Listens on a port of its own until closed."""

    def __init__(self, plane, user="operator"):
        self.plane, self.user = plane, user
        self.lock = threading.Lock()
        self.rules, self.requests = [], []
        self.sockets, self.doomed = set(), set()
        peer = self

        class Handler(PeerHandler):
            """Knows its peer."""
            owner = peer

        self.server = PeerServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.context = ssl.create_default_context(cafile=plane.file("ca.crt"))
        self.context.load_cert_chain(plane.file(f"{user}.crt"), plane.file(f"{user}.key"))
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()

    def kubeconfig(self):
        path = self.plane.file(f"peer-{self.port}.kubeconfig")
        path.write_text(json.dumps({
            "current-context": "peer", "contexts": [{"name": "peer", "context": {"cluster": "peer"}}],
            "clusters": [{"name": "peer", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}]}))
        return path

    def rule(self, meets, times=1, **what):
        """Adds a rule that holds from now on, for that many matching requests."""
        rule = Rule(meets, times, **what)
        with self.lock:
            self.rules.append(rule)
        return rule

    def take_rule(self, request, connection):
        with self.lock:
            if connection in self.doomed:
                return HANG_UP
            self.requests.append(request)
            for rule in self.rules:
                if not rule.done and rule.meets(request):
                    rule.left -= 1
                    rule.used += 1
                    return rule
        return None

    def seen(self, meets):
        with self.lock:
            return [r for r in self.requests if meets(r)]

    def upstream(self):
        return http.client.HTTPSConnection("127.0.0.1", self.plane.port, context=self.context)

    def cut(self):
        """Ends all connections to the client. A request that arrives meanwhile gets no answer and uses up no rule."""
        with self.lock:
            self.doomed |= self.sockets
            for connection in self.sockets:
                try:
                    connection.shutdown(2)
                except OSError:
                    pass

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.cut()


class PeerHandler(http.server.BaseHTTPRequestHandler):
    """Serves one connection of the client."""

    protocol_version = "HTTP/1.1"
    owner = None

    def setup(self):
        super().setup()
        with self.owner.lock:
            self.owner.sockets.add(self.connection)

    def finish(self):
        with self.owner.lock:
            self.owner.sockets.discard(self.connection)
            self.owner.doomed.discard(self.connection)
        try:
            super().finish()
        except OSError:
            pass

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, http.client.HTTPException, ValueError):
            self.close_connection = True

    def serve(self):
        path, _, text = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, path, query, time.monotonic())
        rule = self.owner.take_rule(request, self.connection)
        if rule and rule.hang_up:
            self.close_connection = True
            return
        if rule and rule.hold:
            self.close_connection = True
            try:
                self.connection.recv(1)  # until the client gives up
            finally:
                with self.owner.lock:
                    rule.given_up += 1
            return
        if rule and rule.answer:
            request.status = rule.answer[0]
            self.reply(*rule.answer)
            return
        if rule and rule.feed:
            request.status = 200
            self.feed(rule.feed(request), request.is_watch)
            return
        if rule and rule.rewrite:
            query = rule.rewrite(dict(query))
        if rule and rule.twice:
            # As a client library does that lost the first answer; this one goes to the client.
            self.ask(request, query, body)[0].close()
        self.forward(request, query, body, rule)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def reply(self, status, body, headers=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def ask(self, request, query, body):
        connection = self.owner.upstream()
        headers = {n: v for n, v in self.headers.items() if n.lower() not in ("host", "connection", "content-length")}
        target = request.path + ("?" + urllib.parse.urlencode(query) if query else "")
        connection.request(request.method, target, body or None, headers)
        return connection, connection.getresponse()

    def forward(self, request, query, body, rule):
        connection, answer = self.ask(request, query, body)
        request.status = answer.status
        if request.is_watch and answer.status == 200:
            self.stream(answer, rule)
        else:
            data = answer.read()
            keep = {n: answer.headers[n] for n in ("Content-Type", "Retry-After") if n in answer.headers}
            self.reply(answer.status, data, keep)
        connection.close()

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def feed(self, parts, stays_open):
        """Sends an answer of the script's own; a watch then stays open."""
        self.begin_stream()
        for part in parts:
            self.chunk(part)
        if stays_open:
            self.connection.recv(1)
        else:
            self.chunk(b"")

    def stream(self, answer, rule):
        """Forwards a watch line by line; rule.lines may change, drop or end them."""
        self.begin_stream()
        # http.client's readline would wait for more than there is.
        rest = b""
        while data := answer.read1(65536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                line += b"\n"
                if rule and rule.lines:
                    line = rule.lines(line)
                if line is None:
                    self.chunk(b"")
                    return
                if line:
                    self.pieces(line, rule and rule.dribble)
        self.chunk(b"")

    def pieces(self, line, dribble):
        if not dribble:
            self.chunk(line)
            return
        for i in range(len(line)):
            self.chunk(line[i:i + 1])

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def status(code, reason, message, **details):
    """Returns a Status as the API server writes it."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, **({"details": details} if details else {}), "code": code}


EXPIRED = status(410, "Expired", "The provided continue parameter is too old to display a consistent list result.")
TOO_LARGE = status(504, "Timeout", "Timeout: Too large resource version: 1, current: 0",
                   causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                   retryAfterSeconds=1)
NO_STREAMS = status(422, "Invalid", "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden",
                    group="meta.k8s.io", kind="ListOptions",
                    causes=[{"reason": "FieldValueForbidden", "message": "Forbidden", "field": "sendInitialEvents"}])
TOO_MANY = status(429, "TooManyRequests", "too many requests", retryAfterSeconds=7)
CONFLICT = status(409, "Conflict", "Operation cannot be fulfilled on rayclusters.ray.io \"x\": the object has been modified; "
                  "please apply your changes to the latest version and try again", name="x", group="ray.io",
                  kind="rayclusters")


def expired_event(version):
    """Returns an ERROR event of a stream."""
    body = status(410, "Expired", f"too old resource version: {version} (9)")
    return json.dumps({"type": "ERROR", "object": body}).encode() + b"\n"
