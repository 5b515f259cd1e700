# SPDX-License-Identifier: Apache-2.0
"""The operator reaches the API server, and proves who it is, in each way that kubeconfigs have."""

import base64
import http.server
import os
import select
import socket
import socketserver
import threading

import yaml

from conftest import wait_for
from apiserver.conftest import group


def write_config(path, **entries):
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **entries}))
    return path


def cluster_entry(plane, **more):
    return [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{plane.port}",
                                      "certificate-authority": str(plane.file("ca.crt")), **more}}]


def context_entry(user="u"):
    return [{"name": "x", "context": {"cluster": "c", "user": user}}]


def certificate(plane, name="operator"):
    return {"client-certificate": str(plane.file(f"{name}.crt")), "client-key": str(plane.file(f"{name}.key"))}


def whole(plane, path, user, **cluster):
    return write_config(path, **{"current-context": "x", "contexts": context_entry(),
                                 "clusters": cluster_entry(plane, **cluster), "users": [{"name": "u", "user": user}]})


def test_several_files_in_kubeconfig_are_one(start, plane, make, tmp_path):
    one = write_config(tmp_path / "one", contexts=context_entry())
    two = write_config(tmp_path / "two", clusters=cluster_entry(plane), **{"current-context": "x"})
    three = write_config(tmp_path / "three", users=[{"name": "u", "user": certificate(plane)}])
    env = {**os.environ, "KUBECONFIG": f"{one}:{tmp_path}/none:{two}:{three}"}
    operator = start("--kubeconfig=", env=env)  # the last counts: none
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert operator.running()


def test_a_context_can_be_chosen(start, plane, make, tmp_path):
    config = write_config(tmp_path / "config", contexts=context_entry() + [
        {"name": "other", "context": {"cluster": "nowhere", "user": "u"}}], clusters=cluster_entry(plane),
        users=[{"name": "u", "user": certificate(plane)}], **{"current-context": "other"})
    start("--context", "x", kubeconfig=config)
    make("demo", group("small", 1)).wait_pods(1, 1)


def test_inline_certificates_work_as_files_do(start, plane, make, tmp_path):
    data = {name: base64.b64encode(plane.file(name).read_bytes()).decode() for name in ("ca.crt", "operator.crt", "operator.key")}
    config = write_config(
        tmp_path / "config", contexts=context_entry(), **{"current-context": "x"},
        clusters=[{"name": "c", "cluster": {"server": f"https://127.0.0.1:{plane.port}",
                                            "certificate-authority-data": data["ca.crt"]}}],
        users=[{"name": "u", "user": {"client-certificate-data": data["operator.crt"],
                                      "client-key-data": data["operator.key"]}}])
    start(kubeconfig=config)
    make("demo", group("small", 1)).wait_pods(1, 1)


def test_a_server_may_have_a_certificate_for_another_name(start, plane, make, tmp_path):
    plane.issue("named", "/CN=kube-apiserver", "subjectAltName=DNS:kubernetes.example")
    with plane.another_api_server("--tls-cert-file", plane.file("named.crt"), "--tls-private-key-file",
                                  plane.file("named.key"), name="kubernetes.example") as other:
        server = f"https://127.0.0.1:{other.port}"
        config = whole(plane, tmp_path / "config", certificate(plane), server=server)
        operator = start(kubeconfig=config, ready=False)
        wait_for("the refusal", lambda: "certificate" in operator.text())
        config = whole(plane, tmp_path / "named", certificate(plane),
                       **{"server": server, "tls-server-name": "kubernetes.example"})
        second = start(kubeconfig=config)
        make("demo", group("small", 1)).wait_pods(1, 1)
        assert second.metric("rest_client_requests_total", host=f"127.0.0.1:{other.port}") > 0


def test_who_does_not_want_to_know_the_authority_need_not(start, plane, make, tmp_path):
    config = write_config(tmp_path / "config", contexts=context_entry(), **{"current-context": "x"}, clusters=[
        {"name": "c", "cluster": {"server": f"https://127.0.0.1:{plane.port}", "insecure-skip-tls-verify": True}}],
        users=[{"name": "u", "user": certificate(plane)}])
    start(kubeconfig=config)
    make("demo", group("small", 1)).wait_pods(1, 1)


def test_impersonation_acts_as_another(start, plane, api, make, tmp_path):
    config = whole(plane, tmp_path / "config", {**certificate(plane), "as": "jane doe", "as-groups": ["system:masters"]})
    start(kubeconfig=config)
    make("demo", group("small", 1)).wait_pods(1, 1)
    (event, *_) = plane.writes(api.namespace, "pods", "create")
    assert event["impersonatedUser"]["username"] == "jane doe"
    assert event["impersonatedUser"]["groups"][0] == "system:masters"


class Connect(http.server.BaseHTTPRequestHandler):
    """Answers CONNECT, the only method that a proxy for TLS needs."""

    asked = []

    def do_CONNECT(self):  # pylint: disable=invalid-name
        self.asked.append(self.path)
        host, port = self.path.split(":")
        self.close_connection = True
        with socket.create_connection((host, int(port))) as server:
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            ends = {self.connection: server, server: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Server(socketserver.ThreadingTCPServer):
    """Serves on a free port until the process ends or it is shut down."""

    daemon_threads = True


def test_a_proxy_of_the_kubeconfig_is_gone_through(start, plane, make, tmp_path):
    with Server(("127.0.0.1", 0), Connect) as proxy:
        threading.Thread(target=proxy.serve_forever, args=(0.1,), daemon=True).start()
        config = whole(plane, tmp_path / "config", certificate(plane),
                       **{"proxy-url": f"http://127.0.0.1:{proxy.server_address[1]}"})
        start(kubeconfig=config)
        make("demo", group("small", 1)).wait_pods(1, 1)
        assert set(Connect.asked) == {f"127.0.0.1:{plane.port}"}
        proxy.shutdown()
