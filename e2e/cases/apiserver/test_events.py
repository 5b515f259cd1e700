# SPDX-License-Identifier: Apache-2.0
"""Events as kubectl shows them: an Event that repeats is counted and not written anew."""

import json
import re

import pytest

from conftest import wait_for
from apiserver.conftest import group, settle
from apiserver.kubelet import minutes_ago


def test_what_happens_again_is_a_series(make, operator, api, kubelet):
    cluster = make("demo", group("same"), group("same"))

    def events():
        return [e for e in api.items("events") if e["regarding"]["name"] == "demo" and e["reason"] == "InvalidRayClusterSpec"]
    wait_for("the event", events)
    assert "series" not in events()[0]
    for count in 2, 3:
        cluster.patch({"workerGroupSpecs": [group("same")]})
        cluster.wait_condition("afterglow.dev/SpecValid", "True")
        cluster.patch({"workerGroupSpecs": [group("same"), group("same")]})
        cluster.wait_condition("afterglow.dev/SpecValid", "False")
        wait_for("the count", lambda count=count: events()[0].get("series", {}).get("count") == count)
    settle(operator, api, kubelet)
    (event,) = events()
    assert event["series"]["lastObservedTime"] > event["eventTime"]


def test_the_first_death_of_a_class_is_an_event_of_the_raycluster_that_says_where_to_look(make, operator, api, kubelet, plane):
    cluster = make("demo", group("small", 2))
    _, (first, second) = cluster.wait_pods(1, 2)
    kubelet.run_all()
    kubelet.end(first, 137, reason="OOMKilled")
    (failure,) = cluster.wait_failures(1)
    kubelet.end(second, 137, reason="OOMKilled")
    cluster.wait_failures(2)
    wait_for("the event", lambda: [e for e in api.items("events") if e["reason"] == "KernelOOMContainer"])
    settle(operator, api, kubelet)
    (event,) = [e for e in api.items("events") if e["reason"] == "KernelOOMContainer"]
    assert event["regarding"]["kind"] == "RayCluster" and event["regarding"]["uid"] == cluster.get()["metadata"]["uid"]
    name = failure["metadata"]["name"]
    assert event["note"] == (f"{failure['spec']['verdict']}. Try: {failure['spec']['advice']}. See kubectl describe rayfailure -n {api.namespace} {name}; "
                             f"for all failures: kubectl get rayfailures -n {api.namespace} -l ray.io/cluster=demo")
    assert "ran out of memory" in plane.kubectl("describe", "raycluster", "demo", "--namespace", api.namespace)
    # As Ray's dashboard asks for platform events (k8s_provider.py of Ray 2.60), and the fields that it shows.
    listed = json.loads(plane.kubectl("get", "--raw", f"/api/v1/namespaces/{api.namespace}/events?fieldSelector="
                                      "involvedObject.kind%3DRayCluster,involvedObject.name%3Ddemo"))["items"]
    (shown,) = [e for e in listed if e["reason"] == "KernelOOMContainer"]
    assert (shown["message"], shown["type"], shown["reportingComponent"]) == (event["note"], "Warning", "afterglow.dev/operator")
    assert shown["eventTime"] and shown["metadata"]["uid"]


def test_the_end_of_a_pod_that_somebody_deleted_is_no_event(make, operator, api, kubelet):
    cluster = make("demo", group("small", 1))
    _, (pod,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    api.patch("pods", pod["metadata"]["name"], {"metadata": {"finalizers": ["test/slow"]}})
    api.delete("pods", pod["metadata"]["name"])
    kubelet.end(pod, 143, finishedAt=minutes_ago(0))
    (failure,) = cluster.wait_failures(1)
    api.patch("pods", pod["metadata"]["name"], {"metadata": {"finalizers": None}})
    assert failure["spec"]["class"] == "PodDeleted"
    settle(operator, api, kubelet)
    assert not [e for e in api.items("events") if e["reason"] == "PodDeleted"]


def told(api, reason):
    return [e["note"] for e in api.items("events") if e["regarding"]["name"] == "demo" and e["reason"] == reason and
            e["type"] == "Normal"]


def counted(notes):
    """Returns the number of pods that the notes of the Events mention."""
    return sum(int(re.match(r"\w+ (\d+) worker Pods of group small: ", n)[1]) if " Pods " in n else 1 for n in notes)


@pytest.mark.usefixtures("operator")
def test_what_is_made_and_deleted_is_told_as_kuberay_does(make, api):
    cluster = make("demo", group("small", 1), enableInTreeAutoscaling=True)
    (head,), (worker,) = cluster.wait_pods(1, 1)

    def name(pod):
        return f"{api.namespace}/{pod['metadata']['name']}"
    for reason, notes in {
            "CreatedHeadPod": [f"Created head Pod {name(head)}"],
            "CreatedWorkerPod": [f"Created worker Pod {name(worker)}"],
            "CreatedService": [f"Created service {api.namespace}/demo-head-svc"],
            "CreatedServiceAccount": [f"Created service account {api.namespace}/demo"],
            "CreatedRole": [f"Created role {api.namespace}/demo"],
            "CreatedRoleBinding": [f"Created role binding {api.namespace}/demo"]}.items():
        wait_for(reason, lambda reason=reason, notes=notes: told(api, reason) == notes)
    cluster.patch({"suspend": True})
    wait_for("the end of the head", lambda: told(api, "DeletedHeadPod") == [f"Deleted head Pod {name(head)}"])
    wait_for("the end of the worker", lambda: told(api, "DeletedWorkerPod") == [f"Deleted worker Pod {name(worker)}"])


def test_many_pods_are_few_events_and_none_is_left_out(make, operator, api, kubelet):
    cluster = make("demo", {**group("small", 300), "maxReplicas": 300})
    cluster.wait_pods(1, 300)
    wait_for("all to be told", lambda: counted(told(api, "CreatedWorkerPod")) == 300)
    assert len(told(api, "CreatedWorkerPod")) <= 12
    settle(operator, api, kubelet)
    # Nothing is told twice.
    assert counted(told(api, "CreatedWorkerPod")) == 300 and len(told(api, "CreatedHeadPod")) == 1
