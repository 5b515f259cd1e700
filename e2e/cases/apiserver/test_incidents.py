# SPDX-License-Identifier: Apache-2.0
"""Ends with the same cause are one incident in the status, labels and Events of failures, also when operators restart."""

import re
import signal

import pytest

from conftest import wait_for
from apiserver.conftest import group
from apiserver.kubelet import minutes_ago, ended, running
from apiserver.replicas import LEADER

LABEL = "afterglow.dev/incident"
HEAD, WORKER = "ray-head", "ray-worker"


@pytest.fixture(name="operator")
def beside_kuberay(start):
    """Makes a cluster for which no operator creates new pods when its pods end."""
    return start(manage=False)


def pod(api, kubelet, name, head=False, cluster="demo", **spec):
    made = api.create("pods", {
        "metadata": {"name": name, "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": cluster,
                                              "ray.io/group": "headgroup" if head else "small",
                                              "ray.io/node-type": "head" if head else "worker"}},
        "spec": {"containers": [{"name": HEAD if head else WORKER, "image": "ray:test"}], **spec}})
    kubelet.run(made)
    return made


def end(kubelet, made, code, seconds, **more):
    """Sets that the Ray container ended so many seconds after the first one, which ended ten minutes ago."""
    minutes, seconds = divmod(600 - seconds, 60)
    kubelet.end(made, code, finishedAt=minutes_ago(minutes + seconds / 60), **more)


def story(api, cluster="demo"):
    """Maps each pod to the first cause's pod and the number of consequences."""
    found = {}
    for f in api.items("rayfailures", f"ray.io/cluster={cluster}"):
        status = f.get("status", {})
        assert status.get("incident") == f["metadata"]["labels"].get(LABEL)
        found[f["spec"]["pod"]] = (status.get("causedBy", {}).get("pod"), status.get("consequences", 0))
    return found


def wait_story(api, expected, cluster="demo"):
    def find():
        now = story(api, cluster)
        assert now == expected, now
        return now
    return wait_for(f"the story {expected}", find, interval=0.1)


def rest(api, kubelet):
    """Returns when the operator has looked at all that happened so far: it looks at clusters in the order of their deaths."""
    end(kubelet, pod(api, kubelet, "marker-head", True, cluster="marker"), 137, 0)
    end(kubelet, pod(api, kubelet, "marker-w", cluster="marker"), 1, 20)
    wait_story(api, {"marker-head": (None, 1), "marker-w": ("marker-head", 0)}, "marker")


def told(api, name="demo"):
    return [e["note"] for e in api.items("events") if e["regarding"]["name"] == name and e["action"] == "Record"]


TOLD = {"head": (None, 3), "w-0": ("head", 0), "w-1": ("head", 0), "w-2": ("head", 0), "other": (None, 0)}


def a_head_and_workers(api, kubelet):
    return pod(api, kubelet, "head", True), [pod(api, kubelet, f"w-{i}") for i in range(3)], pod(api, kubelet, "other")


def deaths(kubelet, head, workers, other):
    """The head's memory ran out, its workers left, and one worker had died by itself a little before."""
    return [lambda: end(kubelet, head, 137, 0, reason="OOMKilled"),
            *[lambda i=i, w=w: end(kubelet, w, 1, 20 + i) for i, w in enumerate(workers)],
            lambda: end(kubelet, other, 139, 30)]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 4, 0, 1, 3)], ids=["as it was", "backwards", "mixed"])
@pytest.mark.usefixtures("operator")
def test_workers_that_follow_their_head_are_one_incident_in_whatever_order_they_are_recorded(order, api, kubelet, make, plane):
    make("demo")
    died = deaths(kubelet, *a_head_and_workers(api, kubelet))
    for count, i in enumerate(order, 1):
        died[i]()
        wait_for("its record", lambda count=count: len(api.items("rayfailures", "ray.io/cluster=demo")) == count)
    wait_story(api, TOLD)
    (first,) = [f for f in api.items("rayfailures") if f["spec"]["pod"] == "head"]
    name = first["metadata"]["name"]
    (one,) = [f for f in api.items("rayfailures") if f["spec"]["pod"] == "w-1"]
    assert one["status"] == {"incident": name, "causedByText": "KernelOOMContainer of the head", "causedBy": {
        "name": name, "class": "KernelOOMContainer", "pod": "head", "container": HEAD}}
    # One story is one command, and reads by columns.
    lines = plane.kubectl("get", "rf", "-n", api.namespace, "-l", f"{LABEL}={name}").splitlines()
    assert len(lines) == 5 and "CAUSED BY" in lines[0]
    assert sum("KernelOOMContainer of the head" in line for line in lines) == 3
    # spec is what was written first.
    assert {f["metadata"]["generation"] for f in api.items("rayfailures")} == {1}


@pytest.mark.usefixtures("operator")
def test_a_first_cause_is_told_with_the_number_of_the_rest_and_no_consequence_by_itself(api, kubelet, make, plane):
    make("demo")
    head, workers, _ = a_head_and_workers(api, kubelet)
    for died in deaths(kubelet, head, workers, None)[:4]:
        died()
    wait_story(api, {k: v for k, v in TOLD.items() if k != "other"})
    (note,) = wait_for("the Event", lambda: told(api))
    name = next(f["metadata"]["name"] for f in api.items("rayfailures") if f["spec"]["pod"] == "head")
    assert f"; 3 other ends followed from it (kubectl get rayfailures -n {api.namespace} -l {LABEL}={name}). See " in note
    assert "ran out of memory" in note
    rest(api, kubelet)
    assert told(api) == [note]
    assert "3 other ends followed" in plane.kubectl("describe", "raycluster", "demo", "-n", api.namespace)


@pytest.mark.long
@pytest.mark.usefixtures("operator")
def test_what_follows_after_it_was_told_is_counted_in_one_more_event(api, kubelet, make):
    make("demo")
    head, workers, _ = a_head_and_workers(api, kubelet)
    end(kubelet, head, 137, 0, reason="OOMKilled")
    (first,) = wait_for("the Event", lambda: told(api))
    assert "followed" not in first
    for i, worker in enumerate(workers):
        end(kubelet, worker, 1, 20 + i)
    wait_for("the count", lambda: len(told(api)) == 2, timeout=90)
    (again,) = set(told(api)) - {first}
    assert "3 other ends followed from it" in again
    rest(api, kubelet)
    assert len(told(api)) == 2


def test_a_restarted_operator_goes_on_and_writes_nothing_twice(api, kubelet, make, start, plane):
    operator = start(manage=False)
    make("demo")
    died = deaths(kubelet, *a_head_and_workers(api, kubelet))
    died[1]()
    died[2]()
    wait_for("two records", lambda: len(api.items("rayfailures")) == 2)
    operator.stop(signal.SIGKILL)
    for late in died[3], died[4], died[0]:
        late()
    operator = start(manage=False)
    wait_story(api, TOLD)
    (note,) = wait_for("the Event of the head", lambda: [n for n in told(api) if "3 other ends" in n])
    operator.stop(signal.SIGKILL)
    before = len(plane.writes(api.namespace))
    start(manage=False)
    rest(api, kubelet)
    # Later than it tells what looks like a consequence.
    marks = [w for w in plane.writes(api.namespace)[before:] if w["objectRef"]["resource"] == "rayfailures" and
             w["verb"] == "patch" and not w["objectRef"]["name"].startswith("marker")]
    assert marks == []
    assert story(api) == TOLD
    assert [n for n in told(api) if "3 other ends" in n] == [note]
    assert not [e for e in api.items("events") if "series" in e and e["action"] == "Record"]


def test_of_two_replicas_one_writes_and_the_other_finds_nothing_left_to_do(api, kubelet, make, start, plane):
    plane.issue("standby", "/O=system:masters/CN=standby")
    elect = ("--leader-elect", "--lease-namespace", api.namespace)
    leader = start(*elect, manage=False)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    standby = start(*elect, manage=False, kubeconfig=plane.kubeconfig("standby"))
    make("demo")
    died = deaths(kubelet, *a_head_and_workers(api, kubelet))
    for late in died[2], died[0], died[1], died[3]:
        late()
    wait_story(api, {k: v for k, v in TOLD.items() if k != "other"})
    assert leader.stop(signal.SIGTERM) == 0
    wait_for("the other to lead", lambda: standby.metric(LEADER) == 1)
    died[4]()
    wait_story(api, TOLD)
    patches = {w["user"]["username"] for w in plane.writes(api.namespace) if w["objectRef"]["resource"] == "rayfailures" and
               w["verb"] == "patch"}
    assert patches == {"operator"}
    assert len([n for n in told(api) if "ran out of memory" in n]) == 1


@pytest.mark.usefixtures("operator")
def test_what_was_found_out_stays_when_the_first_cause_is_removed_by_its_age(api, kubelet, make):
    make("demo")
    for died in deaths(kubelet, *a_head_and_workers(api, kubelet)):
        died()
    wait_story(api, TOLD)
    (first,) = [f["metadata"]["name"] for f in api.items("rayfailures") if f["spec"]["pod"] == "head"]
    api.delete("rayfailures", first)
    (late,) = [pod(api, kubelet, "late")]
    end(kubelet, late, 1, 200)
    wait_for("its record", lambda: "late" in story(api))
    rest(api, kubelet)
    assert story(api) == {**{k: v for k, v in TOLD.items() if k != "head"}, "late": (None, 0)}


@pytest.mark.usefixtures("operator")
def test_a_consequence_that_somebody_removes_is_not_counted_any_more(api, kubelet, make):
    make("demo")
    for died in deaths(kubelet, *a_head_and_workers(api, kubelet)):
        died()
    wait_story(api, TOLD)
    for name in [f["metadata"]["name"] for f in api.items("rayfailures") if f["spec"]["pod"].startswith("w-")]:
        api.delete("rayfailures", name)
    wait_story(api, {"head": (None, 0), "other": (None, 0)})


@pytest.fixture(name="old_crd")
def crd_without_a_status(plane):
    """Gives the CRD the form in which an Afterglow without incidents installed it, until the test ends."""
    api, name = plane.api(), "rayfailures.afterglow.dev"
    versions = api.get("customresourcedefinitions", name)["spec"]["versions"]
    api.patch("customresourcedefinitions", name, {"spec": {"versions": [{k: v for k, v in versions[0].items() if k != "subresources"}]}})
    yield
    api.patch("customresourcedefinitions", name, {"spec": {"versions": versions}})


def test_a_crd_without_a_status_is_said_in_the_log_and_the_event_comes_all_the_same(old_crd, operator, api, kubelet, make):
    assert old_crd is None
    make("demo")
    end(kubelet, pod(api, kubelet, "head", True), 137, 0, reason="OOMKilled")
    end(kubelet, pod(api, kubelet, "w-0"), 1, 20)
    wait_for("the log line", lambda: "its CRD is of a version without a status" in operator.text())
    wait_for("the Event", lambda: told(api))


@pytest.mark.usefixtures("operator")
def test_clusters_of_two_names_have_nothing_to_do_with_each_other(api, kubelet, make):
    make("demo")
    make("else", group("small"))
    end(kubelet, pod(api, kubelet, "head", True, cluster="else"), 137, 0, reason="OOMKilled")
    end(kubelet, pod(api, kubelet, "w-0"), 1, 20)
    wait_for("both", lambda: len(api.items("rayfailures")) == 2)
    rest(api, kubelet)
    assert story(api) == {"w-0": (None, 0)} and story(api, "else") == {"head": (None, 0)}


@pytest.mark.usefixtures("operator")
def test_exit_code_1_after_a_head_that_is_known_to_be_gone_is_the_lost_gcs_and_not_certain(api, kubelet, make):
    make("demo")
    end(kubelet, pod(api, kubelet, "head", True), 137, 0, reason="OOMKilled")
    wait_for("the head's record", lambda: api.items("rayfailures"))
    end(kubelet, pod(api, kubelet, "w-0"), 1, 20)
    (worker,) = wait_for("its record", lambda: api.items("rayfailures", "ray.io/node-type=worker"))
    assert (worker["spec"]["class"], worker["spec"]["confidence"]) == ("GCSLost", "likely")
    assert worker["metadata"]["labels"]["afterglow.dev/class"] == "GCSLost"
    # On a busy machine it takes longer from the one end to the other.
    assert re.search(r"most likely because its head was gone: KernelOOMContainer of head [2-5]\d s before$", worker["spec"]["verdict"])
    assert [e["text"] for e in worker["spec"]["evidence"] if e["source"] == "the head's failure"]
    wait_story(api, {"head": (None, 1), "w-0": ("head", 0)})


@pytest.mark.usefixtures("operator")
def test_another_container_of_the_head_takes_no_workers_along(api, kubelet, make):
    make("demo")
    head = pod(api, kubelet, "head", True, containers=[{"name": HEAD, "image": "ray:test"}, {"name": "autoscaler", "image": "x"}])
    api.patch("pods", "head", {"status": {"containerStatuses": [
        running(head, HEAD), {**running(head, "autoscaler", 1), "lastState": ended(head, "autoscaler", 0, 1,
                                                                                  finishedAt=minutes_ago(10))}]}}, "status")
    end(kubelet, pod(api, kubelet, "w-0"), 1, 20)
    wait_for("both", lambda: len(api.items("rayfailures")) == 2)
    rest(api, kubelet)
    assert story(api) == {"head": (None, 0), "w-0": (None, 0)}


@pytest.mark.usefixtures("operator")
def test_a_signature_is_there_and_status_changes_while_spec_may_not(api, kubelet, make):
    make("demo")
    end(kubelet, pod(api, kubelet, "w-0"), 3, 0)
    (failure,) = wait_for("its record", lambda: api.items("rayfailures"))
    assert failure["spec"]["signature"] == f"v1:ApplicationError:{WORKER}:exit=3?"
    name = failure["metadata"]["name"]
    api.patch("rayfailures", name, {"status": {"incident": "x"}}, "status")
    assert api.get("rayfailures", name)["status"] == {"incident": "x"}
    with pytest.raises(Exception, match="written once"):
        api.patch("rayfailures", name, {"spec": {"signature": "v1:other"}})
