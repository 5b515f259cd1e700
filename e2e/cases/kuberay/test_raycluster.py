# SPDX-License-Identifier: Apache-2.0
"""KubeRay manages a RayCluster with two groups: the autoscaler makes the worker of the first, and the worker of the
second has a command of its own."""

import pytest

from conftest import wait_for
from kuberay.objects import check_injected, cluster_spec, container, group, template
from live import container_status

# With KubeRay's annotation the command is the user's: Ray in the background, and a program that crashes when it is asked to.
OWN_COMMAND = """
eval "$KUBERAY_GEN_RAY_START_CMD" &
until [ -e /tmp/crash ]; do sleep 0.5; done
exec python3 -c 'import ctypes; ctypes.string_at(0)'
"""


def own_group():
    own = container("ray-worker", "1000Mi", command=["/bin/bash", "-c"], args=[OWN_COMMAND])
    return group("own", template(own, {"ray.io/overwrite-container-cmd": "true"}), rayStartParams={"num-cpus": "0"})


def scaled_group():
    return group("scaled", template(container("ray-worker", "1000Mi")), replicas=0)


@pytest.fixture(name="cluster", scope="module")
def ray_cluster(kuberay):
    kuberay.give(leak="outlive(leak)")
    return kuberay.create("RayCluster", "plain", cluster_spec(
        own_group(), scaled_group(), enableInTreeAutoscaling=True, autoscalerOptions={"idleTimeoutSeconds": 600}))


@pytest.fixture(name="crashed", scope="module")
def crashed_worker(cluster):
    """The name of the worker with its own command, after it has crashed."""
    pod = cluster.wait_ready(group_name="own")["metadata"]["name"]
    cluster.k("exec", pod, "-c", "ray-worker", "--", "touch", "/tmp/crash")
    return pod


@pytest.fixture(name="leaked", scope="module")
def leaked_worker(cluster):
    """The name of the worker that the autoscaler made for a task, after the task has leaked."""
    cluster.wait_ready("head")
    assert not cluster.pods(group_name="scaled")
    cluster.run("leak", timeout=240)
    return cluster.pod(group_name="scaled")["metadata"]["name"]


def test_every_pod_has_the_sidecar_last(cluster, crashed, leaked):
    assert crashed and leaked
    for pod in cluster.pods():
        check_injected(pod)
    head = [c["name"] for c in cluster.pod("head")["spec"]["containers"]]
    assert head == ["ray-head", "autoscaler", "afterglow"]


def test_a_segfault_under_the_users_own_command_is_explained(cluster, crashed):
    failure = cluster.wait_failure("Segfault", pod=crashed, timeout=90)
    assert failure["spec"]["exitCode"] == 139
    cluster.check_failure(failure)
    wait_for("the restart", lambda: container_status(cluster.pod(group_name="own"), "ray-worker")["restartCount"] >= 1)
    assert "crashed with SIGSEGV" in cluster.previous_log(crashed)


def test_an_oom_kill_of_an_autoscaled_worker_is_explained(cluster, leaked):
    failure = cluster.wait_failure("KernelOOMContainer", pod=leaked, timeout=90)
    assert failure["spec"]["exitCode"] == 137
    report = cluster.check_failure(failure)
    assert report["processes"][0]["name"] == "ray::leak"
    wait_for("the restart", lambda: container_status(cluster.pod(group_name="scaled"), "ray-worker")["restartCount"] >= 1)
    assert "ray::leak" in cluster.previous_log(leaked)


def test_kuberay_reports_the_cluster_ready(cluster, leaked):
    assert leaked
    status = wait_for("all workers", lambda: (lambda s: s if s.get("availableWorkerReplicas") == 2 else None)(cluster.status()),
                      timeout=90)
    assert status["state"] == "ready"
    assert (status["desiredWorkerReplicas"], status["maxWorkerReplicas"]) == (2, 2)
