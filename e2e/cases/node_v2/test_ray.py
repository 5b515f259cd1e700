# SPDX-License-Identifier: Apache-2.0
"""
Real Ray on a node with cgroup v2, systemd and the kubelet's group kill: head, dashboard and a worker. They die as people's do, and each
death has the class that it has on cgroup v1. Ray ends where its parts do not start within 20 seconds, and there is one processor: so
one Ray node starts after the other, and there is one worker at a time.
"""

import json

import pytest

from cluster.test_ray_processes import signal_to
from conftest import wait_for
from live import NODE, check_bundle, container, container_status
from node_v2.deaths import says

TASKS = """
import ctypes, sys, time, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
ray.init(address='auto', log_to_driver=False, logging_level='error')

@ray.remote(max_retries=0)
def leak():
    kept = []
    while True:
        kept.append(bytearray(8 << 20))
        time.sleep(0.04)

@ray.remote(max_retries=0)
def crash():
    ctypes.string_at(0)

(node,) = [n['NodeID'] for n in ray.nodes() if n['Alive'] and n['NodeManagerAddress'] == '%s']
try:
    ray.get(%s.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote())
except Exception as error:
    answer(type(error).__name__)
"""
LEAK_IN_HEAD = "nohup python3 -c 'import time\nk=[]\nwhile True:\n    k.append(bytearray(16 << 20)); time.sleep(.05)' >/dev/null 2>&1 &"


# Without Ray's own memory monitor, which would kill a task before the kernel does.
def ray_worker(memory, **extra):
    made = container("ray-worker", memory, **extra)
    made["env"].append({"name": "RAY_memory_monitor_refresh_ms", "value": "0"})
    return made


def head():
    return container("ray-head", "2000Mi")


# Where root of the container may write cgroups, Ray makes some for itself and for its users' processes.
def isolated_worker():
    made = ray_worker("1500Mi", rayStartParams={"enable-resource-isolation": "true", "system-reserved-cpu": "0.5",
                                                "system-reserved-memory": str(500 << 20)},
                      pod={"runtimeClassName": "writable"}, securityContext={"runAsUser": 0},
                      volumes=[{"name": "data", "emptyDir": {"sizeLimit": "1Mi"}}],
                      volumeMounts=[{"name": "data", "mountPath": "/data"}])
    made["env"].append({"name": "RAY_DEFAULT_MIN_SYSTEM_RESERVED_CPU_CORES", "value": "0.5"})
    return made


@pytest.fixture(scope="module")
def with_worker(new_cluster, volume, node):
    """Returns a function that gives the cluster one group of workers, and takes away the one that it had."""
    assert volume.is_dir() and node

    def change(group, made):
        cluster = new_cluster("ray", {group: made}, head=head())
        wait_for("one worker", lambda: [p["metadata"]["labels"]["ray.io/group"] for p in cluster.pods("worker")] == [group])
        cluster.wait_nodes(2, timeout=240)
        return cluster
    return change


@pytest.fixture(scope="module")
def ray(new_cluster, with_worker):
    new_cluster("ray", {}, head=head()).wait_nodes(1, timeout=240)
    return with_worker("plain", ray_worker("1200Mi"))


@pytest.fixture(scope="module")
def isolated(ray, with_worker):
    return with_worker("isolated", isolated_worker())


def pod_of(ray, group):
    (name,) = [p["metadata"]["name"] for p in ray.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == group
               and "deletionTimestamp" not in p["metadata"]]
    return name


def task(ray, group, name):
    return ray.python(TASKS % (ray.k.json("pod", pod_of(ray, group))["status"]["podIP"], name))


def bundle_of(volume, failure):
    return check_bundle(volume / failure["bundle"].partition("/")[2])


def check_log(ray, failure, container_name="afterglow"):
    """The sidecar has logged the end as the RayFailure tells it."""
    log = ray.k("logs", failure["pod"], "-c", container_name)
    assert f'"{failure["class"]}"' in log and failure["verdict"] in log.replace('\\"', '"'), log


def check_group_kill(ray, volume, failure, limit):
    assert (failure["class"], failure["confidence"], failure["exitCode"]) == ("KernelOOMContainer", "certain", 137), says(failure)
    assert failure["memory"]["limitBytes"] == limit, says(failure)
    assert "oom_group_kill" in says(failure["evidence"]), says(failure)
    assert bundle_of(volume, failure)["class"] == "KernelOOMContainer"
    check_log(ray, failure)


def test_the_dashboard_answers(ray):
    got = ray.python("import urllib.request\nanswer(urllib.request.urlopen('http://127.0.0.1:8265/api/version').status)")
    assert got == 200


def test_a_task_that_leaks_takes_the_whole_worker_and_is_named(ray, volume):
    pod = pod_of(ray, "plain")
    assert task(ray, "plain", "leak") in ("WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError", "OutOfMemoryError")
    failure = ray.wait_failure(pod=pod, failure_class="KernelOOMContainer", timeout=120)
    check_group_kill(ray, volume, failure, 1200 << 20)
    assert failure["processes"][0]["name"] == "ray::leak", says(failure)
    status = wait_for("the kubelet's word", lambda: container_status(ray.k.json("pod", pod), "ray-worker")["lastState"]["terminated"])
    assert (status["exitCode"], status["reason"]) == (137, "OOMKilled")


def test_kill_9_of_a_raylet_is_the_cause_of_its_containers_end(ray, volume):
    ray.wait_nodes(2, timeout=180)
    pod = pod_of(ray, "plain")
    pid = signal_to(ray.k, pod, "raylet", 9)
    # Where `ray start` takes long to look, raylet's own end is a failure before that of the container.
    failure = ray.wait_failure(pod=pod, process={"name": "raylet", "pid": pid, "signal": "SIGKILL"}, exitCode=1, timeout=120)
    # On one busy processor it may look so late that the two ends are too far apart for certainty.
    assert (failure["class"], failure["confidence"]) in (("RayletFailed", "certain"), ("RayletFailed", "likely")), says(failure)
    assert bundle_of(volume, failure)["class"] == "RayletFailed"
    check_log(ray, failure)


def test_a_task_that_crashes_has_a_backtrace_and_a_core(ray, volume):
    ray.wait_nodes(2, timeout=180)
    pod = pod_of(ray, "plain")
    assert task(ray, "plain", "crash") == "WorkerCrashedError"
    failure = ray.wait_failure(pod=pod, failure_class="WorkerCrash", timeout=120)
    assert failure["containerLives"] is True, says(failure)
    there = volume / failure["bundle"].partition("/")[2]
    wait_for("the core", lambda: list(there.glob("core.*")), timeout=120)
    crash = bundle_of(volume, failure)["crash"]
    assert (crash["signal"], crash["faultAddress"]) == ("SIGSEGV", "0x0"), says(failure)
    assert " in string_at\n" in (there / "backtrace.txt").read_text()


def test_a_worker_on_a_node_that_is_drained_ended_for_that(ray, kubectl):
    pod = pod_of(ray, "plain")
    kubectl("cordon", NODE)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    ray.k("create", "--raw", f"/api/v1/namespaces/{ray.k.namespace}/pods/{pod}/eviction", "-f", "-", stdin=json.dumps(eviction))
    failure = ray.wait_failure(pod=pod, failure_class="NodeShutdown", timeout=120)
    kubectl("uncordon", NODE)
    assert (failure["confidence"], failure["endedBy"]["kind"], failure["endedBy"]["name"]) == ("likely", "Drain", f"Node/{NODE}"), says(failure)


def test_a_head_that_runs_out_of_memory_dies_whole_and_its_worker_follows(ray, volume):
    ray.wait_nodes(2, timeout=240)
    head, worker = ray.pod_name("head"), pod_of(ray, "plain")
    ray.k("exec", head, "-c", "ray-head", "--", "bash", "-c", LEAK_IN_HEAD)
    failure = ray.wait_failure(pod=head, failure_class="KernelOOMContainer", timeout=120)
    check_group_kill(ray, volume, failure, 2000 << 20)
    lost = ray.wait_failure(pod=worker, failure_class="GCSLost", timeout=180)
    assert lost["confidence"] == "likely", says(lost)


def test_a_task_below_rays_resource_isolation_is_killed_alone_and_named(isolated, node, volume):
    pod = pod_of(isolated, "isolated")
    there = node.look(container_status(isolated.k.json("pod", pod), "ray-worker")["containerID"])
    assert not there["pids"], "Ray leaves no process in the container's own cgroup"
    assert task(isolated, "isolated", "leak") in ("WorkerCrashedError", "OutOfMemoryError")
    failure = isolated.wait_failure(pod=pod, containerLives=True, timeout=120)
    assert failure["process"]["name"] == "ray::leak", says(failure)
    assert failure["class"] in ("KernelOOMProcess", "RayMemoryMonitor"), says(failure)
    assert bundle_of(volume, failure)["class"] == failure["class"]


def test_a_worker_over_the_limit_of_its_volume_is_evicted(isolated):
    pod = pod_of(isolated, "isolated")
    isolated.k("exec", pod, "-c", "ray-worker", "--", "sh", "-c", "head -c 40M /dev/zero >/data/large")
    failure = isolated.wait_failure(pod=pod, failure_class="Evicted", timeout=180)
    assert "exceeds the limit" in says(failure["evidence"]), says(failure)
