# SPDX-License-Identifier: Apache-2.0
"""Serves prepared answers by HTTP, for those that our real servers cannot be made to give."""

import collections
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What STS answers to a service account's token.
KEYS = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIATEMPORARY</AccessKeyId>
<SecretAccessKey>temporary/secret</SecretAccessKey><SessionToken>temporary+token==</SessionToken>
<Expiration>2036-11-21T15:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>"""


def s3_error(code, message="x"):
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'


def azure_error(code):
    return f'\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>m\nRequestId:7</Message></Error>'


Request = collections.namedtuple("Request", "method path headers body time")


class StandIn:
    """answers: method to a list of (status, headers, body); the last one stays."""

    def __init__(self, host="127.0.0.1"):
        self.answers = {"HEAD": [(404, {}, "")], "GET": [(404, {}, "")]}
        self.requests = collections.defaultdict(list)
        self.seen = lambda method: None
        self.judge = lambda request: None  # returns an answer that goes before the prepared ones, or None
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            """Answers each request in turn."""

            protocol_version = "HTTP/1.1"

            def twice(self):
                """Refuses a header that comes twice, as servers do which sign both values."""
                names = [name.lower() for name in self.headers]
                return (403, {}, s3_error("SignatureDoesNotMatch")) if len(names) != len(set(names)) else None

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                outer.seen(self.command)
                with lock:
                    request = Request(self.command, self.path, dict(self.headers), body, time.monotonic())
                    outer.requests[self.command].append(request)
                    answers = outer.answers.get(self.command, [(405, {}, "")])
                    answer = self.twice() or outer.judge(request) or (answers.pop(0) if len(answers) > 1 else answers[0])
                status, headers, text = answer
                data = text.encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer((host, 0), Handler)
        self.address = f"{host}:{self.server.server_address[1]}"
        self.url = f"http://{self.address}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
