# SPDX-License-Identifier: Apache-2.0
"""Containers die on a node with cgroup v2, systemd and the kubelet's group kill, and each death is explained as it happened.

Plain commands run in place of Ray (test_ray.py has real Ray), in few pods: each instance of a container dies in a way of its own. The
ways to die that do not depend on the node are in cluster/.
"""

import subprocess

import pytest

from conftest import wait_for
from live import check_bundle
from node_v2.deaths import Deaths, brief, check_crash, head, says

# Slow enough for the sidecar to see who holds the memory.
HOG = "python3 -c 'import time\nk=[]\nwhile True:\n    k.append(bytearray(1 << 20)); time.sleep(.05)'"
# What Ray makes of a cgroup that it may write, and its limit for the processes of its users.
ISOLATE = r"""
base=/sys/fs/cgroup/ray-node_0a1b
mkdir -p $base/system/leaf $base/user/workers $base/user/non-ray
for pid in $(cat /sys/fs/cgroup/cgroup.procs); do echo $pid >$base/user/non-ray/cgroup.procs; done
for part in /sys/fs/cgroup $base $base/system $base/user; do echo +memory >$part/cgroup.subtree_control; done
echo 48M >$base/user/memory.max
"""


def heads(go):
    def started(name, *deeds, first="", **extra):
        return head(go.script(name, *deeds, first=first), volumes=[go.volume], volumeMounts=[go.mount], **extra)
    return {
        # tail keeps what has no line ends: the limit is reached about when the kubelet starts the sidecar, mostly before.
        "early": head("[ -e /go/early ] && sleep 1000; touch /go/early; tail /dev/zero; sleep 1000", memory="32Mi",
                      volumes=[go.volume], volumeMounts=[go.mount]),
        # The shell would live on: it is the cgroup that dies.
        "memory": started("memory", f"{HOG}; sleep 1000", "exit 3", f"{HOG}; sleep 1000"),
        "exits": started("exits", "kill -9 $BASHPID", "kill -TERM $BASHPID", "exec python3 -c 'import ctypes; ctypes.string_at(0)'", "exit 1"),
        "isolated": started("isolated", f"echo $BASHPID >$base/user/workers/cgroup.procs; exec {HOG}", first=ISOLATE,
                            pod={"runtimeClassName": "writable"}, securityContext={"runAsUser": 0}),
    }


@pytest.fixture(scope="module")
def deaths(new_cluster, volume, node, go):
    assert volume.is_dir() and node
    return Deaths({name: new_cluster(name, {}, head=made) for name, made in heads(go).items()}, go)


@pytest.fixture(scope="module")
def oom(deaths):
    return deaths.die("memory")


def test_a_container_that_dies_at_once_was_killed_for_its_memory(deaths):
    """
    The launcher dies with the container. If the sidecar does not listen yet, or the cgroup is gone before it reads it,
    only the kubelet's status is left, and the report names what is missing.
    """
    failure = deaths.failure("early")
    assert brief(failure) in [("KernelOOMContainer", sure, 137, "SIGKILL") for sure in ("certain", "likely")], says(failure)
    if failure["confidence"] == "certain":
        assert failure["memory"]["limitBytes"] == 32 << 20
    else:
        assert any("report" in m["what"] or "memory counters" in m["what"] for m in failure["missing"]), says(failure)


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
    assert first["name"] == "python3" and first["growthBytesPerSecond"] > 0, says(report["processes"])
    assert "oom_group_kill" in says(report["evidence"]), says(report["evidence"])

    def end():
        status = deaths.ray("memory")
        return status["lastState"].get("terminated") or status["state"]["terminated"]
    last = wait_for("the kubelet's word", end)
    assert (last["exitCode"], last["reason"]) == (137, "OOMKilled")


@pytest.mark.parametrize("instance, expected", enumerate([
    ("Killed", "certain", 137, "SIGKILL"), ("Terminated", "certain", 143, "SIGTERM"),
    ("Segfault", "certain", 139, "SIGSEGV"), ("ApplicationError", "certain", 1, None),
]))
def test_other_ends_are_certain_and_are_no_oom_kills(deaths, volume, instance, expected):
    failure = deaths.die("exits", instance)
    assert brief(failure) == expected, says(failure)
    if expected[0] == "Segfault":
        check_crash(failure, volume, "string_at")


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
    before = deaths.sidecar("memory")["restartCount"]
    with subprocess.Popen(["kubectl", "--namespace", deaths.clusters["memory"].k.namespace, "exec", "-i", "root", "--", "python3", "-c", code]) as killer:
        wait_for("the sidecar's end", lambda: "running" not in deaths.sidecar("memory")["state"] or
                 deaths.sidecar("memory")["restartCount"] > before, interval=0.2)
        deaths.go.start("memory", 2)
        failure = deaths.failure("memory", 2)
        killer.wait(120)
    assert brief(failure)[0] == "KernelOOMContainer" and failure["exitCode"] == 137, says(failure)
    assert failure["missing"], says(failure)


def test_a_limit_of_rays_resource_isolation_is_named(deaths):
    """The kernel ends a single process below such a limit, not the container. Only the samples show which process it was."""
    failure = deaths.die("isolated")
    assert (failure["class"], failure["exitCode"]) == ("KernelOOMContainer", 137), says(failure)
    assert 'sub-cgroup "user" of Ray' in failure["verdict"] and "48.0 MiB" in failure["verdict"], says(failure)
