# SPDX-License-Identifier: Apache-2.0
"""A task that leaks takes its worker down, and what happened is there to read afterwards."""

import json
import pathlib

import jsonschema
import pytest

from cluster.conftest import ROOT, check_bundle, container, container_status
from conftest import wait_for

# Without Ray's own memory monitor, which would kill the task before the kernel does. It is slower before the limit, so that a sidecar
# on a busy machine has a sample from there.
LEAK = """
import time, ray
ray.init(address='auto', log_to_driver=False, logging_level='error')

@ray.remote(max_retries=0)
def allocate_memory():
    kept = []
    while True:
        kept.append(bytearray(8 << 20))
        time.sleep(0.04 if len(kept) < 60 else 0.1)

try:
    ray.get(allocate_memory.remote())
except Exception as error:
    answer(type(error).__name__)
"""

HEAD_CPU = """
import ray
ray.init(address='auto', log_to_driver=False, logging_level='error')

@ray.remote
def where():
    return ray.get_runtime_context().get_node_id()

answer(sorted(set(ray.get([where.remote() for _ in range(40)]))))
"""

KILL_SELF = """
import os, signal, ray
ray.init(address='auto', log_to_driver=False, logging_level='error')

@ray.remote(max_retries=0)
def stop():
    os.kill(os.getpid(), signal.SIGKILL)

try:
    ray.get(stop.remote())
except Exception as error:
    answer(type(error).__name__)
"""


@pytest.fixture(scope="module")
def demo(new_cluster, volume):
    assert volume.is_dir()
    worker = container("ray-worker", "1200Mi")
    worker["env"].append({"name": "RAY_memory_monitor_refresh_ms", "value": "0"})
    cluster = new_cluster("demo", {"small": worker}, annotations={"afterglow.dev/oom-group": "true"})
    cluster.wait_nodes(2)
    return cluster


@pytest.fixture(scope="module")
def leaked(demo):
    """The worker's pod name, after a task has leaked on it."""
    worker = demo.pod_name("worker")
    demo.python(LEAK)
    return worker


def test_the_head_has_no_cpu_and_no_task_ever_runs_on_it(demo):
    nodes = {n["NodeID"]: n["Resources"] for n in demo.nodes()}
    heads = [id for id, resources in nodes.items() if "node:__internal_head__" in resources]
    assert len(heads) == 1
    assert "CPU" not in nodes[heads[0]]
    assert heads[0] not in demo.python(HEAD_CPU)


def test_ray_is_told_less_memory_than_the_limit(demo):
    for node in demo.nodes():
        limit = (2500 if "node:__internal_head__" in node["Resources"] else 1200) << 20
        assert 0 < node["Resources"]["memory"] + node["Resources"]["object_store_memory"] < limit


def test_a_task_that_kills_itself_is_not_taken_for_the_end_of_the_container(demo):
    worker = demo.pod("worker")
    assert demo.python(KILL_SELF) == "WorkerCrashedError"
    after = container_status(demo.pod("worker"), "ray-worker")
    assert after["restartCount"] == container_status(worker, "ray-worker")["restartCount"]
    assert not [f for f in demo.failures() if "OOM" in f["spec"]["class"]]


def test_the_container_is_oom_killed_with_exit_code_137(demo, leaked):
    def last():
        return container_status(demo.pod("worker"), "ray-worker")["lastState"]["terminated"]
    assert wait_for("the worker's end", last)["exitCode"] == 137
    # containerd hears of the kill and of the end by different ways, in any order.
    wait_for("the kubelet to name the kill", lambda: last()["reason"] == "OOMKilled")
    assert demo.pod_name("worker") == leaked


def test_the_rayfailure_names_the_class_and_the_task(demo, leaked):
    failure = demo.wait_failure(pod=leaked, exitCode=137)
    assert failure["class"] == "KernelOOMContainer"
    assert failure["confidence"] == "certain"
    assert failure["exitCode"] == 137
    assert failure["container"] == "ray-worker"
    assert failure["processes"][0]["name"] == "ray::allocate_memory"
    assert failure["memory"]["limitBytes"] == 1200 << 20
    assert failure["memory"]["usageBytes"] > 0.9 * (1200 << 20)


def test_get_rayfailures_reads_as_a_newspaper(k, demo, leaked):
    demo.wait_failure(pod=leaked, exitCode=137)
    header, *rows = k("get", "rf").splitlines()
    (row,) = [r for r in rows if "KernelOOMContainer" in r]
    assert header.split() == ["NAME", "OWNER", "POD", "CLASS", "EXIT", "MEMORY", "CAUSED", "BY", "AGE"]
    assert row.split()[1:7] == ["RayCluster/demo", leaked, "KernelOOMContainer", "137", "1.2", "GiB"]


def test_logs_of_the_previous_instance_show_the_snapshot_with_the_task(k, demo, leaked):
    wait_for("the restart", lambda: container_status(demo.pod("worker"), "ray-worker")["restartCount"] >= 1)
    log = wait_for("the previous log", lambda: k("logs", "-p", leaked, "-c", "ray-worker"))
    snapshot = [line for line in log.splitlines() if line.startswith("[afterglow]")]
    assert any("of its memory limit of 1.2 GiB" in line for line in snapshot)
    assert any("ray::allocate_memory" in line for line in snapshot)


def test_the_sidecars_log_has_the_report(k, demo, leaked):
    demo.wait_failure(pod=leaked, exitCode=137)
    log = k("logs", leaked, "-c", "afterglow")
    assert "it reached its memory limit of 1.2 GiB" in log
    ended = [json.loads(line) for line in log.splitlines() if line.startswith("{") and '"ended"' in line]
    assert [e["class"] for e in ended] == ["KernelOOMContainer"]


def test_rays_replacement_worker_joins_again(demo, leaked):
    assert leaked
    demo.wait_nodes(2, timeout=120)


def test_the_bundle_outlives_the_pod(k, demo, leaked, volume, namespace):
    failure = demo.wait_failure(pod=leaked, exitCode=137)
    pod = demo.pod("worker")
    k("delete", "pod", leaked, timeout=120)
    prefix, _, path = failure["bundle"].partition("/")
    assert prefix == "pvc:ray-failures"
    directory = volume / path
    expected = pathlib.Path(namespace, "demo", f"{leaked}.{pod['metadata']['uid'][:8]}", "ray-worker")
    assert directory.parent.relative_to(volume) == expected
    report = check_bundle(directory)
    jsonschema.validate(report, json.loads((ROOT / "docs/report.schema.json").read_text()))
    assert report["class"] == "KernelOOMContainer"
    assert report["pod"] == leaked
    assert [f for f in demo.failures() if f["spec"]["pod"] == leaked], "the RayFailure outlives the pod"
    wait_for("another worker", lambda: demo.pod_name("worker") != leaked, timeout=60)
