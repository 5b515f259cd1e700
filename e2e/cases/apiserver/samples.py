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
import time

import yaml

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.control_plane import Daemon, free_port
from apiserver.kubelet import Kubelet

ROOT = pathlib.Path(__file__).parents[3]
USER = "kuberay"
PLURALS = {"RayCluster": "rayclusters", "RayJob": "rayjobs", "RayService": "rayservices", "RayCronJob": "raycronjobs"}
# KubeRay asks dashboards that nobody serves here, every 2 to 3 s: it is quiet when it has written nothing for longer. On a busy
# machine a webhook may take as long as the API server waits, too.
QUIET_S = 8
AT_REST_S = 10
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
    """Runs KubeRay's operator for one namespace."""
    daemon = Daemon([program / "kuberay-operator", "--watch-namespace", namespace, "--leader-election-namespace", "default",
                     "--qps", "10000", "--burst", "10000", "--reconcile-concurrency", "8",
                     "--metrics-addr", f"127.0.0.1:{free_port()}", "--health-probe-bind-address", f"127.0.0.1:{free_port()}"],
                    plane.file(f"{namespace}.log"), {**os.environ, "KUBECONFIG": str(plane.kubeconfig(USER))})
    try:
        wait_for("KubeRay to be ready", lambda: "Starting workers" in daemon.text(), timeout=120, interval=0.1)
        yield daemon
    finally:
        daemon.stop()


class Run:
    """The samples in one namespace, by one KubeRay."""

    def __init__(self, plane, api):
        self.plane, self.api = plane, api
        self.kubelet = Kubelet(api)
        self.refused = {}   # by sample, the API server's words
        self.pods = {}      # by sample: how many of which group
        self.specs = {}     # by sample, the specs of its pods
        self.statuses = {}  # by sample: of itself and what it made
        self.clusters = {}  # by sample, its RayClusters
        self.writes = {}    # how many by (verb, resource, subresource)

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
        self.settle(AT_REST_S)
        self.note(samples)
        return self

    def run_pods(self):
        """Returns whether there were any to run."""
        pending = [pod for pod in self.api.items("pods") if pod["status"]["phase"] == "Pending"]
        for pod in pending:
            self.kubelet.run(pod)
        return pending

    def written(self):
        return [w for w in self.plane.writes(self.api.namespace, user=USER) if w["objectRef"]["resource"] not in UNCOUNTED]

    def settle(self, quiet=QUIET_S, timeout=150):
        """Returns when KubeRay has written nothing for that long; fails if that never happens."""
        seen, since, end = -1, time.monotonic(), time.monotonic() + timeout
        while time.monotonic() - since < quiet:
            now = len(self.written())
            if now != seen:
                seen, since = now, time.monotonic()
            assert time.monotonic() < end, f"KubeRay still writes: {[short(w) for w in self.written()[-10:]]}"
            time.sleep(0.5)

    def note(self, samples):
        objects = {kind: self.api.items(plural) for kind, plural in PLURALS.items()}
        pods = self.api.items("pods")
        masks = Masks(self.api.namespace, [o for found in objects.values() for o in found])
        for name in samples.keys() - self.refused.keys():
            made = [o for found in objects.values() for o in found if root_of(o, objects) == name]
            names = {o["metadata"]["name"] for o in made}
            mine = [p for p in pods if p["metadata"]["labels"].get("ray.io/cluster") in names]
            self.pods[name] = collections.Counter(p["metadata"]["labels"]["ray.io/group"] for p in mine)
            self.specs[name] = [p["spec"] for p in mine]
            self.clusters[name] = [o for o in made if o["kind"] == "RayCluster"]
            self.statuses[name] = sorted(json.dumps([o["kind"], masks.of(o.get("status", {}))], sort_keys=True) for o in made)
        self.writes = collections.Counter(
            (w["verb"], w["objectRef"]["resource"], w["objectRef"].get("subresource", "")) for w in self.written())


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
        text = json.dumps(without(status, self.DROPPED)).replace(self.namespace, "NAMESPACE")
        for name in self.names:
            text = text.replace(name, name.rsplit("-", 1)[0] + "-*")
        for pattern, mask in ((self.ADDRESSES, "ADDRESS"), (self.TIMES, "TIME"), (self.PODS, r"-\1-*"), (self.NODE_PORTS, '"PORT"')):
            text = pattern.sub(mask, text)
        return json.loads(text)


def without(value, keys):
    if isinstance(value, list):
        return [without(v, keys) for v in value]
    return {k: without(v, keys) for k, v in value.items() if k not in keys} if isinstance(value, dict) else value
