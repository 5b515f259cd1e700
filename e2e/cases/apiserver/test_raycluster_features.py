# SPDX-License-Identifier: Apache-2.0
"""A RayCluster may ask for more than pods: the autoscaler, fault tolerance, hosts, upgrades, ingress, tokens."""

import base64
import signal
import time

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import ROOT, RayCluster, group, ray_cluster, settle
from apiserver.kubelet import NOW
from apiserver.test_raycluster import names, owner_of

OWNER = [("RayCluster", "demo", True)]


def env(container):
    return {e["name"]: e.get("value", e.get("valueFrom")) for e in container["env"]}


def label(pod, name):
    return pod["metadata"]["labels"].get(f"ray.io/{name}")


def events(api, reason):
    return [e for e in api.items("events") if e["reason"] == reason]


MANIFESTS = sorted((ROOT / "operator/raycluster/testdata/kuberay").glob("*.yaml"))


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("path", MANIFESTS, ids=[p.stem for p in MANIFESTS])
def test_a_manifest_written_for_kuberay_applies_unchanged_and_its_pods_are_taken(api, path):
    cluster = yaml.safe_load(path.read_text())["cluster"]
    name = cluster["metadata"]["name"]
    cluster["metadata"] = {"name": name}
    for worker in cluster["spec"]["workerGroupSpecs"]:
        worker["replicas"] = 1
    # Strict: a member that the CRD does not know is refused, not dropped.
    api.request("POST", api.path("rayclusters") + "?fieldValidation=Strict", cluster)
    workers = sum(w.get("numOfHosts", 1) for w in cluster["spec"]["workerGroupSpecs"])
    RayCluster(api, name).wait_pods(1, workers)
    assert api.get("services", "entrance" if name == "groups" else f"{name}-head-svc")


# --- the autoscaler ---

@pytest.mark.usefixtures("operator")
def test_the_autoscaler_runs_beside_the_head_with_rights_of_its_own(make, api):
    make("demo", group("small"), enableInTreeAutoscaling=True,
         autoscalerOptions={"version": "v2", "idleTimeoutSeconds": 60, "env": [{"name": "MORE", "value": "yes"}],
                            "resources": {"limits": {"memory": "1Gi"}}})
    head = wait_for("the head", lambda: api.items("pods", "ray.io/node-type=head")[0])
    ray, autoscaler, sidecar = head["spec"]["containers"]
    assert (autoscaler["name"], autoscaler["image"], sidecar["name"]) == ("autoscaler", ray["image"], "afterglow")
    assert autoscaler["args"] == [
        "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"]
    assert env(autoscaler)["MORE"] == "yes" and autoscaler["resources"]["limits"] == {"memory": "1Gi"}
    assert env(ray)["RAY_enable_autoscaler_v2"] == "true" and "--no-monitor " in ray["args"][-1]
    assert head["spec"]["restartPolicy"] == "Never" and head["spec"]["serviceAccountName"] == "demo"
    for container in ray, autoscaler:
        assert "/tmp/ray" in {m["mountPath"] for m in container["volumeMounts"]}
    # The role is read before somebody is bound to it, while the head is made.
    binding = wait_for("the role's binding", lambda: api.get("rolebindings", "demo"))
    role = api.get("roles", "demo")
    assert {(r["resources"][0], *r["verbs"]) for r in role["rules"]} == {
        ("pods", "get", "list", "watch", "patch"), ("pods/resize", "patch"), ("rayclusters", "get", "patch")}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "demo", "namespace": api.namespace}]
    assert [owner_of(o) for o in (role, binding, api.get("serviceaccounts", "demo"))] == [OWNER] * 3


def test_with_the_autoscaler_only_named_workers_go_and_no_name_comes_back(make, operator, api, kubelet):
    cluster = make("demo", group("small", 3), enableInTreeAutoscaling=True)
    _, workers = cluster.wait_pods(1, 3)
    kubelet.run_all()
    cluster.scale(small=2)
    settle(operator, api, kubelet)
    assert names(cluster.pods("worker")) == names(workers)
    victim = workers[0]["metadata"]["name"]
    cluster.patch({"workerGroupSpecs": [group("small", 2, scaleStrategy={"workersToDelete": [victim]})]})
    cluster.wait_pods(1, 2)
    # The name stays on the list, as it does until the autoscaler sees that the pod is gone.
    cluster.patch({"workerGroupSpecs": [group("small", 3, scaleStrategy={"workersToDelete": [victim]})]})
    cluster.wait_pods(1, 3)
    settle(operator, api, kubelet)
    assert victim not in names(cluster.pods("worker")) and len(cluster.pods("worker")) == 3
    assert cluster.get()["spec"]["workerGroupSpecs"][0]["replicas"] == 3


def test_a_service_account_of_the_users_is_used_and_not_made(make, operator, api, kubelet):
    cluster = make("demo", group("small"))
    spec = cluster.get()["spec"]["headGroupSpec"]
    spec["template"]["spec"]["serviceAccountName"] = "mine"
    cluster.patch({"headGroupSpec": spec, "enableInTreeAutoscaling": True})
    wait_for("the role's binding", lambda: api.get("rolebindings", "demo")["subjects"][0]["name"] == "mine")
    settle(operator, api, kubelet)
    assert api.items("serviceaccounts") == []


def test_an_account_and_a_role_that_are_there_already_stay_as_they_are_and_nobody_is_bound(make, operator, api, kubelet):
    api.create("serviceaccounts", {"metadata": {"name": "demo"}})
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    api.create("roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "demo"},
                         "rules": rules})
    cluster = make("demo", group("small"), enableInTreeAutoscaling=True)
    cluster.wait_pods(1, 1)
    settle(operator, api, kubelet)
    assert owner_of(api.get("serviceaccounts", "demo")) == [] and owner_of(api.get("roles", "demo")) == []
    assert api.get("roles", "demo")["rules"] == rules
    assert api.items("rolebindings") == []
    wait_for("the Event", lambda: [e for e in api.items("events") if e["reason"] == "FailedToCreateRole"])


# --- fault tolerance of the GCS ---

@pytest.mark.usefixtures("operator")
def test_redis_is_told_to_the_head_and_patience_to_the_workers(make):
    password = {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}}
    cluster = make("demo", group("small"), gcsFaultToleranceOptions={
        "redisAddress": "redis:6379", "redisUsername": {"value": "me"}, "redisPassword": password})
    (head,), (worker,) = cluster.wait_pods(1, 1)
    ray = head["spec"]["containers"][0]
    uid = cluster.get()["metadata"]["uid"]
    assert env(ray)["RAY_REDIS_ADDRESS"] == "redis:6379" and env(ray)["RAY_external_storage_namespace"] == uid
    assert env(ray)["REDIS_USERNAME"] == "me" and env(ray)["REDIS_PASSWORD"] == password["valueFrom"]
    assert "--redis-password=$REDIS_PASSWORD " in ray["args"][-1] and "--redis-username=$REDIS_USERNAME " in ray["args"][-1]
    assert head["metadata"]["annotations"]["ray.io/external-storage-namespace"] == uid
    worker_env = env(worker["spec"]["containers"][0])
    assert worker_env["RAY_gcs_rpc_server_reconnect_timeout_s"] == "600" and "RAY_REDIS_ADDRESS" not in worker_env


FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
IN_REDIS = {"redisAddress": "redis:6379", "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}}}


def gone(api, name):
    return name not in {c["metadata"]["name"] for c in api.items("rayclusters")}


def end_job(api, job, kind, message=""):
    """Plays the Job controller."""
    now = NOW
    conditions = [{"type": t, "status": "True", "reason": "Test", "message": message, "lastTransitionTime": now}
                  for t in ({"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[kind], kind)]
    counts = {"succeeded": 1, "completionTime": now} if kind == "Complete" else {"failed": 1}
    api.patch("jobs", job["metadata"]["name"], {"status": {"startTime": now, "conditions": conditions, **counts}}, "status")


def the_job(api, cluster):
    jobs = api.items("jobs", f"ray.io/cluster={cluster.name},ray.io/node-type=redis-cleanup")
    assert len(jobs) == 1, jobs
    return jobs[0]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_when_a_cluster_goes_a_job_cleans_redis_and_only_then_it_is_gone(make, start, api, kubelet, propagation):
    operator = start()
    cluster = make("demo", group("small"), gcsFaultToleranceOptions=IN_REDIS)
    (head,), _ = cluster.wait_pods(1, 1)
    assert cluster.get()["metadata"]["finalizers"] == [FINALIZER]
    # The head takes its time, and the operator is restarted meanwhile.
    api.patch("pods", head["metadata"]["name"], {"metadata": {"finalizers": ["test/slow"]}})
    api.delete("rayclusters", "demo", propagationPolicy=propagation)
    wait_for("the workers to go", lambda: not cluster.pods("worker") and not cluster.pods("head"), interval=0.05)
    operator.stop(signal.SIGKILL)
    operator = start()
    settle(operator, api, kubelet)
    assert api.items("jobs") == []
    api.patch("pods", head["metadata"]["name"], {"metadata": {"finalizers": None}})
    job = wait_for("the Job", lambda: the_job(api, cluster), interval=0.05)
    ray = job["spec"]["template"]["spec"]["containers"][0]
    assert env(ray)["RAY_external_storage_namespace"] == env(head["spec"]["containers"][0])["RAY_external_storage_namespace"]
    assert env(ray)["REDIS_PASSWORD"] == IN_REDIS["redisPassword"]["valueFrom"]
    assert "ownerReferences" not in job["metadata"]
    operator.stop(signal.SIGKILL)
    operator = start()
    settle(operator, api, kubelet)
    assert not gone(api, "demo") and len(api.items("jobs")) == 1
    end_job(api, job, "Complete")
    if propagation == "Foreground":  # the rest is the garbage collector's
        wait_for("the finalizer to go", lambda: FINALIZER not in cluster.get()["metadata"]["finalizers"], interval=0.05)
        api.patch("rayclusters", "demo", {"metadata": {"finalizers": None}})
    wait_for("the cluster to go", lambda: gone(api, "demo"), interval=0.05)
    settle(operator, api, kubelet)
    assert events(api, "RedisCleanupFailed") == [] and len(api.items("jobs")) == 1


def test_a_job_that_fails_is_said_and_the_cluster_goes_all_the_same(make, operator, api, kubelet):
    cluster = make("demo", gcsFaultToleranceOptions=IN_REDIS)
    cluster.wait_pods(1, 0)
    uid = cluster.get()["metadata"]["uid"]
    api.delete("rayclusters", "demo")
    end_job(api, wait_for("the Job", lambda: the_job(api, cluster), interval=0.05), "Failed", "Job was active longer than the deadline")
    wait_for("the cluster to go", lambda: gone(api, "demo"), interval=0.05)
    settle(operator, api, kubelet)
    (event,) = events(api, "RedisCleanupFailed")
    assert event["type"] == "Warning" and f"RAY{uid}@" in event["note"] and "longer than the deadline" in event["note"]


@pytest.mark.usefixtures("operator")
def test_a_namespace_that_is_deleted_does_not_wait_for_redis(make, api, plane):
    cluster = make("demo", group("small"), gcsFaultToleranceOptions=IN_REDIS)
    cluster.wait_pods(1, 1)
    # Nobody here ends namespaces: from now on this one takes nothing new.
    plane.api().delete("namespaces", api.namespace)
    api.delete("rayclusters", "demo")
    wait_for("the cluster to go", lambda: gone(api, "demo"), interval=0.05)
    assert api.items("jobs") == []


@pytest.mark.usefixtures("operator")
def test_redis_is_left_alone_when_the_cluster_says_so(make, api):
    api.create("rayclusters", {**ray_cluster("demo", gcsFaultToleranceOptions=IN_REDIS), "metadata": {
        "name": "demo", "annotations": {"afterglow.dev/redis-cleanup": "false"}}})
    cluster = RayCluster(api, "demo")
    cluster.wait_pods(1, 0)
    assert "finalizers" not in cluster.get()["metadata"]
    # One that KubeRay took, and left to us, goes as well.
    api.patch("rayclusters", "demo", {"metadata": {"finalizers": [FINALIZER]}})
    api.delete("rayclusters", "demo")
    wait_for("the cluster to go", lambda: gone(api, "demo"), interval=0.05)
    assert api.items("jobs") == []


@pytest.mark.usefixtures("operator")
def test_rocksdb_gets_a_volume_that_goes_with_the_cluster(make, api):
    cluster = make("demo", gcsFaultToleranceOptions={"backend": "rocksdb", "storage": {"size": "2Gi", "subPath": "a"}})
    (head,), _ = cluster.wait_pods(1, 0)
    claim = api.get("persistentvolumeclaims", "demo-gcs-pvc")
    assert owner_of(claim) == OWNER and claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    ray = head["spec"]["containers"][0]
    (mount,) = [m for m in ray["volumeMounts"] if m["name"] == "gcs-storage"]
    # KubeRay's path: a cluster that is taken over finds its tables there.
    assert mount["subPath"] == "a" and env(ray)["RAY_gcs_storage_path"] == mount["mountPath"] == "/data/gcs"
    assert env(ray)["RAY_gcs_storage"] == "rocksdb" and "RAY_REDIS_ADDRESS" not in env(ray)
    (volume,) = [v for v in head["spec"]["volumes"] if v["name"] == "gcs-storage"]
    assert volume["persistentVolumeClaim"]["claimName"] == "demo-gcs-pvc"


@pytest.mark.usefixtures("operator")
def test_the_volume_of_rocksdb_stays_when_that_is_asked_for_later(make, api):
    cluster = make("demo", gcsFaultToleranceOptions={"backend": "rocksdb"})
    claim = wait_for("the claim", lambda: api.get("persistentvolumeclaims", "demo-gcs-pvc"))
    assert owner_of(claim) == OWNER
    cluster.patch({"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"deletionPolicy": "Retain"}}})
    wait_for("no owner", lambda: not owner_of(api.get("persistentvolumeclaims", "demo-gcs-pvc")))
    cluster.patch({"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"deletionPolicy": "DeleteWithCluster"}}})
    wait_for("the owner", lambda: owner_of(api.get("persistentvolumeclaims", "demo-gcs-pvc")) == OWNER)


def test_what_has_the_label_of_a_cluster_and_not_its_owner_is_left_alone(make, operator, api, kubelet):
    """Whoever may write RayClusters chooses their names, and may have no right to objects of others that have such a label."""
    labelled = {"labels": {"ray.io/cluster": "demo"}}
    api.create("services", {"metadata": {"name": "demo-head-svc", **labelled}, "spec": {"ports": [{"port": 80}]}})
    api.create("persistentvolumeclaims", {"metadata": {"name": "demo-gcs-pvc", **labelled}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    api.create("roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "demo", **labelled},
                         "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]})
    kinds = {"services": "demo-head-svc", "persistentvolumeclaims": "demo-gcs-pvc", "roles": "demo"}
    before = {plural: api.get(plural, name) for plural, name in kinds.items()}
    make("demo", group("small"), enableInTreeAutoscaling=True, gcsFaultToleranceOptions={"backend": "rocksdb"}).wait_pods(1, 1)
    for kind in ("Service", "PersistentVolumeClaim", "Role"):
        (event,) = wait_for(f"the Event about the {kind}", lambda: events(api, f"FailedToCreate{kind}"))
        assert "not owned by this RayCluster" in event["note"]
    settle(operator, api, kubelet)
    assert {plural: api.get(plural, name) for plural, name in kinds.items()} == before
    assert api.items("rolebindings") == []


@pytest.mark.usefixtures("operator")
def test_a_cluster_that_is_made_again_at_once_gets_what_its_former_self_loses(make, api):
    """No garbage collector runs here, so the test removes what was the former cluster's."""
    wanted = {"rayVersion": "2.55.0", "authOptions": {"mode": "token"}, "enableInTreeAutoscaling": True}
    make("demo", group("small"), **wanted).wait_pods(1, 1)
    kinds = "serviceaccounts", "roles", "rolebindings", "secrets"
    former = {plural: wait_for(plural, lambda p=plural: api.get(p, "demo"))["metadata"]["uid"] for plural in kinds}
    api.delete("rayclusters", "demo")
    cluster = make("demo", group("small"), **wanted)
    wait_for("heads of both clusters", lambda: len(cluster.pods("head")) == 2)
    for plural in kinds:
        api.delete(plural, "demo")
    for plural in kinds:
        wait_for(f"its own {plural}", lambda: api.get(plural, "demo")["metadata"]["uid"] not in former.values())


@pytest.mark.usefixtures("operator")
def test_a_token_that_a_former_cluster_holds_is_made_when_it_goes_whatever_happens_meanwhile(make, api):
    """Each event of a pod has the cluster looked at early, while the name still counts as taken."""
    wanted = {"rayVersion": "2.55.0", "authOptions": {"mode": "token"}}
    make("demo", group("small"), **wanted).wait_pods(1, 1)
    former = wait_for("the token", lambda: api.get("secrets", "demo"))["metadata"]["uid"]
    api.delete("rayclusters", "demo")
    cluster = make("demo", group("small"), **wanted)
    wait_for("heads of both clusters", lambda: len(cluster.pods("head")) == 2)
    head = max(cluster.pods("head"), key=lambda pod: pod["metadata"]["creationTimestamp"])["metadata"]["name"]
    for i in range(40):
        api.patch("pods", head, {"metadata": {"annotations": {"looked": str(i)}}})
        time.sleep(0.2)
    api.delete("secrets", "demo")
    wait_for("its own token", lambda: api.get("secrets", "demo")["metadata"]["uid"] != former)


@pytest.mark.long
@pytest.mark.usefixtures("operator")
def test_what_finalizers_keep_is_named_once_and_made_anew_within_a_minute_of_their_end(make, api):
    """The Secret may not be read: the API server's refusal says that it is being deleted."""
    head = {**ray_cluster("demo")["spec"]["headGroupSpec"], "enableIngress": True}
    wanted = {"rayVersion": "2.55.0", "authOptions": {"mode": "token"}, "headGroupSpec": head}
    make("demo", group("small"), **wanted).wait_pods(1, 1)
    kinds = {"secrets": "demo", "ingresses": "demo-head-ingress"}
    former = {plural: wait_for(plural, lambda p=plural, n=name: api.get(p, n))["metadata"]["uid"] for plural, name in kinds.items()}
    for plural, name in kinds.items():
        api.patch(plural, name, {"metadata": {"finalizers": ["example.com/never"]}})
    api.delete("rayclusters", "demo")
    cluster = make("demo", group("small"), **wanted)
    for plural, name in kinds.items():
        api.delete(plural, name)
    wait_for("heads of both clusters", lambda: len(cluster.pods("head")) == 2)
    (secret,) = wait_for("the Event about the Secret", lambda: events(api, "FailedToCreateSecret"), timeout=300)
    (ingress,) = wait_for("the Event about the Ingress", lambda: events(api, "FailedToCreateIngress"), timeout=300)
    assert "is being deleted and is kept by its finalizers" in secret["note"]
    assert "demo-head-ingress is being deleted and is kept by its finalizers: example.com/never;" in ingress["note"]
    for plural, name in kinds.items():
        api.patch(plural, name, {"metadata": {"finalizers": None}})
    for plural, name in kinds.items():
        wait_for(f"its own {plural}", lambda p=plural, n=name: api.get(p, n)["metadata"]["uid"] not in former.values(), timeout=150)


# --- tokens, ingress, services ---

def test_the_token_is_made_once_and_survives_a_restart(make, operator, start, api, kubelet):
    cluster = make("demo", group("small"), rayVersion="2.55.0", authOptions={"mode": "token"})
    pods = [p for found in cluster.wait_pods(1, 1) for p in found]
    secret = api.get("secrets", "demo")
    assert owner_of(secret) == OWNER and len(base64.b64decode(base64.b64decode(secret["data"]["auth_token"]))) == 32
    for pod in pods:
        variables = env(pod["spec"]["containers"][0])
        assert variables["RAY_AUTH_MODE"] == "token"
        assert variables["RAY_AUTH_TOKEN"] == {"secretKeyRef": {"name": "demo", "key": "auth_token"}}
    token = base64.b64decode(secret["data"]["auth_token"]).decode()
    assert token not in operator.text()
    operator.stop()
    settle(start(), api, kubelet)
    assert api.get("secrets", "demo")["data"] == secret["data"]


@pytest.mark.usefixtures("operator")
def test_an_ingress_leads_to_the_dashboard(make, api):
    cluster = make("demo")
    spec = cluster.get()["spec"]["headGroupSpec"]
    api.patch("rayclusters", "demo", {
        "metadata": {"annotations": {"kubernetes.io/ingress.class": "nginx", "nginx.ingress.kubernetes.io/x": "y"}},
        "spec": {"headGroupSpec": {**spec, "enableIngress": True, "ingressOptions": {"host": "ray.example.com"}}}})
    ingress = wait_for("the ingress", lambda: api.get("ingresses", "demo-head-ingress"))
    assert owner_of(ingress) == OWNER and ingress["spec"]["ingressClassName"] == "nginx"
    assert ingress["metadata"]["annotations"] == {"nginx.ingress.kubernetes.io/x": "y"}
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == "ray.example.com"
    assert rule["http"]["paths"] == [{"path": "/", "pathType": "Prefix", "backend": {
        "service": {"name": "demo-head-svc", "port": {"number": 8265}}}}]


def test_somebody_elses_ingress_of_that_name_is_left_alone(make, operator, api, kubelet):
    backend = {"service": {"name": "shop", "port": {"number": 80}}}
    rules = [{"http": {"paths": [{"path": "/shop", "pathType": "Prefix", "backend": backend}]}}]
    api.create("ingresses", {"metadata": {"name": "demo-head-ingress"}, "spec": {"rules": rules}})
    before = api.get("ingresses", "demo-head-ingress")
    cluster = make("demo")
    cluster.patch({"headGroupSpec": {**cluster.get()["spec"]["headGroupSpec"], "enableIngress": True}})
    (event,) = wait_for("the Event", lambda: events(api, "FailedToCreateIngress"))
    assert "not owned by this RayCluster" in event["note"]
    settle(operator, api, kubelet)
    assert api.get("ingresses", "demo-head-ingress") == before


def test_the_service_finds_the_head_whatever_its_labels_are(make, operator, api, kubelet):
    cluster = make("demo")
    (head,), _ = cluster.wait_pods(1, 0)
    spec = cluster.get()["spec"]["headGroupSpec"]
    spec["template"]["metadata"] = {"labels": {"app.kubernetes.io/name": "trainer", "ray.io/cluster": "other"}}
    cluster.patch({"headGroupSpec": spec})
    settle(operator, api, kubelet)
    assert api.get("services", "demo-head-svc")["spec"]["selector"].items() <= head["metadata"]["labels"].items()
    api.delete("pods", head["metadata"]["name"])
    (other,) = wait_for("another head", lambda: [p for p in cluster.pods("head")
                                                 if p["metadata"]["uid"] != head["metadata"]["uid"]])
    assert other["metadata"]["labels"]["app.kubernetes.io/name"] == "trainer" and label(other, "cluster") == "demo"
    wait_for("the selector", lambda: api.get("services", "demo-head-svc")["spec"]["selector"].items() <=
             other["metadata"]["labels"].items())


# --- several hosts to a replica ---

def replicas(pods):
    found = {}
    for pod in pods:
        found.setdefault(label(pod, "worker-group-replica-name"), set()).add(
            (label(pod, "worker-group-replica-index"), label(pod, "replica-host-index")))
    return found


def test_hosts_of_a_replica_live_and_die_together(make, operator, api, kubelet):
    cluster = make("demo", group("slice", 2, numOfHosts=3))
    _, workers = cluster.wait_pods(1, 6)
    kubelet.run_all()
    cluster.wait_status(state="ready", desiredWorkerReplicas=6, readyWorkerReplicas=6)
    before = replicas(workers)
    assert sorted(map(sorted, before.values())) == [[(r, h) for h in "012"] for r in "01"]
    assert api.get("services", "demo-headless")["spec"]["selector"] == {"ray.io/cluster": "demo", "ray.io/node-type": "worker"}
    victim = workers[0]
    api.delete("pods", victim["metadata"]["name"])
    lost = {p["metadata"]["uid"] for p in workers
            if label(p, "worker-group-replica-name") == label(victim, "worker-group-replica-name")}
    wait_for("new hosts in place of all three", lambda: len(cluster.pods("worker")) == 6 and
             not lost & {p["metadata"]["uid"] for p in cluster.pods("worker")})
    settle(operator, api, kubelet)
    kept = {p["metadata"]["uid"] for p in workers} - lost
    assert kept < {p["metadata"]["uid"] for p in cluster.pods("worker")}
    assert sorted(map(len, replicas(cluster.pods("worker")).values())) == [3, 3]
    kubelet.run_all()
    cluster.scale(slice=1)
    cluster.wait_pods(1, 3)
    assert len(replicas(cluster.pods("worker"))) == 1


def test_a_dead_host_takes_its_replica_with_it_once_its_failure_is_recorded(make, operator, api, kubelet):
    cluster = make("demo", group("slice", 1, numOfHosts=2))
    _, workers = cluster.wait_pods(1, 2)
    kubelet.run_all()
    kubelet.end(workers[0], 137, reason="OOMKilled")
    old = {p["metadata"]["uid"] for p in workers}
    wait_for("a new replica", lambda: len(cluster.pods("worker")) == 2 and
             not old & {p["metadata"]["uid"] for p in cluster.pods("worker")})
    settle(operator, api, kubelet)
    assert workers[0]["metadata"]["name"] in {f["spec"]["pod"] for f in cluster.failures()}


# --- upgrades ---

def test_recreate_replaces_all_pods_when_the_spec_wants_others_and_only_then(make, operator, api, kubelet):
    cluster = make("demo", group("small", 2), upgradeStrategy={"type": "Recreate"})
    before = {p["metadata"]["uid"] for found in cluster.wait_pods(1, 2) for p in found}
    kubelet.run_all()
    cluster.scale(small=3)
    cluster.wait_pods(1, 3)
    settle(operator, api, kubelet)
    assert before < {p["metadata"]["uid"] for p in cluster.pods()}
    # As KubeRay leaves a cluster: its hash, on the head. Ours adopts the pods.
    for pod in cluster.pods():
        api.patch("pods", pod["metadata"]["name"], {"metadata": {"annotations": {
            "afterglow.dev/recreate-hash": None, "ray.io/kuberay-version": "v1.7.0",
            "ray.io/upgrade-strategy-recreate-hash": "0" * 40}}})
    wait_for("adoption", lambda: all("afterglow.dev/recreate-hash" in p["metadata"]["annotations"] for p in cluster.pods()))
    settle(operator, api, kubelet)
    assert before < {p["metadata"]["uid"] for p in cluster.pods()}
    newer = group("small", 3)
    newer["template"]["spec"]["containers"][0]["image"] = "ray:newer"
    before = {p["metadata"]["uid"] for p in cluster.pods()}
    cluster.patch({"workerGroupSpecs": [newer]})
    wait_for("other pods", lambda: len(cluster.pods()) == 4 and not before & {p["metadata"]["uid"] for p in cluster.pods()})
    assert {p["spec"]["containers"][0]["image"] for p in cluster.pods("worker")} == {"ray:newer"}


def test_without_recreate_pods_stay_as_they_were_made(make, operator, api, kubelet):
    cluster = make("demo", group("small", 1))
    before = {p["metadata"]["uid"] for found in cluster.wait_pods(1, 1) for p in found}
    newer = group("small", 1)
    newer["template"]["spec"]["containers"][0]["image"] = "ray:newer"
    cluster.patch({"workerGroupSpecs": [newer]})
    settle(operator, api, kubelet)
    assert {p["metadata"]["uid"] for p in cluster.pods()} == before


# --- trouble ---

def test_a_head_that_dies_again_and_again_is_made_anew_more_slowly_and_it_is_said(make, operator, api, kubelet):
    cluster = make("demo")
    seen = set()
    for death in range(3):
        # The dead one goes a moment after its record is written.
        wait_for("another head", lambda: {p["metadata"]["name"] for p in cluster.pods("head")} - seen)
        (head,), _ = cluster.wait_pods(1, 0)
        assert head["metadata"]["name"] not in seen
        seen.add(head["metadata"]["name"])
        kubelet.end(head, 1)
        cluster.wait_failures(death + 1)
    condition = cluster.wait_condition("afterglow.dev/HeadStable", "False", "HeadCrashLoop")
    assert "the head died 3 times within an hour" in condition["message"]
    wait_for("the event", lambda: events(api, "HeadCrashLoop"))
    settle(operator, api, kubelet)
    assert cluster.pods("head") == [] and "the next is made 10" in condition["message"]
    cluster.wait_pods(1, 0)


def record_end(api, pod, number, lives):
    """Writes a RayFailure as the operator does: of the Ray container, or of a process in it."""
    facts = "runsRay: yes\n" + ("containerLives: yes\n" if lives else "")
    labels = {"ray.io/cluster": "demo", "ray.io/group": "headgroup", "ray.io/node-type": "head", "afterglow.dev/class": "Segfault"}
    api.create("rayfailures", {
        "apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure",
        "metadata": {"name": f"{pod['metadata']['name']}-ray-head-{number:010}", "labels": labels,
                     "annotations": {"afterglow.dev/facts": facts, "afterglow.dev/ended-at": NOW}},
        "spec": {"cluster": "demo", "pod": pod["metadata"]["name"], "container": "ray-head", "class": "Segfault",
                 "confidence": "certain", "verdict": "It ended.", **({"containerLives": True} if lives else {})}})


def test_processes_that_end_in_a_container_that_lives_are_no_crash_loop_whatever_their_class(make, operator, api, kubelet):
    cluster = make("demo")
    (head,), _ = cluster.wait_pods(1, 0)
    for number in range(3):
        record_end(api, head, number, lives=True)
    settle(operator, api, kubelet)
    assert cluster.condition("afterglow.dev/HeadStable")["status"] != "False"
    for number in range(3, 6):
        record_end(api, head, number, lives=False)
    cluster.wait_condition("afterglow.dev/HeadStable", "False", "HeadCrashLoop")


def never(name, replicas=1):
    """Returns a group with pods that only the operator restarts."""
    made = group(name, replicas)
    made["template"]["spec"]["restartPolicy"] = "Never"
    return made


def workers_of(cluster, name):
    return [p for p in cluster.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == name]


def end_in_a_row(cluster, kubelet, name, times):
    """
    Lets so many of its pods die, each when the one before is replaced. They die a second apart, which is as fine as the API
    server's times.
    """
    seen = set()
    for _ in range(times):
        def another():
            return next((p for p in workers_of(cluster, name) if p["metadata"]["name"] not in seen), None)
        pod = wait_for("another worker", another, interval=0.05)
        seen.add(pod["metadata"]["name"])
        time.sleep(1.1)
        kubelet.end(pod, 137, reason="OOMKilled")
        cluster.wait_failures(len(seen))


def test_a_group_that_dies_in_a_row_waits_alone_it_is_said_and_a_restart_forgets_nothing(make, start, api, kubelet):
    operator = start()
    cluster = make("demo", never("sick"), never("well"))
    other = make("other", never("sick"))
    cluster.wait_pods(1, 2)
    end_in_a_row(cluster, kubelet, "sick", 3)
    condition = cluster.wait_condition("afterglow.dev/WorkersStable", "False", "WorkerCrashLoop")
    assert "group sick: 3 pods in a row died young" in condition["message"]
    assert any(f"RayFailure {f['metadata']['name']})" in condition["message"] for f in cluster.failures())
    assert "KernelOOMContainer" in condition["message"]
    wait_for("the event", lambda: events(api, "WorkerCrashLoop"))
    operator.stop(signal.SIGKILL)
    operator = start()
    # Neither another group nor another cluster waits.
    cluster.scale(well=3)
    other.scale(sick=3)
    wait_for("the other group", lambda: len(workers_of(cluster, "well")) == 3, interval=0.05)
    other.wait_pods(1, 3)
    (following,) = wait_for("the next", lambda: workers_of(cluster, "sick"))
    # Its time has whole seconds.
    earliest = condition["message"].split("no other is made before ")[1]
    assert following["metadata"]["creationTimestamp"].rstrip("Z") >= earliest.split(".")[0]
    settle(operator, api, kubelet)
    assert len(events(api, "WorkerCrashLoop")) == 1


def test_many_that_die_together_and_those_that_are_deleted_are_replaced_at_once(make, operator, api, kubelet):
    cluster = make("demo", never("many", 8))
    _, workers = cluster.wait_pods(1, 8)
    for worker in workers:
        kubelet.end(worker, 137, reason="OOMKilled")
    cluster.wait_failures(8)
    wait_for("eight others", lambda: len({p["metadata"]["uid"] for p in workers_of(cluster, "many")} -
                                         {p["metadata"]["uid"] for p in workers}) == 8, interval=0.05)
    for replicas in (0, 8, 0, 8, 0, 8):
        cluster.scale(many=replicas)
        cluster.wait_pods(1, replicas)
    for _ in range(3):
        doomed = workers_of(cluster, "many")[0]
        kubelet.evicted(doomed, 137)
        wait_for("another", lambda doomed=doomed: doomed["metadata"]["uid"] not in
                 {p["metadata"]["uid"] for p in cluster.pods("worker")} and len(cluster.pods("worker")) == 8, interval=0.05)
    settle(operator, api, kubelet)
    assert cluster.condition("afterglow.dev/WorkersStable")["status"] == "True"


@pytest.mark.usefixtures("operator")
def test_an_evicted_head_is_replaced_at_once(make, kubelet):
    cluster = make("demo")
    for _ in range(4):
        (head,), _ = cluster.wait_pods(1, 0)
        kubelet.api.patch("pods", head["metadata"]["name"], {"status": {
            "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}}, "status")
        uid = head["metadata"]["uid"]
        wait_for("it to go", lambda uid=uid: uid not in {p["metadata"]["uid"] for p in cluster.pods("head")})
    cluster.wait_pods(1, 0)
    cluster.wait_condition("afterglow.dev/HeadStable", "True")


def bind(api, pod, node):
    api.create("pods", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"]},
                        "target": {"apiVersion": "v1", "kind": "Node", "name": node}}, pod["metadata"]["name"], "binding")


@pytest.mark.usefixtures("operator")
def test_workers_of_a_lost_node_are_replaced_while_they_are_still_terminating(make, api, kubelet):
    cluster = make("demo", group("small", 2))
    _, workers = cluster.wait_pods(1, 2)
    for worker in workers:
        bind(api, worker, "lost")
    kubelet.run_all()
    for worker in workers:
        api.delete("pods", worker["metadata"]["name"])
    _, others = cluster.wait_pods(1, 2)
    assert not names(others) & names(workers)
    assert len(cluster.pods("worker", include_leaving=True)) == 4
    for worker in workers:
        api.delete("pods", worker["metadata"]["name"], gracePeriodSeconds=0)


@pytest.mark.usefixtures("operator")
def test_an_evicted_worker_is_replaced(make, api):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    api.patch("pods", worker["metadata"]["name"], {"status": {
        "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}}, "status")
    wait_for("another worker", lambda: [p for p in cluster.pods("worker")
                                        if p["metadata"]["uid"] != worker["metadata"]["uid"]])


@pytest.mark.usefixtures("operator")
def test_pods_that_the_server_refuses_are_a_condition_until_they_are_not(make, api):
    bad = group("small")
    bad["template"]["spec"]["containers"][0]["image"] = " blank "
    cluster = make("demo", bad)
    condition = cluster.wait_condition("ReplicaFailure", "True", "FailedCreateWorkerPod")
    assert "must not have leading or trailing whitespace" in condition["message"]
    wait_for("the event", lambda: events(api, "FailedToCreateWorkerPod"))
    assert len(cluster.pods("head")) == 1
    cluster.patch({"workerGroupSpecs": [group("small")]})
    cluster.wait_pods(1, 1)
    wait_for("the condition to go", lambda: cluster.condition("ReplicaFailure") is None)


@pytest.mark.parametrize("spec, words", [
    ({"networkPolicy": {}}, "network policies"),
    ({"tlsOptions": {"enabled": True}}, "TLS between the nodes"),
    ({"historyServerOptions": {}}, "the history server"),
    ({"managedBy": "kueue.x-k8s.io/multikueue"}, "Afterglow only runs clusters without managedBy"),
])
def test_what_is_not_done_is_refused_by_condition_and_event(make, operator, api, kubelet, spec, words):
    cluster = make("demo", group("small"), **spec)
    condition = cluster.wait_condition("afterglow.dev/SpecValid", "False", "InvalidRayClusterSpec")
    assert words in condition["message"]
    settle(operator, api, kubelet)
    assert [e["note"] for e in events(api, "InvalidRayClusterSpec") if e["regarding"]["name"] == "demo"] == [condition["message"]]
    assert cluster.pods() == []


@pytest.mark.usefixtures("operator")
def test_a_group_that_is_refused_does_not_hold_up_the_groups_after_it(make):
    bad = group("bad", 3)
    bad["template"]["spec"]["containers"][0]["image"] = " blank "
    cluster = make("demo", bad, group("good", 3))
    _, workers = cluster.wait_pods(1, 3)
    assert {label(w, "group") for w in workers} == {"good"}


def test_a_big_cluster_that_is_refused_delays_none_of_twenty_small_ones(make, operator):
    bad = group("bad", 500, maxReplicas=500)
    bad["template"]["spec"]["containers"][0]["image"] = " blank "
    big = make("big", bad)
    big.wait_condition("ReplicaFailure", "True")
    small = [make(f"small-{i}", group("small", 1)) for i in range(20)]
    for cluster in small:
        cluster.wait_pods(1, 1)
    big.wait_pods(1, 0)
    # It tries again ever more rarely: what the small ones needed was not spent on it.
    assert operator.metric("afterglow_operations_total", kind="Pod", result="error") < 60


def test_five_hundred_workers_are_made_while_others_come_up(make, operator, api, plane):
    del operator
    big = make("big", group("many", 500, maxReplicas=500))
    for i in range(5):
        make(f"small-{i}", group("small", 1)).wait_pods(1, 1)
    wait_for("the last of them", lambda: len(big.pods("worker")) == 500, timeout=180)
    # Who comes later has a share of the places at once, and not what the big one leaves.
    order = [e["objectRef"]["name"] for e in plane.writes(api.namespace, "pods", "create")]
    mine = [i for i, name in enumerate(order) if name.startswith("small-0-")]
    assert mine[-1] - mine[0] < 100
