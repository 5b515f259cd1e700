# SPDX-License-Identifier: Apache-2.0
"""The operator removes RayFailures that are too old or too many, the oldest first, and does not write them again."""

import datetime
import json
import re
import signal
import subprocess

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import BUILD, group, settle

ENDED = "afterglow.dev/ended-at"


def ago(**what):
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**what)).strftime("%Y-%m-%dT%H:%M:%SZ")


def die(kubelet, pod, when):
    kubelet.restart(pod, 1, 137, reason="OOMKilled", finishedAt=when)


def put(api, name, when):
    """Writes a RayFailure of another day."""
    api.create("rayfailures", {
        "apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure",
        "metadata": {"name": name, "annotations": {ENDED: when} if when else {}},
        "spec": {"pod": "p", "container": "c", "class": "Killed", "confidence": "certain", "verdict": "It died.",
                 "endedAt": when or ago(hours=1)}})


def names(api):
    return {f["metadata"]["name"] for f in api.items("rayfailures")}


def test_of_too_many_the_oldest_go_and_a_restart_does_not_bring_them_back(make, start, api, kubelet, plane):
    operator = start("--keep-count", "3")
    cluster = make("demo", group("small", 5))
    _, workers = cluster.wait_pods(1, 5)
    kubelet.run_all()
    for hours, pod in enumerate(workers, start=1):
        die(kubelet, pod, ago(hours=hours))
    newest = {pod["metadata"]["name"] for pod in workers[:3]}

    def settled():
        return {f["spec"]["pod"] for f in cluster.failures()} == newest

    def decided():
        created = {w["objectRef"]["name"] for w in plane.writes(api.namespace, "rayfailures", "create")}
        return len(created | set(re.findall(r"failure \S+/(\S+) is not recorded: older", operator.text()))) == 5
    wait_for("the three newest to stay", lambda: decided() and operator.metric("afterglow_failures_pending") == 0 and settled())
    written = len(plane.writes(api.namespace, "rayfailures", "create"))
    # The pods still tell of all five.
    operator.stop(signal.SIGKILL)
    operator = start("--keep-count", "3")
    wait_for("all to be looked at", lambda: operator.text().count("older than what is kept") == 2 and
             operator.metric("afterglow_failures_pending") == 0)
    assert settled()
    assert len(plane.writes(api.namespace, "rayfailures", "create")) == written


def test_what_is_too_old_goes_and_is_not_written_again(make, start, api, kubelet):
    put(api, "old", ago(days=31))
    put(api, "young", ago(days=29))
    put(api, "others", None)
    operator = start("--keep-age", "30d")
    wait_for("the old one to go", lambda: names(api) == {"young", "others"})
    # The answer comes to the operator a little later.
    wait_for("it to be counted", lambda: operator.metric("afterglow_failures_removed_total", reason="age") == 1)
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    die(kubelet, worker, ago(days=40))
    wait_for("the refusal", lambda: "is not recorded: older than what is kept" in operator.text())
    settle(operator, api, kubelet)
    assert cluster.failures() == []


@pytest.fixture(name="refusing")
def namespace_where_no_failure_may_be_deleted(plane, api, tmp_path):
    """As an administrator's admission policy may have it; the policy is gone at the end."""
    name = f"{api.namespace}-refusing"
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["afterglow.dev"], "apiVersions": ["*"], "operations": ["DELETE"],
                                                "resources": ["rayfailures"]}],
                             "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}},
        "validations": [{"expression": "false", "message": "evidence stays"}]}}
    binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
               "spec": {"policyName": name, "validationActions": ["Deny"]}}
    (tmp_path / "policy.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [policy, binding]}))
    plane.kubectl("create", "namespace", name)
    plane.kubectl("apply", "-f", str(tmp_path / "policy.json"))
    there = api.within(name)
    put(there, "probe", ago(days=1))

    def refused():
        try:
            there.request("DELETE", there.path("rayfailures", "probe") + "?dryRun=All")
        except ApiError as error:
            return "evidence stays" in str(error)
        return False
    wait_for("the policy to hold", refused)
    yield there
    plane.kubectl("delete", "-f", str(tmp_path / "policy.json"))
    plane.kubectl("delete", "namespace", name, "--wait=false")


def test_a_namespace_where_nothing_may_be_deleted_keeps_no_other_from_being_tidied(start, api, refusing):
    for i in range(40):
        put(refusing, f"old-{i}", ago(days=31))
    for i in range(3):
        put(api, f"old-{i}", ago(days=31))
    put(api, "young", ago(days=29))
    operator = start("--keep-age", "30d", namespace=False)
    wait_for("the old ones to go", lambda: names(api) == {"young"})
    wait_for("the refusals to be in the log", lambda: "evidence stays" in operator.text())
    assert len(names(refusing)) == 41


def test_without_limits_all_stay(start, api, make, kubelet):
    put(api, "ancient", ago(days=10000))
    operator = start("--keep-age", "0", "--keep-count", "0")
    make("demo", group("small", 1)).wait_pods(1, 1)
    settle(operator, api, kubelet)
    assert "ancient" in names(api)


@pytest.mark.parametrize("option, value, complaint", [
    ("--keep-age", "1w", "720h"), ("--keep-age", "-1h", "720h"), ("--keep-count", "many", "number"),
])
def test_a_wrong_limit_is_named(option, value, complaint):
    result = subprocess.run([BUILD / "afterglow-operator", option, value], capture_output=True, text=True, timeout=180,
                            check=False)
    assert result.returncode == 2 and option in result.stderr and complaint in result.stderr
