# SPDX-License-Identifier: Apache-2.0
"""The node gives keys and tokens to a pod: EKS Pod Identity (and ECS), and Google's workload identity. The answers are those
that the vendors document; there is no such node here."""

import http.server
import json
import pathlib
import ssl
import subprocess
import threading

import pytest

from stores.shipping import failed, shipped
from stores.stand_in import StandIn
from stores.test_s3 import FAKETIME

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJwb2RzLmVrcyJ9.c2ln"
KEYS = {
    "AccessKeyId": "ASIATEMPORARY", "SecretAccessKey": "temporary/secret", "Token": "temporary+token==",
    "AccountId": "123456789012", "Expiration": "2026-11-22T20:00:00Z",
}  # fmt: skip


class PodIdentity:
    """The agent, a bucket, and what EKS's webhook puts into the environment of each container."""

    def __init__(self, tmp_path):
        self.agent, self.s3 = StandIn(), StandIn()
        self.agent.answers["GET"] = [(200, {}, json.dumps(KEYS))]
        self.s3.answers["PUT"] = [(200, {"ETag": '"x"'}, "")]
        self.token = tmp_path / "eks-pod-identity-token"
        self.token.write_text(TOKEN + "\n")
        self.args = ["--store", "s3://bucket/x", "--s3-endpoint", self.s3.url]
        self.env = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.agent.url}/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(self.token),
        }


@pytest.fixture
def pod(tmp_path):
    pod = PodIdentity(tmp_path)
    yield pod
    pod.agent.close()
    pod.s3.close()


def test_pod_identity_gives_the_keys_that_sign_each_request(pod, bundle):
    outcome = shipped(pod, bundle, env=pod.env)
    (asked,) = pod.agent.requests["GET"]
    assert (asked.path, asked.headers["Authorization"]) == ("/v1/credentials", TOKEN)
    assert len(pod.s3.requests["PUT"]) == len(bundle.files)
    for request in pod.s3.requests["PUT"]:
        assert "Credential=ASIATEMPORARY/" in request.headers["Authorization"]
        assert request.headers["x-amz-security-token"] == KEYS["Token"]
    said = outcome.stderr + str(outcome.lines)
    assert not any(secret in said for secret in (TOKEN, "temporary"))


def test_the_agent_is_asked_directly_where_all_else_takes_a_proxy(pod, bundle):
    """A proxy outside the node can neither reach the agent nor should it see the token."""
    proxy = StandIn()
    proxy.answers["GET"] = [(502, {}, "")]
    proxy.answers["PUT"] = [(200, {"ETag": '"x"'}, "")]
    try:
        shipped(pod, bundle, env={**pod.env, "http_proxy": proxy.url, "no_proxy": ""})
    finally:
        proxy.close()
    assert len(pod.agent.requests["GET"]) == 1 and not proxy.requests["GET"]
    assert len(proxy.requests["PUT"]) == len(bundle.files)


def test_keys_are_asked_for_again_with_the_token_that_is_there_then(pod, bundle, tmp_path):
    clock = tmp_path / "clock"
    clock.write_text("+0")

    def pass_time(method):
        if method == "PUT" and clock.read_text() == "+0":
            pod.token.write_text("the.next.token")
            clock.write_text("+11m")

    pod.s3.seen = pass_time
    shipped(pod, bundle, env={
        **pod.env, "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
    })  # fmt: skip
    assert [r.headers["Authorization"] for r in pod.agent.requests["GET"]] == [TOKEN, "the.next.token"]


@pytest.mark.parametrize(
    "status, body, kind, retry",
    [
        (404, '{"message": "no association"}', "credentials", False),
        (400, "", "credentials", False),
        (500, "", "server", True),
        (200, "<html>", "protocol", False),
        (200, json.dumps({**KEYS, "Token": "a\r\nHost: b"}), "protocol", False),
        (302, "", "credentials", False),
    ],
    ids=range(6),
)
def test_what_the_agent_answers_is_reported(pod, bundle, status, body, kind, retry):
    pod.agent.answers["GET"] = [(status, {"Location": pod.s3.url} if status == 302 else {}, body)]
    outcome = failed(pod, bundle, env=pod.env)
    assert (outcome.result["kind"], outcome.result["retry"]) == (kind, retry), outcome
    assert "pod identity" in outcome.result["error"]
    assert not pod.s3.requests
    assert TOKEN not in outcome.stderr + str(outcome.lines)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.org/v1/credentials"}, "no address of EKS or ECS"),
        ({"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/nowhere/token"}, "/nowhere/token"),
    ],
)
def test_a_wrong_environment_is_named(pod, bundle, change, words):
    outcome = failed(pod, bundle, env={**pod.env, **change})
    assert outcome.result["kind"] == "credentials" and words in outcome.result["error"], outcome
    assert not pod.agent.requests and not pod.s3.requests


class Google:
    """Cloud Storage behind a proxy that ends TLS for it: PUT, HEAD, and uploads in parts, as its XML API documents them. It takes
    nothing but a bearer token and Google's own names of headers, which is what Google's servers insist on."""

    TOKEN = "ya29.c.b0AXv0zTP-x_y"

    def __init__(self, tmp_path):
        self.objects, self.parts, self.requests = {}, {}, []
        certificate, key = tmp_path / "google.crt", tmp_path / "google.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=storage.googleapis.com", "-addext", "subjectAltName=DNS:storage.googleapis.com",
             "-keyout", str(key), "-out", str(certificate)],
            check=True, capture_output=True,
        )  # fmt: skip
        self.certificate = certificate
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        google = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """CONNECT, and then Cloud Storage."""

            protocol_version = "HTTP/1.1"

            def do_CONNECT(self):
                assert self.path == "storage.googleapis.com:443"
                self.send_response(200)
                self.end_headers()
                self.connection = context.wrap_socket(self.connection, server_side=True)
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)
                self.close_connection = False

            def answer(self, status, headers=None, body=b""):
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                if "Content-Length" not in (headers or {}):
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                google.requests.append((self.command, self.path, dict(self.headers)))
                if self.headers.get("Authorization") != f"Bearer {google.TOKEN}":
                    self.answer(401, body=b"<Error><Code>AuthenticationRequired</Code></Error>")
                elif any(name.lower().startswith("x-amz-") for name in self.headers):
                    self.answer(400, body=b"<Error><Code>InvalidArgument</Code></Error>")
                else:
                    self.answer(*google.serve(self.command, self.path, self.headers, body))

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.proxy = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.metadata = StandIn()
        self.metadata.answers["GET"] = [
            (200, {}, json.dumps({"access_token": self.TOKEN, "expires_in": 3599, "token_type": "Bearer"}))
        ]
        self.args = ["--store", "s3://bucket/x", "--s3-endpoint", "https://storage.googleapis.com", "--s3-path-style",
                     "--ca", str(certificate)]  # fmt: skip
        self.env = {"https_proxy": self.proxy, "GCE_METADATA_HOST": self.metadata.address}

    def serve(self, method, path, headers, body):
        key, _, query = path.partition("?")
        if method == "HEAD":
            found = self.objects.get(key)
            return (404,) if found is None else (200, {"Content-Length": str(len(found[0])), "x-goog-meta-sha256": found[1]})
        if method == "GET":  # which uploads are under way
            return 200, {}, b"<ListMultipartUploadsResult/>"
        if method == "POST" and query.startswith("uploads"):
            self.parts[key] = {"sha256": headers["x-goog-meta-sha256"]}
            return 200, {}, b"<InitiateMultipartUploadResult><UploadId>VXBsb2Fk</UploadId></InitiateMultipartUploadResult>"
        if method == "PUT" and "uploadId=VXBsb2Fk" in query:
            number = int(dict(pair.split("=") for pair in query.split("&"))["partNumber"])
            self.parts[key][number] = body
            return 200, {"ETag": f'"{number}"'}
        if method == "POST" and "uploadId=VXBsb2Fk" in query:
            parts = self.parts.pop(key)
            sha256 = parts.pop("sha256")
            self.objects[key] = (b"".join(parts[number] for number in sorted(parts)), sha256)
            return 200, {}, b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
        if method == "PUT":
            self.objects[key] = (body, headers["x-goog-meta-sha256"])
            return 200, {"ETag": '"x"'}
        return 405, {}, b""

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.metadata.close()


@pytest.fixture
def google(tmp_path):
    google = Google(tmp_path)
    yield google
    google.close()


def test_cloud_storage_takes_the_token_of_the_metadata_server(google, large):
    outcome = shipped(google, large, env=google.env)
    (asked,) = google.metadata.requests["GET"]
    assert asked.path == "/computeMetadata/v1/instance/service-accounts/default/token"
    assert asked.headers["Metadata-Flavor"] == "Google"
    there = {pathlib.PurePosixPath(key).relative_to("/bucket/x/large").as_posix(): data for key, (data, _) in google.objects.items()}
    assert there == large.files
    # A second run finds what is there by Google's name of the metadata, and sends nothing.
    del google.requests[:]
    shipped(google, large, env=google.env)
    assert {method for method, _, _ in google.requests} == {"HEAD"}
    assert google.TOKEN not in outcome.stderr + str(outcome.lines)


def test_what_is_not_signed_is_compared_with_the_manifest_before_it_is_sent(google, bundle):
    (bundle.path / "report.txt").write_bytes(bundle.files["report.txt"].swapcase())
    assert failed(google, bundle, env=google.env).result["kind"] == "bundle-changed"
    assert not google.objects and not google.requests


@pytest.mark.parametrize("status, body, kind", [(404, "", "credentials"), (503, "", "server"), (200, "{}", "protocol")])
def test_what_the_metadata_server_answers_is_reported(google, bundle, status, body, kind):
    google.metadata.answers["GET"] = [(status, {}, body)]
    outcome = failed(google, bundle, env=google.env)
    assert outcome.result["kind"] == kind and "workload identity" in outcome.result["error"], outcome
    assert not google.requests
