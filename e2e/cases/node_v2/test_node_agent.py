# SPDX-License-Identifier: Apache-2.0
"""
The chart installs the node agent. It runs on the node in User Mode Linux alone: core_pattern belongs to a kernel, and that of the
first node is the kernel of the machine that runs the tests.
"""

import json
import shutil

import pytest

from cluster.conftest import install
from conftest import Kubectl, wait_for
from live import NODE, ROOT, SYSTEM
from node_v2.deaths import Deaths, brief, check_crash, head, says

# A file where only root may write, and what Debian sets.
FILE = "/var/lib/cores/core.%p"
SYSTEMD = "|/lib/systemd/systemd-coredump %P %u %g %s %t 9223372036854775808 %h"
OURS = "|/var/lib/afterglow/afterglow-core1 %P %s %c %d "
PATTERN = "/proc/sys/kernel/core_pattern"
CRASH = "exec python3 -c 'import ctypes; ctypes.string_at(0)'"
# Of the same crash a second time only the report is kept.
OTHER_CRASH = "exec python3 -c 'import ctypes; ctypes.wstring_at(0)'"
# The kubelet's SIGTERM comes to nothing, and its SIGKILL follows. The probe looks for the file, which is in the instance's own file
# system: the next instance is not sick.
SICK = "trap '' TERM; touch /tmp/sick; while :; do sleep 1; done"
PROBE = {"exec": {"command": ["test", "!", "-e", "/tmp/sick"]}, "periodSeconds": 20, "failureThreshold": 1, "timeoutSeconds": 60}


def on_node(node, command, check=True):
    """
    Runs a bash script on the node itself, outside of every pod, as its init would. The script comes by standard input,
    because systemd would replace dollar signs in arguments.
    """
    return node.run("nsenter", "--target", "1", "--mount", "--", "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--",
                    "bash", stdin=command, check=check).stdout.strip()


def pattern(node):
    return node.run("cat", PATTERN).stdout.strip()


def set_pattern(node, value):
    node.run("tee", PATTERN, stdin=value)


@pytest.fixture(scope="module")
def image(node, go):
    """Brings the agent's image to the node."""
    shutil.copy(ROOT / "build/images/afterglow-node.tar", go.directory)
    node.run("nsenter", "--target", "1", "--mount", "--", "ctr", "--namespace", "k8s.io", "images", "import",
             str(go.directory / "afterglow-node.tar"))


@pytest.fixture(scope="module")
def agent(node, image):
    """Installs the chart with the agent, on a node where core_pattern sends cores away from the pods."""
    on_node(node, "rm -rf /var/lib/cores && mkdir -m 700 /var/lib/cores")
    set_pattern(node, FILE)
    install(nodeAgent__enabled="true", **{"nodeAgent__nodeSelector__kubernetes\\.io/hostname": NODE})
    k = Kubectl(SYSTEM)
    # Helm is content with a DaemonSet of which one pod is still missing.
    k("rollout", "status", "daemonset/afterglow-node", "--timeout=120s", timeout=130)
    yield k
    install()
    set_pattern(node, "core")


@pytest.fixture(scope="module")
def deaths(new_cluster, volume, agent, go):
    assert volume.is_dir() and agent
    script = go.script("agent", CRASH, "sleep 1000", SICK, OTHER_CRASH)
    cluster = new_cluster("agent", {}, head=head(script, volumes=[go.volume], volumeMounts=[go.mount], livenessProbe=PROBE))
    return Deaths({"agent": cluster}, go)


@pytest.fixture(scope="module")
def wait_seen(deaths, new_cluster):
    """
    Waits until the sidecar watches an instance, and the agent has looked at its processes. A sidecar logs only once that the agent
    sees signals. The agent tells it so when it finds the pod for the second time, so a pod that starts now shows that it has looked.
    """
    def wait(instance):
        deaths.wait_watched("agent", instance)
        marker = new_cluster(f"seen-{instance}", {}, head=head("sleep infinity"))
        for cluster in (deaths.clusters["agent"], marker):
            wait_for("the agent to say that it sees signals", lambda c=cluster: "the node agent sees who sends signals" in
                     c.k("logs", c.pod_name("head"), "-c", "afterglow"), timeout=120, interval=1)
        marker.k("delete", "raycluster", marker.name, "--wait=false")
    return wait


def test_the_agent_runs_without_privileges_and_without_a_token(agent):
    (pod,) = agent.items("pods", "-l", "app.kubernetes.io/name=afterglow-node")
    assert pod["spec"]["nodeName"] == NODE
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"]["privileged"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYS_NICE"]}
    assert "kube-api-access" not in json.dumps(pod["spec"]["volumes"])
    log = agent("logs", pod["metadata"]["name"])
    assert not [line for line in log.splitlines() if '"error"' in line], log


def test_a_crash_in_a_pod_has_a_backtrace_where_the_pattern_is_a_file_of_root(deaths, wait_seen, node, volume):
    wait_for("the agent to take the pattern", lambda: pattern(node) == OURS + FILE)
    wait_seen(0)
    deaths.go.start("agent", 0)
    check_crash(deaths.failure("agent", 0), volume, "string_at")
    assert on_node(node, "ls /var/lib/cores") == ""


def test_a_process_of_the_node_still_gets_its_file(node):
    pid = on_node(node, "ulimit -c unlimited; bash -c 'kill -SEGV $$' & wait; echo $!")
    wait_for("its core", lambda: f"core.{pid}" in on_node(node, "ls /var/lib/cores").split())


def test_a_sigkill_from_the_node_names_its_sender_for_certain(deaths, wait_seen, node):
    wait_seen(1)
    deaths.go.start("agent", 1)
    pids = node.look(deaths.ray("agent")["containerID"])["pids"]
    victim = on_node(node, f"for pid in {' '.join(map(str, pids))}; do [ $(cat /proc/$pid/comm) != bash ] || echo $pid; done")
    # The sender stays: one that ends at once may have gone before the agent looks.
    on_node(node, f"kill -9 {victim}; sleep 5")
    failure = deaths.failure("agent", 1)
    assert brief(failure) == ("Killed", "certain", 137, "SIGKILL"), says(failure)
    assert "from bash (PID " in failure["verdict"] and failure["verdict"].endswith(" on the node."), says(failure)


def test_a_sigkill_of_the_kubelet_names_the_runtime(deaths, wait_seen):
    wait_seen(2)
    deaths.go.start("agent", 2)
    failure = deaths.failure("agent", 2)
    # That it was the probe is what an Event says, and others may write such Events.
    assert brief(failure) == ("ProbeKilled", "likely", 137, "SIGKILL"), says(failure)
    # runc may be gone when the agent looks where it was.
    (sender,) = [e["text"] for e in failure["evidence"] if e["source"] == "node agent"]
    assert "SIGKILL to the launcher" in sender and " from runc (PID " in sender, says(failure)


def test_with_systemd_coredump_a_pod_has_its_backtrace_and_coredumpctl_the_rest(deaths, wait_seen, node, volume):
    set_pattern(node, SYSTEMD)
    wait_for("the agent to take the pattern", lambda: pattern(node) == OURS + SYSTEMD, timeout=90)
    wait_seen(3)
    deaths.go.start("agent", 3)
    check_crash(deaths.failure("agent", 3), volume, "wstring_at")
    pid = on_node(node, "ulimit -c unlimited; bash -c 'kill -SEGV $$' & wait; echo $!")
    wait_for("coredumpctl to list it", lambda: on_node(node, f"coredumpctl --no-pager list {pid}", check=False), timeout=120)
    assert "python3" not in on_node(node, "coredumpctl --no-pager list", check=False)


@pytest.fixture
def agent_with_log(agent):
    """The agent that also reads the kernel log, for which it has to be privileged."""
    install(nodeAgent__enabled="true", nodeAgent__kernelLog="true", **{"nodeAgent__nodeSelector__kubernetes\\.io/hostname": NODE})
    agent("rollout", "status", "daemonset/afterglow-node", "--timeout=120s", timeout=130)

    def reads_the_log():
        (pod,) = agent.items("pods", "-l", "app.kubernetes.io/name=afterglow-node")
        assert pod["spec"]["containers"][0]["securityContext"]["privileged"] is True
        log = agent("logs", pod["metadata"]["name"])
        assert '"error"' not in log, log
        return "runs" in log
    wait_for("the agent that reads the kernel log", reads_the_log)


def test_a_container_that_is_killed_before_its_sidecar_listens_is_explained_for_certain(agent_with_log, new_cluster, go):
    del agent_with_log
    # tail keeps what has no line ends: the limit is reached about when the kubelet starts the sidecar, mostly before.
    script = "[ -e /go/agent-early ] && sleep 1000; touch /go/agent-early; tail /dev/zero; sleep 1000"
    cluster = new_cluster("agent-early", {}, head=head(script, memory="32Mi", volumes=[go.volume], volumeMounts=[go.mount]))
    failure = cluster.wait_failure(container="ray-head", restartCount=0, timeout=120)
    assert brief(failure) == ("KernelOOMContainer", "certain", 137, "SIGKILL"), says(failure)
    assert failure["memory"]["limitBytes"] == 32 << 20, says(failure)
    assert "killed by the kernel: it reached its memory limit of 32.0 MiB" in failure["verdict"], says(failure)
    instance = failure["containerID"].partition("://")[2]
    log = [e["text"] for e in failure["evidence"] if e["source"] == "kernel log"]
    counters = [e["text"] for e in failure["evidence"] if "oom_group_kill" in e["text"]]
    # Where the sidecar came in time after all, it has read the counters.
    assert counters or any(f"{instance}.scope are going to be killed due to memory.oom.group" in text for text in log), says(failure)


def test_removing_the_agent_gives_the_pattern_back(agent, node):
    install(nodeAgent__enabled="false")
    wait_for("its end", lambda: not agent.items("pods", "-l", "app.kubernetes.io/name=afterglow-node"))
    assert pattern(node) == SYSTEMD
    assert on_node(node, "ls /sys/kernel/tracing/instances") == ""
