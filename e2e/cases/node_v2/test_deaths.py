# SPDX-License-Identifier: Apache-2.0
"""Deaths on a node with cgroup v2, systemd and the kubelet's group kill: each is explained as it happened.

Plain commands in place of Ray, all pods at once. The ways to die that do not depend on the node are in cluster/.
"""

import json

import pytest

from conftest import wait_for
from live import check_bundle, container, container_status
from node_v2.conftest import pod_of, watched_pod_of

# Slow enough for the sidecar to see who holds the memory.
HOG = "import time\nk=[]\nwhile True:\n    k.append(bytearray(1 << 20)); time.sleep(.05)\n"
ISOLATE = r"""
base=/sys/fs/cgroup/ray_node_0a1b
mkdir -p $base/system/leaf $base/user/workers $base/user/non-ray
for pid in $(cat /sys/fs/cgroup/cgroup.procs); do echo $pid >$base/user/non-ray/cgroup.procs; done
for part in /sys/fs/cgroup $base $base/system $base/user; do echo +memory >$part/cgroup.subtree_control; done
echo 48M >$base/user/memory.max
"""


def waits(name):
    return f"until [ -e /go/{name} ]; do sleep .2; done"


def worker(go, command, memory="100Mi", **extra):
    """A container with a command of its own, which the operator leaves as it is."""
    return {**container("ray-worker", memory, command=["/bin/bash", "-c", command]), "volumes": [go.volume], "volumeMounts": [go.mount],
            "annotations": {"ray.io/overwrite-container-cmd": "true"}, **extra}


def groups(go):
    return {
        # The shell would live on: it is the cgroup that dies.
        "oom": worker(go, f"{waits('oom')}; python3 -c '{HOG}'; echo survived; sleep 1000"),
        # tail keeps what has no line ends: the limit is reached long before the kubelet has started the sidecar.
        "early": worker(go, "tail /dev/zero; echo survived; sleep 1000", memory="32Mi"),
        "blind": worker(go, f"{waits('blind')}; python3 -c '{HOG}'; echo survived; sleep 1000"),
        "killed": worker(go, f"{waits('exits')}; kill -9 $$"),
        "terminated": worker(go, f"{waits('exits')}; kill -TERM $$"),
        "segfault": worker(go, f"{waits('exits')}; exec python3 -c 'import ctypes; ctypes.string_at(0)'"),
        "error": worker(go, f"{waits('exits')}; exit 1"),
        # A child's OOM kill takes all of the container, so this one can have had none.
        "restarted": worker(go, f"{waits('restarted')}; exit 3"),
        "isolated": worker(go, f"{ISOLATE}{waits('isolated')}; echo $$ >$base/user/workers/cgroup.procs; exec python3 -c '{HOG}'",
                           pod={"runtimeClassName": "writable"}, securityContext={"runAsUser": 0}),
    }


RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "writable"},
                 "handler": "runc-writable"}


@pytest.fixture(scope="module")
def deaths(k, new_cluster, volume, node, go):
    assert volume.is_dir() and node
    k.apply(RUNTIME_CLASS)
    return new_cluster("deaths", groups(go), head=container("ray-head", "50Mi", command=["sleep", "infinity"]))


@pytest.fixture(scope="module")
def exits(deaths, go):
    """Those that exit by themselves, when the sidecars of all of them watch."""
    for group in "killed", "terminated", "segfault", "error":
        watched_pod_of(deaths, group)
    go.start("exits")


def failure_of(deaths, group):
    return deaths.wait_failure(pod=pod_of(deaths, group)["metadata"]["name"], restartCount=0, container="ray-worker", timeout=120)


def says(failure):
    return json.dumps(failure, indent=1)


def died_whole(deaths, group):
    name = pod_of(deaths, group)["metadata"]["name"]
    last = wait_for("its end", lambda: container_status(pod_of(deaths, group), "ray-worker")["lastState"].get("terminated"), timeout=120)
    assert (last["exitCode"], last["reason"]) == (137, "OOMKilled")
    assert "survived" not in deaths.k("logs", "-p", name, "-c", "ray-worker")


def test_the_node_has_the_kernel_end_a_container_as_a_whole(deaths, node):
    pod = watched_pod_of(deaths, "oom")
    for name, limit in ("ray-worker", 100 << 20), ("afterglow", None):
        statuses = pod["status"]["containerStatuses"] + pod["status"].get("initContainerStatuses", [])
        (status,) = [s for s in statuses if s["name"] == name]
        seen = node.look(status["containerID"])
        assert seen["group"] == "1"
        assert limit is None or seen["limit"] == str(limit)


def test_an_oom_kill_of_the_whole_container_is_certain_and_names_process_limit_and_growth(deaths, volume, go):
    watched_pod_of(deaths, "oom")
    go.start("oom")
    failure = failure_of(deaths, "oom")
    assert (failure["class"], failure["confidence"], failure["exitCode"]) == ("KernelOOMContainer", "certain", 137), says(failure)
    assert failure["memory"]["limitBytes"] == 100 << 20
    died_whole(deaths, "oom")
    report = check_bundle(volume / failure["bundle"].partition("/")[2])
    assert (report["class"], report["confidence"]) == ("KernelOOMContainer", "certain")
    first = report["processes"][0]
    assert first["name"] == "python3" and first["growthBytesPerSecond"] > 1 << 20, says(report["processes"])
    assert "oom_group_kill" in says(report["evidence"]), says(report["evidence"])


def test_a_container_that_dies_before_its_sidecar_listens_was_killed_for_its_memory(deaths):
    failure = failure_of(deaths, "early")
    died_whole(deaths, "early")
    assert (failure["class"], failure["exitCode"]) == ("KernelOOMContainer", 137), says(failure)
    assert "32.0 MiB" in failure["verdict"], says(failure)


@pytest.mark.parametrize("group, code, signal, failure_class", [
    ("killed", 137, "SIGKILL", "Killed"),
    ("terminated", 143, "SIGTERM", "Terminated"),
    ("segfault", 139, "SIGSEGV", "Segfault"),
    ("error", 1, None, "ApplicationError"),
])
def test_other_ends_are_certain_and_are_no_oom_kills(deaths, exits, group, code, signal, failure_class):
    del exits
    failure = failure_of(deaths, group)
    assert (failure["exitCode"], failure.get("signal"), failure["class"]) == (code, signal, failure_class), says(failure)
    assert failure["confidence"] == "certain", says(failure)


def test_a_crash_leaves_its_backtrace(deaths, exits, volume):
    del exits
    failure = failure_of(deaths, "segfault")
    assert "crashed with SIGSEGV in " in failure["verdict"]
    bundle = volume / failure["bundle"].partition("/")[2]
    crash = check_bundle(bundle)["crash"]
    assert (crash["signal"], crash["process"], crash["faultAddress"]) == ("SIGSEGV", "python3", "0x0")
    assert "ctypes" in (bundle / "backtrace.txt").read_text()


def sidecar_of(pod):
    statuses = pod["status"]["containerStatuses"] + pod["status"].get("initContainerStatuses", [])
    (status,) = [s for s in statuses if s["name"] == "afterglow"]
    return status


def test_a_sidecar_that_the_kernel_ends_as_a_whole_comes_back_and_explains_what_follows(deaths, node, go):
    pod = watched_pod_of(deaths, "restarted")
    before = sidecar_of(pod)
    there = node.look(before["containerID"])
    # What a leak of its own would do: no process of its cgroup survives.
    node.run("bash", "-c", f"echo 24M >{there['path']}/memory.max; echo $$ >{there['path']}/cgroup.procs; tail /dev/zero", check=False)
    wait_for("its restart", lambda: sidecar_of(pod_of(deaths, "restarted"))["restartCount"] > before["restartCount"])
    assert container_status(pod_of(deaths, "restarted"), "ray-worker")["restartCount"] == 0
    watched_pod_of(deaths, "restarted")
    go.start("restarted")
    failure = failure_of(deaths, "restarted")
    assert (failure["class"], failure["confidence"], failure["exitCode"]) == ("ApplicationError", "certain", 3), says(failure)


def test_with_the_sidecar_killed_in_the_middle_the_death_is_explained_and_what_is_missing_named(deaths, node, go):
    pod = watched_pod_of(deaths, "blind")
    # Its first restart is immediate; after the second end the kubelet waits 10 s.
    killed = set()
    for _ in range(2):
        def fresh():
            container_id = sidecar_of(pod_of(deaths, "blind"))["containerID"]
            assert container_id not in killed
            return container_id, node.look(container_id)["pids"]
        container_id, pids = wait_for("the sidecar", fresh)
        node.run("kill", "-9", *map(str, pids))
        killed.add(container_id)
    go.start("blind")
    failure = failure_of(deaths, "blind")
    died_whole(deaths, "blind")
    assert failure["pod"] == pod["metadata"]["name"]
    assert (failure["class"], failure["exitCode"]) == ("KernelOOMContainer", 137), says(failure)


def test_a_limit_of_rays_resource_isolation_is_named(deaths, go):
    watched_pod_of(deaths, "isolated")
    go.start("isolated")
    failure = failure_of(deaths, "isolated")
    assert (failure["class"], failure["exitCode"]) == ("KernelOOMContainer", 137), says(failure)
    assert 'sub-cgroup "user" of Ray' in failure["verdict"] and "48.0 MiB" in failure["verdict"], says(failure)
