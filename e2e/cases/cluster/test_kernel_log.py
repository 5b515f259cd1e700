# SPDX-License-Identifier: Apache-2.0
"""The installed operator turns the kernel log on, except where Pod Security refuses it."""

import pytest

from cluster.conftest import SIDECAR_SOCKET, Kubectl, RayCluster, container, govern, ray_cluster
from conftest import wait_for

# Slow enough for the sidecar to see who holds the memory: the kernel's line has a PID of the node only, so without a
# sample of the last two seconds the report is honestly "likely". A busy machine took no sample of a faster hog, and starts the
# sidecar only after it.
HOG = f"""import os, time
while not os.path.exists('{SIDECAR_SOCKET}'):
    time.sleep(0.5)
time.sleep(3)
kept = []
while True:
    kept.append(bytearray(10 << 20))
    time.sleep(0.2)
"""


def lone_head(namespace):
    """A head that runs out of memory in place of Ray."""
    return ray_cluster("lone", namespace, {}, head=container(
        "ray-head", "300Mi", command=["python3", "-c", HOG], annotations={"ray.io/overwrite-container-cmd": "true"}))


@pytest.fixture(scope="module")
def strict(kubectl, namespace):
    """A namespace that enforces the level baseline."""
    name = f"{namespace}-strict"
    kubectl("create", "namespace", name)
    kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=baseline")
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def clusters(namespace, strict):
    """One in each namespace, at the same time."""
    made = {}
    for name in namespace, strict:
        k = Kubectl(name)
        govern(k, recording={"kernelLog": {"enabled": True}})
        k.apply(lone_head(name))
        made[name] = RayCluster(k, "lone")
    return made


def of_kernel_log(notes):
    return [n for n in notes if "kernel log" in " ".join(n.values())]


def test_the_report_quotes_the_kernel(clusters, namespace):
    failure = clusters[namespace].wait_failure(failure_class="KernelOOMContainer", timeout=90)
    assert (failure["confidence"], failure["exitCode"]) == ("certain", 137), (failure["evidence"], failure.get("missing"))
    assert of_kernel_log(failure["evidence"]), failure["evidence"]
    assert not of_kernel_log(failure.get("missing", [])), failure["missing"]


def test_where_the_namespace_refuses_it_the_pod_runs_without_it_and_that_is_said(clusters, strict):
    cluster = clusters[strict]
    failure = cluster.wait_failure(failure_class="KernelOOMContainer", timeout=90)
    assert of_kernel_log(failure["missing"]), failure["missing"]

    def condition():
        status = cluster.k.json("raycluster", "lone")["status"]
        return next(c for c in status["conditions"] if c["type"] == "afterglow.dev/Recording")
    found = wait_for("the condition", lambda: (lambda c: c if c["status"] == "False" else None)(condition()))
    assert "Pod Security level baseline" in found["message"]
    assert "Pod Security level baseline" in cluster.k("get", "events", "-o", "jsonpath={.items[*].message}")
