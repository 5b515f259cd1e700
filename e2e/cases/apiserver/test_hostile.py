# SPDX-License-Identifier: Apache-2.0
"""
A hostile tenant writes beside a well-behaved one: what is drawn (hostile.py) must neither end the operator, nor cost it the
Lease, nor keep the other tenant's cluster from coming up. AFTERGLOW_SEED=N draws the same again.
"""

import collections
import os
import pathlib
import random
import sys

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import RayCluster, empty, group, new_namespace, ray_cluster
from apiserver.hostile import Tenant
from apiserver.kubelet import Kubelet
from apiserver.replicas import LEADER

GENEROUS_S = 240  # a machine may have much else to do
MEMORY_KIB = 256 << 10  # the chart's limit
SANITIZED = "address" in os.environ.get("AFTERGLOW_BUILD", "")


@pytest.fixture(name="rng")
def seeded():
    seed = int(os.environ.get("AFTERGLOW_SEED") or random.randrange(2**32))
    print(f"AFTERGLOW_SEED={seed}")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # Python's own JSON is recursive
    yield random.Random(seed)
    sys.setrecursionlimit(before)


@pytest.fixture
def hostile(plane, rng):
    del rng  # whose recursion is needed to clean up
    api = new_namespace(plane, "hostile")
    yield api
    empty(api)


def bring_up(api, name, workers):
    """Creates a user's cluster, plays its kubelet without delay, and returns when the cluster is ready."""
    cluster, kubelet = RayCluster(api, name), Kubelet(api)

    def ready():
        for pod in cluster.pods():
            if pod["status"].get("phase") != "Running":
                kubelet.run(pod)
        return cluster.status().get("state") == "ready" and cluster.status().get("readyWorkerReplicas") == workers
    wait_for(f"{name} to be ready", ready, timeout=GENEROUS_S, interval=0.2)
    return cluster


def peak_kib(operator):
    for line in pathlib.Path(f"/proc/{operator.process.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


def write(api, plural, body, name):
    if name:
        api.patch(plural, name, body)
    else:
        api.create(plural, body)


def storm(api, moves):
    """Writes all moves. Returns for each game how many of them the API server accepted."""
    taken = collections.Counter()
    for game, plural, body, name in moves:
        try:
            write(api, plural, body, name)
            taken[game] += 1
        except ApiError as error:
            assert error.status // 100 == 4, (game, str(error)[:500])
    return taken


@pytest.mark.alone  # an API server that does not answer for six seconds costs the lease, too
@pytest.mark.long
def test_whatever_a_tenant_writes_the_cluster_of_another_comes_up(start, api, hostile, rng):
    operator = start("--leader-elect", "--lease-namespace", api.namespace, namespace=False)
    wait_for("the leader", lambda: operator.metric(LEADER) == 1)
    victim = api.create("rayclusters", ray_cluster("good", group("small", 2)))
    bring_up(api, "good", 2)
    tenant = Tenant(rng, hostile, victim)
    taken = storm(hostile, tenant.moves())
    for round_ in range(2):
        name = f"good-{round_}"
        api.create("rayclusters", ray_cluster(name, group("small", 3)))
        if round_ == 0:
            taken += storm(hostile, tenant.moves())
        bring_up(api, name, 3).scale(small=4)
        bring_up(api, name, 4)
    print(dict(taken))
    assert set(taken) == {game.__name__ for game in tenant.games}  # the API server stands before none of them
    # The first cluster has its own pods and no other.
    good = RayCluster(api, "good")
    assert len(good.pods("head")) == 1 and len(good.pods("worker")) == 2
    assert good.failures() == []
    lease = api.get("leases", "afterglow-operator")["spec"]
    assert lease["leaseTransitions"] == 0 and operator.metric(LEADER) == 1
    assert operator.http("/healthz")[0] == 200 and operator.http("/readyz")[0] == 200
    assert "converting YAML" not in operator.text()  # what is applied is text, whatever of a tenant's words is in it
    assert SANITIZED or peak_kib(operator) < MEMORY_KIB


def test_a_restart_among_what_a_hostile_tenant_left_serves_the_other_tenant(start, api, hostile, rng):
    victim = api.create("rayclusters", ray_cluster("good", group("small", 2)))
    storm(hostile, Tenant(rng, hostile, victim).moves())
    operator = start(namespace=False)
    bring_up(api, "good", 2)
    assert operator.http("/readyz")[0] == 200


def test_words_of_a_tenant_that_are_cut_in_the_middle_of_a_character_are_said_all_the_same(operator, make):
    del operator
    message = make("strange", group("a" + 25 * "💥", 1)).wait_condition("afterglow.dev/SpecValid", "False")["message"]
    assert message == f'groupName "a{19 * "💥"}???" is not a valid name: a worker group\'s name has 1 to 63 letters, digits, "-" and ".", begins and ends with a letter or digit, and is not headgroup'


def test_characters_that_yaml_does_not_allow_are_applied_as_they_are(operator, api):
    """The API server reads what is applied as YAML, for which JSON's 0x7f and 0x85 are none."""
    del operator
    cluster = ray_cluster("noted", group("small", 1))
    cluster["spec"]["headServiceAnnotations"] = {"note": "a\x7fb\x85c"}
    api.create("rayclusters", cluster)
    RayCluster(api, "noted").wait_pods(1, 1)
    assert api.get("services", "noted-head-svc")["metadata"]["annotations"]["note"] == "a\x7fb\x85c"


def test_what_is_too_large_is_refused_by_the_crd_or_says_so_itself(operator, api, make):
    """Both: where KubeRay's CRD is installed, nobody else refuses it."""
    del operator
    for change, words in (({"numOfHosts": 70_000}, "numOfHosts"), ({"replicas": 20_001}, "replicas")):
        with pytest.raises(ApiError, match=words) as refused:
            make("huge", group("small", **{"replicas": 1, **change}))
        assert refused.value.status == 422
    with pytest.raises(ApiError, match="workerGroupSpecs") as refused:
        make("many", *(group(f"g{i}", 0) for i in range(501)))
    assert refused.value.status == 422
    # No schema multiplies.
    product = make("product", {**group("small", 100), "numOfHosts": 4000, "maxReplicas": 1000})
    message = product.wait_condition("afterglow.dev/SpecValid", "False", "RayClusterTooLarge")["message"]
    assert message == "spec.workerGroupSpecs: replicas times numOfHosts make 400000 pods, at most 20000 are allowed"
    assert product.pods() == []


def test_a_large_template_of_which_thousands_of_pods_are_to_be_made_does_not_fill_the_memory(operator, make):
    """The API server refuses such pods one by one, but it takes the RayCluster."""
    fat = group("fat", 1, numOfHosts=4096)
    fat["template"]["metadata"] = {"annotations": {"note": "x" * 300_000}}
    make("fat", fat).wait_condition("ReplicaFailure", "True", "FailedCreateWorkerPod")
    assert SANITIZED or peak_kib(operator) < MEMORY_KIB
