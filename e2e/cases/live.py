# SPDX-License-Identifier: Apache-2.0
"""Suites on a real cluster share these: the chart's installation, Ray clusters to look after, bundles."""

import copy
import hashlib
import json
import os
import pathlib
import re
import subprocess

import pytest

from cluster.stores import claimed_directory
from conftest import Kubectl, wait_for

ROOT = pathlib.Path(__file__).parents[2]
RAY_IMAGE = os.environ.get("RAY_IMAGE", "localhost/afterglow-ray:2.60.0")
VERSION = os.environ.get("AFTERGLOW_VERSION", "0.1.0")
SYSTEM = "afterglow-system"
# The workers' node, if it is to be a certain one; it has a taint of its own, as a node for some pods only.
NODE = os.environ.get("AFTERGLOW_E2E_NODE")


# A line of its own, written at once.
ANSWER = """
def answer(value):
    import json, os
    os.write(1, ("\\n@answer " + json.dumps(value) + "\\n").encode())
"""


def helm(*args):
    result = subprocess.run(["helm", *args], capture_output=True, text=True, timeout=400, check=False)
    assert result.returncode == 0, f"helm {' '.join(args)}: {result.stderr}{result.stdout}"
    return result.stdout


def install(**values):
    """Installs or upgrades the chart; values are Helm's, with __ for the dots. Without any it is as most people install it."""
    arguments = [part for key, value in values.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]
    helm("upgrade", "--install", "afterglow", str(ROOT / "charts/afterglow"), "--namespace", SYSTEM,
         "--create-namespace", "--take-ownership", "--wait", "--timeout", "300s", *arguments,
         *os.environ.get("AFTERGLOW_HELM_ARGS", "").split())
    wait_for_operators()


def restart_operators(kubectl):
    """Restarts the operators, because an image of the same name may have been loaded since they started."""
    kubectl("--namespace", SYSTEM, "rollout", "restart", "deployment/afterglow-operator")
    kubectl("--namespace", SYSTEM, "rollout", "status", "deployment/afterglow-operator", "--timeout=300s", timeout=320)
    wait_for_operators()


def govern(k, **blocks):
    """
    Gives the namespace a RayPolicy of these blocks, and waits until it holds. So cases that want other settings than the chart's
    change nothing for those beside them.
    """
    k.apply({"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayPolicy", "metadata": {"name": "case", "namespace": k.namespace},
             "spec": blocks})

    def accepted():
        conditions = k.json("raypolicy", "case")["status"]["conditions"]
        return [c for c in conditions if (c["type"], c["status"]) == ("Accepted", "True")]
    wait_for("the policy to hold", accepted)


def keep_log(kubectl):
    pods = ("--namespace", SYSTEM, "logs", "-l", "app.kubernetes.io/name=afterglow", "--prefix", "--tail=-1")
    log = kubectl(*pods, "--previous", check=False) + kubectl(*pods, check=False)
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build/e2e-operator.log").write_text(log)


def wait_for_operators():
    """Waits until the operator pods of the previous installation are gone, because one may act on its old configuration until it ends."""
    k = Kubectl(SYSTEM)
    wanted = k.json("deployment", "afterglow-operator")["spec"]["replicas"]
    wait_for(f"{wanted} operators and no more",
             lambda: len(k.items("pods", "-l", "app.kubernetes.io/name=afterglow")) == wanted, timeout=120)


# restartCount of a container's first end. Who is late on a busy machine, the kubelet or the operator, learns of that end from the sidecar's
# journal, if the next one follows within seconds; the journal has no such number.
FIRST = (0, None)

# For a command of which something is to be seen before it ends: the kubelet starts the sidecar after it, seconds later on a
# busy machine, and the launcher looks for it every 2 s.
SIDECAR_SOCKET = "/afterglow/run/afterglow.sock"
WATCHED = f"until [ -e {SIDECAR_SOCKET} ]; do sleep .5; done; sleep 3"


def container(name, memory, **extra):
    return {"name": name, "image": RAY_IMAGE, "imagePullPolicy": "IfNotPresent",
            "env": [{"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}],
            "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": memory}}, **extra}


def placed():
    """Returns what puts a pod on the node under test, as a part of its spec."""
    if not NODE:
        return {}
    return {"nodeSelector": {"kubernetes.io/hostname": NODE}, "tolerations": [{"effect": "NoSchedule", "operator": "Exists"}]}


def template(container_, more=None):
    """
    Returns a group's template of a container, in which annotations, volumes, neighbours (further containers) and pod (more of the
    pod's spec) are the template's.
    """
    return {"metadata": {"annotations": copy.deepcopy(container_.pop("annotations", {}))},
            "spec": {"volumes": container_.pop("volumes", []), **(more or {}), **container_.pop("pod", {}),
                     "containers": [container_, *container_.pop("neighbours", [])], "terminationGracePeriodSeconds": 5}}


def ray_cluster(name, namespace, workers, annotations=None, head=None):
    """
    Returns a RayCluster as a user of KubeRay writes it. workers: group name to its template's container, as template() takes it, and
    in it rayStartParams, which are the group's. head: such a container, of a pod that is on the node under test.
    """
    groups = [{"groupName": group, "replicas": 1, "minReplicas": 0, "maxReplicas": 3,
               "rayStartParams": {"num-cpus": "2", **worker.pop("rayStartParams", {})}, "template": template(worker, placed())}
              for group, worker in workers.items()]
    head_template = template(head, placed()) if head else template(container("ray-head", "2500Mi"))
    return {
        "apiVersion": "ray.io/v1", "kind": "RayCluster",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
        "spec": {"rayVersion": RAY_IMAGE.rsplit(":", 1)[1],
                 "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": head_template},
                 "workerGroupSpecs": groups},
    }


NODES_ALIVE = """
import json, os, urllib.request
token = os.environ.get('RAY_AUTH_TOKEN')
look = urllib.request.Request('http://127.0.0.1:8265/api/v0/nodes', headers={'Authorization': 'Bearer ' + token} if token else {})
nodes = json.load(urllib.request.urlopen(look, timeout=30))['data']['result']['result']
answer(sum(n['state'] == 'ALIVE' for n in nodes))
"""


class RayCluster:
    """A RayCluster on the cluster under test."""

    def __init__(self, k, name):
        self.k = k
        self.name = name

    def pods(self, node_type):
        return self.k.items("pods", "-l", f"ray.io/cluster={self.name},ray.io/node-type={node_type}")

    def pod(self, node_type):
        pods = [p for p in self.pods(node_type) if "deletionTimestamp" not in p["metadata"]]
        assert len(pods) == 1, f"{len(pods)} {node_type} pods"
        return pods[0]

    def pod_name(self, node_type):
        return self.pod(node_type)["metadata"]["name"]

    def python(self, code, check=True, timeout=120):
        """Runs Python in the head's Ray container, and returns what it called answer() with last."""
        result = self.k.run("exec", "-i", self.pod_name("head"), "-c", "ray-head", "--", "python3", "-",
                            stdin=ANSWER + code, check=check, timeout=timeout)
        if not check:
            return result
        # Ray itself prints before it and behind it, with and without ends of lines.
        found = re.findall(r"^@answer (.*)$", result.stdout, re.MULTILINE)
        assert found, f"no answer in {result.stdout!r}"
        return json.loads(found[-1])

    def nodes(self):
        """Returns a list with the resources of each living Ray node, and its address as NodeManagerAddress."""
        return self.python("import ray\nray.init(address='auto', log_to_driver=False, logging_level='error')\n"
                           "answer([n for n in ray.nodes() if n['Alive']])")

    def wait_nodes(self, count, timeout=120):
        # The dashboard is asked: a driver takes seconds of processor time, which would keep the nodes from starting.
        wait_for(f"{count} Ray nodes", lambda: self.python(NODES_ALIVE) == count, timeout=timeout, interval=3)

    def failures(self):
        return [f for f in self.k.items("rayfailures") if f["spec"]["cluster"] == self.name]

    def wait_failure(self, timeout=60, failure_class=None, **fields):
        """Waits for a failure with these fields; of a tuple, one has to be there."""
        if failure_class:
            fields["class"] = failure_class

        def find():
            for failure in self.failures():
                if all(failure["spec"].get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in fields.items()):
                    return failure["spec"]
            raise AssertionError([[f["spec"].get(key) for key in ("class", *(fields.keys() - {"pod"}))] for f in self.failures()
                                  if f["spec"]["pod"] == fields.get("pod", f["spec"]["pod"])])
        return wait_for(f"a RayFailure with {fields}", find, timeout=timeout)


def container_status(pod, name):
    found = [s for s in pod["status"].get("containerStatuses", []) if s["name"] == name]
    assert found, f"{pod['metadata']['name']} has no status of {name} yet"
    return found[0]


def check_bundle(directory):
    """Checks that the manifest of the bundle, which comes last, lists all of its files with their sizes and digests. Returns report.json."""
    def listed():
        files = json.loads((directory / "MANIFEST.json").read_text())["files"]
        # A core has a hidden name while it is being added; then the manifest follows it.
        there = {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file() and not p.name.startswith(".")}
        unlisted = there - {f["name"] for f in files} - {"MANIFEST.json"}
        assert not unlisted, unlisted
        return files

    for entry in wait_for(f"{directory} to be whole", listed):
        data = (directory / entry["name"]).read_bytes()
        assert len(data) == entry["sizeBytes"], entry["name"]
        assert hashlib.sha256(data).hexdigest() == entry["sha256"], entry["name"]
    return json.loads((directory / "report.json").read_text())


def is_first(pid):
    """Returns whether it is process 1 of its container; the sidecar has children of the same name."""
    return re.search(r"^NSpid:.*\s1$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)


def processes_of(pod_uid, name):
    """Returns the PIDs that the processes of this program in the pod have on this machine."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            ours = (entry / "comm").read_text().strip() == name[:15] and pod_uid in (entry / "cgroup").read_text()
            if ours and is_first(entry.name):
                yield int(entry.name)
        except OSError:
            continue


# --- fixtures, for the conftest.py of a suite to import ---


@pytest.fixture(name="volume", scope="module")
def claimed_volume(k, namespace):
    """Returns the directory behind the claim of the module's namespace."""
    with claimed_directory(k, namespace) as directory:
        yield directory


@pytest.fixture(name="new_cluster", scope="module")
def cluster_maker(k, namespace):
    """Makes RayClusters that are gone when the module is done."""
    made = []

    def make(name, workers, **kwargs):
        k.apply(ray_cluster(name, namespace, workers, **kwargs))
        made.append(name)
        return RayCluster(k, name)

    yield make
    for name in made:
        if not os.environ.get("AFTERGLOW_KEEP"):
            k("delete", "raycluster", name, "--wait=false", check=False)
