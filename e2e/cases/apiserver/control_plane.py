# SPDX-License-Identifier: Apache-2.0
"""etcd and kube-apiserver as child processes on loopback ports, without scheduler, controllers and kubelet."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import urllib.request

import yaml

from conftest import die_with_parent, wait_for
from apiserver.api import Api, ApiError

CLUSTER = pathlib.Path(__file__).parents[2] / "cluster"

# What each write was, and by whom: proof that nothing was done twice. Blocking, so a write that was answered is in it.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
              {"level": "None"}],
}


def free_port():
    """
    Returns a port below the range from which the kernel gives ports to clients, so that it is still free after a restart; and not one that
    a worker beside this one may take.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 6
    while True:
        port = random.randrange(20000 + 2000 * worker, 22000 + 2000 * worker)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def programs():
    """Returns the directory that e2e/cluster/build.sh prints."""
    result = subprocess.run([CLUSTER / "build.sh"], capture_output=True, text=True, check=True)
    return pathlib.Path(result.stdout.splitlines()[-1])


def api_server_program():
    """Returns the path of kube-apiserver: the cluster's, or that of the version which AFTERGLOW_KUBERNETES names."""
    version = os.environ.get("AFTERGLOW_KUBERNETES")
    if not version:
        return programs() / "kube-apiserver"
    result = subprocess.run([CLUSTER / "apiserver.sh", version], capture_output=True, text=True, check=True)
    return pathlib.Path(result.stdout.strip())


class Daemon:
    """A child process with a log file, stopped by its pid."""

    def __init__(self, command, log, env=None):
        self.command, self.log, self.env = [str(part) for part in command], log, env
        self.start()

    def start(self):
        with open(self.log, "ab") as output:
            # pylint: disable=subprocess-popen-preexec-fn # no threads here when children start, or such as hold no lock that it takes
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            preexec_fn=die_with_parent, env=self.env)

    def text(self):
        return self.log.read_text(errors="replace")

    def running(self):
        return self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM, timeout=180):
        """Sends the signal and returns the exit status."""
        if self.running():
            self.send(number)
        return self.process.wait(timeout)


class ControlPlane:
    """One etcd, one kube-apiserver, and what is needed to talk to it."""

    def __init__(self, directory):
        self.directory = directory
        self.bin = programs()
        self.api_server_program = api_server_program()
        self.etcd_port, self.peer_port, self.port = free_port(), free_port(), free_port()
        self.etcd = self.api_server = None
        self.audit_read, self.audit_events = 0, []
        self.make_certificates()
        (directory / "audit.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))

    # --- certificates ---

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.directory, check=True, capture_output=True)

    def issue(self, name, subject, *extensions):
        extra = [part for e in extensions for part in ("-addext", e)]
        self.openssl("req", "-x509", "-config", "openssl.cnf", "-new", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-noenc", "-days", "30", "-CA", "ca.crt", "-CAkey", "ca.key", "-subj",
                     subject, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-addext",
                     "basicConstraints=critical,CA:FALSE", *extra)

    def make_certificates(self):
        self.directory.joinpath("openssl.cnf").write_text("[req]\ndistinguished_name = dn\n[dn]\n")
        self.openssl("req", "-x509", "-config", "openssl.cnf", "-new", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-noenc", "-days", "30", "-subj", "/CN=ca", "-keyout", "ca.key",
                     "-out", "ca.crt", "-addext", "basicConstraints=critical,CA:TRUE", "-addext",
                     "keyUsage=critical,digitalSignature,keyCertSign")
        self.openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "sa.key")
        self.issue("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1")
        self.issue("test", "/O=system:masters/CN=test")
        self.issue("operator", "/O=system:masters/CN=operator")

    def file(self, name):
        return self.directory / name

    # --- processes ---

    def start_etcd(self):
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        self.etcd = Daemon([self.bin / "etcd", "--name", "test", "--data-dir", self.file("etcd"), "--listen-client-urls",
                            client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"test={peer}",
                            "--unsafe-no-fsync", "--log-level", "warn"], self.file("etcd.log"))

    def api_server_command(self, port, *more, etcd_port=None):
        """Returns the command that starts an API server. If a flag is given twice, the last counts."""
        return [
            self.api_server_program, "--etcd-servers", f"http://127.0.0.1:{etcd_port or self.etcd_port}",
            "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", port,
            "--endpoint-reconciler-type", "none", "--authorization-mode", "RBAC",
            "--service-cluster-ip-range", "10.0.0.0/16", "--client-ca-file", self.file("ca.crt"),
            "--tls-cert-file", self.file("server.crt"), "--tls-private-key-file", self.file("server.key"),
            "--service-account-issuer", "https://test", "--service-account-signing-key-file", self.file("sa.key"),
            "--service-account-key-file", self.file("sa.key"),
            # Nobody makes the service accounts that this plugin asks for.
            "--disable-admission-plugins", "ServiceAccount", *more]

    def start_api_server(self):
        self.api_server = Daemon(self.api_server_command(
            self.port, "--audit-policy-file", self.file("audit.yaml"), "--audit-log-path", self.file("audit.log"),
            "--audit-log-mode", "blocking-strict"), self.file("api-server.log"))
        wait_for("the API server", self.is_ready, timeout=120, interval=0.1)

    @contextlib.contextmanager
    def another_api_server(self, *more, etcd_port=None, ready_ca=None):
        """Starts a second API server on the same etcd, or by way of another port, and gives an Api of it."""
        port = free_port()
        server = Daemon(self.api_server_command(port, *more, etcd_port=etcd_port), self.file(f"api-server-{port}.log"))
        api = Api(port, ready_ca or self.file("ca.crt"), self.file("test.crt"), self.file("test.key"))

        def ready():
            assert server.running(), server.text()[-3000:]
            try:
                return api.request("GET", "/readyz") == "ok"
            except ApiError:
                return False
        try:
            wait_for("another API server", ready, timeout=120, interval=0.1)
            yield api
        finally:
            server.stop(signal.SIGKILL)

    @contextlib.contextmanager
    def controllers(self, *args):
        """Runs Kubernetes' own kube-controller-manager, while it is needed."""
        manager = Daemon([self.bin / "kube-controller-manager", "--kubeconfig", self.kubeconfig("test"), "--leader-elect=false",
                          "--secure-port", "0", *args], self.file("controllers.log"))
        try:
            yield manager
        finally:
            manager.stop(signal.SIGKILL)

    def etcd_call(self, method, body):
        """Calls etcd's gRPC through its JSON gateway."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.etcd_port}/v3/{method}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def compact(self):
        """Compacts etcd: it forgets all versions but the last."""
        revision = self.etcd_call("kv/range", {"key": "AA=="})["header"]["revision"]
        self.etcd_call("kv/compaction", {"revision": revision, "physical": True})

    def is_ready(self):
        assert self.api_server.running(), self.api_server.text()[-3000:]
        try:
            return self.api().request("GET", "/readyz") == "ok"
        except ApiError:
            return False

    def start(self):
        self.start_etcd()
        self.start_api_server()

    def stop(self):
        """Kills all of them, as nothing of them is to be kept."""
        for daemon in (self.api_server, self.etcd):
            if daemon:
                daemon.stop(signal.SIGKILL)
        shutil.rmtree(self.file("etcd"), ignore_errors=True)

    # --- clients ---

    def api(self, token=None):
        if token:
            return Api(self.port, self.file("ca.crt"), token=token)
        return Api(self.port, self.file("ca.crt"), self.file("test.crt"), self.file("test.key"))

    def kubectl(self, *args):
        result = subprocess.run(
            [self.bin / "kubectl", "--kubeconfig", self.kubeconfig("test"), *args], capture_output=True, text=True,
            check=False, env={**os.environ, "HOME": str(self.directory)})
        assert result.returncode == 0, result.stderr
        return result.stdout

    def kubeconfig(self, user, port=None, credentials=None):
        """Returns the path of a kubeconfig with the user's certificate, or with other credentials."""
        credentials = credentials or {"client-certificate": str(self.file(f"{user}.crt")),
                                      "client-key": str(self.file(f"{user}.key"))}
        path = self.file(f"{user}-{port or self.port}.kubeconfig")
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{port or self.port}",
                                                      "certificate-authority": str(self.file("ca.crt"))}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "users": [{"name": user, "user": credentials}],
        }))
        return path

    def audited(self):
        """Returns all that the API server has noted. Cases that wait ask several times a second, so what is known is not read again."""
        with open(self.file("audit.log"), "rb") as log:
            log.seek(self.audit_read)
            text = log.read()
        text = text[:text.rfind(b"\n") + 1]  # the last line may be on its way
        self.audit_read += len(text)
        self.audit_events += map(json.loads, text.splitlines())
        return self.audit_events

    def writes(self, namespace, plural=None, verb=None, user="operator"):
        """Returns the writes that succeeded, in their order, as the API server noted them."""
        found = []
        for event in self.audited():
            what = event.get("objectRef", {})
            if (user in (None, event["user"]["username"]) and what.get("namespace") == namespace and
                    event.get("responseStatus", {}).get("code", 0) // 100 == 2 and
                    plural in (None, what.get("resource")) and verb in (None, event["verb"])):
                found.append(event)
        return found
