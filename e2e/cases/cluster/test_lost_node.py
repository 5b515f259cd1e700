# SPDX-License-Identifier: Apache-2.0
"""A machine loses its power, and its Node is deleted as a cloud provider does that: two workers go with it, and that is one story."""

import subprocess

import pytest

from cluster.conftest import RAY_IMAGE, ROOT, VERSION, container
from conftest import AtTheEnd, wait_for

pytestmark = pytest.mark.long

SECOND = "afterglow-second"
SCRIPT = ROOT / "e2e/cluster/second-node.sh"
# PodGC lets a Node be gone for 40 s, and looks every 20 s.
GARBAGE_S = 150


def second_node(verb, *images):
    subprocess.run([SCRIPT, verb, *images], check=True, timeout=600)


@pytest.fixture(name="second", scope="module")
def node_of_its_own():
    end = AtTheEnd(SCRIPT, "down")
    second_node("up", RAY_IMAGE, f"localhost/afterglow-sidecar:{VERSION}")
    yield SECOND
    end.now(timeout=120)


@pytest.fixture(name="spread", scope="module")
def cluster_over_two_nodes(second, new_cluster, volume):
    assert volume.is_dir()
    there = {"nodeSelector": {"kubernetes.io/hostname": second}, "tolerations": [{"key": "second", "operator": "Exists"}]}
    cluster = new_cluster("spread", {group: container("ray-worker", "1Gi", pod=dict(there)) for group in ("one", "two")})
    cluster.wait_nodes(3, timeout=240)
    return cluster


@pytest.fixture(name="lost", scope="module")
def the_machine_is_gone(spread, kubectl):
    """The workers that were on it, and their RayFailures by name."""
    pods = {p["metadata"]["name"] for p in spread.pods("worker")}
    assert {p["spec"]["nodeName"] for p in spread.pods("worker")} == {SECOND}
    second_node("lose")
    kubectl("delete", "node", SECOND)

    def find():
        failures = {f["metadata"]["name"]: f for f in spread.failures() if f["spec"]["pod"] in pods}
        assert {f["spec"]["pod"] for f in failures.values()} == pods, [f["spec"]["pod"] for f in failures.values()]
        return failures
    return wait_for("the RayFailures of both workers", find, timeout=GARBAGE_S, interval=1)


def test_the_workers_of_a_deleted_node_are_lost_with_it(lost):
    assert [f["spec"]["class"] for f in lost.values()] == ["NodeLost", "NodeLost"]
    for failure in lost.values():
        spec = failure["spec"]
        assert spec["node"] == SECOND and "exitCode" not in spec
        assert any("DeletionByPodGC" in e["text"] for e in spec["evidence"]), spec["evidence"]
        assert any("no such node exists" in e["text"] for e in spec["evidence"]), spec["evidence"]


def test_they_are_one_incident(spread, lost):
    def joined():
        found = {f["metadata"]["name"]: f.get("status", {}) for f in spread.failures() if f["metadata"]["name"] in lost}
        (first,) = [name for name, status in found.items() if status.get("consequences") == 1]
        (rest,) = set(found) - {first}
        assert found[rest]["causedBy"]["name"] == first and found[rest]["incident"] == found[first]["incident"]
        return first
    first = wait_for("the incident", joined)
    events = wait_for("the Event", lambda: [
        e for e in spread.k.items("events") if e["involvedObject"]["kind"] == "RayCluster" and "NodeLost" in e["message"] + e["reason"]])
    assert any(lost[first]["spec"]["pod"] in e["message"] for e in events), [e["message"] for e in events]


def test_the_head_lives(spread, lost):
    assert lost
    assert not [f["spec"]["verdict"] for f in spread.failures() if f["spec"]["pod"] == spread.pod_name("head")]
