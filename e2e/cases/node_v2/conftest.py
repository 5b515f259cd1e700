# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests on a node like those in production, in User Mode Linux: cgroup v2, systemd, current containerd."""

import contextlib
import json
import shutil

import pytest

from cluster.conftest import afterglow, claimed_volume, cluster_maker
from cluster.stores import RUN
from live import NODE, RAY_IMAGE, placed

__all__ = ["afterglow", "claimed_volume", "cluster_maker"]

# Runs commands as root of the node, which has no other door.
ROOT_POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root"},
    "spec": {**placed(), "hostPID": True, "terminationGracePeriodSeconds": 0, "containers": [{
        "name": "root", "image": RAY_IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sleep", "infinity"],
        "securityContext": {"privileged": True, "runAsUser": 0}}]},
}

# Of its pods, root may make cgroups below the container's, as Ray's resource isolation does.
WRITABLE = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "writable"}, "handler": "writable"}

# Where the runtime has put a container, by its ID, and the PID of its first process.
LOOK = """
import glob, json, os
def read(path):
    with open(path) as file:
        return file.read().strip()
(path,) = glob.glob("/sys/fs/cgroup/kubepods.slice/**/cri-containerd-%s.scope", recursive=True)
pids = [int(pid) for pid in read(path + "/cgroup.procs").split()]
print(json.dumps({"path": path, "pids": pids, "group": read(path + "/memory.oom.group"), "limit": read(path + "/memory.max")}))
"""


class Node:
    """The node, as its root user sees it."""

    def __init__(self, k):
        self.k = k

    def run(self, *command, stdin=None, check=True):
        return self.k.run("exec", "-i", "root", "--", *command, stdin=stdin, check=check)

    def python(self, code):
        return json.loads(self.run("python3", "-", stdin=code).stdout)

    def look(self, container_id):
        return self.python(LOOK % container_id.partition("://")[2])


@pytest.fixture(scope="session", autouse=True)
def writable(kubectl):
    kubectl.apply(WRITABLE)
    yield
    kubectl("delete", "runtimeclass", "writable", "--wait=false")


@pytest.fixture(scope="module")
def node(k):
    assert NODE, "run by e2e/run.sh cluster-v2"
    k.apply(ROOT_POD)
    k("wait", "pod/root", "--for=condition=Ready", "--timeout=120s")
    return Node(k)


class Starter:
    """
    A directory that containers of the node mount at /go. Each pod has a name there, and its script says what each instance
    of its container does after it was started.
    """

    def __init__(self, directory):
        self.directory = directory
        self.volume = {"name": "go", "hostPath": {"path": str(directory), "type": "Directory"}}
        self.mount = {"name": "go", "mountPath": "/go"}

    def script(self, name, *deeds, first=""):
        """Returns a bash script: the first instance of the container does the first of the deeds, and so on."""
        cases = "\n".join(f"{number}) {deed} ;;" for number, deed in enumerate(deeds))
        return (f"n=$(cat /go/{name} || echo 0); echo $((n + 1)) >/go/{name}\n{first}\n"
                f"until [ -e /go/{name}.$n ]; do sleep 1; done\ncase $n in\n{cases}\nesac\n")

    def start(self, name, instance):
        (self.directory / f"{name}.{instance}").touch()


@contextlib.contextmanager
def started_by(namespace):
    directory = RUN / "e2e-volumes" / f"{namespace}-go"
    directory.mkdir()
    directory.chmod(0o777)
    yield Starter(directory)
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def go(namespace):
    with started_by(namespace) as starter:
        yield starter
