# SPDX-License-Identifier: Apache-2.0
"""Ray's own processes end first: the failure says which one, how, and that the container, raylet or the other nodes followed."""

import json

import jsonschema
import pytest

from cluster.conftest import ROOT, check_bundle, container
from cluster.test_ray_voice import events_of
from conftest import wait_for

pytestmark = pytest.mark.long

# Ray titles its agents, and pgrep -x sees 15 bytes of a title.
NAMES = {"raylet": "raylet", "gcs_server": "gcs_server", "dashboard_agent": "ray::DashboardA"}

# Memory that belongs to no process: the OOM killer finds nobody larger than the one it was told to prefer. It is given back at the first
# kill: a victim that needs its time to end is passed over at the next one, and somebody else would go too.
FILL = """
import os, sys
def kills():
    for name in ("memory.events", "memory/memory.oom_control"):
        try:
            with open("/sys/fs/cgroup/" + name) as counters:
                return next(int(line.split()[1]) for line in counters if line.startswith("oom_kill "))
        except FileNotFoundError:
            pass
    raise SystemExit("no file counts OOM kills")
pid = int(sys.argv[1])
before = kills()
open(f"/proc/{pid}/oom_score_adj", "w").write("1000")
# The kernel may pass over a victim while its memory is not free yet, and take another one at once. This process is its choice then,
# and not the command.
open("/proc/self/oom_score_adj", "w").write("995")
memory = os.memfd_create("fill")
while kills() == before:
    os.write(memory, bytes(1 << 20))
"""


@pytest.fixture(scope="module")
def processes(new_cluster, volume):
    """
    Two groups: what happens to a raylet of the one is no concern of the other. The larger the memory, the more an oom_score_adj of 1000
    outweighs the size of other processes, to which the kubelet gives a little less.
    """
    assert volume.is_dir()
    cluster = new_cluster("processes", {group: container("ray-worker", "2Gi") for group in ("first", "second")})
    cluster.wait_nodes(3)
    return cluster


@pytest.fixture
def spent(k, processes):
    """A worker whose raylet ends while its container lives: it goes with the test, also with one that failed."""
    settled(processes)
    pod = worker(processes, "second")
    yield pod
    k("delete", "pod", pod, "--wait=false")


def settled(processes, nodes=3):
    processes.wait_nodes(nodes, timeout=240)


def worker(processes, group):
    return wait_for(f"a pod of group {group}", lambda: [
        p["metadata"]["name"] for p in processes.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == group
        and not p["metadata"].get("deletionTimestamp")])[0]


def incident_of(processes, failure_class, spec):
    """Returns the RayFailure of that class in the container of spec, at that time, and what the operator says that it follows from."""
    found = [f for f in processes.failures() if (f["spec"]["pod"], f["spec"]["class"]) == (spec["pod"], failure_class)
             and f["spec"]["endedAt"] == spec["endedAt"]]
    assert len(found) == 1, [(f["spec"]["class"], f["spec"]["endedAt"]) for f in processes.failures()]
    return found[0]["metadata"]["name"], found[0].get("status", {}).get("causedBy", {}).get("name")


def pid_of(k, pod, name, container_name="ray-worker"):
    """
    Returns the PID of that process of Ray's when the launcher watches it, by a pidfd. The container, or Ray in it, may only just begin.
    Of several it is the oldest: a child has its parent's name until it runs its own program.
    """
    look = (f"P=$(pgrep -ox '{NAMES[name]}') && [ $(ps -o etimes= -p $P) -ge 6 ] && "
            "grep -qsx \"Pid:[[:space:]]*$P\" /proc/1/fdinfo/* && echo $P")
    return int(wait_for(f"{name} of {pod} to be watched",
                        lambda: k("exec", pod, "-c", container_name, "--", "bash", "-c", look), timeout=120, interval=1))


def signal_to(k, pod, name, number, container_name="ray-worker"):
    """Signals that process of Ray's; returns its PID."""
    pid = pid_of(k, pod, name, container_name)
    k("exec", pod, "-c", container_name, "--", "bash", "-c", f"kill -{number} {pid}")
    return pid


def oom_of(k, pod, name, container_name="ray-worker"):
    """Lets the kernel's OOM killer take that process of Ray's, and no other. Returns its PID."""
    pid = pid_of(k, pod, name, container_name)
    # Where the container ends with it, so does this.
    k.run("exec", "-i", pod, "-c", container_name, "--", "python3", "-", str(pid), stdin=FILL, check=False)
    return pid


def report_of(volume, failure):
    bundle = volume / failure["bundle"].partition("/")[2]
    report = check_bundle(bundle)
    jsonschema.validate(report, json.loads((ROOT / "docs/report.schema.json").read_text()))
    return bundle, report


def told_of(processes, pod, failure_class=None):
    """Returns the failures of that pod, the oldest first."""
    found = [f["spec"] for f in processes.failures() if f["spec"]["pod"] == pod]
    return sorted((spec for spec in found if failure_class in (None, spec["class"])), key=lambda spec: spec["endedAt"])


def wait_told(processes, pod, failure_class, fits=lambda spec: True, timeout=120):
    """Waits for the latest failure of that pod that fits, and returns it."""
    return wait_for(f"{failure_class} of {pod}", lambda: [
        spec for spec in told_of(processes, pod, failure_class) if fits(spec)], timeout=timeout)[-1]


def wait_oom(processes, pod, pid, name):
    """
    Returns the failure that says that the kernel's OOM killer took that process. The container's end is in it, unless `ray start`
    took more than five seconds to look: then the container still lives there.
    """
    def find():
        named = [spec for spec in told_of(processes, pod) if spec["class"] in ("KernelOOMContainer", "KernelOOMProcess")
                 and spec.get("process") == {"name": name, "pid": pid, "signal": "SIGKILL"}]
        assert named, [(spec["class"], spec.get("process")) for spec in told_of(processes, pod)]
        return named[0]
    failure = wait_for(f"the OOM kill of {name} in {pod}", find, timeout=120)
    if failure["class"] == "KernelOOMContainer":
        assert failure["exitCode"] == 1
    assert failure["confidence"] == "likely"
    return failure


def check_followed(processes, failure):
    """
    Checks that the container ended with that process, certainly so. If `ray start` took more than five seconds to look, the process's own
    end is a failure before it; then the ends may be too far apart for certainty.
    """
    assert failure["exitCode"] == 1 and failure["confidence"] in ("certain", "likely")
    if failure["confidence"] == "likely":
        wait_for("the process's own failure", lambda: len([
            spec for spec in told_of(processes, failure["pod"]) if spec.get("process") == failure["process"]]) == 2)


def ended_by(signal):
    """Fits the container's end by this signal. Where `ray start` took its time to look, raylet's own end is a failure before it."""
    return lambda spec: spec["process"].get("signal") == signal and "exitCode" in spec


@pytest.mark.parametrize(("signal", "number", "word"), [
    ("SIGKILL", 9, "was killed with SIGKILL"),
    ("SIGSEGV", 11, "crashed with SIGSEGV"),
], ids=["kill -9", "SIGSEGV"])
def test_a_raylet_that_dies_is_the_cause_of_its_containers_end(k, processes, volume, signal, number, word):
    settled(processes)
    pod = worker(processes, "first")
    pid = signal_to(k, pod, "raylet", number)
    failure = wait_told(processes, pod, "RayletFailed", ended_by(signal))
    assert failure["process"] == {"name": "raylet", "pid": pid, "signal": signal}
    check_followed(processes, failure)
    assert word in failure["verdict"] and "ended the container with exit code 1." in failure["verdict"]
    bundle, report = report_of(volume, failure)
    assert report["process"]["lastLines"]
    assert (bundle / "logs/raylet.out").exists()
    if signal == "SIGKILL":  # a crash may take so long that Ray ends before it writes that
        assert "raylet [exit code=" in (bundle / "logs/ray_process_exit.log").read_text()
    if signal == "SIGSEGV":
        told = [spec for spec in told_of(processes, pod, "RayletFailed") if spec["process"].get("signal") == signal]
        crashes = [report_of(volume, spec)[1].get("crash") for spec in told]
        assert "raylet" in [crash["process"] for crash in crashes if crash]


def test_different_first_processes_have_different_signatures(processes):
    ends = [f["spec"] for f in processes.failures() if f["spec"]["class"] == "RayletFailed" and "exitCode" in f["spec"]]
    signatures = {spec["signature"] for spec in ends}
    assert len(signatures) == len(ends) == 2
    assert all(s.startswith("v1:RayletFailed:raylet:") for s in signatures)


def test_an_agent_that_is_killed_takes_raylet_along_and_the_container_lives(k, processes, spent, volume):
    pid = signal_to(k, spent, "dashboard_agent", 9)
    failure = wait_told(processes, spent, "RayProcessFailed")
    assert failure["containerLives"] is True and "exitCode" not in failure
    assert failure["process"] == {"name": "dashboard_agent", "pid": pid, "signal": "SIGKILL"}
    assert failure["confidence"] == "certain"
    assert "raylet ended with it; the container lives on without raylet." in failure["verdict"]
    _, report = report_of(volume, failure)
    assert report["containerLives"] is True
    assert any("one Ray agent failed" in e["text"] for e in report["evidence"])
    event, = events_of(k, spent, "process-ended")
    assert event["class"] == "RayProcessFailed"


def test_an_agent_that_crashes_takes_raylet_along_and_its_backtrace_is_there(k, processes, spent, volume):
    pid = signal_to(k, spent, "dashboard_agent", 11)
    failure = wait_told(processes, spent, "RayProcessFailed")
    assert failure["process"] == {"name": "dashboard_agent", "pid": pid, "signal": "SIGSEGV"}
    assert failure["confidence"] == "certain"
    assert "raylet ended with it; the container lives on without raylet." in failure["verdict"]
    assert report_of(volume, failure)[1]["crash"]["pid"] == pid
    assert [spec["class"] for spec in told_of(processes, spent)] == ["RayProcessFailed"]


def test_a_raylet_that_the_oom_killer_takes_is_named_and_the_limit_is_the_cause(k, processes, volume):
    settled(processes)
    pod = worker(processes, "first")
    pid = oom_of(k, pod, "raylet")
    failure = wait_oom(processes, pod, pid, "raylet")
    assert "it reached its memory limit of 2.0 GiB" in failure["verdict"]
    assert any("raylet" in e["text"] for e in report_of(volume, failure)[1]["evidence"])


def test_an_agent_that_the_oom_killer_takes_is_told_with_the_memory_as_its_cause(k, processes, spent):
    pid = oom_of(k, spent, "dashboard_agent")
    failure = wait_told(processes, spent, "RayProcessFailed")
    assert failure["process"] == {"name": "dashboard_agent", "pid": pid, "signal": "SIGKILL"}
    assert failure["confidence"] == "likely" and "most likely by the kernel's OOM killer" in failure["verdict"]
    oom = wait_told(processes, spent, "KernelOOMProcess")
    assert oom["process"] == failure["process"]

    def one_incident():
        name, nothing = incident_of(processes, "KernelOOMProcess", oom)
        assert nothing is None
        return incident_of(processes, "RayProcessFailed", failure)[1] == name
    wait_for("the incident", one_incident)


def test_ray_stop_is_told_as_such_and_not_as_a_crash(k, processes, spent):
    k("exec", spent, "-c", "ray-worker", "--", "bash", "-c", "ray stop")
    failure = wait_told(processes, spent, "Terminated", lambda spec: spec.get("containerLives"))
    assert failure["process"]["name"] == "raylet"
    assert "as `ray stop` sends it" in failure["verdict"]
    assert {spec["class"] for spec in told_of(processes, spent)} == {"Terminated"}


def test_a_raylet_that_hangs_when_its_container_is_asked_to_stop_was_killed_by_ray_start(k, processes):
    """The kubelet asks so after a failed probe: `ray start` waits a second for raylet, and kills it. The launcher says who asked."""
    settled(processes)
    pod = worker(processes, "first")
    before = told_of(processes, pod)
    pid = pid_of(k, pod, "raylet")
    k.run("exec", pod, "-c", "ray-worker", "--", "bash", "-c", f"kill -STOP {pid}; kill -TERM 1", check=False)
    (failure,) = wait_for("the end", lambda: [spec for spec in told_of(processes, pod) if spec not in before], timeout=120)
    assert (failure["class"], failure["confidence"]) == ("Terminated", "likely"), failure["verdict"]
    assert "asked to stop (SIGTERM from PID " in failure["verdict"]


def test_a_deleted_pod_is_no_failure_of_raylet(k, processes):
    settled(processes)
    pod = worker(processes, "first")
    before = told_of(processes, pod, "RayletFailed")
    k("delete", "pod", pod, "--wait=true", timeout=120)
    settled(processes)
    assert told_of(processes, pod, "RayletFailed") == before


# In a cluster of their own, as all of its nodes start anew.
gcs = pytest.mark.xdist_group("gcs")


@gcs
@pytest.mark.parametrize(("signal", "number"), [("SIGKILL", 9), ("SIGSEGV", 11)], ids=["kill -9", "SIGSEGV"])
def test_a_gcs_server_that_dies_ends_its_head_and_the_workers_lose_it(k, processes, volume, signal, number):
    settled(processes)
    head, pods = processes.pod_name("head"), [worker(processes, group) for group in ("first", "second")]
    pid = signal_to(k, head, "gcs_server", number, "ray-head")
    failure = wait_told(processes, head, "GCSFailed", ended_by(signal))
    assert failure["process"] == {"name": "gcs_server", "pid": pid, "signal": signal}
    check_followed(processes, failure)
    assert failure["verdict"].startswith("The GCS server ")
    _, report = report_of(volume, failure)
    assert any(line.startswith("gcs_server.out: ") for line in report["process"]["lastLines"])
    # A raylet that reaches a new GCS before its time is over is turned away by it: it goes for the same reason.
    for pod in pods:
        lost = wait_told(processes, pod, "GCSLost", lambda spec: spec["endedAt"] >= failure["endedAt"], timeout=180)
        assert lost["confidence"] == "likely" and "most likely" in lost["verdict"]
        assert lost["process"]["name"] == "raylet"


@gcs
def test_a_gcs_server_that_the_oom_killer_takes_is_the_first_cause_of_what_follows(k, processes):
    settled(processes)
    head, pods = processes.pod_name("head"), [worker(processes, group) for group in ("first", "second")]
    pid = oom_of(k, head, "gcs_server", "ray-head")
    failure = wait_oom(processes, head, pid, "gcs_server")
    for pod in pods:
        lost = wait_told(processes, pod, "GCSLost", lambda spec: spec["endedAt"] >= failure["endedAt"], timeout=180)
        assert lost["confidence"] == "likely"
        wait_for("the incident", lambda lost=lost: incident_of(processes, "GCSLost", lost)[1] == incident_of(processes, failure["class"], failure)[0])


def test_no_end_is_told_as_an_application_error(processes):
    told = [f["spec"] for f in processes.failures() if f["spec"]["class"] == "ApplicationError"]
    assert not told, [(spec["pod"], spec["verdict"]) for spec in told]
