# SPDX-License-Identifier: Apache-2.0
"""Ends with the same cause are one incident: the head ends, three workers follow, and the incident names the first cause."""

import pytest

from cluster.conftest import container, container_status
from conftest import wait_for

pytestmark = pytest.mark.long

WORKERS = ("one", "two", "three")

# A process in the head that leaks. Ray's memory monitor is off there: the kernel is to end the head.
LEAK = """
python3 - <<'CODE' >/dev/null 2>&1 &
import time
kept = []
while True:
    kept.append(bytearray(32 << 20))
    time.sleep(0.05)
CODE
"""


@pytest.fixture(name="story", scope="module")
def cluster_of_three_workers(new_cluster, volume):
    assert volume.is_dir()
    cluster = new_cluster("story", {name: container("ray-worker", "1000Mi") for name in WORKERS},
                          annotations={"afterglow.dev/oom-group": "true"})
    cluster.wait_nodes(4)
    return cluster


def restarts(cluster):
    return {p["metadata"]["name"]: container_status(p, p["spec"]["containers"][0]["name"])["restartCount"]
            for p in cluster.pods("head") + cluster.pods("worker")}


def in_head(cluster, script):
    return cluster.k("exec", cluster.pod_name("head"), "-c", "ray-head", "--", "bash", "-c", script)


def incident_of(cluster, first_classes, before):
    """Returns the first cause that came after those before, and what followed from it: one end of each worker."""
    def find():
        failures = {f["metadata"]["name"]: f for f in cluster.failures() if f["metadata"]["name"] not in before}
        (first,) = [f for f in failures.values() if f["spec"]["class"] in first_classes
                    and f["spec"]["pod"] == cluster.pod_name("head") and not f.get("status", {}).get("causedBy")]
        name = first["metadata"]["name"]
        rest = [f for f in failures.values() if f.get("status", {}).get("causedBy", {}).get("name") == name]
        workers = {f["spec"]["pod"] for f in rest} - {cluster.pod_name("head")}
        assert len(workers) == len(WORKERS), [(f["spec"]["pod"], f["spec"]["class"], f.get("status")) for f in failures.values()]
        assert first["status"]["consequences"] == len(rest)
        return first, rest
    return wait_for(f"an incident that begins with {first_classes}", find, timeout=120, interval=1)


def names(cluster):
    return {f["metadata"]["name"] for f in cluster.failures()}


@pytest.fixture(name="gcs_gone", scope="module")
def the_gcs_is_killed(story):
    before, counts = names(story), restarts(story)
    in_head(story, "pkill -9 -x gcs_server")
    wait_for("the head's restart", lambda: restarts(story)[story.pod_name("head")] > counts[story.pod_name("head")], timeout=120)
    return incident_of(story, {"GCSFailed"}, before)


@pytest.fixture(name="head_full", scope="module")
def the_head_runs_out_of_memory(story, gcs_gone):
    assert gcs_gone
    story.wait_nodes(4, timeout=180)
    before = names(story)
    in_head(story, LEAK)
    return incident_of(story, {"KernelOOMContainer"}, before)


def test_the_end_of_the_gcs_is_the_first_cause_and_the_workers_follow_from_it(gcs_gone):
    first, rest = gcs_gone
    assert first["spec"]["process"]["name"] == "gcs_server"
    assert first["spec"]["process"]["signal"] == "SIGKILL"
    assert "ApplicationError" not in {f["spec"]["class"] for f in rest}


def test_one_label_selects_the_whole_story(story, gcs_gone):
    first, rest = gcs_gone
    selector = f"afterglow.dev/incident={first['status']['incident']}"
    listed = {f["metadata"]["name"] for f in story.k.items("rayfailures", "-l", selector)}
    assert listed == {first["metadata"]["name"], *(f["metadata"]["name"] for f in rest)}


def test_describe_raycluster_tells_the_first_cause(story, gcs_gone):
    assert gcs_gone
    wait_for("the Event", lambda: "GCSFailed" in story.k("describe", "raycluster", story.name))


def test_a_head_that_runs_out_of_memory_under_three_workers_is_one_incident(head_full):
    first, rest = head_full
    assert first["spec"]["confidence"] == "certain"
    assert all(f["spec"]["class"] in {"GCSLost", "RayletFailed"} for f in rest if f["spec"]["pod"] != first["spec"]["pod"])


def test_no_consequence_is_certain_of_an_error_of_its_own(gcs_gone, head_full):
    for _, rest in (gcs_gone, head_full):
        assert not [f["spec"]["verdict"] for f in rest if f["spec"]["class"] == "ApplicationError" and f["spec"]["confidence"] == "certain"]
