# SPDX-License-Identifier: Apache-2.0
"""Tasks of RayJobs die: KubeRay submits, retries and cleans up as it does without Afterglow, and each death is explained."""

import pathlib
import shutil

import pytest

from cluster.stores import RUN
from conftest import wait_for
from live import RAY_IMAGE
from kuberay.objects import SIDECAR, check_injected, cluster_spec, small_group

# KubeRay may ask for the dashboard's answer for longer than the job lives.
TTL_S = 10
# The first attempt leaves a file on the node.
FIRST_AND_SECOND = """
import os
if os.path.exists("/marks/first"):
    outlive(crash)
else:
    open("/marks/first", "w")
    ray.get(leak.remote())
"""
# It survives the exception that names the node, logs it, and ends with a code of its own.
FAILS = """
import traceback
time.sleep(20)
try:
    ray.get(leak.remote())
except ray.exceptions.RayError:
    traceback.print_exc()
    sys.exit(3)
"""
# The same of a crash in the head. Both wait first: in SidecarMode, KubeRay 1.6 waits for ever for a head that was not ready when its
# submitter ended.
ENDS = FAILS.replace("leak", "crash")


def job_spec(script, **more):
    return {"entrypoint": f"python3 /scripts/{script}.py", "shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": TTL_S,
            "rayClusterSpec": cluster_spec(*more.pop("groups", [small_group()]), head_params=more.pop("head_params", None)), **more}


def wait_deployment(job, status, timeout=180):
    def reached():
        found = job.status()
        assert found.get("jobDeploymentStatus") == status, found.get("jobDeploymentStatus")
        return found
    return wait_for(f"RayJob {job.name} to be {status}", reached, timeout=timeout, interval=1)


# --- K8sJobMode: the submitter is a Job of its own; the first attempt dies of OOM, the second of a segfault that it outlives ---


@pytest.fixture(name="marks", scope="module")
def directory_on_the_node(namespace):
    directory = pathlib.Path(RUN, "e2e-volumes", f"{namespace}-marks")
    directory.mkdir(parents=True)
    directory.chmod(0o777)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(name="jobs", scope="module")
def kuberay_with_scripts(kuberay):
    kuberay.give(main=FIRST_AND_SECOND, side="time.sleep(20)\noutlive(leak)\noutlive(crash)", fails=FAILS, ends=ENDS)
    return kuberay


@pytest.fixture(name="job", scope="module")
def job_with_submitter(jobs, marks):
    spec = job_spec("main", backoffLimit=1, submitterConfig={"backoffLimit": 0}, head_params={})
    head = spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    head["volumes"].append({"name": "marks", "hostPath": {"path": str(marks)}})
    head["containers"][0]["volumeMounts"].append({"name": "marks", "mountPath": "/marks"})
    return jobs.create("RayJob", "submitted", spec)


@pytest.fixture(name="first", scope="module")
def first_attempt(job):
    """The RayFailure of the first attempt, its cluster's name, and the submitter's pods."""
    wait_for("a cluster", job.clusters)
    cluster, = job.clusters()
    pod = job.wait_ready(group_name="small")
    check_injected(pod)
    head = job.pod("head")
    check_injected(head)
    submitters = wait_for("the submitter", lambda: job.k.items("pods", "-l", f"job-name={job.name}"))
    failure = job.wait_failure("KernelOOMContainer", pod=pod["metadata"]["name"], timeout=120)
    return {"cluster": cluster, "failure": failure, "head": head, "submitters": submitters}


@pytest.fixture(name="second", scope="module")
def second_attempt(job, first):
    def another():
        names = set(job.clusters()) - {first["cluster"]}
        assert len(names) == 1, names
        return names.pop()
    return wait_for("a cluster for the second attempt", another, timeout=120, interval=1)


def test_an_oom_kill_is_explained_before_kuberay_retries(job, first):
    assert first["failure"]["spec"]["exitCode"] == 137
    assert job.check_failure(first["failure"])["processes"][0]["name"] == "ray::leak"


def test_the_head_gets_no_cpu_for_tasks(first):
    start = " ".join(map(str, first["head"]["spec"]["containers"][0].get("args", [])))
    assert "--num-cpus=0" in start


def test_the_submitters_pod_is_left_alone(first):
    for pod in first["submitters"]:
        assert SIDECAR not in [c["name"] for c in pod["spec"]["containers"]]
        assert not [v for v in pod["spec"].get("volumes", []) if v["name"].startswith("afterglow")]


def test_kuberay_retries_as_often_as_its_user_says(job, first, second):
    assert second != first["cluster"]
    status = wait_deployment(job, "Complete")
    assert (status["failed"], status["succeeded"], status["jobStatus"]) == (1, 1, "SUCCEEDED")
    (done,) = [c for c in job.k.json("job", job.name)["status"]["conditions"] if c["type"] == "Complete"]
    assert done["status"] == "True"


def test_a_segfault_is_explained_and_its_bundle_outlives_the_cluster(job, second):
    wait_deployment(job, "Complete")
    failure = job.wait_failure("Segfault", "WorkerCrash", cluster=second)
    wait_for("KubeRay to delete the cluster", lambda: not job.clusters(), timeout=60)
    wait_for("its pods to end", lambda: not job.k.items("pods", "-l", f"ray.io/cluster={second}"), timeout=60)
    job.check_failure(failure)


# --- SidecarMode: the submitter is a container of the head's pod, which is never restarted; neither is the worker here ---


# Each of the three jobs may be another of pytest's workers' own.
sidecar_mode = pytest.mark.xdist_group("sidecar-mode")


@pytest.fixture(name="side", scope="module")
def job_with_sidecar(jobs):
    spec = job_spec("side", submissionMode="SidecarMode")
    spec["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]["restartPolicy"] = "Never"
    return jobs.create("RayJob", "sidecar", spec)


@pytest.fixture(name="killed", scope="module")
def killed_worker(side):
    """The pod of the first worker, seen before its task leaks."""
    return wait_for("a worker", lambda: side.pod(group_name="small"), interval=0.5)


@sidecar_mode
def test_both_sidecars_are_in_the_head(side, killed):
    check_injected(killed)
    head = side.pod("head")
    assert [c["name"] for c in head["spec"]["containers"]] == ["ray-head", "ray-job-submitter", "afterglow"]
    assert head["spec"]["restartPolicy"] == "Never"


@sidecar_mode
def test_the_bundle_of_a_pod_that_kuberay_deletes_at_once_is_complete(side, killed):
    name = killed["metadata"]["name"]
    failure = side.wait_failure("KernelOOMContainer", pod=name, timeout=180)
    wait_for("KubeRay to replace the pod", lambda: side.pod(group_name="small")["metadata"]["name"] != name, timeout=90)
    wait_for("the pod to be gone", lambda: name not in [p["metadata"]["name"] for p in side.pods()], timeout=60)
    assert side.check_failure(failure)["processes"][0]["name"] == "ray::leak"


@sidecar_mode
def test_a_segfault_under_sidecar_mode_is_explained(side, killed):
    failure = side.wait_failure("Segfault", "WorkerCrash", timeout=180)
    assert failure["spec"]["pod"] != killed["metadata"]["name"]
    side.check_failure(failure)


@sidecar_mode
def test_the_job_succeeds_and_the_cluster_goes_when_its_time_is_over(side, killed):
    assert killed
    status = wait_deployment(side, "Complete")
    assert status["jobStatus"] == "SUCCEEDED"
    wait_for("KubeRay to delete the cluster", lambda: not side.clusters(), timeout=60)


def one_story_of(job, name, first_class, consequences):
    """Waits until the failures of class PodDeleted, which KubeRay's TTL caused, are all in one incident. Returns them."""
    def joined():
        failures = job.failures()
        deleted = [f for f in failures if f["spec"]["class"] == "PodDeleted" and "endedBy" in f["spec"]]
        assert {(f["spec"]["endedBy"]["kind"], f["spec"]["endedBy"]["name"]) for f in deleted} == {("KubeRay", f"RayJob/{name}")}
        (incident,) = {f["status"]["incident"] for f in deleted}
        (first,) = [f for f in failures if f.get("status", {}).get("incident") == incident and "causedBy" not in f["status"]]
        assert (first["spec"]["class"], first["status"]["consequences"]) == (first_class, consequences)
        return deleted
    return wait_for(f"one incident that begins with {first_class}", joined, timeout=60, interval=1)


@sidecar_mode
def test_the_pods_that_its_ttl_deletes_are_one_incident(side):
    deleted = one_story_of(side, "sidecar", "PodDeleted", 1)
    assert len(deleted) == 2
    assert all("the RayJob finished" in f["spec"]["verdict"] for f in deleted), [f["spec"]["verdict"] for f in deleted]


# --- A job whose driver ends with an exit code of its own, because of a worker: KubeRay says only that the job failed ---


failing_driver = pytest.mark.xdist_group("failing-driver")


@pytest.fixture(name="failing", scope="module")
def job_whose_driver_fails(jobs):
    return jobs.create("RayJob", "failing", job_spec("fails", submitterConfig={"backoffLimit": 0}))


@failing_driver
def test_a_driver_that_fails_is_explained_on_its_rayjob(failing):
    failure = failing.wait_failure("RayJobFailed", timeout=180)
    spec = failure["spec"]
    assert spec["containerLives"] and spec["container"] == "ray-head"
    assert (spec["process"]["name"], spec["process"]["exitCode"]) == ("driver", 3)
    failing.check_failure(failure, cause=failing.wait_failure("KernelOOMContainer"))
    assert wait_deployment(failing, "Failed")["jobStatus"] == "FAILED"


@failing_driver
def test_the_oom_kill_that_its_exception_names_is_the_first_cause_of_all_that_followed(failing):
    driver, = [f for f in failing.failures() if f["spec"]["class"] == "RayJobFailed"]
    oom = failing.wait_failure("KernelOOMContainer", timeout=60)
    assert driver["spec"]["rayError"]["name"] in ("NodeDiedError", "WorkerCrashedError")
    assert driver["spec"]["rayError"]["nodeID"] == oom["spec"]["rayNodeID"] and "ray::leak" in oom["spec"]["diagnosis"]
    wait_for("KubeRay to delete the cluster", lambda: not failing.clusters(), timeout=60)
    # The driver, and the pods that its TTL deleted.
    assert len(one_story_of(failing, "failing", "KernelOOMContainer", 3)) == 2


# --- The other modes, where a worker dies in the head and its driver because of it; and a submitter whose own pod dies ---


modes = pytest.mark.xdist_group("modes")
MODES = ["HTTPMode", "SidecarMode", "InteractiveMode"]
SMALL = {"name": "ray-job-submitter", "image": RAY_IMAGE, "imagePullPolicy": "IfNotPresent",
         "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "40Mi"}}}


@pytest.fixture(name="others", scope="module")
def jobs_of_only_a_head(jobs):
    """Made at once, because most of the time they wait."""
    specs = {mode: {"submissionMode": mode, **({"entrypoint": ""} if mode == "InteractiveMode" else {})} for mode in MODES}
    specs["unsubmitted"] = {"submitterConfig": {"backoffLimit": 1},
                            "submitterPodTemplate": {"spec": {"containers": [SMALL], "restartPolicy": "Never"}}}
    return {name: jobs.create("RayJob", name.lower(), {**job_spec("ends", groups=[], head_params={"num-cpus": "1"}), **more})
            for name, more in specs.items()}


def submit_by_hand(job):
    """Does what the user of an interactive RayJob does."""
    wait_deployment(job, "Waiting")
    job.k("exec", job.wait_ready("head")["metadata"]["name"], "-c", "ray-head", "--", "ray", "job", "submit", "--no-wait",
          "--submission-id", "mine", "--", "python3", "/scripts/ends.py", timeout=120)
    job.k("patch", "rayjob", job.name, "--type=merge", "-p", '{"spec": {"jobId": "mine"}}')


@modes
@pytest.mark.parametrize("mode", MODES)
def test_a_driver_is_joined_to_the_worker_that_its_exception_names_in_each_mode(others, mode):
    job = others[mode]
    if mode == "InteractiveMode":
        submit_by_hand(job)
    driver, crash = job.wait_failure("RayJobFailed", timeout=180), job.wait_failure("Segfault", "WorkerCrash")
    assert driver["spec"]["process"]["exitCode"] == 3 and driver["spec"]["rayError"]["name"] == "WorkerCrashedError"
    wait_for("one incident", lambda: job.k.json("rayfailure", driver["metadata"]["name"])["status"]["causedBy"]["name"] ==
             crash["metadata"]["name"], timeout=60)
    job.check_failure(driver, cause=crash)
    assert wait_deployment(job, "Failed")["jobStatus"] == "FAILED"


@modes
def test_a_submitter_that_ran_out_of_memory_is_explained_on_its_rayjob(others):
    job = others["unsubmitted"]
    wait_deployment(job, "Failed")

    def both_tries():
        first, second = sorted((f for f in job.failures() if f["spec"]["class"] == "KernelOOMContainer"),
                               key=lambda failure: failure["spec"]["endedAt"])
        assert second["status"]["causedBy"]["name"] == first["metadata"]["name"]
        return first, second
    first, second = wait_for("the second try to be a consequence of the first", both_tries, timeout=60)
    for spec in (first["spec"], second["spec"]):
        assert spec["pod"].startswith("unsubmitted-") and spec["owner"]["name"] == "unsubmitted"
        assert (spec["container"], spec["exitCode"]) == ("ray-job-submitter", 137)
        assert "the limit is 40Mi" in spec["verdict"] and "spec.submitterPodTemplate" in spec["advice"], spec
    event = wait_for("an Event on the RayJob", lambda: job.events_of(first["spec"]["pod"]))[0]
    assert "the limit is 40Mi" in event["message"] and "spec.submitterPodTemplate" in event["message"], event
