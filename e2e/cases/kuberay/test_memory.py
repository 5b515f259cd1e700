# SPDX-License-Identifier: Apache-2.0
"""What `kubectl afterglow memory` says to set, on real Ray: without it two copies of a task fill the worker, with it they do not."""

import json
import re
import subprocess

import pytest

from conftest import wait_for
from kuberay.objects import cluster_spec, container, group, template
from live import ROOT

# Two of them and Ray do not fit into a worker of 1000Mi, one does.
HOLD = """
@ray.remote(max_retries=0)
def hold():
    kept = bytearray(360 << 20)
    for i in range(0, len(kept), 4096):
        kept[i] = 1
    time.sleep(5)
    return len(kept)
"""
COPIES = "ray.get([hold.options(num_cpus=%d).remote() for _ in range(%d)])"


def memory(cluster, *args):
    result = subprocess.run([ROOT / "build/kubectl-afterglow", "memory", cluster.name, *args, "-n", cluster.kuberay.namespace],
                            capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(name="cluster", scope="module")
def cluster_with_one_worker(kuberay):
    kuberay.give(one=HOLD + COPIES % (1, 1), two=HOLD + COPIES % (1, 2), advised=HOLD + COPIES % (2, 4))
    # The kubelet kills it, and the sidecar with it: it does not end when it is asked to.
    late = container("ray-worker", "1000Mi", lifecycle={"preStop": {"exec": {"command": ["sleep", "600"]}}})
    worker = group("small", template(late), rayStartParams={"num-cpus": "2"})
    made = kuberay.create("RayCluster", "needs", cluster_spec(worker))
    made.wait_ready(group_name="small")
    return made


@pytest.fixture(name="needs", scope="module")
def needs_of_a_run(cluster):
    cluster.run("one")

    def known():
        needs = json.loads(memory(cluster, "--output", "json"))
        task, = [t for t in needs["tasks"] if t["name"] == "ray::hold"]
        assert task["peakBytes"] > 360 << 20
        return needs
    return wait_for("the needs of the task", known)


def test_a_run_shows_what_the_task_needs_without_a_death(cluster, needs):
    task, = [t for t in needs["tasks"] if t["name"] == "ray::hold"]
    assert (task["runs"], task["atOnce"]) == (1, 1)
    # Its array, and Python with Ray.
    assert 360 << 20 < task["peakBytes"] < 600 << 20
    small, = [g for g in needs["groups"] if g["name"] == "small"]
    assert (small["limitBytes"], small["cpus"], small["task"]) == (1000 << 20, 2, "ray::hold")
    assert not cluster.failures()


def test_the_advice_that_is_followed_prevents_the_oom_kill(cluster, needs):
    advised, = [re.match(r"num_cpus=(\d+) for hold", a["set"]) for a in needs["advice"] if a["set"].startswith("num_cpus=")]
    assert advised[1] == "2", needs["advice"]
    cluster.run("advised")
    assert not cluster.failures()
    assert "hold: @ray.remote(memory=" in memory(cluster)
    # As it was before, it is killed.
    with pytest.raises(AssertionError):
        cluster.run("two")
    assert cluster.wait_failure("KernelOOMContainer")["spec"]["group"] == "small"


def test_what_the_task_needed_is_kept_when_the_cluster_is_gone_though_the_worker_had_to_be_killed(cluster, needs):
    cluster.k("delete", "raycluster", cluster.name)
    wait_for("the pods to go", lambda: not cluster.pods(), timeout=90)

    def kept():
        groups = json.loads(cluster.k.json("configmap", "afterglow-memory")["data"][cluster.name])["groups"]
        return {g["group"]: g["needs"] for g in groups}["small"]
    tasks = {t["name"]: t for t in wait_for("the sum", kept, timeout=30)["tasks"]}
    assert tasks["ray::hold"]["peakBytes"] > 360 << 20
    assert "hold: @ray.remote(memory=" in memory(cluster)
