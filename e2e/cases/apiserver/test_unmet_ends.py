# SPDX-License-Identifier: Apache-2.0
"""The kernel kills containers before their sidecar listens, and what the node agent kept of their ends reaches the RayFailures."""

import datetime
import signal
import socket
import time

import pytest

from conftest import wait_for
from apiserver.conftest import failures_of, failures_written, settle
from apiserver.kubelet import ended, running
from apiserver.pod_sidecar import PodSidecar

# To a sidecar, the node agent is a process of root outside of its PID namespace.
OWN_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child")
KILLED = ("Memory cgroup out of memory: Killed process 812 (tail) total-vm:34000kB, anon-rss:31000kB, file-rss:0kB, shmem-rss:0kB, "
          "UID:0 pgtables:100kB oom_score_adj:996")


@pytest.fixture
def sidecar(worker, tmp_path):
    (tmp_path / "pod").mkdir()
    started = PodSidecar(worker, tmp_path / "pod", "--node-socket", tmp_path / "node.sock", inside=OWN_NAMESPACE)
    yield started
    started.close()


class Node:
    """Plays a node agent that has kept proof of an end."""

    def __init__(self, path):
        self.path = path

    def say(self, *messages):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
            link.connect(str(self.path))
            for message in ("node 1", *messages):
                link.send(message.encode())

    def kill(self, pod, container_id, limit=None):
        """
        Says what the kernel logs when it kills the whole container for lack of memory. The limit that was met is the container's own, or
        that of its pod.
        """
        uid = pod["metadata"]["uid"].replace("-", "_")
        around = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice"
        own = f"{around}/cri-containerd-{container_id}.scope"
        met = {"pod": around, None: own}[limit]
        micros = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
        lines = ["tail invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=996",
                 "memory: usage 32768kB, limit 32768kB, failcnt 12",
                 f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg={met},"
                 f"task_memcg={own},task=tail,pid=812,uid=0", KILLED,
                 f"Tasks in {own} are going to be killed due to memory.oom.group set"]
        self.say(*(f"kernel 6 {micros + i} {line}" for i, line in enumerate(lines)))


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path / "node.sock")


def short_id(pod, restart=0):
    return ended(pod, "ray-worker", restart, 137)["terminated"]["containerID"].partition("://")[2]


def die_early(kubelet, pod, address):
    """Sets that the Ray container was killed before the sidecar started, and is to start again."""
    now = datetime.datetime.now(datetime.timezone.utc)
    died, came = ((now + datetime.timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ") for s in (0, 2))
    states = [running(pod, c["name"]) for c in pod["spec"]["containers"]]
    states[0].update(ready=False, started=False, state=ended(pod, "ray-worker", 0, 137, reason="OOMKilled", startedAt=died, finishedAt=died))
    states[1]["state"] = {"running": {"startedAt": came}}
    kubelet.say_at(pod, address, states, ready=False)


def only_failure(api, pod):
    return wait_for("the RayFailure", lambda: failures_of(api, pod))[0]["spec"]


def unmet(sidecar, count):
    return wait_for("what the node kept", lambda: sidecar.answer()["unmetEnds"]["settled"] and
                    len(sidecar.answer()["unmetEnds"]["ends"]) == count)


def test_an_end_before_the_sidecar_listened_is_certain_by_the_nodes_proof(
        start, operator, worker, sidecar, node, api, kubelet, plane):
    node.kill(worker, short_id(worker))
    assert unmet(sidecar, 1)
    die_early(kubelet, worker, sidecar.address)
    failure = only_failure(api, worker)
    assert (failure["class"], failure["confidence"], failure["exitCode"], failure["signal"]) == (
        "KernelOOMContainer", "certain", 137, "SIGKILL"), failure
    assert failure["verdict"] == "Container ray-worker was killed by the kernel: it reached its memory limit of 32.0 MiB."
    assert failure["memory"]["limitBytes"] == 32 << 20
    assert any(e["source"] == "kernel log" and short_id(worker) in e["text"] for e in failure["evidence"]), failure
    operator.stop(signal.SIGKILL)
    operator = start()
    wait_for("the next operator to ask", lambda: operator.metric("afterglow_sidecar_polls_total") >= 1)
    settle(operator, api, kubelet)
    assert len(failures_of(api, worker)) == 1
    assert failures_written(plane, api, worker) == 1


def test_the_pods_limit_is_told_from_the_containers(operator, worker, sidecar, node, api, kubelet):
    assert operator.running()
    node.kill(worker, short_id(worker), limit="pod")
    assert unmet(sidecar, 1)
    die_early(kubelet, worker, sidecar.address)
    failure = only_failure(api, worker)
    assert (failure["class"], failure["confidence"]) == ("KernelOOMPod", "certain"), failure


def test_proof_of_an_earlier_container_proves_nothing_of_the_next(operator, worker, sidecar, node, api, kubelet):
    assert operator.running()
    node.kill(worker, short_id(worker, 7))
    assert unmet(sidecar, 1)
    die_early(kubelet, worker, sidecar.address)
    failure = only_failure(api, worker)
    assert (failure["class"], failure["confidence"]) == ("KernelOOMContainer", "likely"), failure
    assert any("whether the OOM killer ended it" in m["what"] or "sidecar's report" in m["what"] for m in failure["missing"]), failure


def test_without_a_node_agent_the_kubelets_word_counts_as_ever(operator, worker, sidecar, api, kubelet):
    assert operator.running()
    die_early(kubelet, worker, sidecar.address)
    failure = only_failure(api, worker)
    assert (failure["class"], failure["confidence"]) == ("KernelOOMContainer", "likely"), failure
    assert failure["kubernetesReason"] == "OOMKilled"
