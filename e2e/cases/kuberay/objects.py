# SPDX-License-Identifier: Apache-2.0
"""Makes RayClusters, RayJobs and RayServices as users of KubeRay write them, and checks what Afterglow records of their
pods' deaths."""

import json

import yaml

from conftest import Kubectl, wait_for
from live import RAY_IMAGE, check_bundle, container_status

SIDECAR = "afterglow"
SCRIPTS = "/scripts"
# On cgroup v1 the kernel kills one process and leaves the container running. On v2 Kubernetes has it end the whole
# container; this makes v1 the same.
OOM_GROUP = {"afterglow.dev/oom-group": "true"}

# What several scripts do to Ray. A task takes a CPU, of which heads have none: it waits for a worker.
PRELUDE = """
import ctypes, sys, time
import ray

@ray.remote(max_retries=0)
def leak():
    kept = []
    while True:
        kept.append(bytearray(8 << 20))
        time.sleep(0.03)

@ray.remote(max_retries=0)
def crash():
    ctypes.string_at(0)

def outlive(task):
    try:
        ray.get(task.remote())
    except Exception as error:
        print("the task ended with", type(error).__name__, flush=True)

ray.init(log_to_driver=False, logging_level="error")
"""


def scripts(namespace, **files):
    """Returns a ConfigMap with Python files. Each begins with the prelude, except those with a name that ends in _app."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts", "namespace": namespace},
            "data": {f"{name}.py": text if name.endswith("_app") else PRELUDE + text for name, text in files.items()}}


def container(name, memory, **more):
    return {"name": name, "image": RAY_IMAGE, "imagePullPolicy": "IfNotPresent",
            "env": [{"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}, {"name": "PYTHONPATH", "value": SCRIPTS},
                    # Ray's own monitor would end a leak before the kernel does.
                    {"name": "RAY_memory_monitor_refresh_ms", "value": "0"}],
            "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": memory}},
            "volumeMounts": [{"name": "scripts", "mountPath": SCRIPTS}], **more}


def template(a_container, annotations=None, **pod):
    return {"metadata": {"annotations": {**OOM_GROUP, **(annotations or {})}},
            "spec": {"containers": [a_container], "volumes": [{"name": "scripts", "configMap": {"name": "scripts"}}],
                     "terminationGracePeriodSeconds": 15, **pod}}


def group(name, a_template, replicas=1, **more):
    return {"groupName": name, "replicas": replicas, "minReplicas": replicas, "maxReplicas": max(1, replicas),
            "rayStartParams": {"num-cpus": "1"}, "template": a_template, **more}


def cluster_spec(*groups, head_params=None, **more):
    return {"rayVersion": RAY_IMAGE.rsplit(":", 1)[1],
            "headGroupSpec": {"rayStartParams": {"num-cpus": "0"} if head_params is None else head_params, "template": template(container("ray-head", "2500Mi"))},
            "workerGroupSpecs": list(groups), **more}


def small_group(**pod):
    return group("small", template(container("ray-worker", "1000Mi"), **pod))


def sleeping_spec():
    """Returns a cluster of only a head that does not run Ray, for tests in which only the pod matters."""
    idle = {"name": "ray-head", "image": RAY_IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sleep", "1000"],
            "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "100Mi"}}}
    return {"headGroupSpec": {"rayStartParams": {}, "template": {
        "metadata": {"annotations": {"ray.io/overwrite-container-cmd": "true"}},
        "spec": {"containers": [idle], "terminationGracePeriodSeconds": 0}}}}


def unscheduled_pod(name):
    """Returns a worker pod that is never scheduled, of a RayCluster that does not exist."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {
                "ray.io/is-ray-node": "yes", "ray.io/cluster": "nobodys", "ray.io/group": "small", "ray.io/node-type": "worker"}},
            "spec": {"schedulerName": "nobody", "terminationGracePeriodSeconds": 0, "containers": [{
                "name": "ray-worker", "image": RAY_IMAGE, "command": ["/bin/bash", "-c", "--"], "args": ["ray start --block "]}]}}


def wait_for_webhook():
    """The replica that acts gives the API server the CA, which takes it up a little later."""
    wait_for("the webhook to work", lambda: SIDECAR in [
        c["name"] for c in dry_run(Kubectl("default"), unscheduled_pod("probe"))["spec"]["containers"]], interval=1)


def dry_run(k, pod):
    """Returns the object as the API server and all webhooks would create it."""
    return yaml.safe_load(k("create", "--dry-run=server", "-o", "yaml", "-f", "-", stdin=yaml.safe_dump(pod)))


class KubeRay:
    """KubeRay's objects in one namespace."""

    PLURALS = {"RayJob": "rayjobs", "RayService": "rayservices", "RayCluster": "rayclusters"}

    def __init__(self, k, namespace, volume):
        self.k, self.namespace, self.volume = k, namespace, volume

    def create(self, kind, name, spec, annotations=None):
        self.k.apply({"apiVersion": "ray.io/v1", "kind": kind, "spec": spec,
                      "metadata": {"name": name, "namespace": self.namespace, "annotations": annotations or {}}})
        return Owner(self, kind, name)

    def remove(self):
        for plural in self.PLURALS.values():
            self.k("delete", plural, "--all", "--timeout=90s", check=False)

    def give(self, **files):
        self.k.apply(scripts(self.namespace, **files))


class Owner:
    """The object that a person made: a RayCluster, RayJob or RayService."""

    def __init__(self, kuberay, kind, name):
        self.kuberay, self.kind, self.name = kuberay, kind, name
        self.k = kuberay.k

    def get(self):
        return self.k.json(KubeRay.PLURALS[self.kind], self.name)

    def status(self):
        return self.get().get("status", {})

    def clusters(self):
        if self.kind == "RayCluster":
            return [self.name]
        return [c["metadata"]["name"] for c in self.k.items("rayclusters", "-l", f"ray.io/originated-from-cr-name={self.name}")]

    def pods(self, node_type=None, group_name=None):
        """Returns the pods of all its clusters, also of clusters that are being deleted."""
        found = []
        for name in self.clusters():
            selector = f"ray.io/cluster={name}" + (f",ray.io/node-type={node_type}" if node_type else "")
            found += self.k.items("pods", "-l", selector + (f",ray.io/group={group_name}" if group_name else ""))
        return found

    def pod(self, node_type=None, group_name=None):
        pods = [p for p in self.pods(node_type, group_name) if "deletionTimestamp" not in p["metadata"]]
        assert len(pods) == 1, f"{len(pods)} {node_type or group_name} pods"
        return pods[0]

    def wait_ready(self, node_type=None, group_name=None, timeout=120):
        def ready():
            pod = self.pod(node_type, group_name)
            assert container_status(pod, pod["spec"]["containers"][0]["name"])["ready"]
            return pod
        return wait_for(f"the {node_type or group_name} pod of {self.name}", ready, timeout=timeout, interval=1)

    def run(self, script, timeout=180):
        """Runs one of the scripts in the head's Ray container, and returns what it printed."""
        head = self.wait_ready("head")["metadata"]["name"]
        return self.k("exec", head, "-c", "ray-head", "--", "python3", f"{SCRIPTS}/{script}.py", timeout=timeout)

    def failures(self):
        return self.k.items("rayfailures", "-l", f"afterglow.dev/owner-kind={self.kind},afterglow.dev/owner-name={self.name}")

    def wait_failure(self, *classes, timeout=60, **fields):
        def find():
            for failure in self.failures():
                spec = failure["spec"]
                if spec["class"] in classes and all(spec.get(key) == value for key, value in fields.items()):
                    return failure
            raise AssertionError([(f["spec"]["pod"], f["spec"]["class"], f["spec"].get("exitCode")) for f in self.failures()])
        return wait_for(f"a RayFailure {classes} of {self.kind} {self.name}", find, timeout=timeout, interval=1)

    def check_failure(self, failure, cause=None):
        """Checks that the failure names the owner, that the owner has an Event, which is of its first cause, and that the
        bundle on the claim is complete. Returns its report."""
        spec = failure["spec"]
        assert (spec["owner"]["kind"], spec["owner"]["name"]) == (self.kind, self.name)
        wait_for("an Event on the owner", lambda: self.events_of((cause or failure)["spec"]["pod"]))
        directory = self.kuberay.volume / spec["bundle"].removeprefix("pvc:ray-failures/")
        report = check_bundle(directory)
        assert (report["pod"], report["class"]) == (spec["pod"], spec["class"])
        return report

    def events_of(self, pod):
        """Returns the Events of the owner that name this pod."""
        events = self.k.items("events", "--field-selector", f"involvedObject.kind={self.kind},involvedObject.name={self.name}")
        return [e for e in events if pod in json.dumps(e) and e.get("reportingComponent", "").startswith("afterglow")]

    def previous_log(self, pod, container_name="ray-worker"):
        return wait_for("the previous log", lambda: self.k("logs", "-p", pod, "-c", container_name))


def check_injected(pod):
    """Checks that the sidecar comes last, and that Ray's container is still the first."""
    names = [c["name"] for c in pod["spec"]["containers"]]
    assert names[-1] == SIDECAR and names.count(SIDECAR) == 1, names
    assert names[0].startswith("ray-"), names
