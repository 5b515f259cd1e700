# SPDX-License-Identifier: Apache-2.0
"""RayPolicies and ClusterRayPolicies: what the API server takes of them, and what they do to new pods."""

import uuid

import pytest

from apiserver.api import ApiError


def policy(name, **spec):
    return {"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayPolicy", "metadata": {"name": name}, "spec": spec}


# --- The CRDs --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("spec", [
    {"memory": {}}, {"recording": {}}, {"store": {}}, {"retention": {}},
    {"memory": {"headNumCPUs": None, "workerMemoryLimit": 8589934592, "usageThreshold": None, "headroom": "500Mi"}},
    {"memory": {"headNumCPUs": 2, "headroom": "90%", "objectStoreFraction": 0, "monitorRefreshMs": 0, "mode": "Off"}},
    {"recording": {"resources": {"requests": {"cpu": "10m"}, "limits": {"cpu": 1, "memory": "256Mi"}}, "coreDumps": "Off",
                   "hooks": {"atDeath": ["ray memory"]}, "kernelLog": {"enabled": True}}},
    {"store": {"claim": "failures", "keep": {"days": 30, "bundles": 10, "max": "10Gi"}, "spoolMax": "1Gi"}},
    {"store": {"type": "s3", "s3": {"bucket": "failures", "prefix": "ray", "endpoint": "https://minio:9000", "pathStyle": True},
               "credentialsSecret": "keys", "caSecret": "ca"}},
    {"store": {"type": "s3", "s3": {"bucket": "failures", "webIdentity": {"roleARN": "arn:aws:iam::1:role/r", "expirySeconds": 600}}}},
    {"store": {"type": "webhdfs", "webhdfs": {"url": "webhdfs://nn:9870/failures", "user": "ray"}}},
    {"selector": {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}, "memory": {}},
    {"selector": {}, "retention": {"maxAge": "7d", "maxPerNamespace": 10}},
])
def test_what_makes_sense_is_taken(api, spec):
    api.create("raypolicies", policy("p", **spec))


NONSENSE = [
    ({}, "at least one of memory, recording, store and retention must be given"),
    ({"memory": {"mode": "apply"}}, 'spec.memory.mode: Unsupported value: "apply": supported values: "Apply", "Warn", "Off"'),
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
    ({"store": {"type": "nfs"}}, 'spec.store.type: Unsupported value: "nfs": supported values: "claim", "s3", "webhdfs"'),
    ({"store": {"type": "s3"}}, "s3.bucket must be given, as type is s3"),
    ({"store": {"type": "webhdfs"}}, "webhdfs.url must be given, as type is webhdfs"),
    ({"store": {"s3": {"bucket": "failures"}}}, "s3 is given, so type must be s3"),
    ({"store": {"claim": "$(HOME)"}}, "must be the name of a PersistentVolumeClaim"),
    ({"store": {"credentialsSecret": "keys"}}, "credentialsSecret or caSecret is given, so type must be s3 or webhdfs"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures"}, "keep": {"days": 1}}}, "claim or keep is given, so type must be claim"),
    ({"store": {"type": "s3", "s3": {"bucket": "UPPER"}}}, "must be the name of a bucket"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures", "endpoint": "minio:9000"}}}, "must be an address such as"),
    ({"store": {"type": "s3", "s3": {"bucket": "failures", "webIdentity": {"roleARN": "failures"}}}}, "must be a role such as"),
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
