# SPDX-License-Identifier: Apache-2.0
"""
A node stops answering, with pods on it. Kubernetes' own controllers judge the node and delete its pods; the tests only play that its
kubelet says nothing any more.
"""

import contextlib
import datetime
import threading

import pytest

from conftest import wait_for
from apiserver.conftest import RayCluster, group, ray_cluster
from apiserver.test_raycluster import names
from apiserver.test_raycluster_features import IN_REDIS, bind, events

pytestmark = pytest.mark.long
LOST, FINE = "lost", ("fine-1", "fine-2")
# A node is given up after seconds, not a minute; of its pods the operator's own wait remains.
IMPATIENT = ("--controllers", "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller",
             "--node-monitor-period", "1s", "--node-monitor-grace-period", "6s")


def report(api, node):
    """Writes what a kubelet reports every few seconds."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    api.patch("nodes", node, {"status": {"conditions": [
        {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now, "lastTransitionTime": now}]}}, "status")


@pytest.fixture(name="nodes")
def nodes_with_heartbeats(plane):
    """Three nodes; all but the lost one go on reporting."""
    api, over = plane.api(), threading.Event()
    for node in (LOST, *FINE):
        api.create("nodes", {"metadata": {"name": node}})
        report(api, node)

    def beat():
        own = plane.api()
        while not over.wait(1):
            for node in FINE:
                report(own, node)
    thread = threading.Thread(target=beat)
    thread.start()
    yield api
    over.set()
    thread.join()
    for node in {n["metadata"]["name"] for n in api.items("nodes")}:
        api.delete("nodes", node)


def impatient(spec):
    """Sets that pods leave a lost node at once, for people who cannot wait for five minutes."""
    for g in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]:
        g["template"]["spec"].update(terminationGracePeriodSeconds=1, tolerations=[
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
            for key in ("unreachable", "not-ready")])


@pytest.fixture(name="on_lost_node")
def cluster_on_lost_node(api, kubelet):
    """Makes a cluster whose head, and one of whose two workers, runs on that node."""
    def make(name, **more):
        body = ray_cluster(name, group("small", 2), **more)
        impatient(body["spec"])
        api.create("rayclusters", body)
        cluster = RayCluster(api, name)
        (head,), workers = cluster.wait_pods(1, 2)
        bind(api, head, LOST)
        bind(api, workers[0], LOST)
        for pod in (head, *workers):
            kubelet.run(pod)
        return cluster, head, workers[0]
    return make


def uids(pods):
    return {p["metadata"]["uid"] for p in pods}


def wait_lost(cluster, pod):
    """Checks that the pod has one RayFailure that says so."""
    def find():
        found = [f["spec"] for f in cluster.failures() if f["spec"]["podUID"] == pod["metadata"]["uid"]]
        assert len(found) == 1, found
        assert found[0]["class"] == "NodeLost" and found[0]["container"].startswith("ray-") and "exitCode" not in found[0]
        assert found[0]["node"] == LOST and "was lost with its node" in found[0]["verdict"]
        return True
    wait_for("its RayFailure", find)


@contextlib.contextmanager
def node_lost(plane, api):
    with plane.controllers(*IMPATIENT) as manager:
        def tainted():
            assert manager.running(), manager.text()[-3000:]
            return any(t["key"] == "node.kubernetes.io/unreachable" and t["effect"] == "NoExecute"
                       for t in api.get("nodes", LOST)["spec"].get("taints", []))
        wait_for("the node to be given up", tainted)
        yield


@pytest.mark.usefixtures("operator")
def test_a_lost_head_is_replaced_unless_its_state_is_outside_and_workers_at_once(plane, nodes, api, on_lost_node):
    plain, plain_head, plain_worker = on_lost_node("plain")
    kept, kept_head, _ = on_lost_node("kept", gcsFaultToleranceOptions=IN_REDIS)
    with node_lost(plane, nodes):
        wait_for("another worker", lambda: len(plain.pods("worker")) == 2 and
                 plain_worker["metadata"]["name"] not in names(plain.pods("worker")))
        assert plain_worker["metadata"]["name"] in names(plain.pods("worker", include_leaving=True))
        kept.wait_condition("afterglow.dev/HeadStable", "False", "HeadOnLostNode")
        # Its kubelet may be about to end it, for a minute.
        assert names(plain.pods("head", include_leaving=True)) == {plain_head["metadata"]["name"]}
        wait_for("another head", lambda: plain.pods("head"), timeout=120)
        assert plain_head["metadata"]["uid"] not in uids(plain.pods("head", include_leaving=True))
        wait_lost(plain, plain_head)
        assert plain.condition("afterglow.dev/HeadStable")["status"] == "True"
        # Two heads on one store would spoil it: a person has to make sure that the node is down.
        assert names(kept.pods("head", include_leaving=True)) == {kept_head["metadata"]["name"]}
        (event,) = events(api, "HeadOnLostNode")
        assert "make sure that the node is down, then delete the node" in event["note"]
        nodes.delete("nodes", LOST)
        wait_for("another head", lambda: len(kept.pods("head")) == 1 and
                 uids(kept.pods("head", include_leaving=True)) != {kept_head["metadata"]["uid"]}, timeout=150)
        wait_lost(kept, kept_head)
        kept.wait_condition("afterglow.dev/HeadStable", "True")


@pytest.mark.usefixtures("operator")
def test_when_the_lost_node_is_deleted_at_once_all_its_pods_are_replaced(plane, nodes, on_lost_node):
    plain, plain_head, plain_worker = on_lost_node("plain")
    kept, kept_head, kept_worker = on_lost_node("kept", gcsFaultToleranceOptions=IN_REDIS)
    nodes.delete("nodes", LOST)
    lost = uids((plain_head, plain_worker, kept_head, kept_worker))
    with plane.controllers(*IMPATIENT):
        for cluster in plain, kept:
            wait_for("others", lambda cluster=cluster: not lost & uids(cluster.pods(include_leaving=True)) and
                     (len(cluster.pods("head")), len(cluster.pods("worker"))) == (1, 2), timeout=150)
        for cluster, pods in ((plain, (plain_head, plain_worker)), (kept, (kept_head, kept_worker))):
            for pod in pods:
                wait_lost(cluster, pod)
