# SPDX-License-Identifier: Apache-2.0
"""Deaths on a node with cgroup v2, systemd and the kubelet's group kill: each is explained as it happened.

Plain commands in place of Ray, in few pods: software emulation takes many seconds to start one. Each instance of a container
dies in a way of its own. The ways to die that do not depend on the node are in cluster/.
"""

import json
import subprocess

import pytest

from conftest import wait_for
from live import check_bundle, container, container_status

# Slow enough for the sidecar to see who holds the memory.
HOG = "python3 -c 'import time\nk=[]\nwhile True:\n    k.append(bytearray(1 << 20)); time.sleep(.05)'"
# What Ray makes of a cgroup that it may write, and its limit for the processes of its users.
ISOLATE = r"""
base=/sys/fs/cgroup/ray_node_0a1b
mkdir -p $base/system/leaf $base/user/workers $base/user/non-ray
for pid in $(cat /sys/fs/cgroup/cgroup.procs); do echo $pid >$base/user/non-ray/cgroup.procs; done
for part in /sys/fs/cgroup $base $base/system $base/user; do echo +memory >$part/cgroup.subtree_control; done
echo 48M >$base/user/memory.max
"""
RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "writable"}, "handler": "writable"}


def worker(go, script, **extra):
    """A container with a command of its own, which the operator leaves as it is."""
    pod = {"automountServiceAccountToken": False, **extra.pop("pod", {})}
    return {**container("ray-worker", "100Mi", command=["/bin/bash", "-c", script]), "pod": pod,
            "annotations": {"ray.io/overwrite-container-cmd": "true"}, "volumes": [go.volume], "volumeMounts": [go.mount], **extra}


def groups(go):
    return {
        # The shell would live on: it is the cgroup that dies.
        "memory": worker(go, go.script("memory", f"{HOG}; sleep 1000", "exit 3", f"{HOG}; sleep 1000")),
        "exits": worker(go, go.script("exits", "kill -9 $$", "kill -TERM $$",
                                      "exec python3 -c 'import ctypes; ctypes.string_at(0)'", "exit 1")),
        "isolated": worker(go, go.script("isolated", f"echo $$ >$base/user/workers/cgroup.procs; exec {HOG}", first=ISOLATE),
                           pod={"runtimeClassName": "writable"}, securityContext={"runAsUser": 0}),
    }


# tail keeps what has no line ends: the limit is reached long before the kubelet has started the sidecar.
EARLY = {**container("ray-head", "32Mi"), "command": ["/bin/bash", "-c", "tail /dev/zero; sleep 1000"]}


class Deaths:
    """A cluster of pods, of which one container each dies again and again."""

    def __init__(self, cluster, go):
        self.cluster = cluster
        self.go = go

    def pod(self, group):
        if group == "head":
            return self.cluster.pod("head")
        (found,) = [p for p in self.cluster.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == group]
        return found

    def name(self, group):
        return self.pod(group)["metadata"]["name"]

    def sidecar(self, group):
        status = self.pod(group)["status"]
        (found,) = [s for s in status["containerStatuses"] + status.get("initContainerStatuses", []) if s["name"] == "afterglow"]
        return found

    def wait_watched(self, group, instance=0):
        """Until its sidecar watches that instance of the container."""
        def watched():
            status = container_status(self.pod(group), "ray-worker")
            assert status["restartCount"] == instance and "running" in status["state"], status
            started = status["state"]["running"]["startedAt"]
            attached = [line for line in self.cluster.k("logs", self.name(group), "-c", "afterglow", "--timestamps").splitlines()
                        if '"attached"' in line]
            assert attached and attached[-1].partition(".")[0] >= started.rstrip("Z"), attached
            return status
        return wait_for(f"the sidecar of {group} to watch instance {instance}", watched, timeout=120, interval=1)

    def failure(self, group, instance=0):
        name = wait_for(f"the pod of {group}", lambda: self.name(group))
        return self.cluster.wait_failure(pod=name, container="ray-head" if group == "head" else "ray-worker", restartCount=instance,
                                         timeout=120)

    def die(self, group, instance=0):
        """The RayFailure of an instance that is watched and then does its deed."""
        self.wait_watched(group, instance)
        self.go.start(group, instance)
        return self.failure(group, instance)


def brief(failure):
    return failure["class"], failure["confidence"], failure["exitCode"], failure.get("signal")


def says(failure):
    return json.dumps(failure, indent=1)


@pytest.fixture(scope="module")
def deaths(k, new_cluster, volume, node, go):
    assert volume.is_dir() and node
    k.apply(RUNTIME_CLASS)
    yield Deaths(new_cluster("deaths", groups(go), head=EARLY), go)
    k("delete", "runtimeclass", "writable", "--wait=false")


@pytest.fixture(scope="module")
def oom(deaths):
    return deaths.die("memory")


def test_a_container_that_dies_before_its_sidecar_listens_was_killed_for_its_memory(deaths):
    failure = deaths.failure("head")
    assert (failure["class"], failure["exitCode"]) == ("KernelOOMContainer", 137), says(failure)
    assert "32.0 MiB" in failure["verdict"], says(failure)


def test_the_node_has_the_kernel_end_a_container_as_a_whole(deaths, node):
    status = deaths.wait_watched("memory")
    seen = node.look(status["containerID"])
    assert (seen["group"], seen["limit"]) == ("1", str(100 << 20))
    assert node.look(deaths.sidecar("memory")["containerID"])["group"] == "1"


def test_an_oom_kill_of_the_whole_container_is_certain_and_names_process_limit_and_growth(deaths, oom, volume):
    assert brief(oom) == ("KernelOOMContainer", "certain", 137, "SIGKILL"), says(oom)
    assert oom["memory"]["limitBytes"] == 100 << 20
    report = check_bundle(volume / oom["bundle"].partition("/")[2])
    assert (report["class"], report["confidence"]) == ("KernelOOMContainer", "certain")
    first = report["processes"][0]
    assert first["name"] == "python3" and first["growthBytesPerSecond"] > 1 << 20, says(report["processes"])
    assert "oom_group_kill" in says(report["evidence"]), says(report["evidence"])
    last = wait_for("the restart", lambda: container_status(deaths.pod("memory"), "ray-worker")["lastState"]["terminated"])
    assert (last["exitCode"], last["reason"]) == (137, "OOMKilled")


@pytest.mark.parametrize("instance, expected", enumerate([
    ("Killed", "certain", 137, "SIGKILL"), ("Terminated", "certain", 143, "SIGTERM"),
    ("Segfault", "certain", 139, "SIGSEGV"), ("ApplicationError", "certain", 1, None),
]))
def test_other_ends_are_certain_and_are_no_oom_kills(deaths, volume, instance, expected):
    failure = deaths.die("exits", instance)
    assert brief(failure) == expected, says(failure)
    if expected[0] == "Segfault":
        assert "crashed with SIGSEGV in " in failure["verdict"], says(failure)
        bundle = volume / failure["bundle"].partition("/")[2]
        crash = check_bundle(bundle)["crash"]
        assert (crash["signal"], crash["process"], crash["faultAddress"]) == ("SIGSEGV", "python3", "0x0")
        assert "ctypes" in (bundle / "backtrace.txt").read_text()


def test_a_sidecar_that_the_kernel_ends_as_a_whole_comes_back_and_explains_what_follows(deaths, oom, node):
    assert oom
    deaths.wait_watched("memory", 1)
    before = deaths.sidecar("memory")
    there = node.look(before["containerID"])["path"]
    # As a leak of its own would: no process of its cgroup survives.
    node.run("bash", "-c", f"echo 24M >{there}/memory.max; echo $$ >{there}/cgroup.procs; tail /dev/zero", check=False)
    wait_for("its restart", lambda: deaths.sidecar("memory")["restartCount"] > before["restartCount"])
    failure = deaths.die("memory", 1)
    assert brief(failure) == ("ApplicationError", "certain", 3, None), says(failure)


# Kills what is in the pod beside one container, again and again until that one has died.
KILL_OTHERS = """
import glob, os, signal, time
(there,) = glob.glob("/sys/fs/cgroup/kubepods.slice/**/cri-containerd-%s.scope", recursive=True)
while os.path.isdir(there):
    for procs in glob.glob(os.path.dirname(there) + "/*/cgroup.procs"):
        try:
            pids = open(procs).read().split()
            names = [open(f"/proc/{pid}/comm").read() for pid in pids]
            if any(name.startswith("afterglow-sidec") for name in names):
                [os.kill(int(pid), signal.SIGKILL) for pid in pids]
        except OSError:
            pass
    time.sleep(0.05)
"""


def test_with_the_sidecar_killed_in_the_middle_an_oom_kill_is_explained_and_what_is_missing_is_named(deaths, node):
    status = deaths.wait_watched("memory", 2)
    code = KILL_OTHERS % status["containerID"].partition("://")[2]
    with subprocess.Popen(["kubectl", "--namespace", deaths.cluster.k.namespace, "exec", "-i", "root", "--", "python3", "-c", code]) as killer:
        wait_for("the sidecar's end", lambda: "running" not in deaths.sidecar("memory")["state"] or
                 deaths.sidecar("memory")["lastState"], interval=0.2)
        deaths.go.start("memory", 2)
        failure = deaths.failure("memory", 2)
        killer.wait(120)
    assert brief(failure)[0] == "KernelOOMContainer" and failure["exitCode"] == 137, says(failure)
    assert failure["missing"], says(failure)


def test_a_limit_of_rays_resource_isolation_is_named(deaths):
    failure = deaths.die("isolated")
    assert brief(failure) == ("KernelOOMContainer", "certain", 137, "SIGKILL"), says(failure)
    assert 'sub-cgroup "user" of Ray' in failure["verdict"] and "48.0 MiB" in failure["verdict"], says(failure)
