# SPDX-License-Identifier: Apache-2.0
"""An object that the API server accepts and the operator cannot read does no harm to other objects."""

import random
import string
import sys

import pytest

from conftest import wait_for
from apiserver.conftest import RayCluster, group, ray_cluster
from apiserver.webhook import Webhook

LEVELS = 1200  # of which cJSON reads 1,000
# Three quarters of it are left when it is compressed.
NOISE = "".join(random.Random(1).choices(string.ascii_letters + string.digits + "+-", k=1_300_000))
METRIC = "afterglow_watch_unreadable_objects_total"


@pytest.fixture(autouse=True)
def deep_recursion():
    """Raises the limit of recursion, because Python's own JSON is recursive as well."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * LEVELS)
    yield
    sys.setrecursionlimit(before)


def nested(levels=LEVELS):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def deep_cluster(name):
    cluster = ray_cluster(name, group("small", 1))
    cluster["spec"]["headGroupSpec"]["template"]["spec"]["deep"] = nested()
    return cluster


def expect_named(operator, api, name):
    """Checks that the cluster's condition, the log and a metric report it."""
    condition = RayCluster(api, name).wait_condition("afterglow.dev/SpecValid", "False", "InvalidRayClusterSpec")
    assert "spec is nested more than 1000 levels deep" in condition["message"]
    assert f"RayCluster {api.namespace}/{name} is left out, the others are served" in operator.text()
    assert operator.metric(METRIC, resource="rayclusters") > 0


def test_a_cluster_nested_too_deep_is_left_out_of_the_list_and_the_others_are_served(start, api, make):
    api.create("rayclusters", deep_cluster("deep"))
    make("demo", group("small", 1))
    operator = start()
    RayCluster(api, "demo").wait_pods(1, 1)
    expect_named(operator, api, "deep")
    assert RayCluster(api, "deep").pods() == []


def test_a_cluster_that_becomes_too_deep_keeps_its_pods_and_the_watch_goes_on(operator, api, make):
    make("demo", group("small", 1)).wait_pods(1, 1)
    lists = operator.metric("afterglow_watch_lists_total", resource="rayclusters")
    api.patch("rayclusters", "demo", {"spec": {"headGroupSpec": {"template": {"spec": {"deep": nested()}}}}})
    expect_named(operator, api, "demo")
    other = make("other", group("small", 1))
    other.wait_pods(1, 1)
    RayCluster(api, "demo").wait_pods(1, 1)
    assert operator.metric("afterglow_watch_lists_total", resource="rayclusters") == lists
    # In order again, it is served again; and whoever cannot be read can be deleted.
    api.patch("rayclusters", "demo", {"spec": {"headGroupSpec": {"template": {"spec": {"deep": None}}}}})
    RayCluster(api, "demo").wait_condition("afterglow.dev/SpecValid", "True")
    api.create("rayclusters", deep_cluster("deep"))
    expect_named(operator, api, "deep")
    api.delete("rayclusters", "deep")
    wait_for("the end of the cluster", lambda: "deep" not in [c["metadata"]["name"] for c in api.items("rayclusters")])
    other.scale(small=2)
    other.wait_pods(1, 2)


def test_a_cluster_of_more_values_than_can_be_read_says_so_and_is_told_once(operator, api, make):
    cluster = ray_cluster("wide", group("small", 1))
    cluster["spec"]["headGroupSpec"]["template"]["spec"]["wide"] = [1] * 200_000
    api.create("rayclusters", cluster)
    condition = RayCluster(api, "wide").wait_condition("afterglow.dev/SpecValid", "False", "InvalidRayClusterSpec")
    assert "more than 100000 values" in condition["message"]
    make("demo", group("small", 1)).wait_pods(1, 1)
    version = api.get("rayclusters", "wide")["metadata"]["resourceVersion"]
    make("other", group("small", 1)).wait_pods(1, 1)
    assert api.get("rayclusters", "wide")["metadata"]["resourceVersion"] == version
    assert operator.running()


def test_of_a_namespace_with_too_many_megabytes_of_clusters_the_operator_holds_its_share_and_says_so(start, api):
    # Without managing them: their status would have to be written, and the API server is slow with objects of this size.
    for i in range(34):
        cluster = ray_cluster(f"large-{i:02}", group("small", 1))
        cluster["spec"]["headGroupSpec"]["template"]["spec"]["long"] = NOISE
        api.create("rayclusters", cluster)
    operator = start(manage=False)
    assert f"RayCluster {api.namespace}/large-33 is left out, the others are served: its namespace has more" in operator.text()
    assert "large-00" not in operator.text()
    assert operator.metric(METRIC, resource="rayclusters") > 0
    assert 27 << 20 < operator.metric("afterglow_watch_bytes", resource="rayclusters") <= 32 << 20
    assert operator.metric("afterglow_watch_objects", resource="rayclusters") == 34  # each has its remnant


def test_of_a_tenants_fat_pods_the_operator_holds_its_share_and_makes_none_again(start, api, make):
    operator = start()
    cluster = make("demo", group("small", 2))
    (head,), workers = cluster.wait_pods(1, 2)
    ours = {p["metadata"]["uid"] for p in [head, *workers]}
    for i in range(52):
        api.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": f"fat-{i:02}", "labels": {"ray.io/is-ray-node": "yes"}, "annotations": {"ray.io/note": NOISE[:200_000]}},
            "spec": {"containers": [{"name": "a", "image": "a"}]}})
    # Now there is no room for the pods of the cluster either, and they change.
    for pod in [head, *workers]:
        api.patch("pods", pod["metadata"]["name"], {"metadata": {"annotations": {"ray.io/note": NOISE[:200_000]}}})
    wait_for("all pods in the copy", lambda: operator.metric("afterglow_watch_objects", resource="pods") == 55)
    wait_for("the log", lambda: f"Pod {api.namespace}/{head['metadata']['name']} is kept without its details" in operator.text())
    assert 6 << 20 < operator.metric("afterglow_watch_bytes", resource="pods") <= 8 << 20
    cluster.scale(small=3)
    (head,), workers = cluster.wait_pods(1, 3)
    assert ours <= {p["metadata"]["uid"] for p in [head, *workers]}


@pytest.fixture
def webhook(api, start):
    made = Webhook(api, start)
    yield made
    made.close()


def test_the_webhook_lets_pass_what_it_cannot_read_and_serves_the_others(webhook, api):
    operator = webhook.operator()
    webhook.wait_bundle()
    pod = {"metadata": {"labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": "demo", "ray.io/group": "small",
                                   "ray.io/node-type": "worker"}},
           "spec": {"containers": [{"name": "ray-worker", "image": "ray:test", "command": ["/bin/bash", "-c", "--"],
                                    "args": ["ray start --block"]}]}}
    webhook.wait_works({**pod, "metadata": {**pod["metadata"], "name": "probe"}})
    # The review nests its object two levels deeper: one of them only the webhook cannot read.
    for levels in (994, LEVELS):
        cluster = deep_cluster(f"deep-{levels}")
        cluster["spec"]["headGroupSpec"]["template"]["spec"]["deep"] = nested(levels)
        made = api.create("rayclusters", cluster)
        assert made["spec"]["headGroupSpec"]["template"]["spec"]["deep"] == nested(levels)
        of_it = api.create("pods", {**pod, "metadata": {"name": f"pod-{levels}", "labels": {
            **pod["metadata"]["labels"], "ray.io/cluster": cluster["metadata"]["name"]}}})
        assert "afterglow" in [c["name"] for c in of_it["spec"]["containers"]]
    made = api.create("rayclusters", ray_cluster("demo", group("small", 1)))
    assert "num-cpus" in made["spec"]["headGroupSpec"]["rayStartParams"]
    assert operator.running()
