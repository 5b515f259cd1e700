# SPDX-License-Identifier: Apache-2.0
"""KubeRay manages a RayCluster with two groups: the autoscaler makes the worker of the first, and the worker of the
second has a command of its own."""

import subprocess

import pytest

from conftest import wait_for
from kuberay.objects import check_injected, cluster_spec, container, group, template

# With KubeRay's annotation the command is the user's: Ray in the background, and a program that crashes when it is asked to.
OWN_COMMAND = """
eval "$KUBERAY_GEN_RAY_START_CMD" &
until [ -e /tmp/crash ]; do sleep 0.5; done
exec python3 -c 'import ctypes; ctypes.string_at(0)'
"""


WORK = """
@ray.remote
def work():
    return "done"

print(ray.get(work.remote()))
"""


def own_group():
    own = container("ray-worker", "1000Mi", command=["/bin/bash", "-c"], args=[OWN_COMMAND])
    return group("own", template(own, {"ray.io/overwrite-container-cmd": "true"}), rayStartParams={"num-cpus": "0"})


def scaled_group():
    return group("scaled", template(container("ray-worker", "1000Mi")), replicas=0)


@pytest.fixture(name="cluster", scope="module")
def ray_cluster(kuberay):
    kuberay.give(leak="outlive(leak)", work=WORK)
    return kuberay.create("RayCluster", "plain", cluster_spec(
        own_group(), scaled_group(), enableInTreeAutoscaling=True, autoscalerOptions={"idleTimeoutSeconds": 600}))


def log_until(cluster, pod, end):
    """Returns the log of the pod's Ray container until end() has ended it. The autoscaler may delete the pod of a Ray node that died."""
    command = ["kubectl", "--namespace", cluster.k.namespace, "logs", "--follow", pod, "-c", "ray-worker"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as log:
        end()
        return log.communicate(timeout=180)[0]


@pytest.fixture(name="crashed", scope="module")
def crashed_worker(cluster):
    """The name of the worker with its own command, which has crashed, and its log until then."""
    pod = cluster.wait_ready(group_name="own")["metadata"]["name"]
    return pod, log_until(cluster, pod, lambda: cluster.k("exec", pod, "-c", "ray-worker", "--", "touch", "/tmp/crash"))


@pytest.fixture(name="scaled", scope="module")
def worker_for_a_task(cluster):
    """The name of the worker that the autoscaler made for a task."""
    cluster.wait_ready("head")
    assert not cluster.pods(group_name="scaled")
    cluster.run("work", timeout=240)
    return cluster.pod(group_name="scaled")["metadata"]["name"]


@pytest.fixture(name="last_words", scope="module")
def log_of_a_leak(cluster, scaled):
    """The log of that worker's Ray container until a task leaked there."""
    return log_until(cluster, scaled, lambda: cluster.run("leak", timeout=240))


def test_every_pod_has_the_sidecar_last(cluster, crashed, scaled):
    assert crashed and scaled
    for pod in cluster.pods():
        check_injected(pod)
    head = [c["name"] for c in cluster.pod("head")["spec"]["containers"]]
    assert head == ["ray-head", "autoscaler", "afterglow"]


def test_a_segfault_under_the_users_own_command_is_explained(cluster, crashed):
    pod, log = crashed
    failure = cluster.wait_failure("Segfault", pod=pod, timeout=90)
    assert failure["spec"]["exitCode"] == 139
    cluster.check_failure(failure)
    assert "crashed with SIGSEGV" in log


def test_an_oom_kill_of_an_autoscaled_worker_is_explained(cluster, scaled, last_words):
    failure = cluster.wait_failure("KernelOOMContainer", pod=scaled, timeout=90)
    assert failure["spec"]["exitCode"] == 137
    report = cluster.check_failure(failure)
    assert report["processes"][0]["name"] == "ray::leak"
    assert [line for line in last_words.splitlines() if line.startswith("[afterglow]") and "ray::leak" in line], last_words


def test_kuberay_reports_the_cluster_ready(cluster, last_words):
    assert last_words
    cluster.run("work", timeout=240)  # by another worker, where the autoscaler has deleted the first
    status = wait_for("all workers", lambda: (lambda s: s if s.get("availableWorkerReplicas") == 2 else None)(cluster.status()),
                      timeout=90)
    assert status["state"] == "ready"
    assert (status["desiredWorkerReplicas"], status["maxWorkerReplicas"]) == (2, 2)
