# SPDX-License-Identifier: Apache-2.0
"""RayPolicies and ClusterRayPolicies: which of them the API server accepts, and what they change in new pods."""

import re
import textwrap
import time
import uuid

import pytest
import yaml

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import ROOT, group
from apiserver.test_retention import ago, names, put

ANNOTATION = "afterglow.dev/policy"


def policy(name, **spec):
    return {"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayPolicy", "metadata": {"name": name}, "spec": spec}


# --- The CRDs --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("spec", [
    {"memory": {}}, {"recording": {}}, {"store": {}}, {"retention": {}},
    {"memory": {"headNumCPUs": None, "workerMemoryLimit": 8589934592, "usageThreshold": None, "headroom": "500Mi"}},
    {"memory": {"headNumCPUs": 2, "headroom": "90%", "objectStoreFraction": 0, "monitorRefreshMs": 0, "mode": "Off"}},
    {"memory": {"budgets": "Apply", "workerMemoryLimit": "8Gi"}},
    {"recording": {"resources": {"requests": {"cpu": "10m"}, "limits": {"cpu": 1, "memory": "256Mi"}}, "coreDumps": "Off", "coreDumpLimit": "4Gi",
                   "hooks": {"atDeath": ["ray memory"]}, "kernelLog": {"enabled": True}}},
    {"store": {"claim": "failures", "keep": {"days": 30, "bundles": 10, "max": "10Gi"}, "spoolMax": "1Gi"}},
    {"store": {"type": "s3", "s3": {"bucket": "failures", "prefix": "ray", "endpoint": "https://minio:9000", "pathStyle": True},
               "coresPrefix": "_cores/of-ray", "credentialsSecret": "keys", "caSecret": "ca"}},
    {"store": {"type": "azure", "azure": {"account": "failures1", "container": "ray-1", "prefix": "x", "endpoint": "https://f.example/"},
               "credentialsSecret": "keys", "caSecret": "ca", "coresPrefix": "_cores"}},
    {"store": {"type": "s3", "s3": {"bucket": "failures", "webIdentity": {"roleARN": "arn:aws:iam::1:role/r", "expirySeconds": 600}}}},
    {"store": {"type": "s3", "s3": {"bucket": "failures", "serverSideEncryption": {"type": "aws:kms", "kmsKeyID": "alias/a", "bucketKey": True}},
               "proxy": {"url": "http://proxy.example:3128", "noProxy": ".svc,10.0.0.0/8"}}},
    {"store": {"type": "webhdfs", "webhdfs": {"url": "webhdfs://nn:9870/failures", "user": "ray"}, "coresPrefix": "_"}},
    {"selector": {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}, "memory": {}},
    {"selector": {}, "retention": {"maxAge": "7d", "maxPerNamespace": 10}},
])
def test_what_makes_sense_is_taken(api, spec):
    api.create("raypolicies", policy("p", **spec))


def examples():
    """Returns the manifests in docs/policies.md."""
    blocks = re.findall(r"(?:^    .*\n)+", (ROOT / "docs/policies.md").read_text(), re.M)
    return [yaml.safe_load(textwrap.dedent(block)) for block in blocks if "apiVersion:" in block]


@pytest.mark.parametrize("manifest", examples(), ids=lambda m: m["metadata"]["name"])
def test_the_examples_of_the_documents_are_taken(api, manifest):
    manifest["metadata"] = {"generateName": "example-"}
    made = api.request("POST", api.path(f"{manifest['kind'].lower()[:-1]}ies") + "?dryRun=All&fieldValidation=Strict", manifest)
    assert made["kind"] == manifest["kind"]


NONSENSE = [
    ({}, "at least one of memory, recording, store and retention must be given"),
    ({"memory": {"mode": "apply"}}, 'spec.memory.mode: Unsupported value: "apply": supported values: "Apply", "Warn", "Off"'),
    ({"memory": {"budgets": "apply"}}, 'spec.memory.budgets: Unsupported value: "apply": supported values: "Apply", "Warn", "Off"'),
    ({"memory": {"headNumCPUs": "1.5"}}, 'must be a whole number such as "0", or null for all of them'),
    ({"memory": {"headNumCPUs": -1}}, 'must be a whole number such as "0"'),
    ({"memory": {"workerMemoryLimit": "8 GB"}}, 'must be a quantity such as "8Gi"'),
    ({"memory": {"rayMemoryFraction": 1.5}}, "spec.memory.rayMemoryFraction in body should be less than or equal to 1"),
    ({"memory": {"headroom": "95%"}}, 'must be a quantity such as "500Mi" or a part such as "10%", at most 90%'),
    ({"memory": {"headroom": "60%", "objectStoreFraction": 0.5}}, "objectStoreFraction and headroom together must be at most 95 %"),
    ({"memory": {"monitorRefreshMs": -1}}, "spec.memory.monitorRefreshMs in body should be greater than or equal to 0"),
    ({"recording": {"warnAt": 0.01}}, "spec.recording.warnAt in body should be greater than or equal to 0.05"),
    ({"recording": {"kernelLog": True}}, "spec.recording.kernelLog"),
    ({"recording": {"holdOnFailure": 90000}}, "spec.recording.holdOnFailure in body should be less than or equal to 86400"),
    ({"recording": {"hooks": {"atDeath": ["a"] * 9}}}, "spec.recording.hooks.atDeath"),
    ({"recording": {"resources": {"limits": {"nvidia.com/gpu": 1}}}}, "must be quantities of cpu, memory and ephemeral-storage"),
    ({"recording": {"resources": {"limits": {"memory": "lots"}}}}, "must be quantities of cpu, memory and ephemeral-storage"),
    ({"store": {"type": "nfs"}}, 'spec.store.type: Unsupported value: "nfs": supported values: "claim", "s3", "azure", "webhdfs"'),
    ({"store": {"type": "s3"}}, "s3.bucket must be given, as type is s3"),
    ({"store": {"type": "azure"}}, "azure.account and azure.container must be given, as type is azure"),
    ({"store": {"azure": {"account": "failures", "container": "ray"}}}, "azure is given, so type must be azure"),
    ({"store": {"type": "azure", "azure": {"account": "fail-ures", "container": "ray"}}}, "must be the name of a storage account"),
    ({"store": {"type": "azure", "azure": {"account": "failures", "container": "a--b"}}}, "must be the name of a container"),
    ({"store": {"type": "webhdfs"}}, "webhdfs.url must be given, as type is webhdfs"),
    ({"store": {"s3": {"bucket": "failures"}}}, "s3 is given, so type must be s3"),
    ({"store": {"claim": "$(HOME)"}}, "must be the name of a PersistentVolumeClaim"),
    ({"store": {"credentialsSecret": "keys"}}, "credentialsSecret or caSecret is given, so type must be s3, azure or webhdfs"),
    ({"store": {"claim": "failures", "coresPrefix": "_cores"}}, "coresPrefix is given, so type must be s3, azure or webhdfs; on a claim, keep removes cores first"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures"}, "coresPrefix": "cores"}}, "must be a path that begins with an underscore"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures"}, "coresPrefix": "_cores/../ml"}}, "must be a path that begins with an underscore"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures"}, "keep": {"days": 1}}}, "claim or keep is given, so type must be claim"),
    ({"store": {"type": "s3", "s3": {"bucket": "UPPER"}}}, "must be the name of a bucket"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures", "endpoint": "minio:9000"}}}, "must be an address such as"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures", "webIdentity": {"roleARN": "failures"}}}}, "must be a role such as"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures", "serverSideEncryption": {"type": "AES256", "bucketKey": True}}}}, "so type must be aws:kms"),
    ({"store": {"proxy": {"url": "http://proxy.example:3128"}}}, "proxy is given, so type must be s3, azure or webhdfs"),
    ({"store": {"type": "s3", "credentialsSecret": "keys", "s3": {"bucket": "failures", "webIdentity": {"roleARN": "arn:aws:iam::1:role/r"}}}},
     "one of them must let the sidecar in"),
    ({"store": {"type": "webhdfs", "webhdfs": {"url": "http://nn:9870/"}}}, "must be webhdfs://HOST:PORT/PATH or webhdfss://HOST:PORT/PATH"),
    ({"retention": {"maxAge": "1w"}}, 'must be a time such as "720h" or "30d", or "0" for ever'),
    ({"retention": {"maxPerNamespace": -1}}, "spec.retention.maxPerNamespace in body should be greater than or equal to 0"),
    ({"retention": {}, "selector": {"matchLabels": {"a": "b"}}}, "retention is for whole namespaces, so spec.selector must be empty"),
    ({"memory": {}, "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "values must be a list of 1 to 64 values"),
    ({"memory": {}, "selector": {"matchExpressions": [{"key": "a", "operator": "in"}]}}, 'supported values: "In", "NotIn", "Exists", "DoesNotExist"'),
]


@pytest.mark.parametrize("spec, complaint", NONSENSE)
def test_nonsense_is_refused_with_what_would_be_right(api, spec, complaint):
    with pytest.raises(ApiError) as refusal:
        api.create("raypolicies", policy("p", **spec))
    assert refusal.value.status == 422 and complaint in str(refusal.value).replace('\\"', '"'), refusal.value


@pytest.mark.parametrize("spec, complaint", [
    ({"locked": ["stores"]}, 'supported values: "memory", "recording", "store", "retention"'),
    ({"locked": ["store", "store"]}, "Duplicate value"),
    ({"locked": []}, "at least one of memory, recording, store, retention and locked must be given"),
    ({"locked": ["retention"], "selector": {"matchLabels": {"a": "b"}}}, "retention is for whole namespaces"),
    ({"memory": {}, "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}, "values must be"),
])
def test_nonsense_for_all_namespaces_is_refused(api, spec, complaint):
    with pytest.raises(ApiError) as refusal:
        api.create("clusterraypolicies", {**policy(f"p-{uuid.uuid4().hex[:5]}", **spec), "kind": "ClusterRayPolicy"})
    assert refusal.value.status == 422 and complaint in str(refusal.value).replace('\\"', '"'), refusal.value


def test_kubectl_prints_what_matters(api, plane):
    api.create("raypolicies", policy("p", memory={}))
    lines = plane.kubectl("get", "rp", "--namespace", api.namespace).splitlines()
    assert lines[0].split() == ["NAME", "GOVERNS", "ACCEPTED", "CONFLICTED", "AGE"] and lines[1].startswith("p ")
    assert "raypolicy.afterglow.dev/p" in plane.kubectl("get", "ray", "--namespace", api.namespace, "-o", "name")
    assert plane.kubectl("get", "crp", "-o", "name") is not None


# --- What they do ----------------------------------------------------------------------------------------------

@pytest.fixture(name="everywhere")
def cluster_policies(api):
    """Makes ClusterRayPolicies for the test's namespace alone, which are gone afterwards."""
    made = []

    def create(name, **spec):
        name = f"{name}-{api.namespace}"
        selector = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
        api.create("clusterraypolicies", {**policy(name, namespaceSelector=selector, **spec), "kind": "ClusterRayPolicy"})
        made.append(name)
        return name
    yield create
    for name in made:
        api.delete("clusterraypolicies", name)


def condition(api, plural, name, kind):
    conditions = api.get(plural, name).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == kind), {})


def wait_status(api, plural, name, kind, status, reason=None):
    def find():
        found = condition(api, plural, name, kind)
        assert found.get("status") == status and reason in (None, found["reason"]), found
        assert found["observedGeneration"] == api.get(plural, name)["metadata"]["generation"]
        return found
    return wait_for(f"{kind}={status} of {name}", find, interval=0.05)


def sidecar(pod):
    return next((c for c in pod["spec"]["containers"] if c["name"] == "afterglow"), None)


def origin(pod):
    return pod["metadata"].get("annotations", {}).get(ANNOTATION)


def new_worker(cluster, known):
    """Returns the pod that is not among the known pods."""
    names_known = {p["metadata"]["name"] for p in known}
    return wait_for("another worker", lambda: [p for p in cluster.pods("worker") if p["metadata"]["name"] not in names_known])[0]


def test_a_policy_is_for_new_pods_and_its_end_gives_back_the_base(api, operator, make, kubelet, plane):
    cluster = make("demo", group("small", 1))
    (head,), (first,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    assert origin(first) is None and "--hold-on-failure" not in str(sidecar(first)["args"])
    api.create("raypolicies", policy("team-a", recording={"holdOnFailure": 77, "stacksAtStop": True}, memory={"usageThreshold": 0.9}))
    wait_status(api, "raypolicies", "team-a", "Accepted", "True")
    cluster.scale(small=2)
    second = new_worker(cluster, [first])
    assert origin(second) == "RayPolicy/team-a generation 1 (memory, recording)"
    assert "77" in sidecar(second)["args"]
    args = sidecar(second)["args"]
    assert args[args.index("--stacks-at-probe") + 1] == "52365/api/local_raylet_healthz"
    assert {"name": "RAY_memory_usage_threshold", "value": "0.9"} in second["spec"]["containers"][0]["env"]
    api.delete("raypolicies", "team-a")
    cluster.scale(small=3)
    third = new_worker(cluster, [first, second])
    assert origin(third) is None and sidecar(third)["args"] == sidecar(first)["args"]
    # What ran, runs.
    assert {p["metadata"]["name"] for p in (head, first, second, third)} == {p["metadata"]["name"] for p in cluster.pods()}
    assert plane.writes(api.namespace, "pods", "delete") == []
    assert operator.running()


def test_a_policy_selects_clusters_and_may_do_without_the_sidecar(api, start, make):
    api.create("raypolicies", policy("quiet", selector={"matchLabels": {"team": "b"}}, recording={"enabled": False}))
    start()
    demo = make("demo", group("small", 1))
    other = {**demo.get(), "metadata": {"name": "other", "labels": {"team": "b"}}}
    other.pop("status", None)
    api.create("rayclusters", other)
    demo.wait_pods(1, 1)
    assert all(sidecar(p) and origin(p) is None for p in demo.pods())
    pods = wait_for("the other's pods", lambda: len(p := api.items("pods", "ray.io/cluster=other")) == 2 and p)
    assert all(sidecar(p) is None and origin(p) == "RayPolicy/quiet generation 1 (recording)" for p in pods)

    def counted():
        status = api.get("raypolicies", "quiet").get("status", {})
        return (status.get("clusters"), status.get("pods")) == (1, 2)
    wait_for("the numbers", counted, timeout=60)


def test_the_claim_of_the_store_is_each_policys(api, start, make):
    start("--store-claim", "base")
    for name in ("base", "mine"):
        api.create("persistentvolumeclaims", {"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}})
    api.patch("persistentvolumeclaims", "mine", {"status": {"phase": "Bound"}}, "status")
    api.create("raypolicies", policy("mine", selector={"matchLabels": {"team": "b"}}, store={"claim": "mine"}))
    wait_status(api, "raypolicies", "mine", "Accepted", "True")
    demo = make("demo")
    other = {**demo.get(), "metadata": {"name": "other", "labels": {"team": "b"}}}
    other.pop("status", None)
    api.create("rayclusters", other)
    wait_for("the pods", lambda: len(api.items("pods")) == 2)

    def claims(cluster):
        (pod,) = api.items("pods", f"ray.io/cluster={cluster}")
        return [v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v]
    assert claims("other") == ["mine"] and "mine" not in claims("demo")


def test_of_two_policies_the_older_holds_and_the_loser_says_so(api, operator, make):
    api.create("raypolicies", policy("a-older", recording={"holdOnFailure": 11}))
    wait_status(api, "raypolicies", "a-older", "Conflicted", "False", "NoConflict")
    api.create("raypolicies", policy("b-younger", recording={"holdOnFailure": 22}, memory={"usageThreshold": 0.9}))
    lost = wait_status(api, "raypolicies", "b-younger", "Conflicted", "True", "Overlap")
    assert lost["message"] == "RayPolicy/a-older is older and decides recording"
    wait_status(api, "raypolicies", "a-older", "Conflicted", "False")
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    assert origin(worker) == "RayPolicy/b-younger generation 1 (memory); RayPolicy/a-older generation 1 (recording)"
    assert "11" in sidecar(worker)["args"]
    api.delete("raypolicies", "a-older")
    wait_status(api, "raypolicies", "b-younger", "Conflicted", "False")
    assert operator.running()


def test_what_is_locked_for_all_no_tenant_changes(api, operator, everywhere, make):
    platform = everywhere("platform", recording={"holdOnFailure": 33}, locked=["recording"])
    wait_status(api, "clusterraypolicies", platform, "Accepted", "True")
    api.create("raypolicies", policy("mine", recording={"holdOnFailure": 44}, memory={"usageThreshold": 0.9}))
    lost = wait_status(api, "raypolicies", "mine", "Conflicted", "True", "Locked")
    assert lost["message"] == f"ClusterRayPolicy/{platform} locks recording"
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    assert origin(worker) == f"RayPolicy/mine generation 1 (memory); ClusterRayPolicy/{platform} generation 1 (recording, locked)"
    assert "33" in sidecar(worker)["args"]
    wait_for("the numbers", lambda: api.get("clusterraypolicies", platform)["status"]["clusters"] == 1, timeout=60)
    assert operator.running()


def test_an_invalid_policy_says_so_and_the_others_hold(api, operator, make, plane):
    # What a CRD of another version let through: this one's checks are none of that.
    invalid = policy("a-invalid", recording={"holdOnFailure": 1, "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})
    api.create("raypolicies", invalid)
    refused = wait_status(api, "raypolicies", "a-invalid", "Accepted", "False", "Invalid")
    assert "spec.recording.resources must be requests and limits" in refused["message"]
    api.create("raypolicies", policy("b-valid", recording={"holdOnFailure": 55}))
    wait_status(api, "raypolicies", "b-valid", "Accepted", "True")
    wait_status(api, "raypolicies", "b-valid", "Conflicted", "False")
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    assert origin(worker) == "RayPolicy/b-valid generation 1 (recording)"
    api.patch("raypolicies", "a-invalid", {"spec": {"recording": {"resources": None}}})
    wait_status(api, "raypolicies", "a-invalid", "Accepted", "True")
    wait_status(api, "raypolicies", "b-valid", "Conflicted", "True")
    # Statuses at rest are not written.
    written = len(plane.writes(api.namespace, "raypolicies"))
    api.create("raypolicies", policy("c", retention={}))
    wait_status(api, "raypolicies", "c", "Accepted", "True")
    assert len([w for w in plane.writes(api.namespace, "raypolicies") if w["objectRef"]["name"] != "c"]) <= written + 2
    assert operator.running()


def test_a_namespace_keeps_failures_as_its_policy_says(api, start):
    api.create("raypolicies", policy("short", retention={"maxAge": "30d", "maxPerNamespace": 0}))
    put(api, "old", ago(days=31))
    put(api, "young", ago(days=29))
    operator = start("--keep-age", "0")
    wait_for("the old one to go", lambda: names(api) == {"young"})
    api.patch("raypolicies", "short", {"spec": {"retention": {"maxAge": "1d"}}})
    wait_for("the other to go", lambda: names(api) == set())
    assert operator.running()


def test_a_policy_keeps_failures_longer_than_the_operator_would(api, start, make, kubelet):
    api.create("raypolicies", policy("long", retention={"maxAge": "0", "maxPerNamespace": 0}))
    put(api, "ancient", ago(days=10000))
    operator = start("--keep-age", "1d")
    make("demo", group("small", 1)).wait_pods(1, 1)
    kubelet.run_all()
    wait_status(api, "raypolicies", "long", "Accepted", "True")
    put(api, "another", ago(days=20))
    # The keeper looks every five seconds; deletion is what must not happen, so two of its looks are waited for.
    until = time.monotonic() + 11
    wait_for("two looks of the keeper", lambda: operator.running() and time.monotonic() > until, timeout=60)
    assert names(api) == {"ancient", "another"}


def test_only_the_replica_that_acts_writes_statuses(api, start, plane):
    for user in ("first", "second"):
        plane.issue(user, f"/O=system:masters/CN={user}")
        started = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=plane.kubeconfig(user))
        if user == "first":
            wait_for("the first to act", lambda: started.metric("leader_election_master_status") == 1)
    api.create("raypolicies", policy("p", memory={}))
    wait_status(api, "raypolicies", "p", "Accepted", "True")
    assert plane.writes(api.namespace, "raypolicies", user="first") and not plane.writes(api.namespace, "raypolicies", user="second")


def test_without_rights_for_policies_the_operator_works(api, start, make, plane):
    user = f"poor-{api.namespace}"
    plane.issue(user, f"/CN={user}")
    role = {"rules": [{"apiGroups": ["ray.io"], "resources": ["*"], "verbs": ["*"]},
                      {"apiGroups": [""], "resources": ["pods", "services", "configmaps", "events", "serviceaccounts"], "verbs": ["*"]},
                      {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["*"]},
                      {"apiGroups": ["afterglow.dev"], "resources": ["rayfailures"], "verbs": ["*"]}]}
    api.create("roles", {"metadata": {"name": "poor"}, **role})
    api.create("rolebindings", {"metadata": {"name": "poor"}, "subjects": [{"kind": "User", "name": user}],
                                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "poor"}})
    api.create("raypolicies", policy("p", recording={"holdOnFailure": 66}))
    operator = start(kubeconfig=plane.kubeconfig(user))
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    assert origin(worker) is None
    text = operator.http("/readyz")[1]
    assert "raypolicies: none" in text and "clusterraypolicies: none" in text and "namespaces: none" in text
    assert "raypolicies: the operator works without them, because it may not list them" in operator.text()
