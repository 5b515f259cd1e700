# SPDX-License-Identifier: Apache-2.0
"""Ray pods without the sidecar are counted, and left alone."""

from conftest import wait_for
from apiserver.conftest import ray_cluster


def pod(api, name, cluster, containers=("ray-worker",), **metadata):
    return api.create("pods", {
        "metadata": {"name": name, "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": cluster}, **metadata},
        "spec": {"containers": [{"name": c, "image": "ray:test"} for c in containers]}})


def test_pods_without_the_sidecar_are_counted_by_reason_and_left_alone(start, api, plane):
    operator = start(manage=False)

    def counts():
        reasons = ("OptedOut", "NoCommand", "BeforeInstall", "Missed")
        return {r: operator.metric("afterglow_pods_without_sidecar", namespace=api.namespace, reason=r) for r in reasons}
    quiet = ray_cluster("quiet")
    quiet["metadata"]["annotations"] = {"afterglow.dev/inject": "false"}
    api.create("rayclusters", quiet)
    # The pods come over another watch than the cluster: what it says of them counts when they are looked at.
    wait_for("the cluster", lambda: operator.metric("afterglow_watch_objects", resource="rayclusters") == 1)
    pod(api, "by-cluster", "quiet")
    pod(api, "by-pod", "loud", annotations={"afterglow.dev/inject": "false"})
    pod(api, "no-command", "loud", annotations={"afterglow.dev/sidecar": "none: NoCommand"})
    pod(api, "old", "loud")
    pod(api, "recorded", "loud", containers=("ray-worker", "afterglow"))
    wait_for("the counts", lambda: counts() == {"OptedOut": 2, "NoCommand": 1, "BeforeInstall": 1, "Missed": 0}, interval=0.1)
    api.delete("pods", "by-pod")
    api.delete("pods", "old")
    wait_for("the counts", lambda: counts() == {"OptedOut": 1, "NoCommand": 1, "BeforeInstall": 0, "Missed": 0}, interval=0.1)
    assert not plane.writes(api.namespace, "pods") and not plane.writes(api.namespace, "events")
