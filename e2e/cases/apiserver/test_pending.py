# SPDX-License-Identifier: Apache-2.0
"""The API server refuses RayFailures: in the form in which the operator writes them first, or in any form."""

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import group, settle
from apiserver.peer import Peer, status
from apiserver.replicas import LEADER

CRD = "rayfailures.afterglow.dev"
OOM = {"reason": "OOMKilled"}


FORBIDDEN = 403, status(403, "Forbidden", "rayfailures.afterglow.dev is forbidden: no")
INVALID = 422, status(422, "Invalid", "denied the request: a policy of the cluster")


@pytest.fixture
def peer(plane):
    p = Peer(plane)
    yield p
    p.close()


def creates_failures(request):
    return request.method == "POST" and request.plural == "rayfailures"


def pending(operator):
    return operator.metric("afterglow_failures_pending")


def classes_of(crd):
    (version,) = crd["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["class"]["enum"]


def replace_crd(api, change):
    crd = api.get("customresourcedefinitions", CRD)
    change(classes_of(crd))
    api.request("PUT", api.path("customresourcedefinitions", CRD), crd)


def takes(api, name):
    """Returns whether the API server has come to know, or to forget, that class."""
    try:
        api.request("POST", api.path("rayfailures") + "?dryRun=All", {
            "apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure", "metadata": {"name": "probe"},
            "spec": {"pod": "p", "container": "c", "class": name, "confidence": "certain", "verdict": "v"}})
    except ApiError as error:
        assert error.status == 422
        return False
    return True


@pytest.fixture
def older_crd(plane, api):
    """A CRD of RayFailures from before there was the class KernelOOMContainer."""
    admin, index = plane.api(), []

    def forget(classes):
        index.append(classes.index("KernelOOMContainer"))
        classes.remove("KernelOOMContainer")
    replace_crd(admin, forget)
    wait_for("the older CRD", lambda: not takes(api, "KernelOOMContainer"), interval=0.05)
    yield
    replace_crd(admin, lambda classes: classes.insert(index[0], "KernelOOMContainer"))
    wait_for("the newer CRD", lambda: takes(api, "KernelOOMContainer"), interval=0.05)


@pytest.mark.usefixtures("older_crd")
def test_a_class_that_an_older_crd_does_not_know_is_in_the_verdict_and_it_is_said_once(make, operator, plane, kubelet):
    cluster = make("demo", group("small", 2))
    _, workers = cluster.wait_pods(1, 2)
    for worker in workers:
        kubelet.restart(worker, 1, 137, **OOM)
    for failure in cluster.wait_failures(2):
        assert failure["spec"]["class"] == "Unknown"
        assert failure["spec"]["verdict"].startswith("[KernelOOMContainer] ")
        assert failure["metadata"]["labels"]["afterglow.dev/class"] == "KernelOOMContainer"
    assert operator.metric("afterglow_crds_outdated") == 1
    assert operator.text().count("the CRD rayfailures.afterglow.dev is older than this operator") == 1
    assert operator.metric("afterglow_failures_lost_total") == 0
    (event,) = wait_for("the Event", lambda: [e for e in plane.api().within("default").items("events")
                                              if e["reason"] == "CRDOutdated"])
    assert "rayfailures.afterglow.dev is older" in event["note"] and event["regarding"]["kind"] == "Lease"
    plane.api().within("default").delete("events", event["metadata"]["name"])


def test_a_failure_that_is_refused_for_good_is_given_up_and_the_cluster_says_so(make, start, peer, api, kubelet):
    operator = start(kubeconfig=peer.kubeconfig())
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    rule = peer.rule(creates_failures, times=1, answer=INVALID)
    kubelet.restart(worker, 1, 137, **OOM)
    wait_for("the refusal", lambda: rule.done)
    wait_for("nothing pending", lambda: pending(operator) == 0)
    assert operator.metric("afterglow_failures_lost_total", reason="invalid") == 1
    event = wait_for("the Event", lambda: [e for e in api.items("events") if e["reason"] == "FailureNotRecorded"])[0]
    assert event["regarding"]["name"] == "demo" and "a policy of the cluster" in event["note"]
    # It is not tried again while the pod tells of it; the next one is written.
    kubelet.restart(worker, 2, 137, **OOM)
    cluster.wait_failures(1)
    assert len([r for r in peer.requests if creates_failures(r)]) == 2


def test_a_lasting_refusal_piles_nothing_up_on_the_standby_and_its_end_is_noticed(make, start, peer, plane, api, kubelet):
    plane.issue("standby", "/O=system:masters/CN=standby")
    leader = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=peer.kubeconfig())
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    standby = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=plane.kubeconfig("standby"))
    cluster = make("demo", group("small", 3))
    _, workers = cluster.wait_pods(1, 3)
    rule = peer.rule(creates_failures, times=1000, answer=FORBIDDEN)
    for worker in workers:
        kubelet.restart(worker, 1, 137, **OOM)
    wait_for("all to be refused", lambda: rule.used >= 3 and pending(leader) == 3)
    assert standby.metric("afterglow_watch_objects", resource="pods") == 4
    assert pending(standby) == 0
    rule.left = 0
    cluster.wait_failures(3)


def test_a_new_leader_derives_what_the_one_before_did_not_write(make, start, peer, plane, api, kubelet):
    plane.issue("standby", "/O=system:masters/CN=standby")
    leader = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=peer.kubeconfig())
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    standby = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=plane.kubeconfig("standby"))
    cluster = make("demo", group("small", 2))
    _, (first, second) = cluster.wait_pods(1, 2)
    kubelet.restart(first, 1, 137, **OOM)
    (recorded,) = cluster.wait_failures(1)
    wait_for("the standby to know it", lambda: standby.metric("afterglow_watch_objects", resource="rayfailures") == 1)
    api.delete("rayfailures", recorded["metadata"]["name"])
    rule = peer.rule(creates_failures, times=1000, answer=FORBIDDEN)
    kubelet.restart(second, 1, 139)
    wait_for("the refusal", lambda: rule.used >= 1)
    leader.stop()
    (failure,) = cluster.wait_failures(1)
    # Not the one that somebody removed.
    assert failure["spec"]["pod"] == second["metadata"]["name"]
    settle(standby, api, kubelet)
    cluster.wait_failures(1)
