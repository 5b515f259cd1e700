# SPDX-License-Identifier: Apache-2.0
"""The operator makes the pods of a RayCluster, and keeps them as its spec says."""

import pytest

from conftest import wait_for
from apiserver.conftest import group, ray_cluster, settle


def env_of(container):
    return {e["name"]: e.get("value") for e in container["env"]}


def bytes_of(args, option):
    return int(next(a for a in args.split() if a.startswith(f"--{option}=")).split("=")[1])


def owner_of(thing):
    return [(o["kind"], o["name"], o["controller"]) for o in thing["metadata"].get("ownerReferences", [])]


def names(pods):
    return {p["metadata"]["name"] for p in pods}


@pytest.mark.usefixtures("operator")
def test_a_cluster_becomes_a_head_a_service_workers_and_the_launchers_configmap(make, api):
    cluster = make("demo", group("small", 2), group("big", 1))
    _, workers = cluster.wait_pods(1, 3)
    assert sorted(w["metadata"]["labels"]["ray.io/group"] for w in workers) == ["big", "small", "small"]
    service = api.get("services", "demo-head-svc")
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]
    assert {p["name"]: p["port"] for p in service["spec"]["ports"]} == {
        "client": 10001, "gcs-server": 6379, "dashboard": 8265, "metrics": 8080, "serve": 8000}
    (launcher,) = api.get("configmaps", "afterglow-launch")["binaryData"].values()
    assert launcher.startswith("f0VMR")  # ELF


@pytest.mark.usefixtures("operator")
def test_pods_are_as_kuberay_makes_them(make, api):
    (head,), (worker,) = make("demo", group("small")).wait_pods(1, 1)
    ray = head["spec"]["containers"][0]
    assert ray["name"] == "ray-head"
    assert head["metadata"]["name"].startswith("demo-head-")
    assert worker["metadata"]["name"].startswith("demo-small-worker-")
    args = ray["args"][-1]
    assert args.startswith("ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; ray start --head  --block  "
                           "--dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0  --memory=")
    assert args.endswith(" ") and "--metrics-export-port=8080  --num-cpus=0  " in args
    assert bytes_of(args, "memory") + bytes_of(args, "object-store-memory") < 4 << 30
    assert env_of(ray)["RAY_ADDRESS"] == "127.0.0.1:6379" and env_of(ray)["RAY_USAGE_STATS_KUBERAY_IN_USE"] == "1"

    fqdn = f"demo-head-svc.{api.namespace}.svc.cluster.local"
    ray = worker["spec"]["containers"][0]
    assert ray["name"] == "ray-worker" and ray["args"][:3] == ["/bin/bash", "-c", "--"]
    assert f"ray start  --address={fqdn}:6379  --block  " in ray["args"][3]
    assert bytes_of(ray["args"][3], "memory") + bytes_of(ray["args"][3], "object-store-memory") < 2 << 30
    assert "--num-cpus=1  " in ray["args"][3]
    assert env_of(ray)["FQ_RAY_IP"] == fqdn and env_of(ray)["RAY_ADDRESS"] == f"{fqdn}:6379"
    labels = worker["metadata"]["labels"]
    assert labels == {"ray.io/is-ray-node": "yes", "ray.io/cluster": "demo", "ray.io/node-type": "worker",
                      "ray.io/group": "small", "ray.io/identifier": "demo-worker", "app.kubernetes.io/name": "kuberay",
                      "app.kubernetes.io/created-by": "kuberay-operator", "ray.io/worker-group-replica-index": "0"}
    for pod in head, worker:
        assert [c["name"] for c in pod["spec"]["containers"]][1:] == ["afterglow"]
        assert "initContainers" not in pod["spec"]
        volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
        assert volumes["shared-mem"]["emptyDir"]["medium"] == "Memory"
        assert volumes["afterglow-bin"]["configMap"]["optional"]
        assert "afterglow-store" not in volumes
        assert "/dev/shm" in {m["mountPath"] for m in pod["spec"]["containers"][0]["volumeMounts"]}


@pytest.mark.usefixtures("operator")
def test_groups_scale_up_and_down(make, kubelet):
    cluster = make("demo", group("small", 1))
    _, (old,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    cluster.scale(small=5)
    _, workers = cluster.wait_pods(1, 5)
    cluster.wait_status(desiredWorkerReplicas=5, readyWorkerReplicas=1)
    kubelet.run_all("ray.io/node-type=worker")
    cluster.wait_status(state="ready", readyWorkerReplicas=5, availableWorkerReplicas=5)
    cluster.scale(small=1)
    _, (left,) = cluster.wait_pods(1, 1)
    assert left["metadata"]["name"] in names(workers)
    assert old["metadata"]["name"] in names(workers)
    cluster.scale(small=0)
    cluster.wait_pods(1, 0)


@pytest.mark.usefixtures("operator")
def test_replicas_are_kept_between_minimum_and_maximum(make):
    cluster = make("demo", group("low", 0, minReplicas=2), group("high", 9, maxReplicas=1), group("off", 3, suspend=True))
    _, workers = cluster.wait_pods(1, 3)
    assert sorted(w["metadata"]["labels"]["ray.io/group"] for w in workers) == ["high", "low", "low"]


def test_workers_to_delete_go_and_only_they(make, operator, api, kubelet):
    cluster = make("demo", group("small", 3))
    _, workers = cluster.wait_pods(1, 3)
    kubelet.run_all()
    victim = workers[1]["metadata"]["name"]
    cluster.patch({"workerGroupSpecs": [group("small", 2, scaleStrategy={"workersToDelete": [victim, "never-existed"]})]})
    wait_for("the worker to go", lambda: victim not in names(cluster.pods("worker")))
    settle(operator, api, kubelet)
    assert names(cluster.pods("worker")) == names(workers) - {victim}


@pytest.mark.usefixtures("operator")
def test_deleted_pods_are_replaced(make, api):
    cluster = make("demo", group("small", 2))
    (head,), (first, second) = cluster.wait_pods(1, 2)
    api.delete("pods", first["metadata"]["name"])
    api.delete("pods", head["metadata"]["name"])
    gone = {first["metadata"]["uid"], head["metadata"]["uid"]}
    wait_for("new pods", lambda: not gone & {p["metadata"]["uid"] for p in cluster.pods()} and len(cluster.pods()) == 3)
    assert second["metadata"]["uid"] in {p["metadata"]["uid"] for p in cluster.pods("worker")}


def test_a_deleted_service_comes_back_and_the_status_is_written_all_along(make, api, operator, kubelet):
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    wait_for("the endpoints", lambda: cluster.status().get("endpoints", {}).get("gcs-server") == "6379")
    uid = api.get("services", "demo-head-svc")["metadata"]["uid"]
    api.delete("services", "demo-head-svc")
    wait_for("another service", lambda: api.get("services", "demo-head-svc")["metadata"]["uid"] != uid)
    settle(operator, api, kubelet)
    assert cluster.status()["endpoints"]["gcs-server"] == "6379"
    assert operator.metric("controller_runtime_reconcile_errors_total") == 0


@pytest.mark.usefixtures("operator")
def test_a_cluster_is_suspended_and_resumed(make, kubelet):
    cluster = make("demo", group("small", 2))
    cluster.wait_pods(1, 2)
    kubelet.run_all()
    cluster.wait_status(state="ready")
    cluster.patch({"suspend": True})
    cluster.wait_pods(0, 0)
    cluster.wait_status(state="suspended")
    assert cluster.condition("RayClusterSuspended")["status"] == "True"
    cluster.patch({"suspend": False})
    cluster.wait_pods(1, 2)
    cluster.wait_condition("RayClusterSuspended", "False")
    kubelet.run_all()
    cluster.wait_status(state="ready", readyWorkerReplicas=2)


def test_all_that_is_made_belongs_to_the_cluster_and_a_deleted_one_gets_nothing_new(make, operator, api, kubelet):
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    owner = [("RayCluster", "demo", True)]
    assert all(owner_of(p) == owner for p in cluster.pods())
    assert owner_of(api.get("services", "demo-head-svc")) == owner
    before = names(cluster.pods())
    api.delete("rayclusters", "demo")
    # The two watches are not in step: a pod that goes earlier is rightly replaced.
    wait_for("the operator to know", lambda: operator.metric("afterglow_watch_objects", resource="rayclusters") == 0,
             interval=0.05)
    # The garbage collector's work, in an order that tempts: the head first.
    for pod in sorted(before):
        api.delete("pods", pod)
    settle(operator, api, kubelet)
    assert cluster.pods() == []


def test_an_invalid_cluster_gives_one_event_a_condition_and_no_pods(make, operator, api, kubelet, plane):
    cluster = make("demo", group("same"), group("same", minReplicas=3, maxReplicas=2))
    condition = cluster.wait_condition("afterglow.dev/SpecValid", "False", "InvalidRayClusterSpec")
    assert "two worker groups are called same" in condition["message"]
    assert "minReplicas 3 is above maxReplicas 2" in condition["message"]

    def events():
        return [e for e in api.items("events") if e["regarding"]["name"] == "demo"]
    wait_for("the event", events)
    api.patch("rayclusters", "demo", {"metadata": {"annotations": {"touched": "yes"}}})
    settle(operator, api, kubelet)
    (event,) = events()
    assert (event["reason"], event["type"], event["note"]) == ("InvalidRayClusterSpec", "Warning", condition["message"])
    assert cluster.pods() == [] and not plane.writes(api.namespace, "pods")
    cluster.patch({"workerGroupSpecs": [group("same")]})
    cluster.wait_pods(1, 1)
    cluster.wait_condition("afterglow.dev/SpecValid", "True")


def test_one_bad_cluster_does_not_delay_another(make, operator):
    del operator
    # The API server refuses these pods; the operator cannot know before.
    bad = group("bad")
    bad["template"]["spec"]["containers"][0]["image"] = " blank "
    make("broken", bad)
    make("fine", group("small", 1)).wait_pods(1, 1)


def test_a_missing_claim_leaves_the_store_out_and_says_so(make, start, api):
    start("--store-claim", "evidence")
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    assert "afterglow-store" not in {v["name"] for v in worker["spec"]["volumes"]}
    condition = cluster.wait_condition("afterglow.dev/Recording", "False", "StoreClaimMissing")
    assert f"PersistentVolumeClaim evidence of namespace {api.namespace} does not exist" in condition["message"]
    wait_for("the event", lambda: [e for e in api.items("events") if e["reason"] == "StoreClaimMissing"])


def test_a_claim_without_a_volume_does_not_keep_ray_from_starting(make, start, api):
    api.create("persistentvolumeclaims", {"metadata": {"name": "evidence"}, "spec": {
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}})
    api.patch("persistentvolumeclaims", "evidence", {"status": {"phase": "Lost"}}, "status")
    start("--store-claim", "evidence")
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    assert "afterglow-store" not in {v["name"] for v in worker["spec"]["volumes"]}
    assert "has lost its volume" in cluster.wait_condition("afterglow.dev/Recording", "False", "StoreClaimMissing")["message"]


def test_an_existing_claim_is_mounted_into_the_sidecar_only(make, start, api):
    api.create("persistentvolumeclaims", {"metadata": {"name": "evidence"}, "spec": {
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}})
    start("--store-claim", "evidence")
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    mounts = [{m["name"] for m in c["volumeMounts"]} for c in worker["spec"]["containers"]]
    assert "afterglow-store" in mounts[1] and "afterglow-store" not in mounts[0]
    cluster.wait_condition("afterglow.dev/Recording", "True")


def test_only_the_named_namespace_is_touched(make, operator, plane, api, kubelet):
    other = plane.api().within("default")
    before = plane.writes("default")  # Events of other tests about what has no namespace
    other.create("rayclusters", ray_cluster("elsewhere", group("small")))
    try:
        make("demo", group("small", 1)).wait_pods(1, 1)
        settle(operator, api, kubelet)
        assert plane.writes("default") == before
        assert other.items("pods") == []
    finally:
        other.delete("rayclusters", "elsewhere")


def test_without_a_namespace_all_are_watched(make, start, plane, api):
    start(namespace=False)
    make("demo", group("small", 1)).wait_pods(1, 1)
    other = plane.api().within("default")
    other.create("rayclusters", ray_cluster("elsewhere", group("small")))
    try:
        wait_for("the other's pods", lambda: len(other.items("pods")) == 2)
    finally:
        other.delete("rayclusters", "elsewhere")
        other.request("DELETE", other.path("pods"))
    assert len(api.items("pods")) == 2


def test_where_a_namespace_is_being_deleted_nothing_is_tried_for_long_and_it_is_said_once(api, operator, make, kubelet):
    # Nobody empties the namespace here: it stays in that state.
    cluster = make("demo", group("small", 2))
    _, (first, second) = cluster.wait_pods(1, 2)
    kubelet.run_all()
    cluster.wait_status(state="ready")
    api.delete("namespaces", api.namespace)
    kubelet.end(first, 137, reason="OOMKilled")
    wait_for("the failure to be given up", lambda: "is not written, its namespace is being deleted" in operator.text())
    assert operator.metric("afterglow_failures_pending") == 0
    wait_for("another pod to be refused", lambda: "nothing can be created in it" in operator.text())
    api.delete("pods", second["metadata"]["name"])
    refused = operator.metric("rest_client_requests_total", code="403")
    wait_for("more to be refused", lambda: operator.metric("rest_client_requests_total", code="403") > refused)
    assert operator.text().count("nothing can be created in it") == 1
    assert " warning " not in operator.text(), operator.text()
