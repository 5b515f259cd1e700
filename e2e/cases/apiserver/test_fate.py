# SPDX-License-Identifier: Apache-2.0
"""A RayFailure says who ended the pod, by marks of its node, evictions, Events of KubeRay and of others, and RayJobs; and a tenant can forge
little of that."""

import datetime
import time
import uuid

import pytest

from conftest import wait_for
from apiserver.conftest import kubeconfig_of, ray_cluster
from apiserver.kubelet import minutes_ago
from apiserver.peer import Peer
from apiserver.test_lost_nodes import report
from apiserver.test_owner import failures, kinds_of_kuberay, owner, vanish  # pylint: disable=unused-import


@pytest.fixture(name="node")
def make_nodes(plane):
    """Makes Nodes, with taints and with conditions that a kubelet, or node-problem-detector, writes."""
    api, made = plane.api(), []

    def make(*taints, **condition):
        name = f"n-{uuid.uuid4().hex[:8]}"
        api.create("nodes", {"metadata": {"name": name}, "spec": {"taints": list(taints)}})
        made.append(name)
        if condition:
            api.patch("nodes", name, {"status": {"conditions": [{
                "lastHeartbeatTime": minutes_ago(1), "lastTransitionTime": minutes_ago(1), "status": "True", **condition}]}}, "status")
        return name
    yield make
    for name in made:
        api.delete("nodes", name)


def pod_on(api, kubelet, node, name="train-abc-worker-1", cluster="train-abc"):
    made = api.create("pods", {
        "metadata": {"name": name, "finalizers": ["test/slow"], "labels": {
            "ray.io/is-ray-node": "yes", "ray.io/cluster": cluster, "ray.io/group": "small", "ray.io/node-type": "worker"}},
        "spec": {"nodeName": node, "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
                 "containers": [{"name": "ray-worker", "image": "ray:test"}]}})
    kubelet.run(made)
    return made


def evict(api, made):
    """Evicts a pod by the Eviction API, as every drain does."""
    name = made["metadata"]["name"]
    api.create("pods", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}, name, "eviction")


def event(api, involved, reason, message, component):
    """Writes an Event as the client library of Go does."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    api.request("POST", f"/api/v1/namespaces/{api.namespace}/events", {
        "metadata": {"name": f"e-{uuid.uuid4().hex[:10]}"}, "reason": reason, "message": message, "type": "Normal", "count": 1,
        "involvedObject": {"namespace": api.namespace, **involved}, "source": {"component": component},
        "firstTimestamp": now, "lastTimestamp": now})


def of_pod(made):
    return {"kind": "Pod", "apiVersion": "v1", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"],
            "fieldPath": "spec.containers{ray-worker}"}


def of_cluster(name):
    return {"kind": "RayCluster", "apiVersion": "ray.io/v1", "name": name}


def taint(key, value="", effect="NoSchedule"):
    return {"key": key, "value": value, "effect": effect}


CORDON = taint("node.kubernetes.io/unschedulable")


@pytest.mark.parametrize("taints, condition, kind", [
    ([CORDON], {}, "Drain"),
    ([taint("ToBeDeletedByClusterAutoscaler", "1763715600")], {}, "ClusterAutoscaler"),
    ([taint("karpenter.sh/disrupted"), CORDON], {}, "Karpenter"),
    ([taint("aws-node-termination-handler/spot-itn", "event-1"), CORDON], {}, "AWSNodeTermination"),
    ([taint("cloud.google.com/impending-node-termination")], {}, "GKENodeTermination"),
    ([], {"type": "VMEventScheduled", "reason": "VMEventScheduled", "message": "Preempt Scheduled: Mon, 02 Mar 2026 19:01:45 GMT"},
     "AKSScheduledEvent"),
], ids=["drain", "cluster-autoscaler", "karpenter", "aws", "gke", "aks"])
def test_an_eviction_that_empties_a_node_is_its_shutdown_also_beside_kuberay(start, api, kubelet, node, taints, condition, kind):
    start(manage=False)  # without --record-deletions
    made = pod_on(api, kubelet, node(*taints, **condition))
    evict(api, made)
    kubelet.end(made, 143, finishedAt=minutes_ago(0))
    (failure,) = failures(api)
    vanish(api, made)
    spec = failure["spec"]
    assert (spec["class"], spec["confidence"], spec["exitCode"]) == ("NodeShutdown", "likely", 143), spec
    assert spec["endedBy"]["kind"] == kind and spec["endedBy"]["name"] == f"Node/{spec['node']}", spec
    assert spec["endedBy"]["time"] and "most likely" in spec["verdict"]
    assert failure["metadata"]["labels"]["afterglow.dev/class"] == "NodeShutdown"
    assert [e["source"] for e in spec["evidence"]] == ["kubelet", "pod status", "node"]


def test_beside_kuberay_a_deletion_on_a_node_that_stays_is_not_recorded(start, api, kubelet, node):
    operator = start(manage=False)
    made = pod_on(api, kubelet, node())
    api.delete("pods", made["metadata"]["name"])
    kubelet.end(made, 1, finishedAt=minutes_ago(0))
    wait_for("the end to be passed over", lambda: "is not recorded: its pod was deleted" in operator.text(), interval=0.1)
    assert not api.items("rayfailures")
    vanish(api, made)


def deletion(start, api, kubelet, node, say=lambda made: None):
    """Returns the RayFailure of a pod that is deleted while an operator that records such ends looks; say writes what others would."""
    start("--record-deletions", manage=False)
    made = pod_on(api, kubelet, node)
    say(made)
    api.delete("pods", made["metadata"]["name"])
    kubelet.end(made, 1, finishedAt=minutes_ago(0))
    (failure,) = failures(api)
    vanish(api, made)
    return failure["spec"]


def test_of_a_deletion_that_nobody_claims_the_report_says_so(start, api, kubelet, node):
    spec = deletion(start, api, kubelet, node())
    assert (spec["class"], spec["confidence"]) == ("PodDeleted", "likely")
    assert spec["endedBy"]["kind"] == "Client" and "name" not in spec["endedBy"]
    assert "(by a client of the API)" in spec["verdict"]
    assert any("audit log" in m["needs"] for m in spec["missing"])


def test_an_api_server_that_hangs_holds_a_death_for_five_seconds(start, plane, api, kubelet, node):
    peer = Peer(plane)
    rule = peer.rule(lambda r: r.method == "GET" and r.plural in ("nodes", "events"), times=1000, hold=True)
    start("--record-deletions", manage=False, kubeconfig=peer.kubeconfig())
    made = [pod_on(api, kubelet, node(), f"train-abc-worker-{i}") for i in range(4)]
    for one in made:
        api.delete("pods", one["metadata"]["name"])
    began = time.monotonic()
    for one in made:
        kubelet.end(one, 1, finishedAt=minutes_ago(0))
    told = time.monotonic()
    found = wait_for("all four", lambda: len(all_of := api.items("rayfailures")) == 4 and all_of)
    took = time.monotonic() - began
    for one in made:
        vanish(api, one)
    peer.close()
    assert rule.used >= 4 and took > 4.5, (rule.used, took)
    # One after the other, each would be asked about five seconds after the one before.
    asked = [r.at for r in peer.seen(lambda r: r.method == "GET" and r.plural == "nodes")]
    assert asked[3] - asked[0] < told - began + 10, (asked, told - began)
    for spec in (f["spec"] for f in found):
        assert (spec["class"], spec["confidence"], spec["endedBy"]["kind"]) == ("PodDeleted", "likely", "Client"), spec
        assert any("could not be read" in m["what"] for m in spec["missing"]), spec
        assert not any("no Event" in m["what"] for m in spec["missing"]), spec


@pytest.mark.parametrize("message, autoscaled, kind, reason", [
    ("Deleted pod {}/train-abc-worker-1", True, "RayAutoscaler", "it scaled the group down"),
    ("Deleted pod {}/train-abc-worker-1", False, "KubeRay", "workersToDelete"),
    ("Deleted Pod {}/train-abc-worker-1", False, "KubeRay", "fewer replicas"),
    ("Deleted pod {}/train-abc-worker-11", True, "Client", ""),
])
def test_kuberays_event_of_its_raycluster_names_who_deleted_the_pod(start, api, kubelet, node, message, autoscaled, kind, reason):
    api.create("rayclusters", ray_cluster("train-abc", enableInTreeAutoscaling=autoscaled))
    spec = deletion(start, api, kubelet, node(CORDON) if kind == "RayAutoscaler" else node(), lambda made: event(
        api, of_cluster("train-abc"), "DeletedWorkerPod", message.format(api.namespace), "raycluster-controller"))
    assert (spec["class"], spec["endedBy"]["kind"]) == ("PodDeleted", kind), spec
    assert reason in spec["endedBy"].get("reason", "")
    assert spec["confidence"] == "likely"


def test_a_rayjob_that_finished_took_the_cluster_and_its_pods(start, api, kubelet, node):
    owner(api, "rayjobs", "train", jobDeploymentStatus="Complete")
    api.patch("rayclusters", "train-abc", {"metadata": {"finalizers": ["test/slow"]}})
    spec = deletion(start, api, kubelet, node(), lambda made: api.delete("rayclusters", "train-abc"))
    assert spec["class"] == "PodDeleted"
    assert (spec["endedBy"]["kind"], spec["endedBy"]["name"]) == ("KubeRay", "RayJob/train"), spec
    assert "the RayJob finished" in spec["verdict"]


def test_an_event_that_a_tenant_may_have_written_proves_nothing(start, api, kubelet, node):
    start(manage=False)
    made = pod_on(api, kubelet, node())
    event(api, of_pod(made), "Killing", "Container ray-worker failed liveness probe, will be restarted", "kubelet")
    kubelet.restart(made, 1, 137, startedAt=minutes_ago(5), finishedAt=minutes_ago(0))
    (failure,) = failures(api)
    vanish(api, made)
    spec = failure["spec"]
    assert (spec["class"], spec["confidence"]) == ("ProbeKilled", "likely"), spec
    assert spec["endedBy"]["kind"] == "Kubelet" and "liveness probe" in spec["endedBy"]["reason"]
    assert any("proof that the kubelet wrote the Event" in m["what"] for m in spec["missing"])


def test_the_probe_that_ended_the_instance_before_does_not_explain_this_one(start, api, kubelet, node):
    """A container that is killed without a grace starts again within the same second."""
    start(manage=False)
    made = pod_on(api, kubelet, node())
    event(api, of_pod(made), "Killing", "Container ray-worker failed liveness probe, will be restarted", "kubelet")
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    kubelet.restart(made, 2, 137, startedAt=later.strftime("%Y-%m-%dT%H:%M:%SZ"),
                    finishedAt=(later + datetime.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    (failure,) = failures(api)
    vanish(api, made)
    assert failure["spec"]["class"] == "Killed", failure["spec"]


@pytest.fixture(name="without_nodes")
def an_account_with_the_rights_of_watch_namespace(plane, api):
    """With watchNamespace the chart gives a Role, and no Role can give nodes."""
    return kubeconfig_of(plane, api, "small", [
        {"apiGroups": ["afterglow.dev", "ray.io", "", "events.k8s.io"], "resources": ["*"], "verbs": ["*"]}])


def test_without_the_right_to_read_nodes_the_report_says_that_it_is_missing(without_nodes, start, api, kubelet, node):
    start("--record-deletions", manage=False, kubeconfig=without_nodes)
    made = pod_on(api, kubelet, node(CORDON))
    evict(api, made)
    kubelet.end(made, 143, finishedAt=minutes_ago(0))
    (failure,) = failures(api)
    vanish(api, made)
    spec = failure["spec"]
    assert (spec["class"], spec["confidence"], spec["endedBy"]["kind"]) == ("PodDeleted", "certain", "EvictionAPI"), spec
    assert any("may not read nodes" in m["what"] for m in spec["missing"])


def test_without_that_right_the_pods_event_still_tells_of_a_drain(without_nodes, start, api, kubelet, node):
    start(manage=False, kubeconfig=without_nodes)
    made = pod_on(api, kubelet, node())
    event(api, of_pod(made), "ScaleDown", "deleting pod for node scale down", "cluster-autoscaler")
    evict(api, made)
    kubelet.end(made, 143, finishedAt=minutes_ago(0))
    (failure,) = failures(api)
    vanish(api, made)
    spec = failure["spec"]
    assert (spec["class"], spec["confidence"], spec["endedBy"]["kind"]) == ("NodeShutdown", "likely", "ClusterAutoscaler"), spec
    assert any("everybody who may create Events" in m["what"] for m in spec["missing"])


def test_kubernetes_own_taint_controller_deletes_for_a_taint_of_somebodys(start, api, kubelet, node, plane):
    """The real controller writes the condition; the node is there, and answers."""
    start("--record-deletions", manage=False)
    name = node()
    report(plane.api(), name)
    made = pod_on(api, kubelet, name)
    with plane.controllers("--controllers", "taint-eviction-controller,node-lifecycle-controller") as manager:
        wait_for("the controller", lambda: "Caches are synced" in manager.text())
        plane.api().patch("nodes", name, {"spec": {"taints": [taint("example.com/maintenance", "yes", "NoExecute")]}})
        wait_for("the deletion", lambda: "deletionTimestamp" in api.get("pods", made["metadata"]["name"])["metadata"], timeout=30)
    conditions = api.get("pods", made["metadata"]["name"])["status"]["conditions"]
    assert any(c["reason"] == "DeletionByTaintManager" for c in conditions if c["type"] == "DisruptionTarget")
    kubelet.end(made, 143, finishedAt=minutes_ago(0))
    (failure,) = failures(api)
    vanish(api, made)
    spec = failure["spec"]
    assert (spec["class"], spec["endedBy"]["kind"]) == ("PodDeleted", "TaintEviction"), spec
    assert "example.com/maintenance" in spec["verdict"]
