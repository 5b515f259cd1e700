# SPDX-License-Identifier: Apache-2.0
"""Clusters with real Ray, through what a RayCluster may ask for; the operator is restarted in the middle of it."""

import contextlib
import json

import pytest

from cluster.conftest import SYSTEM, RayCluster, container, container_status, ray_cluster
from cluster.stores import server
from conftest import wait_for

CONNECT = "import ray\nray.init(address='auto', namespace='e2e', log_to_driver=False, logging_level='error')\n"

NEED_A_CPU = CONNECT + """
@ray.remote(num_cpus=1)
def where():
    return ray.get_runtime_context().get_node_id()

answer(ray.get(where.remote(), timeout=240))
"""

START_COUNTER = CONNECT + """
@ray.remote(num_cpus=1, max_restarts=0)
class Counter:
    def __init__(self):
        self.n = 0

    def count(self):
        import os
        self.n += 1
        return [os.getpid(), self.n]

counter = Counter.options(name='counter', lifetime='detached').remote()
answer(ray.get(counter.count.remote()))
"""

COUNT = CONNECT + "answer(ray.get(ray.get_actor('counter').count.remote(), timeout=60))\n"


def worker():
    return container("ray-worker", "900Mi")


@pytest.fixture(name="make")
def new_ray_cluster(k, namespace):
    """Makes a RayCluster of the test's own; change is done to the spec before."""
    made = []

    def make(name, nodes, change):
        cluster = ray_cluster(name, namespace, {"small": worker()})
        change(cluster["spec"])
        k.apply(cluster)
        made.append(name)
        found = RayCluster(k, name)
        wait_for("the head", lambda: container_status(found.pod("head"), "ray-head")["ready"], timeout=180, interval=1)
        found.wait_nodes(nodes, timeout=180)
        return found

    yield make
    for name in made:
        k("delete", "raycluster", name, "--timeout=60s", check=False)


def patch_group(k, name, **fields):
    """As people do, with the whole list."""
    groups = k.json("raycluster", name)["spec"]["workerGroupSpecs"]
    groups[0].update(fields)
    patch(k, name, {"workerGroupSpecs": groups})


def patch(k, name, spec):
    k("patch", "raycluster", name, "--type=merge", "-p", json.dumps({"spec": spec}))


def spec_replicas(k, name):
    return k.json("raycluster", name)["spec"]["workerGroupSpecs"][0]["replicas"]


def wait_state(k, name, state):
    wait_for(f"state {state}", lambda: k.json("raycluster", name)["status"].get("state") == state, timeout=180, interval=1)


@contextlib.contextmanager
def operator_restarted(kubectl):
    """A rolling restart that begins now and is over at the end."""
    kubectl("--namespace", SYSTEM, "rollout", "restart", "deployment/afterglow-operator")
    yield
    kubectl("--namespace", SYSTEM, "rollout", "status", "deployment/afterglow-operator", "--timeout=180s", timeout=200)


def living(cluster, node_type):
    return [p for p in cluster.pods(node_type) if "deletionTimestamp" not in p["metadata"]]


def test_workers_from_one_to_five_to_one_then_suspended_and_resumed(make, k, kubectl):
    cluster = make("demo", 2, lambda spec: spec["workerGroupSpecs"][0].update(maxReplicas=5))
    first = cluster.pod("head")["metadata"]["uid"]
    with operator_restarted(kubectl):
        patch_group(k, "demo", replicas=5)
        cluster.wait_nodes(6, timeout=240)
    assert len(living(cluster, "worker")) == 5
    patch_group(k, "demo", replicas=1)
    cluster.wait_nodes(2, timeout=120)
    assert len(living(cluster, "worker")) == 1 and cluster.pod("head")["metadata"]["uid"] == first
    with operator_restarted(kubectl):
        patch(k, "demo", {"suspend": True})
        wait_state(k, "demo", "suspended")
        assert cluster.pods("head") == [] and cluster.pods("worker") == []
        patch(k, "demo", {"suspend": False})
        wait_state(k, "demo", "ready")
    assert len(cluster.wait_nodes(2, timeout=120)) == 2
    assert cluster.pod("head")["metadata"]["uid"] != first


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_the_autoscaler_adds_a_worker_and_takes_it_away(make, k, kubectl, version):
    name = f"auto-{version}"

    def change(spec):
        spec["enableInTreeAutoscaling"] = True
        spec["autoscalerOptions"] = {"version": version, "idleTimeoutSeconds": 10,
                                     "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "700Mi"}}}
        spec["workerGroupSpecs"][0].update(replicas=0, maxReplicas=2)

    cluster = make(name, 1, change)
    assert living(cluster, "worker") == []
    with operator_restarted(kubectl):
        node = cluster.python(NEED_A_CPU, timeout=280)
    (pod,) = living(cluster, "worker")
    assert node in {n["NodeID"] for n in cluster.nodes()}
    assert spec_replicas(k, name) == 1
    wait_for("the idle worker to go", lambda: spec_replicas(k, name) == 0 and living(cluster, "worker") == [],
             timeout=240, interval=2)
    # And once more: no name comes back that Ray remembers as gone.
    cluster.python(NEED_A_CPU, timeout=280)
    (other,) = living(cluster, "worker")
    assert other["metadata"]["name"] != pod["metadata"]["name"]


@pytest.fixture(name="redis", scope="module")
def real_redis(k):
    with server("redis.sh") as env:
        k("create", "secret", "generic", "redis", f"--from-literal=password={env['REDIS_PASSWORD']}")
        yield env["REDIS_ADDRESS"]


def test_with_redis_workers_and_detached_actors_survive_their_head(make, k, kubectl, redis):
    def change(spec):
        spec["gcsFaultToleranceOptions"] = {
            "redisAddress": redis, "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}}}

    cluster = make("tolerant", 2, change)
    pid, n = cluster.python(START_COUNTER)
    head, before = cluster.pod("head"), cluster.pod("worker")
    with operator_restarted(kubectl):
        k("delete", "pod", head["metadata"]["name"], "--grace-period=0", "--force")
        wait_for("another head", lambda: cluster.pod("head")["metadata"]["uid"] != head["metadata"]["uid"] and
                 container_status(cluster.pod("head"), "ray-head")["ready"], timeout=240, interval=1)
        after = wait_for("the actor", lambda: cluster.python(COUNT), timeout=120, interval=2)
    assert after == [pid, n + 1]
    assert cluster.pod("worker")["metadata"]["uid"] == before["metadata"]["uid"]
    assert container_status(cluster.pod("worker"), "ray-worker")["restartCount"] == 0
    assert len(cluster.wait_nodes(2)) == 2
