# SPDX-License-Identifier: Apache-2.0
"""
Runs all of KubeRay's sample manifests on a real API server, with KubeRay's own operator as a process, and writes down what becomes of each:
status, pods and writes. Names, addresses and times are masked, so that two runs can be compared.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import urllib.request

import pytest
import yaml

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.control_plane import Daemon, free_port
from apiserver.kubelet import Kubelet

ROOT = pathlib.Path(__file__).parents[3]
USER = "kuberay"
PLURALS = {"RayCluster": "rayclusters", "RayJob": "rayjobs", "RayService": "rayservices", "RayCronJob": "raycronjobs"}
# A controller that fights with a webhook writes at every look. Without one it is at rest after half a dozen.
LOOKS_MAX = 40
MARKER = "marker"
# How often a status is written depends on how many pods became ready between two looks. Two runs differ by 2 % on a quiet machine,
# and by 34 and 59 % were measured where one of them had to share its cores with other suites. A controller that fights with a
# webhook writes without end.
STATUS_SLACK = 2.5
# These say when something was tried again, which is a matter of time alone.
UNCOUNTED = ("events", "leases")


def build():
    """Returns the directory with KubeRay's operator, CRDs and samples."""
    result = subprocess.run([ROOT / "bench/operator/kuberay/build.sh", ROOT / "e2e/kuberay"], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    return pathlib.Path(result.stdout.splitlines()[-1])


def read(folder):
    """Returns the manifests of KubeRay's kinds by a name that tells file and document; their objects have that name, too."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*.yaml")):
        documents = [d for d in yaml.safe_load_all(path.read_text(encoding="utf-8")) if d]
        renamed = {}
        for n, document in enumerate(d for d in documents if d.get("kind") in PLURALS):
            old, name = document["metadata"], f"{short_name(path.relative_to(folder))}-{n}"
            renamed[old.get("name")] = name
            document["metadata"] = {k: v for k, v in old.items() if k not in ("namespace", "generateName")} | {"name": name}
            assert name not in found, name
            found[name] = document
        # A job that looks for a cluster of its own file still finds it.
        for document in documents:
            selector = document.get("spec", {}).get("clusterSelector")
            if document.get("kind") == "RayJob" and selector:
                document["spec"]["clusterSelector"] = {k: renamed.get(v, v) for k, v in selector.items()}
    return found


def short_name(path):
    """Returns the end of a path, which tells samples apart: a RayService's name may have 47 characters."""
    words = re.sub("[^a-z0-9]+", "-", str(path).lower().removesuffix(".yaml").removeprefix("ray-"))
    return "s-" + words[-40:].strip("-")


@contextlib.contextmanager
def kuberay(plane, program, namespace):
    """Runs KubeRay's operator for one namespace. It is the only one there, so it has no lease that it could lose on a busy machine."""
    port = free_port()
    daemon = KubeRay([program / "kuberay-operator", "--watch-namespace", namespace, "--enable-leader-election=false",
                      "--qps", "10000", "--burst", "10000", "--reconcile-concurrency", "8",
                      "--metrics-addr", f"127.0.0.1:{port}", "--health-probe-bind-address", f"127.0.0.1:{free_port()}"],
                     plane.file(f"{namespace}.log"), {**os.environ, "KUBECONFIG": str(plane.kubeconfig(USER))})
    daemon.metrics = f"http://127.0.0.1:{port}/metrics"
    try:
        wait_for("KubeRay to be ready", lambda: "Starting workers" in daemon.text(), timeout=120, interval=0.1)
        yield daemon
    finally:
        daemon.stop()


class KubeRay(Daemon):
    """KubeRay's operator, which counts what it does in its metrics."""

    metrics = None

    def total(self, name):
        """Returns the sum over all controllers."""
        with urllib.request.urlopen(self.metrics, timeout=60) as answer:
            found = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", answer.read().decode(), re.M)
        return sum(map(float, found))

    def idle(self):
        """
        Returns whether every object that was in a queue has been looked at: as many looks had ended at first as objects have been queued
        by now. What waits for a time of its own is in no queue.
        """
        return self.total("workqueue_work_duration_seconds_count") == self.total("workqueue_adds_total")


class Marker:
    """
    Objects that KubeRay answers. Each watch delivers in order, so when KubeRay has answered what was written last, it knows all that was
    written before.
    """

    def __init__(self, api, kubelet):
        self.api, self.kubelet = api, kubelet
        self.round = 0
        self.cluster = api.create("rayclusters", {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": MARKER}, "spec": {
            "headGroupSpec": group(), "workerGroupSpecs": [{**group(), "groupName": "none", "minReplicas": 0, "replicas": 0}]}})

    def write(self):
        """Changes what the status of a cluster is made of, in each kind; and makes objects of which KubeRay says that they are wrong."""
        self.round += 1
        name, n = f"{MARKER}-{self.round}", self.round
        pod = wait_for("the marker's pod", lambda: self.api.items("pods", f"ray.io/cluster={MARKER}")[0], interval=0.1)
        self.kubelet.run_at(pod, self.address())
        service = wait_for("the marker's service", lambda: self.api.items("services", f"ray.io/cluster={MARKER}")[0], interval=0.1)
        ports = [p for p in service["spec"]["ports"] if p["name"] != MARKER]
        self.api.patch("services", service["metadata"]["name"], {"spec": {"ports": ports + [{"name": MARKER, "port": 1000 + n}]}})
        workers = self.cluster["spec"]["workerGroupSpecs"][0]
        self.api.patch("rayclusters", MARKER, {"spec": {"workerGroupSpecs": [{**workers, "maxReplicas": n}]}})
        self.api.create("rayjobs", {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": {}})
        self.api.create("rayservices", {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name}, "spec": {
            "rayClusterConfig": {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": []}}}}}})

    def address(self):
        return f"10.7.{self.round // 256}.{self.round % 256}"

    def answered(self):
        status = self.api.get("rayclusters", MARKER)["status"]
        job, service = (self.api.get(plural, f"{MARKER}-{self.round}")["status"] for plural in ("rayjobs", "rayservices"))
        found = (status["head"]["podIP"], status["endpoints"][MARKER], status["maxWorkerReplicas"], job["jobDeploymentStatus"],
                 {c["reason"] for c in service["conditions"]})
        assert found == (self.address(), str(1000 + self.round), self.round, "ValidationFailed", {"ValidationFailed"}), found
        return True


def group():
    return {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "ray", "image": "ray:test"}]}}}


class Run:
    """The samples in one namespace, by one KubeRay."""

    def __init__(self, plane, api, operator):
        self.plane, self.api, self.operator = plane, api, operator
        self.kubelet = Kubelet(api)
        self.marker = Marker(api, self.kubelet)
        self.refused = {}   # by sample, the API server's words
        self.pods = {}      # by sample: how many of which group
        self.specs = {}     # by sample, the specs of its pods
        self.statuses = {}  # by sample: of itself and what it made
        self.clusters = {}  # by sample, its RayClusters
        self.restless = set()  # the names of objects whose status KubeRay writes at every look
        self.writes = {}    # how many by (verb, resource, subresource); not of the restless, which are a matter of time

    def play(self, samples):
        for name, body in samples.items():
            try:
                self.api.create(PLURALS[body["kind"]], body)
            except ApiError as error:
                assert error.status in (400, 422), error
                self.refused[name] = json.loads(str(error).split(f"{error.status} ", 1)[1])["message"]
        self.settle()
        # What is ready makes more of it: the pods of a head first, then those of a job.
        while self.run_pods():
            self.settle()
        self.note(samples)
        return self

    def run_pods(self):
        """Returns whether there were any to run."""
        pending = [pod for pod in self.api.items("pods", f"ray.io/cluster!={MARKER}") if pod["status"]["phase"] == "Pending"]
        for pod in pending:
            self.kubelet.run(pod)
        return pending

    def written(self):
        """Returns KubeRay's writes, but for those to the marker. That of the marker's pod has no name, and is one in each run."""
        return [w for w in self.plane.writes(self.api.namespace, user=USER) if w["objectRef"]["resource"] not in UNCOUNTED and
                not is_marker(w["objectRef"].get("name", ""))]

    def settle(self):
        """
        Returns when KubeRay is at rest: it has looked at all objects, knowing all that there is, and at most said once more what it had
        said before. Fails if that never happens.
        """
        for _ in range(LOOKS_MAX):
            before, count = self.objects(), len(self.written())
            self.look()
            writes = self.written()[count:]
            if not writes or all(is_status(w) for w in writes) and self.said(before) == self.said(self.objects()):
                self.restless = {Masks(self.api.namespace, before).text(w["objectRef"]["name"]) for w in writes}
                return
        raise AssertionError(f"KubeRay still writes: {[short(w) for w in self.written()[-10:]]}")

    def objects(self):
        return [o for plural in PLURALS.values() for o in self.api.items(plural) if not is_marker(o["metadata"]["name"])]

    def said(self, objects):
        masks = Masks(self.api.namespace, objects)
        return {(o["kind"], o["metadata"]["name"]): masks.of(o.get("status", {})) for o in objects}

    def look(self):
        """Lets KubeRay look at all objects, with all in its caches that was written before. An annotation makes it look at once."""
        self.pass_marker()
        for found in self.objects():
            try:
                self.api.patch(PLURALS[found["kind"]], found["metadata"]["name"], {"metadata": {"annotations": {
                    "test/look": str(self.marker.round)}}})
            except ApiError as error:
                assert error.status == 404, error  # KubeRay has deleted it, which is a write
        self.pass_marker()
        wait_for("KubeRay to have looked at all objects", self.operator.idle, timeout=150, interval=0.1)

    def pass_marker(self):
        self.marker.write()
        try:
            wait_for("KubeRay to answer the marker", self.answered, timeout=150, interval=0.1)
        except AssertionError as error:
            words = [line[:1000] for line in self.operator.text().splitlines() if MARKER in line]
            raise AssertionError("\n".join([str(error), "KubeRay's words on the marker:", *words[-20:]])) from error

    def answered(self):
        if not self.operator.running():
            pytest.fail(f"KubeRay has ended: {self.operator.text()[-2000:]}")  # nothing to wait for
        return self.marker.answered()

    def note(self, samples):
        everything = self.objects()
        objects = {kind: [o for o in everything if o["kind"] == kind] for kind in PLURALS}
        pods = self.api.items("pods")
        masks = Masks(self.api.namespace, everything)
        for name in samples.keys() - self.refused.keys():
            made = [o for found in objects.values() for o in found if root_of(o, objects) == name]
            names = {o["metadata"]["name"] for o in made}
            mine = [p for p in pods if p["metadata"]["labels"].get("ray.io/cluster") in names]
            self.pods[name] = collections.Counter(p["metadata"]["labels"]["ray.io/group"] for p in mine)
            self.specs[name] = [p["spec"] for p in mine]
            self.clusters[name] = [o for o in made if o["kind"] == "RayCluster"]
            self.statuses[name] = sorted(json.dumps([o["kind"], masks.of(o.get("status", {}))], sort_keys=True) for o in made)
        self.writes = collections.Counter(
            (w["verb"], w["objectRef"]["resource"], w["objectRef"].get("subresource", "")) for w in self.written()
            if not is_status(w) or masks.text(w["objectRef"]["name"]) not in self.restless)


def differences(one, other):
    """Returns (sample, what, then, now) for each sample that came out otherwise in another run."""
    for name in sorted(one.statuses.keys() | other.statuses.keys()):
        for what in ("pods", "statuses"):
            then, now = getattr(one, what).get(name), getattr(other, what).get(name)
            if then != now:
                yield name, what, then, now


def more_writes(one, other):
    """Returns the writes of which the other run has more, as (what, then, now)."""
    return [(what, one.writes[what], count) for what, count in sorted(other.writes.items())
            if count > (one.writes[what] * STATUS_SLACK if what[2] == "status" else one.writes[what])]


def is_status(write):
    return write["objectRef"].get("subresource") == "status"


def is_marker(name):
    return name == MARKER or name.startswith(f"{MARKER}-")


def short(write):
    what = write["objectRef"]
    return f"{write['verb']} {what['resource']} {what.get('name', '')} {what.get('subresource', '')}".strip()


def root_of(an_object, objects):
    """Returns the name of the RayJob, RayService or RayCluster that somebody made by hand."""
    owner = next((o for o in an_object["metadata"].get("ownerReferences", []) if o["kind"] in PLURALS), None)
    if not owner:
        return an_object["metadata"]["name"]
    parent = next((o for o in objects[owner["kind"]] if o["metadata"]["name"] == owner["name"]), None)
    return root_of(parent, objects) if parent else owner["name"]


class Masks:
    """Removes from a status what differs by chance: names with random ends, times, addresses."""

    ADDRESSES = re.compile(r"10\.0\.\d+\.\d+")
    TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
    PODS = re.compile(r"-(head|worker)-[a-z0-9]{5}\b")
    NODE_PORTS = re.compile(r'"3[0-2]\d{3}"')
    # A RayJob and a RayService copy their cluster's status when they happen to look; that of the cluster is compared.
    DROPPED = ("jobId", "observedGeneration", "rayClusterStatus")

    def __init__(self, namespace, objects):
        self.namespace = namespace
        owned = [o["metadata"]["name"] for o in objects if o["metadata"].get("ownerReferences")]
        self.names = sorted(owned, key=len, reverse=True)

    def of(self, status):
        return json.loads(self.text(json.dumps(without(status, self.DROPPED))))

    def text(self, text):
        text = text.replace(self.namespace, "NAMESPACE")
        for name in self.names:
            text = text.replace(name, name.rsplit("-", 1)[0] + "-*")
        for pattern, mask in ((self.ADDRESSES, "ADDRESS"), (self.TIMES, "TIME"), (self.PODS, r"-\1-*"), (self.NODE_PORTS, '"PORT"')):
            text = pattern.sub(mask, text)
        return text


def without(value, keys):
    if isinstance(value, list):
        return [without(v, keys) for v in value]
    return {k: without(v, keys) for k, v in value.items() if k not in keys} if isinstance(value, dict) else value
