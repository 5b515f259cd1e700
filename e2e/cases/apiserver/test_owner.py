# SPDX-License-Identifier: Apache-2.0
"""A failure names its owner: of RayJobs and RayServices as KubeRay makes them, and of pods that outlive their cluster."""

import signal

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import kubeconfig_of, ray_cluster
from apiserver.kubelet import minutes_ago

OOM = {"reason": "OOMKilled"}
KINDS = {"rayjobs": "RayJob", "rayservices": "RayService"}


def crd(plural):
    """Returns a CRD with KubeRay's kind, and without its schema."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"metadata": {"name": f"{plural}.ray.io"}, "spec": {
        "group": "ray.io", "scope": "Namespaced",
        "names": {"plural": plural, "singular": plural[:-1], "kind": KINDS[plural], "listKind": KINDS[plural] + "List"},
        "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                      "schema": {"openAPIV3Schema": anything}}]}}


@pytest.fixture(name="kinds", scope="module", autouse=True)
def kinds_of_kuberay(plane):
    for plural in KINDS:
        try:
            plane.api().create("customresourcedefinitions", crd(plural))
        except ApiError as error:
            assert error.status == 409  # of another module
        wait_for(plural, lambda plural=plural: plane.api().items(plural) is not None, interval=0.1)


@pytest.fixture(name="operator")
def beside_kuberay(start):
    return start(manage=False)


def owner(api, plural, name, cluster="train-abc", **status):
    """Makes a RayJob or RayService, with the RayCluster that KubeRay makes for it."""
    made = api.create(plural, {"apiVersion": "ray.io/v1", "kind": KINDS[plural], "metadata": {"name": name},
                               "spec": {"rayClusterSpec": ray_cluster("x")["spec"], "entrypoint": "python train.py"}})
    if status:
        api.patch(plural, name, {"status": {"rayClusterName": cluster, **status}}, "status")
    body = ray_cluster(cluster)
    body["metadata"].update(
        labels={"ray.io/originated-from-crd": KINDS[plural], "ray.io/originated-from-cr-name": name},
        ownerReferences=[{"apiVersion": "ray.io/v1", "kind": KINDS[plural], "name": name, "uid": made["metadata"]["uid"],
                          "controller": True, "blockOwnerDeletion": True}])
    api.create("rayclusters", body)
    return made


def pod(api, kubelet, name, cluster="train-abc", **metadata):
    made = api.create("pods", {
        "metadata": {"name": name, "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": cluster,
                                              "ray.io/group": "small", "ray.io/node-type": "worker"}, **metadata},
        "spec": {"containers": [{"name": "ray-worker", "image": "ray:test"}]}})
    kubelet.run(made)
    return made


def failures(api, count=1):
    def find():
        found = api.items("rayfailures")
        assert len(found) == count, [f["metadata"]["name"] for f in found]
        return found
    return wait_for(f"{count} RayFailures", find, interval=0.05)


def events(api, kind):
    return [e for e in api.items("events") if e["regarding"]["kind"] == kind]


@pytest.mark.usefixtures("operator")
def test_a_death_in_a_rayjob_names_the_job_and_its_submission_and_is_an_event_of_it(api, kubelet, plane):
    job = owner(api, "rayjobs", "train", jobId="train-x7k2p")
    for name in ("train-abc-worker-1", "train-abc-worker-2"):
        kubelet.end(pod(api, kubelet, name), 137, **OOM)
    found = failures(api, 2)
    for failure in found:
        spec = failure["spec"]
        assert spec["owner"] == {"kind": "RayJob", "name": "train", "uid": job["metadata"]["uid"]}
        assert spec["ownerText"] == "RayJob/train" and spec["job"] == {"submissionId": "train-x7k2p"}
    assert len(api.items("rayfailures", "afterglow.dev/owner-kind=RayJob,afterglow.dev/owner-name=train")) == 2
    listed = plane.kubectl("get", "rayfailures", "--namespace", api.namespace).splitlines()
    assert listed[0].split() == ["NAME", "OWNER", "POD", "CLASS", "EXIT", "MEMORY", "CAUSED", "BY", "AGE"]
    assert listed[1].split()[1] == "RayJob/train"

    # Of the two deaths of one class the first is told.
    (event,) = wait_for("the event", lambda: events(api, "RayJob"))
    first = next(f for f in found if f["metadata"]["name"] in event["note"])["spec"]
    assert event["regarding"]["uid"] == job["metadata"]["uid"] and event["reason"] == "KernelOOMContainer"
    assert event["note"].startswith(f"Pod {first['pod']} of RayCluster train-abc: Container ray-worker of {first['pod']} most likely ran out")
    assert event["note"].endswith(f"all failures: kubectl get rayfailures -n {api.namespace} -l afterglow.dev/owner-name=train")
    assert "ran out of memory" in plane.kubectl("describe", "rayjob", "train", "--namespace", api.namespace)
    assert len(events(api, "RayCluster")) == 1


@pytest.mark.usefixtures("operator")
def test_a_rayjobs_event_says_what_its_cluster_died_of_and_what_followed(api, kubelet, plane):
    owner(api, "rayjobs", "train", jobId="train-x7k2p")
    kubelet.end(pod(api, kubelet, "worker"), 1, finishedAt=minutes_ago(9.5))
    kubelet.end(pod(api, kubelet, "head", labels={
        "ray.io/is-ray-node": "yes", "ray.io/cluster": "train-abc", "ray.io/group": "headgroup", "ray.io/node-type": "head"}),
                137, finishedAt=minutes_ago(10), **OOM)
    (event,) = wait_for("the event", lambda: events(api, "RayJob"))
    assert event["note"].startswith("Pod head of RayCluster train-abc: Container ray-worker of head most likely ran out of memory")
    assert "; 1 other end followed from it (kubectl get rayfailures " in event["note"]
    assert "1 other end followed" in plane.kubectl("describe", "rayjob", "train", "--namespace", api.namespace)


def test_without_the_right_to_write_a_status_the_events_are_told_all_the_same(without_rayjobs, start, api, kubelet):
    operator = start(manage=False, kubeconfig=without_rayjobs)
    api.create("rayclusters", ray_cluster("train-abc"))
    kubelet.end(pod(api, kubelet, "worker"), 1, finishedAt=minutes_ago(9.5))
    kubelet.end(pod(api, kubelet, "head", labels={
        "ray.io/is-ray-node": "yes", "ray.io/cluster": "train-abc", "ray.io/group": "headgroup", "ray.io/node-type": "head"}),
                137, finishedAt=minutes_ago(10), **OOM)
    (event,) = wait_for("the event", lambda: events(api, "RayCluster"))
    assert "; 1 other end followed from it" in event["note"]
    wait_for("the line", lambda: "may not write the incidents of cluster" in operator.text())
    assert "forbidden" in operator.text()


@pytest.mark.usefixtures("operator")
def test_a_death_in_a_rayservice_is_an_event_of_it_and_no_job_is_asked_for(api, kubelet, plane):
    service = owner(api, "rayservices", "chat")
    kubelet.end(pod(api, kubelet, "train-abc-worker-1"), 139)
    (failure,) = failures(api)
    assert failure["spec"]["owner"] == {"kind": "RayService", "name": "chat", "uid": service["metadata"]["uid"]}
    assert "job" not in failure["spec"]
    wait_for("the event", lambda: events(api, "RayService"))
    assert "SIGSEGV" in plane.kubectl("describe", "rayservice", "chat", "--namespace", api.namespace)


@pytest.mark.usefixtures("operator")
def test_a_cluster_that_a_person_made_owns_its_failures(api, kubelet):
    api.create("rayclusters", ray_cluster("mine"))
    kubelet.end(pod(api, kubelet, "mine-worker", cluster="mine"), 139)
    (failure,) = failures(api)
    uid = api.get("rayclusters", "mine")["metadata"]["uid"]
    assert failure["spec"]["owner"] == {"kind": "RayCluster", "name": "mine", "uid": uid}
    wait_for("the event", lambda: events(api, "RayCluster"))
    assert len(api.items("events")) == 1


@pytest.mark.usefixtures("operator")
def test_a_pod_that_dies_after_its_cluster_is_still_the_jobs(api, kubelet):
    owner(api, "rayjobs", "train", jobId="train-x7k2p")
    late, marker = pod(api, kubelet, "train-abc-worker-1"), pod(api, kubelet, "marker", cluster="mine")
    api.delete("rayclusters", "train-abc")
    # What it sees of clusters and of pods comes over two watches.
    api.create("rayclusters", ray_cluster("mine"))
    kubelet.end(marker, 139)
    wait_for("the watch of clusters", lambda: events(api, "RayCluster"))
    kubelet.end(late, 139)
    failure = next(f for f in failures(api, 2) if f["spec"]["pod"] == "train-abc-worker-1")
    assert failure["spec"]["ownerText"] == "RayJob/train" and failure["spec"]["job"]["submissionId"] == "train-x7k2p"


@pytest.mark.parametrize("status, submission", [
    ({"jobId": "train-x7k2p"}, "train-x7k2p"),
    # It is tried again, and has another cluster by now.
    ({"jobId": "train-y8", "rayClusterName": "train-def"}, None),
    # Nobody submitted it yet.
    ({"jobDeploymentStatus": "Waiting"}, None)])
def test_the_annotation_of_a_pod_names_its_owner_when_no_cluster_does(start, api, kubelet, status, submission):
    owner(api, "rayjobs", "train", **status)
    api.delete("rayclusters", "train-abc")
    start(manage=False)
    kubelet.end(pod(api, kubelet, "train-abc-worker-1", annotations={"afterglow.dev/owner": "RayJob/train"}), 139)
    (failure,) = failures(api)
    assert failure["spec"]["ownerText"] == "RayJob/train"
    assert failure["spec"].get("job", {}).get("submissionId") == submission


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("annotation, text", [
    ("RayJob/gone", "RayJob/gone"), ("RayJob/../secrets/x", None), ("Pod/x", None), ("x" * 5000, None)])
def test_an_owner_that_is_not_there_or_is_nonsense_delays_nothing(api, kubelet, annotation, text):
    kubelet.end(pod(api, kubelet, "lone", cluster="unknown", annotations={"afterglow.dev/owner": annotation}), 139)
    (failure,) = failures(api)
    assert failure["spec"].get("ownerText") == text and "job" not in failure["spec"]


@pytest.fixture(name="without_rayjobs")
def an_account_that_may_not_read_rayjobs(plane, api):
    """The kubeconfig of one that has the rights of the chart before, which knew no RayJobs."""
    return kubeconfig_of(plane, api, "old", [
        {"apiGroups": ["afterglow.dev"], "resources": ["rayfailures"], "verbs": ["*"]},
        {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["pods", "services", "events"], "verbs": ["*"]}])


def test_without_the_right_to_read_rayjobs_only_the_submission_is_not_known(without_rayjobs, start, api, kubelet, plane):
    start(manage=False, kubeconfig=without_rayjobs)
    owner(api, "rayjobs", "train", jobId="train-x7k2p")
    kubelet.end(pod(api, kubelet, "train-abc-worker-1"), 139)
    (failure,) = failures(api)
    assert failure["spec"]["ownerText"] == "RayJob/train" and "job" not in failure["spec"]
    wait_for("the event", lambda: events(api, "RayJob"))
    assert "SIGSEGV" in plane.kubectl("describe", "rayjob", "train", "--namespace", api.namespace)


# --- The pod's deletion, and the container's end ------------------------------------------------------------------


def leave(api, made):
    """Begins to delete the pod, which stays until the test lets it go: without a node it would be gone at once."""
    api.patch("pods", made["metadata"]["name"], {"metadata": {"finalizers": ["test/slow"]}})
    api.delete("pods", made["metadata"]["name"])


def vanish(api, made):
    api.patch("pods", made["metadata"]["name"], {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("code", [1, 137, 143])
def test_what_ends_because_its_pod_is_deleted_is_no_error_of_its_own(api, start, kubelet, code):
    start("--record-deletions", manage=False)
    owner(api, "rayjobs", "train", jobId="train-x7k2p")
    made = pod(api, kubelet, "train-abc-worker-1")
    leave(api, made)
    kubelet.end(made, code, finishedAt=minutes_ago(0))
    (failure,) = failures(api)
    vanish(api, made)
    assert (failure["spec"]["class"], failure["spec"]["confidence"]) == ("PodDeleted", "likely")
    assert failure["spec"]["exitCode"] == code
    assert not events(api, "RayJob")


@pytest.mark.parametrize("asked", [False, True])
def test_beside_kuberay_the_end_of_a_deleted_pod_is_recorded_only_if_asked_for(api, start, kubelet, asked):
    """KubeRay deletes pods after each job: without failure, that is the most of what there would be to list."""
    operator = start(*(["--record-deletions"] if asked else []), manage=False)
    made = pod(api, kubelet, "train-abc-worker-1")
    leave(api, made)
    kubelet.end(made, 1, finishedAt=minutes_ago(0))
    if asked:
        assert [f["spec"]["class"] for f in failures(api)] == ["PodDeleted"]
    else:
        wait_for("the end to be passed over", lambda: "is not recorded: its pod was deleted" in operator.text(), interval=0.1)
        assert not api.items("rayfailures")
    vanish(api, made)
    # An end of its own is recorded all the same.
    other = pod(api, kubelet, "train-abc-worker-2")
    kubelet.ending(other, 139, finishedAt=minutes_ago(0))
    leave(api, other)
    wait_for("the crash", lambda: "Segfault" in [f["spec"]["class"] for f in api.items("rayfailures")], interval=0.1)
    vanish(api, other)


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("code, failure_class", [(1, "ApplicationError"), (137, "Killed"), (139, "Segfault")])
def test_what_ended_before_kuberay_deleted_its_pod_ended_by_itself(api, kubelet, code, failure_class):
    made = pod(api, kubelet, "train-abc-worker-1")
    kubelet.ending(made, code, finishedAt=minutes_ago(0))
    leave(api, made)  # at once, as KubeRay does with restartPolicy Never: in the same second
    (failure,) = failures(api)
    vanish(api, made)
    assert failure["spec"]["class"] == failure_class
    assert "afterglow.dev/pod-deleted" not in failure["metadata"]["annotations"] or code == 139


def test_an_end_that_only_the_last_state_of_a_pod_shows_is_recorded(start, api, kubelet):
    operator = start(manage=False)
    made = pod(api, kubelet, "train-abc-worker-1")
    leave(api, made)
    operator.send(signal.SIGSTOP)
    try:
        kubelet.end(made, 134, finishedAt=minutes_ago(0))
        vanish(api, made)
    finally:
        operator.send(signal.SIGCONT)
    (failure,) = failures(api)
    assert (failure["spec"]["class"], failure["spec"]["signal"]) == ("Abort", "SIGABRT")
