# SPDX-License-Identifier: Apache-2.0
"""Runs the operator from build/ as a process, against a real etcd and kube-apiserver that the test session starts."""

import json
import os
import pathlib
import re
import signal
import threading
import time
import uuid

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.control_plane import ControlPlane, Daemon, free_port
from apiserver.kubelet import Kubelet

ROOT = pathlib.Path(__file__).parents[3]
BUILD = ROOT / os.environ.get("AFTERGLOW_BUILD", "build")
WRAP = os.environ.get("AFTERGLOW_WRAP", "").split()  # what the operator is run by: valgrind, say
CHECKED = bool(WRAP) or "address" in str(BUILD)  # memory is checked; what leaked is known only at an orderly end
IMAGE = "localhost/sidecar:test"


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    """The control plane, with the CRDs as people install them."""
    control_plane = ControlPlane(tmp_path_factory.mktemp("control-plane"))
    try:
        control_plane.start()
        install_crds(control_plane)
        yield control_plane
    finally:
        control_plane.stop()


def install_crds(control_plane):
    control_plane.kubectl("apply", "-f", str(ROOT / "charts/afterglow/files/crds"))
    for plural in ("rayclusters", "rayfailures", "raypolicies", "clusterraypolicies"):
        wait_for(f"the kind {plural}", lambda plural=plural: control_plane.api().items(plural) is not None, interval=0.1)


@pytest.fixture(name="scenarios", scope="module")
def doomed_leaders(plane, tmp_path_factory):
    """Leaders that end when a test first asks for this fixture (replicas.py): all at once, so that the takeovers overlap."""
    from apiserver import replicas  # pylint: disable=import-outside-toplevel # which needs what is below
    with replicas.doomed_leaders(plane, tmp_path_factory.mktemp) as made:
        yield made


@pytest.fixture
def api(plane, request):
    """The API in a namespace of the test's own. Its clusters are deleted afterwards."""
    words = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:40].strip("-")
    api = new_namespace(plane, words)
    yield api
    empty(api)


def new_namespace(plane, words):
    name = f"{words}-{uuid.uuid4().hex[:5]}"
    plane.api().create("namespaces", {"metadata": {"name": name}})
    return plane.api().within(name)


def empty(api):
    """Deletes what no operator is left to finalize: a cluster that stays would keep its CRD from being deleted."""
    for plural in ("rayclusters", "pods"):
        api.request("DELETE", api.path(plural))
    for cluster in api.items("rayclusters"):
        if cluster["metadata"].get("finalizers"):
            api.patch("rayclusters", cluster["metadata"]["name"], {"metadata": {"finalizers": None}})


@pytest.fixture
def kubelet(api):
    return Kubelet(api)


@pytest.fixture
def new_token(plane, api):
    """Makes tokens of an administrator. Each comes with a function that ends its validity."""
    api.create("serviceaccounts", {"metadata": {"name": "admin"}})
    binding = f"admin-{api.namespace}"
    plane.api().create("clusterrolebindings", {
        "metadata": {"name": binding},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "admin", "namespace": api.namespace}]})

    def new(name):
        api.create("secrets", {"metadata": {"name": name}})
        token = api.new_token("admin", boundObjectRef={"apiVersion": "v1", "kind": "Secret", "name": name})

        def end():
            api.delete("secrets", name)

            def refused():
                try:
                    plane.api(token).within(api.namespace).items("pods")
                except ApiError as error:
                    return error.status == 401
                return False
            wait_for("the token to be refused", refused)
        return token, end
    yield new
    plane.api().delete("clusterrolebindings", binding)


def kubeconfig_of(plane, api, name, rules):
    """Makes a service account that has these rights in the namespace and no others, and returns its kubeconfig."""
    api.create("serviceaccounts", {"metadata": {"name": name}})
    api.create("roles", {"metadata": {"name": name}, "rules": rules})
    api.create("rolebindings", {
        "metadata": {"name": name}, "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": api.namespace}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})
    return plane.kubeconfig(f"{name}-{api.namespace}", credentials={"token": api.new_token(name)})


class Operator(Daemon):
    """A running afterglow-operator."""

    def __init__(self, log, *args, env=None):
        self.metrics_port = free_port()
        # What replaces functions of libc needs a program with shared libraries.
        program = BUILD / ("shared" if WRAP or "LD_PRELOAD" in (env or {}) else "") / "afterglow-operator"
        assert program.exists(), f"{program} is not there: make all shared"
        super().__init__([*WRAP, program, "--launcher", BUILD / "afterglow-launch", "--metrics-address",
                          f"127.0.0.1:{self.metrics_port}", *args], log, env)

    def restart_when_lost(self):
        """
        Starts it again whenever it has lost its Lease, as the kubelet does. On a busy machine the API server may stand
        still for ten seconds, and the Lease is lost then. For tests that are about the operator's work, and not its Lease.
        """
        def tend():
            while self.process.wait() == 1 and "is lost: another replica acts" in self.text().splitlines()[-1]:
                self.start()
        threading.Thread(target=tend, daemon=True).start()
        return self

    def http(self, path):
        # pylint: disable=import-outside-toplevel
        import urllib.error
        import urllib.request
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            raise AssertionError(f"{path}: {error}") from error

    def metric(self, name, **labels):
        """Returns the sum over all series that have these labels."""
        total = 0.0
        for line in self.http("/metrics")[1].splitlines():
            found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if found and found[1] == name and all(f'{k}="{v}"' in (found[2] or "") for k, v in labels.items()):
                total += float(found[3])
        return total

    def wait_ready(self):
        def ready():
            if not self.running():
                pytest.fail(f"the operator has ended: {self.text()}")  # nothing to wait for
            return self.http("/readyz")[0] == 200
        wait_for("the operator to be ready", ready, interval=0.05)
        return self


class Operators:
    """Starts operators: they manage the clusters of one namespace, with a sidecar image, unless told otherwise."""

    def __init__(self, plane, namespace, directory):
        self.plane, self.namespace, self.directory = plane, namespace, directory
        self.started = []

    def __call__(self, *args, kubeconfig=None, namespace=True, image=IMAGE, env=None, ready=True,
                 manage=True):
        arguments = ["--kubeconfig", kubeconfig or self.plane.kubeconfig("operator")]
        arguments += ["--namespace", self.namespace] if namespace else []
        arguments += ["--sidecar-image", image] if image else []
        arguments += ["--manage-clusters"] if manage else []
        operator = Operator(self.directory / f"operator-{len(self.started)}.log", *arguments, *args, env=env)
        self.started.append(operator)
        return operator.wait_ready() if ready else operator

    def close(self):
        for operator in self.started:
            if CHECKED and operator.running():
                operator.send(signal.SIGCONT)
                operator.stop(signal.SIGTERM)
            # Stopped processes hear of nothing else.
            operator.stop(signal.SIGKILL)
            print(f"--- {operator.log.name}\n{operator.text()}")
            # What valgrind says begins with its PID.
            assert not re.search(r"Sanitizer|runtime error:|^==\d+==", operator.text(), re.M), operator.log.name


@pytest.fixture
def start(plane, api, tmp_path):
    """Starts operators."""
    operators = Operators(plane, api.namespace, tmp_path)
    yield operators
    operators.close()


@pytest.fixture
def operator(start):
    return start()


def group(name, replicas=1, **more):
    return {"groupName": name, "replicas": replicas, "minReplicas": 0, "maxReplicas": 10, "rayStartParams": {},
            "template": {"spec": {"containers": [{
                "name": "ray-worker", "image": "ray:test", "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}]}},
            **more}


def ray_cluster(name, *groups, **more):
    """Returns a RayCluster as a user of KubeRay writes it."""
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": {"rayVersion": "2.46.0",
                     "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": {"spec": {"containers": [{
                         "name": "ray-head", "image": "ray:test",
                         "resources": {"limits": {"cpu": "2", "memory": "4Gi"}}}]}}},
                     "workerGroupSpecs": list(groups), **more}}


class RayCluster:
    """A RayCluster in the test's namespace."""

    def __init__(self, api, name):
        self.api = api
        self.name = name

    def pods(self, node_type="", include_leaving=False):
        selector = f"ray.io/cluster={self.name}" + (f",ray.io/node-type={node_type}" if node_type else "")
        return [p for p in self.api.items("pods", selector)
                if include_leaving or "deletionTimestamp" not in p["metadata"]]

    def wait_pods(self, heads, workers):
        def find():
            found = self.pods("head"), self.pods("worker")
            assert (len(found[0]), len(found[1])) == (heads, workers), [p["metadata"]["name"] for f in found for p in f]
            return found
        return wait_for(f"{heads} head and {workers} worker pods of {self.name}", find, interval=0.05)

    def get(self):
        return self.api.get("rayclusters", self.name)

    def status(self):
        return self.get().get("status", {})

    def condition(self, kind):
        return next((c for c in self.status().get("conditions", []) if c["type"] == kind), None)

    def wait_condition(self, kind, status, reason=None):
        def find():
            condition = self.condition(kind)
            assert condition and condition["status"] == status and reason in (None, condition["reason"]), condition
            return condition
        return wait_for(f"condition {kind}={status} {reason or ''}", find, interval=0.05)

    def wait_status(self, **fields):
        def find():
            now = self.status()
            assert all(now.get(k) == v for k, v in fields.items()), now
            return now
        return wait_for(f"status {fields}", find, interval=0.05)

    def patch(self, spec):
        return self.api.patch("rayclusters", self.name, {"spec": spec})

    def scale(self, **replicas):
        """Sets the replicas of groups by their names."""
        groups = self.get()["spec"]["workerGroupSpecs"]
        for g in groups:
            g["replicas"] = replicas.get(g["groupName"].replace("-", "_"), g["replicas"])
        return self.patch({"workerGroupSpecs": groups})

    def failures(self):
        return self.api.items("rayfailures", f"ray.io/cluster={self.name}")

    def wait_failures(self, count):
        def find():
            found = self.failures()
            assert len(found) == count, json.dumps([f["metadata"]["name"] for f in found])
            return found
        return wait_for(f"{count} RayFailures of {self.name}", find, interval=0.05)


@pytest.fixture
def make(api):
    """Makes RayClusters."""
    def create(name, *groups, **more):
        api.create("rayclusters", ray_cluster(name, *groups, **more))
        return RayCluster(api, name)
    return create


@pytest.fixture
def worker(operator, make):
    """The one worker of a cluster that the operator made."""
    assert operator.running()
    _, (pod,) = make("demo", group("small", 1)).wait_pods(1, 1)
    return pod


def failures_of(api, pod):
    return [f for f in api.items("rayfailures") if f["spec"]["pod"] == pod["metadata"]["name"]]


def failures_written(plane, api, pod):
    """Returns how many RayFailures of the pod the API server has noted as created."""
    return len([w for w in plane.writes(api.namespace, "rayfailures", "create")
                if w["objectRef"]["name"].startswith(pod["metadata"]["name"] + "-")])


def settle(operator, api, kubelet):
    """
    Returns when the operator has seen everything that happened so far, and has acted on it. What it must answer comes
    last in both watches: a cluster that it refuses, and a pod that died.
    """
    name = f"marker-{uuid.uuid4().hex[:5]}"
    api.create("rayclusters", ray_cluster(name, group("same"), group("same")))
    RayCluster(api, name).wait_condition("afterglow.dev/SpecValid", "False")
    pod = api.create("pods", {
        "metadata": {"name": name, "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": name}},
        "spec": {"containers": [{"name": "ray", "image": "ray:test"}]}})
    kubelet.end(pod, 1)
    RayCluster(api, name).wait_failures(1)

    def at_rest():
        # A key that is looked at is not in the queue any more, and a look takes as long as the API server does. One that waits for its
        # pace, a tenth of a second, is not in it yet: within twice that no look may begin.
        ended = operator.metric("workqueue_work_duration_seconds_count")
        time.sleep(0.25)
        return (operator.metric("workqueue_depth") == 0 and operator.metric("afterglow_failures_pending") == 0 and
                operator.metric("workqueue_queue_duration_seconds_count") == ended)
    wait_for("an empty queue", at_rest, interval=0.05)
    api.delete("rayclusters", name)
    api.delete("pods", name)


def settle_with_events(operator, api, kubelet):
    """
    Returns when the operator has also written its Events: ten a second, warnings and others each in a row. Two clusters stay, the last of
    which anything is said.
    """
    settle(operator, api, kubelet)
    name = f"marker-last-{uuid.uuid4().hex[:5]}"
    last = {name: ray_cluster(name), f"{name}-refused": ray_cluster(f"{name}-refused", group("same"), group("same"))}
    for cluster in last.values():
        api.create("rayclusters", cluster)
    wait_for("the last Events", lambda: last.keys() <= {e["regarding"].get("name") for e in api.items("events")}, timeout=120)


__all__ = ["BUILD", "IMAGE", "ROOT", "Operator", "Operators", "RayCluster", "empty", "failures_of", "failures_written", "group",
           "install_crds", "kubeconfig_of", "new_namespace", "ray_cluster", "settle", "settle_with_events"]
