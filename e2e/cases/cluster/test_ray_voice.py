# SPDX-License-Identifier: Apache-2.0
"""What Ray logs about its workers while the container lives: its memory monitor killed them, they crashed, or had no descriptors left."""

import contextlib
import json
import platform
import subprocess

import jsonschema
import pytest

from cluster.conftest import ROOT, check_bundle, container, container_status
from conftest import wait_for

pytestmark = pytest.mark.long

KERNEL = tuple(int(part) for part in platform.release().split(".")[:2])

# Each ends in an exception, whose name is printed.
TASK = """
import os, signal, time, ray
ray.init(address='auto', log_to_driver=False, logging_level='error')

@ray.remote(max_retries=0)
def {name}():
    {body}

try:
    ray.get({name}.remote())
except Exception as error:
    answer(type(error).__name__)
"""

# It is quick at first, and slower before the limit: Ray's memory monitor acts from 95 % of it on, and looks every 250 ms where the
# machine is not busy.
LEAK = TASK.format(name="hoard", body="""print('hoarding', flush=True)
    open('/tmp/hoard.prof', 'w').write('a profile')
    kept = []
    while True:
        kept.append(bytearray(8 << 20))
        time.sleep(0.05 if len(kept) < 50 else 0.15)""")
KILL_SELF = TASK.format(name="stop", body="os.kill(os.getpid(), signal.SIGKILL)")
SEGFAULT = TASK.format(name="crash", body="import ctypes; ctypes.string_at(0)")
EMFILE = TASK.format(name="open_files", body="""import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    kept = []
    while True:
        kept.append(open('/dev/null'))""")


# Ray's own processes get no more descriptors than they have.
NO_MORE_FILES = """
P=$(pgrep -x raylet)
prlimit --pid "$P" --nofile=$(($(ls "/proc/$P/fd" | wc -l) + 1)):
"""


@pytest.fixture(scope="module")
def voice(new_cluster, volume):
    """A cluster whose worker has Ray's memory monitor as Ray sets it up."""
    assert volume.is_dir()
    cluster = new_cluster("voice", {"small": container("ray-worker", "1200Mi")})
    cluster.wait_nodes(2)
    return cluster


@pytest.fixture(scope="module")
def worker(voice):
    return voice.pod_name("worker")


@pytest.fixture(scope="module")
def deaf(new_cluster, volume):
    """A cluster whose worker has no memory monitor: the kernel kills, one process at a time."""
    assert volume.is_dir()
    quiet = container("ray-worker", "1200Mi")
    quiet["env"].append({"name": "RAY_memory_monitor_refresh_ms", "value": "0"})
    cluster = new_cluster("deaf", {"small": quiet}, annotations={"afterglow.dev/oom-group": "false"})
    cluster.wait_nodes(2)
    return cluster


def events_of(k, pod, kind):
    """Returns the lines of one kind in the log of the pod's sidecar."""
    log = k("logs", pod, "-c", "afterglow")
    return [json.loads(line) for line in log.splitlines() if line.startswith("{") and f'"event":"{kind}"' in line]


@pytest.fixture(scope="module")
def events(k, worker):
    return lambda kind: events_of(k, worker, kind)


def died(events, task):
    return wait_for(f"the end of {task}", lambda: [e for e in events("worker-died") if e["task"] == task], timeout=60)[0]


def bundle_of(volume, event):
    prefix, _, path = event["bundle"].partition("/")
    assert prefix == "pvc:ray-failures"
    report = check_bundle(volume / path)
    jsonschema.validate(report, json.loads((ROOT / "docs/report.schema.json").read_text()))
    assert report["class"] == event["class"]
    return volume / path


def test_stacks_of_all_pods_of_a_cluster_are_one_answer(k, voice, worker):
    result = subprocess.run([ROOT / "build/kubectl-afterglow", "stack", "voice", "raylet", "-n", k.namespace, "-o", "json"],
                            capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    main = [group for group in answer["groups"] if group["mainThreads"]]
    assert {thread["pod"] for group in main for thread in group["threads"]} == {worker, voice.pod_name("head")}, answer["notes"]
    assert all(group["native"] for group in main)


def test_the_object_store_is_read_for_a_person(k, voice):
    put = "import ray, time; ray.init(address='auto'); kept = [ray.put(bytes(20 << 20)) for _ in range(2)]; print('put', flush=True); time.sleep(60)"
    with subprocess.Popen(["kubectl", "exec", voice.pod_name("head"), "-n", k.namespace, "-c", "ray-head", "--", "timeout", "90",
                           "python3", "-c", put], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout.readline() == "put\n"
        result = subprocess.run([ROOT / "build/kubectl-afterglow", "objects", "voice", "-n", k.namespace], capture_output=True, text=True,
                                timeout=120, check=False)
        driver.kill()
    assert result.returncode == 0, result.stderr
    assert "40.0 MiB in 2 objects, owned by the driver" in result.stdout
    assert "kept by 1 driver: an ObjectRef; PID" in result.stdout and "RAY_record_ref_creation_sites=1" in result.stdout


def test_rays_memory_monitor_kills_a_task_and_the_report_names_it(voice, events, volume):
    assert voice.python(LEAK) == "OutOfMemoryError"
    event = died(events, "ray::hoard")
    assert event["class"] == "RayMemoryMonitor"
    assert event["confidence"] == "certain"
    assert f"Ray's memory monitor killed ray::hoard (PID {event['pid']})" in event["sentence"]
    bundle = bundle_of(volume, event)
    report = json.loads((bundle / "report.json").read_text())
    assert report["exitCode"] is None
    assert (report["processes"][0]["pid"], report["processes"][0]["name"]) == (event["pid"], "ray::hoard")
    assert any(e["source"] == "Ray's table" and "ray::hoard" in e["text"] for e in report["evidence"])
    table = (bundle / "ray.txt").read_text()
    assert f"\n{event['pid']}\t" in table.partition("PID\tMEM(GB)\tCOMMAND")[2]


def test_the_bundle_has_rays_logs_and_the_dead_workers_own(voice, events, volume):
    bundle = bundle_of(volume, died(events, "ray::hoard"))
    logs = {p.name: p.read_text(errors="replace") for p in (bundle / "logs").iterdir()}
    assert "kill details: Memory on the node" in logs["raylet.out"]
    own = next(text for name, text in logs.items() if name.startswith("worker-") and name.endswith(".out"))
    assert "hoarding" in own
    assert any(name.startswith("python-core-worker-") for name in logs)
    assert all(len(text) <= 64 << 10 for text in logs.values())


def test_files_of_profilers_are_collected(events, volume):
    bundle = bundle_of(volume, died(events, "ray::hoard"))
    assert (bundle / "collected/tmp_hoard.prof").read_text() == "a profile"


@pytest.mark.parametrize(("code", "task", "failure_class", "sentence"), [
    (KILL_SELF, "ray::stop", "WorkerCrash", "was killed with SIGKILL" if KERNEL >= (6, 15) else "died unexpectedly"),
    (SEGFAULT, "ray::crash", "WorkerCrash", "died of SIGSEGV"),
    (EMFILE, "ray::open_files", "FileDescriptorsExhausted", "died after open files ran out"),
], ids=["kill -9", "segfault", "EMFILE"])
def test_a_worker_that_dies_by_itself_is_reported(voice, events, volume, code, task, failure_class, sentence):
    assert voice.python(code) == "WorkerCrashedError"
    event = died(events, task)
    assert event["class"] == failure_class
    assert sentence in event["sentence"]
    assert f"{task} (PID {event['pid']})" in event["sentence"]
    report = json.loads((bundle_of(volume, event) / "report.json").read_text())
    assert any("not the OOM killer" in e["text"] for e in report["evidence"])


def test_each_death_was_reported_once(events):
    tasks = [event["task"] for event in events("worker-died")]
    assert len(tasks) == len(set(tasks))


def test_the_same_crash_again_is_counted_and_not_reported(voice, events):
    before = events("worker-died")
    for _ in range(3):
        assert voice.python(KILL_SELF) == "WorkerCrashedError"
    crashed = 3 + sum(event["class"] == "WorkerCrash" for event in before)

    def summed_up():  # each minute's are in a summary of their own
        lines = events("workers")
        assert sum(event["crashed"] for event in lines) >= crashed, lines
        return lines
    lines = wait_for("the summaries", summed_up, timeout=75, interval=2)
    assert len(events("worker-died")) == len(before)
    assert not [event for event in lines if event["killedByKernel"]]


def test_the_summary_stands_in_the_ray_containers_log(k, worker, events):
    said = events("workers")
    assert said

    def missing():  # the launcher writes it, after the sidecar has logged it
        log = k("logs", worker, "-c", "ray-worker")
        return [event["sentence"] for event in said if f"[afterglow] {event['sentence']}" not in log]
    wait_for("all summaries in the log", lambda: not missing())
    for event in said:
        assert "Workers (tasks / actors) killed due to memory pressure (OOM)" in event["sentence"]
    # Ray's own monitor killed one, and the reports came while the container lived.
    assert sum(event["killedByRay"] for event in said) == 1


def test_the_container_lived_through_all_of_it(voice, worker):
    status = container_status(voice.pod("worker"), "ray-worker")
    assert voice.pod_name("worker") == worker
    assert status["restartCount"] == 0


def test_each_of_these_deaths_is_a_rayfailure(voice, worker, events):
    """The operator asks the sidecar, over the pods' network."""
    died_here = events("worker-died")
    found = wait_for("the RayFailures", lambda: (lambda f: f if len(f) >= len(died_here) else None)(voice.failures()),
                     timeout=60)
    assert {f["spec"]["bundle"] for f in found} == {e["bundle"] for e in died_here}
    assert len(found) == len(died_here)
    for failure in (f["spec"] for f in found):
        assert failure["pod"] == worker and failure["containerLives"] and "exitCode" not in failure
    assert {"RayMemoryMonitor", "WorkerCrash", "FileDescriptorsExhausted"} == {f["spec"]["class"] for f in found}


def oom_kills(k, pod):
    """Returns how many deaths the kernel counts: if memory is freed slowly, it kills another process after the first."""
    files = "/sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events"
    return int(k("exec", pod, "-c", "ray-worker", "--", "bash", "-c", f"cat {files} 2>/dev/null | sed -n 's/^oom_kill //p'"))


def test_a_worker_that_the_kernel_took_is_one_death_and_not_two(k, deaf):
    pod = deaf.pod_name("worker")
    assert deaf.python(LEAK) == "WorkerCrashedError"
    killed = wait_for("the report", lambda: events_of(k, pod, "process-killed"), timeout=60)
    assert {e["class"] for e in killed} == {"KernelOOMProcess"}
    assert "ray::hoard" in killed[0]["sentence"]
    summary = wait_for("the summary", lambda: events_of(k, pod, "workers"), timeout=75, interval=2)
    kills = oom_kills(k, pod)
    assert kills >= 1
    assert (summary[0]["killedByKernel"], summary[0]["crashed"]) == (kills, 0)
    assert f"{kills} by the kernel's OOM killer" in summary[0]["sentence"]
    assert not events_of(k, pod, "worker-died")
    failure = deaf.wait_failure(pod=pod, failure_class="KernelOOMProcess")
    assert failure["containerLives"] and failure["bundle"].endswith("-KernelOOMProcess")


def test_a_container_that_ends_because_raylet_ran_out_of_files(k, deaf, volume):
    pod = deaf.pod_name("worker")
    # Another end of it before this one would be another failure.
    restarts = wait_for("Ray to run", lambda: (lambda s: s if s["ready"] else None)(
        container_status(deaf.pod("worker"), "ray-worker")), timeout=120)["restartCount"]
    k("exec", pod, "-c", "ray-worker", "--", "bash", "-c", NO_MORE_FILES)
    # Whether it ends is Ray's business; the container's end is ours.
    with contextlib.suppress(subprocess.TimeoutExpired):
        deaf.python(KILL_SELF, check=False, timeout=60)
    failure = deaf.wait_failure(pod=pod, exitCode=1, restartCount=restarts)
    assert failure["class"] == "FileDescriptorsExhausted", failure
    assert any("Too many open files" in e["text"] for e in failure["evidence"])
    bundle = bundle_of(volume, failure)
    assert any("Too many open files" in log.read_text(errors="replace") for log in (bundle / "logs").iterdir())
