# SPDX-License-Identifier: Apache-2.0
"""Namespaces restrict what may run in them, and the real admission plugins decide."""

import re
import textwrap

import pytest
import yaml

from apiserver.conftest import ROOT, group
from conftest import wait_for

LABEL = "pod-security.kubernetes.io/enforce"
COMPLIANT = {"runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False,
             "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}


def enforce(api, level):
    api.patch("namespaces", api.namespace, {"metadata": {"labels": {LABEL: level}}})


@pytest.fixture
def compliant_cluster(api, make):
    """Makes a cluster whose own containers satisfy the level restricted."""
    def create():
        small = group("small", 1)
        small["template"]["spec"]["containers"][0]["securityContext"] = COMPLIANT
        head = {"rayStartParams": {}, "template": {"spec": {"containers": [{
            "name": "ray-head", "image": "ray:test", "securityContext": COMPLIANT,
            "resources": {"limits": {"cpu": "2", "memory": "4Gi"}}}]}}}
        return make("demo", small, headGroupSpec=head)
    assert api
    return create


@pytest.fixture
def with_kernel_log(start, tmp_path):
    """Starts an operator whose pods are to read the kernel log."""
    path = tmp_path / "policy.yaml"
    path.write_text("kernelLog: true\n")
    return lambda: start("--config", path)


def sidecar_of(pod):
    return next(c for c in pod["spec"]["containers"] if c["name"] == "afterglow")


def added_capabilities(pod):
    return sidecar_of(pod)["securityContext"]["capabilities"].get("add", [])


def test_what_is_added_to_a_pod_satisfies_the_level_restricted(api, operator, compliant_cluster):
    assert operator.running()
    enforce(api, "restricted")
    (head,), (worker,) = compliant_cluster().wait_pods(1, 1)
    assert sidecar_of(head) and sidecar_of(worker)


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_where_the_level_refuses_the_kernel_log_ray_runs_without_it_and_it_is_said(
        api, with_kernel_log, compliant_cluster, level):
    enforce(api, level)
    with_kernel_log()
    cluster = compliant_cluster()
    (head,), (worker,) = cluster.wait_pods(1, 1)
    assert added_capabilities(head) == added_capabilities(worker) == []
    assert "--run-as" not in sidecar_of(worker)["args"]
    condition = cluster.wait_condition("afterglow.dev/Recording", "False", "KernelLogRefused")
    assert f"enforces the Pod Security level {level}" in condition["message"]
    wait_for("the event", lambda: [e for e in api.items("events") if e["reason"] == "KernelLogRefused"])


@pytest.mark.parametrize("level", [None, "privileged"])
def test_where_it_is_allowed_the_sidecar_reads_the_kernel_log(api, with_kernel_log, compliant_cluster, level):
    if level:
        enforce(api, level)
    with_kernel_log()
    _, (worker,) = compliant_cluster().wait_pods(1, 1)
    assert "SYSLOG" in added_capabilities(worker) and "--run-as" in sidecar_of(worker)["args"]


def small_enough(name, group_=None):
    spec = {"groupName": name, "replicas": 2, "minReplicas": 0, "maxReplicas": 9} if group_ else {}
    return {**spec, "rayStartParams": {}, "template": {"spec": {"containers": [{
        "name": name, "image": "ray:test", "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}]}}}


def test_where_the_sidecar_is_refused_ray_runs_without_it_and_it_is_said(api, operator, make):
    # A range that Ray's containers keep to, and the sidecar does not: in a Guaranteed pod it asks for its limit, 256Mi.
    api.create("limitranges", {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "large"},
                               "spec": {"limits": [{"type": "Container", "min": {"memory": "1Gi"}}]}})
    assert operator.running()
    cluster = make("demo", small_enough("ray-worker", group_=True), headGroupSpec=small_enough("ray-head"))
    heads, workers = cluster.wait_pods(1, 2)
    for pod in heads + workers:
        assert [c["name"] for c in pod["spec"]["containers"]] in (["ray-head"], ["ray-worker"])
    message = cluster.wait_condition("afterglow.dev/Recording", "False", "SidecarRefused")["message"]
    assert "minimum memory usage per Container is 1Gi" in message
    assert cluster.condition("ReplicaFailure") is None
    # What is made when the range is gone has it again; then nothing is to be said any more.
    api.delete("limitranges", "large")
    tiny = {"metadata": {"name": "tiny"}, "spec": {"containers": [{
        "name": "tiny", "image": "tiny:test", "resources": {"limits": {"memory": "10Mi"}}}]}}
    # The API server remembers a range for a while.
    wait_for("it to be forgotten", lambda: api.request("POST", api.path("pods") + "?dryRun=All", tiny))
    cluster.scale(ray_worker=0)
    cluster.wait_pods(1, 0)
    cluster.scale(ray_worker=1)
    _, (worker,) = cluster.wait_pods(1, 1)
    assert sidecar_of(worker)
    cluster.wait_condition("afterglow.dev/Recording", "False", "SidecarRefused")  # the head's still


def test_a_pod_that_is_refused_without_the_sidecar_too_is_told_of_in_its_own_words(api, operator, make):
    api.create("limitranges", {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
                               "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}})
    assert operator.running()
    cluster = make("demo", group("small", 1))
    message = cluster.wait_condition("ReplicaFailure", "True")["message"]
    assert "maximum memory usage per Container is 1Gi" in message
    assert (cluster.condition("afterglow.dev/Recording") or {}).get("reason") != "SidecarRefused"


def test_the_pod_that_hands_a_claim_to_the_sidecar_satisfies_the_level_restricted(api, make, operator):
    """The page has it for people to copy. The group to which the kubelet gives the volume is that of the sidecar."""
    page = (ROOT / "docs/storage.md").read_text()
    (block,) = [b for b in re.findall(r"(?:^ {4}.*\n)+", page, re.M) if "kind: PersistentVolumeClaim" in b]
    claim, pod = yaml.safe_load_all(textwrap.dedent(block))
    enforce(api, "restricted")
    for plural, o in (("persistentvolumeclaims", claim), ("pods", pod)):
        o["metadata"]["namespace"] = api.namespace
        api.request("POST", api.path(plural) + "?dryRun=All&fieldValidation=Strict", o)
    (volume,) = pod["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert operator.running()
    api.patch("namespaces", api.namespace, {"metadata": {"labels": {LABEL: "privileged"}}})
    (head,), _ = make("demo").wait_pods(1, 0)
    assert sidecar_of(head)["securityContext"]["runAsGroup"] == pod["spec"]["securityContext"]["fsGroup"]
