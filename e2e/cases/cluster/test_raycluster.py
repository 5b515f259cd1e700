# SPDX-License-Identifier: Apache-2.0
"""Clusters run real Ray with what a RayCluster may ask for, and the operator is restarted in the middle of it."""

import base64
import contextlib
import json
import os
import shutil
import subprocess

import pytest

from cluster.conftest import SYSTEM, RayCluster, container, container_status, ray_cluster
from cluster.stores import RUN, server
from conftest import wait_for

pytestmark = pytest.mark.single

RAY_UID = 1000  # of images/ray

CONNECT = "import ray\nray.init(address='auto', namespace='e2e', log_to_driver=False, logging_level='error')\n"

NEED_A_CPU = CONNECT + """
@ray.remote(num_cpus=1)
def where():
    return ray.get_runtime_context().get_node_id()

node = ray.get(where.remote(), timeout=240)
answer({'node': node, 'alive': [n['NodeID'] for n in ray.nodes() if n['Alive']]})
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

    def look(self):
        import os
        return [os.getpid(), self.n]

counter = Counter.options(name='counter', lifetime='detached').remote()
answer(ray.get(counter.count.remote()))
"""

# Asked again when an answer was lost, so it counts nothing.
LOOK = CONNECT + "answer(ray.get(ray.get_actor('counter').look.remote(), timeout=60))\n"


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
        wait_for("the head", lambda: container_status(found.pod("head"), "ray-head")["ready"], timeout=300, interval=1)
        found.wait_nodes(nodes, timeout=300)
        return found

    yield make
    for name in made:
        k("delete", "raycluster", name, "--timeout=60s", check=False)


def patch_group(k, name, **fields):
    """Patches a group as people do, with the whole list."""
    groups = k.json("raycluster", name)["spec"]["workerGroupSpecs"]
    groups[0].update(fields)
    patch(k, name, {"workerGroupSpecs": groups})


def patch(k, name, spec):
    k("patch", "raycluster", name, "--type=merge", "-p", json.dumps({"spec": spec}))


def spec_replicas(k, name):
    return k.json("raycluster", name)["spec"]["workerGroupSpecs"][0]["replicas"]


def wait_state(k, name, state):
    wait_for(f"state {state}", lambda: k.json("raycluster", name)["status"].get("state") == state, timeout=300, interval=1)


@contextlib.contextmanager
def operator_restarted(kubectl):
    """Begins a rolling restart, which is over at the end."""
    kubectl("--namespace", SYSTEM, "rollout", "restart", "deployment/afterglow-operator")
    yield
    kubectl("--namespace", SYSTEM, "rollout", "status", "deployment/afterglow-operator", "--timeout=300s", timeout=320)


def living(cluster, node_type):
    return [p for p in cluster.pods(node_type) if "deletionTimestamp" not in p["metadata"]]


@pytest.mark.long
def test_workers_from_one_to_five_to_one_then_suspended_and_resumed(make, k, kubectl):
    cluster = make("demo", 2, lambda spec: spec["workerGroupSpecs"][0].update(maxReplicas=5))
    first = cluster.pod("head")["metadata"]["uid"]
    with operator_restarted(kubectl):
        patch_group(k, "demo", replicas=5)
        cluster.wait_nodes(6, timeout=420)
    assert len(living(cluster, "worker")) == 5
    patch_group(k, "demo", replicas=1)
    cluster.wait_nodes(2, timeout=300)
    assert len(living(cluster, "worker")) == 1 and cluster.pod("head")["metadata"]["uid"] == first
    with operator_restarted(kubectl):
        patch(k, "demo", {"suspend": True})
        wait_state(k, "demo", "suspended")
        assert cluster.pods("head") == [] and cluster.pods("worker") == []
        patch(k, "demo", {"suspend": False})
        wait_state(k, "demo", "ready")
    cluster.wait_nodes(2, timeout=300)
    assert cluster.pod("head")["metadata"]["uid"] != first


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_the_autoscaler_adds_a_worker_and_takes_it_away(make, k, kubectl, version):
    name = f"auto-{version}"

    def change(spec):
        spec["enableInTreeAutoscaling"] = True
        # Longer than a driver takes to start on a busy machine: the worker is looked at when it has nothing to do.
        spec["autoscalerOptions"] = {"version": version, "idleTimeoutSeconds": 30,
                                     "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "700Mi"}}}
        spec["workerGroupSpecs"][0].update(replicas=0, maxReplicas=2)

    cluster = make(name, 1, change)
    assert living(cluster, "worker") == []
    with operator_restarted(kubectl):
        ran = cluster.python(NEED_A_CPU, timeout=280)
        (pod,) = living(cluster, "worker")
        assert spec_replicas(k, name) == 1
    assert ran["node"] in ran["alive"]
    wait_for("the idle worker to go", lambda: spec_replicas(k, name) == 0 and living(cluster, "worker") == [],
             timeout=240, interval=2)
    # And once more: no name comes back that Ray remembers as gone.
    cluster.python(NEED_A_CPU, timeout=280)
    (other,) = living(cluster, "worker")
    assert other["metadata"]["name"] != pod["metadata"]["name"]


def keys_in_redis(k, options, space):
    """Returns the keys that redis-cli prints. Its password comes by the environment."""
    host, port = options["redisAddress"].rsplit(":", 1)
    password = base64.b64decode(k.json("secret", "redis")["data"]["password"]).decode()
    result = subprocess.run(["redis-cli", "-h", host, "-p", port, "keys", f"RAY{space}@*"], capture_output=True, text=True,
                            env={**os.environ, "REDISCLI_AUTH": password}, check=True, timeout=120)
    return result.stdout.split()


@contextlib.contextmanager
def state_in_redis(k, namespace):
    with server("redis.sh") as env:
        k.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis", "namespace": namespace},
                 "stringData": {"password": env["REDIS_PASSWORD"]}})
        yield {"redisAddress": env["REDIS_ADDRESS"],
               "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}}}


@contextlib.contextmanager
def state_in_rocksdb(k, namespace):
    """Keeps the state on a claim of the user's, because nothing here makes volumes for new claims."""
    name = f"{namespace}-gcs"
    directory = RUN / "e2e-volumes" / name
    directory.mkdir(parents=True)
    os.chown(directory, RAY_UID, RAY_UID)
    k.apply({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
                 "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": str(directory)},
                 "claimRef": {"namespace": namespace, "name": "gcs"}},
    }, {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "gcs", "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": name,
                 "resources": {"requests": {"storage": "1Gi"}}},
    })
    yield {"backend": "rocksdb", "storage": {"claimName": "gcs"}}
    k("delete", "persistentvolume", name, "--wait=false", check=False)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("backend", [state_in_redis, state_in_rocksdb], ids=["redis", "rocksdb"])
def test_workers_and_detached_actors_survive_their_head(make, k, kubectl, namespace, request, backend):
    name = "tolerant-" + request.node.callspec.id
    with backend(k, namespace) as options:
        cluster = make(name, 2, lambda spec: spec.update(gcsFaultToleranceOptions=options))
        pid, n = cluster.python(START_COUNTER)
        head, before = cluster.pod("head"), cluster.pod("worker")
        with operator_restarted(kubectl):
            k("delete", "pod", head["metadata"]["name"], "--grace-period=0", "--force")
            wait_for("another head", lambda: cluster.pod("head")["metadata"]["uid"] != head["metadata"]["uid"] and
                     container_status(cluster.pod("head"), "ray-head")["ready"], timeout=240, interval=1)
            after = wait_for("the actor", lambda: cluster.python(LOOK), timeout=120, interval=2)
        assert after == [pid, n]
        assert cluster.pod("worker")["metadata"]["uid"] == before["metadata"]["uid"]
        # On a slow machine Ray may have given up on the head's start before all this.
        assert (container_status(cluster.pod("worker"), "ray-worker")["restartCount"] ==
                container_status(before, "ray-worker")["restartCount"])
        cluster.wait_nodes(2)
        uid = k.json("raycluster", name)["metadata"]["uid"]
        if "redisAddress" in options:
            assert keys_in_redis(k, options, uid)
        k("delete", "raycluster", name, "--timeout=240s", timeout=260)
        if "redisAddress" in options:
            assert keys_in_redis(k, options, uid) == []


@pytest.mark.long
def test_a_redis_that_is_gone_keeps_no_cluster(make, k, namespace):
    with state_in_redis(k, namespace) as options:
        make("widowed", 2, lambda spec: spec.update(gcsFaultToleranceOptions=options))
    # Both attempts of the Job find nobody; in the foreground, as tools for continuous delivery do it.
    k("delete", "raycluster", "widowed", "--cascade=foreground", "--timeout=420s", timeout=440)
    # Events have a queue of their own.
    (event,) = wait_for("the Event", lambda: [e for e in k.items("events") if e["reason"] == "RedisCleanupFailed"])
    assert event["type"] == "Warning" and "failed" in event["message"]


def test_with_a_token_only_those_who_have_it_get_in(make, k):
    cluster = make("guarded", 2, lambda spec: spec.update(authOptions={"mode": "token"}))
    wait_state(k, "guarded", "ready")  # the probes are let in
    assert cluster.python(NEED_A_CPU)
    head = cluster.pod_name("head")
    without = k.run("exec", "-i", head, "-c", "ray-head", "--", "env", "-u", "RAY_AUTH_TOKEN", "python3", "-", check=False,
                    stdin="import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:8265/api/version').status)\n")
    assert without.returncode != 0 and "401" in without.stderr, without
    with_it = k.run("exec", "-i", head, "-c", "ray-head", "--", "python3", "-", check=False, stdin=(
        "import os, urllib.request\nrequest = urllib.request.Request('http://127.0.0.1:8265/api/version', headers={"
        "'Authorization': 'Bearer ' + os.environ['RAY_AUTH_TOKEN']})\nprint(urllib.request.urlopen(request).status)\n"))
    assert with_it.stdout.strip() == "200", with_it
