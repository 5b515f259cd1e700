# SPDX-License-Identifier: Apache-2.0
"""Serves a webhook of the tests on an address of this machine, and breaks Afterglow's webhook in several ways."""

import base64
import contextlib
import copy
import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading

from live import SYSTEM

ADDRESS = os.environ.get("AFTERGLOW_STORE_ADDRESS", "10.245.0.1")
LABEL = "app.kubernetes.io/name=afterglow"
NEIGHBOUR = "neighbour"


class Handler(http.server.BaseHTTPRequestHandler):
    """Appends a sidecar to each pod that has none of its name."""

    def do_POST(self):  # pylint: disable=invalid-name # its base class calls it so
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        answer = {"uid": request["uid"], "allowed": True}
        if NEIGHBOUR not in [c["name"] for c in request["object"]["spec"]["containers"]]:
            patch = [{"op": "add", "path": "/spec/containers/-", "value": {
                "name": NEIGHBOUR, "image": request["object"]["spec"]["containers"][0]["image"],
                "imagePullPolicy": "IfNotPresent", "command": ["sleep", "1000"]}}]
            answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        text = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_args):  # pylint: disable=arguments-differ # nobody reads it
        pass


def certificate(directory):
    """Makes a key and a self-signed certificate for this address."""
    key, chain = pathlib.Path(directory, "key.pem"), pathlib.Path(directory, "chain.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days",
                    "2", "-subj", "/CN=webhook", "-addext", f"subjectAltName=IP:{ADDRESS}", "-keyout", str(key), "-out",
                    str(chain)], check=True, capture_output=True)
    return key, chain


@contextlib.contextmanager
def server():
    """Runs an HTTPS server with Handler; yields its URL and the certificate that a client must trust."""
    with tempfile.TemporaryDirectory() as directory:
        key, chain = certificate(directory)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        made = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
        made.socket = context.wrap_socket(made.socket, server_side=True)
        threading.Thread(target=made.serve_forever, daemon=True).start()
        try:
            yield f"https://{ADDRESS}:{made.server_port}", base64.b64encode(chain.read_bytes()).decode()
        finally:
            made.shutdown()
            made.server_close()


@contextlib.contextmanager
def silence():
    """Opens a port that accepts connections and never answers; yields its URL."""
    with socket.create_server((ADDRESS, 0), backlog=200) as listener:
        yield f"https://{ADDRESS}:{listener.getsockname()[1]}"


def neighbours_configuration(name, namespace, url, bundle):
    """Returns a configuration of the tests' webhook. API servers call webhooks in the order of the names of their configurations."""
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name},
            "webhooks": [{
                "name": "neighbour.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "reinvocationPolicy": "IfNeeded", "clientConfig": {"url": url, "caBundle": bundle},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}]}


def configurations(kubectl):
    return kubectl.items("mutatingwebhookconfigurations", "-l", LABEL)


@contextlib.contextmanager
def elsewhere(kubectl, url):
    """Points the configuration of Afterglow's webhook to that address, where the certificate is not of its CA."""
    before = configurations(kubectl)
    assert before, "the chart has made no webhook"
    try:
        for configuration in before:
            point(kubectl, configuration, lambda _: {"url": url})
        yield
    finally:
        for configuration in before:
            point(kubectl, configuration, lambda hook: hook["clientConfig"])


def point(kubectl, configuration, client_config):
    """Sets the clientConfig of each of its webhooks, except for caBundle, which the operator maintains."""
    patch = []
    for n, hook in enumerate(configuration["webhooks"]):
        value = {**copy.deepcopy(client_config(hook)), "caBundle": hook["clientConfig"].get("caBundle", "")}
        patch.append({"op": "replace", "path": f"/webhooks/{n}/clientConfig", "value": value})
    kubectl("patch", "mutatingwebhookconfiguration", configuration["metadata"]["name"], "--type=json", "-p", json.dumps(patch))


@contextlib.contextmanager
def no_operator(kubectl):
    replicas = kubectl.json("--namespace", SYSTEM, "deployment", "afterglow-operator")["spec"]["replicas"]
    try:
        scale(kubectl, 0)
        yield
    finally:
        scale(kubectl, replicas)


def scale(kubectl, replicas):
    kubectl("--namespace", SYSTEM, "scale", "deployment/afterglow-operator", f"--replicas={replicas}")
    if replicas:
        kubectl("--namespace", SYSTEM, "rollout", "status", "deployment/afterglow-operator", "--timeout=300s", timeout=320)
    else:
        kubectl("--namespace", SYSTEM, "wait", "--for=delete", "pod", "-l", LABEL, "--timeout=300s", timeout=320)


def processes(pod):
    """Returns the processes of this machine that belong to a pod."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cgroup"):
        try:
            if f"pod{pod['metadata']['uid']}" in path.read_text() and "afterglow" in (path.parent / "comm").read_text():
                found.append(int(path.parent.name))
        except OSError:
            continue  # it has ended
    return found
