# SPDX-License-Identifier: Apache-2.0
"""Every death becomes one RayFailure, even if the operator or the sidecar was away when it happened."""

import json

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import group, settle
from apiserver.kubelet import ENDED, NOW

OOM = {"reason": "OOMKilled"}


def message(**report):
    """Returns a termination message as the sidecar writes it."""
    return "The kernel ended it.\n#afterglow/1 " + json.dumps(report)


REPORT = {
    "class": "KernelOOMContainer", "confidence": "certain", "sentence": "The container reached its memory limit",
    "exitCode": 137, "signal": "SIGKILL", "startedAt": NOW, "endedAt": ENDED,
    "memory": {"limitBytes": 1 << 30, "usageBytes": 1 << 30, "peakBytes": 1 << 30, "anonBytes": 1 << 29,
               "fileBytes": 0, "shmemBytes": None, "sampleAgeMs": 12},
    "processes": [{"pid": 42, "name": "ray::leak", "rssBytes": 1 << 29, "sharedBytes": 4096, "growthBytesPerSecond": -5}],
    "evidence": [{"source": "memory.oom_control", "text": "oom_kill rose from 0 to 1"}],
    "missing": [{"what": "peak", "needs": "cgroup v2"}],
    "bundle": None, "final": True,
}


def test_a_killed_worker_gives_a_failure_and_then_its_pod_is_replaced(make, operator, api, kubelet):
    cluster = make("demo", group("small", 2))
    _, (first, second) = cluster.wait_pods(1, 2)
    kubelet.run_all()
    bundle = (f"pvc:ray-failures/{api.namespace}/demo/{first['metadata']['name']}.{first['metadata']['uid'][:8]}/"
              "ray-worker/20261121T010500.000Z-KernelOOMContainer")
    kubelet.end(first, 137, message=message(**{**REPORT, "bundle": bundle}), **OOM)
    (failure,) = cluster.wait_failures(1)
    spec = failure["spec"]
    assert spec["pod"] == first["metadata"]["name"] and spec["podUID"] == first["metadata"]["uid"]
    assert (spec["class"], spec["confidence"], spec["exitCode"]) == ("KernelOOMContainer", "certain", 137)
    assert spec["memoryText"] == "1.0 GiB" and spec["memory"]["limitBytes"] == 1 << 30
    assert "shmemBytes" not in spec["memory"]
    assert spec["processes"][0]["name"] == "ray::leak" and spec["bundle"] == bundle
    assert failure["metadata"]["labels"]["afterglow.dev/class"] == "KernelOOMContainer"
    assert "ownerReferences" not in failure["metadata"]
    wait_for("the replacement", lambda: {p["metadata"]["uid"] for p in cluster.pods("worker")} - {
        first["metadata"]["uid"], second["metadata"]["uid"]})
    cluster.wait_pods(1, 2)
    settle(operator, api, kubelet)
    assert len(cluster.failures()) == 1


def test_the_pod_goes_only_after_its_failure_is_written(make, operator, api, kubelet, plane):
    del operator
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    kubelet.end(worker, 139)
    cluster.wait_failures(1)
    wait_for("the deletion", lambda: plane.writes(api.namespace, "pods", "delete"))
    order = [(w["verb"], w["objectRef"]["resource"]) for w in plane.writes(api.namespace)]
    assert order.index(("create", "rayfailures")) < order.index(("delete", "pods"))


def test_each_restart_of_a_container_is_a_failure_of_its_own(make, operator, api, kubelet):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.run(worker)
    for restart in (1, 2):
        kubelet.restart(worker, restart, 137, **OOM)
        cluster.wait_failures(restart)
    settle(operator, api, kubelet)
    assert sorted(f["spec"]["restartCount"] for f in cluster.failures()) == [0, 1]
    assert {f["spec"]["class"] for f in cluster.failures()} == {"KernelOOMContainer"}
    assert {p["metadata"]["uid"] for p in cluster.pods("worker")} == {worker["metadata"]["uid"]}


def test_a_death_while_the_operator_was_away_is_recorded_once(make, start, api, kubelet):
    operator = start()
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    assert operator.stop() == 0
    kubelet.restart(worker, 1, 137, **OOM)
    for _ in range(2):
        operator = start()
        cluster.wait_failures(1)
        settle(operator, api, kubelet)
        operator.stop()
    assert len(cluster.failures()) == 1


def test_a_deleted_failure_does_not_come_back(make, operator, api, kubelet):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.restart(worker, 1, 137, **OOM)
    (failure,) = cluster.wait_failures(1)
    api.delete("rayfailures", failure["metadata"]["name"])
    kubelet.run(worker)
    kubelet.restart(worker, 1, 137, **OOM)
    settle(operator, api, kubelet)
    assert cluster.failures() == []


def test_an_exit_with_zero_is_no_failure(make, operator, api, kubelet):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.restart(worker, 1, 0, reason="Completed")
    settle(operator, api, kubelet)
    assert cluster.failures() == []


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("code, reason, failure_class, signal", [
    (137, "Error", "Killed", "SIGKILL"), (139, "Error", "Segfault", "SIGSEGV"), (143, "Error", "Terminated", "SIGTERM"),
    (3, "Error", "ApplicationError", None), (127, "Error", "CommandNotFound", None),
])
def test_without_a_report_the_kubelets_word_is_classified(make, kubelet, code, reason, failure_class, signal):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.restart(worker, 1, code, reason=reason)
    spec = cluster.wait_failures(1)[0]["spec"]
    assert (spec["class"], spec["exitCode"], spec.get("signal")) == (failure_class, code, signal)
    assert any("report" in m["what"] for m in spec["missing"])


HOSTILE = {
    "an exit code that the kubelet denies": message(**{**REPORT, "exitCode": 1, "class": "ApplicationError"}),
    "a class that does not exist": message(**{**REPORT, "class": "Pwned"}),
    "half of a line": message(**REPORT)[:60],
    "no JSON": "#afterglow/1 \x1b[31m{]",
    "deep nesting": "#afterglow/1 " + "[" * 4000,
    "wrong types": message(**{**REPORT, "memory": "a lot", "processes": 5, "evidence": [[]], "missing": {"what": 1},
                              "sentence": {"a": 1}, "bundle": []}),
    "numbers out of range": message(**{**REPORT, "memory": {"limitBytes": 1e300, "usageBytes": -1},
                                       "processes": [{"pid": 1e99, "rssBytes": "many"}]}),
    "too much text": message(**{**REPORT, "sentence": "x" * 2500, "evidence": [{"source": "y" * 400, "text": "z" * 200}]}),
    "too many entries": message(**{**REPORT, "processes": [{"pid": n, "name": "p"} for n in range(60)],
                                   "missing": [{"what": str(n), "needs": "n"} for n in range(40)]}),
    "control characters": message(**{**REPORT, "sentence": "a\nb\u0000c\u001b[2J", "processes": [{"name": "\r\n\t"}]}),
    "the bundle of another": message(**{**REPORT, "bundle": "pvc:ray-failures/kube-system/a/b.12345678/c/d"}),
    "two lines of ours": message(**REPORT) + "\n" + message(**{**REPORT, "class": "Completed", "exitCode": 0}),
}


@pytest.mark.usefixtures("operator")
def test_hostile_termination_messages_give_one_valid_failure_each(make, kubelet):
    cluster = make("demo", group("small", len(HOSTILE), maxReplicas=50))
    _, workers = cluster.wait_pods(1, len(HOSTILE))
    for worker, text in zip(workers, HOSTILE.values(), strict=True):
        assert len(text.encode()) <= 4096
        kubelet.restart(worker, 1, 137, message=text, **OOM)
    failures = {f["spec"]["pod"]: f["spec"] for f in cluster.wait_failures(len(HOSTILE))}
    for worker, name in zip(workers, HOSTILE, strict=True):
        spec = failures[worker["metadata"]["name"]]
        # What the kubelet says is not to be talked away.
        assert spec["class"] == "KernelOOMContainer" and spec["exitCode"] == 137, (name, spec)
        assert all(ord(c) >= 32 for c in spec["verdict"]), (name, spec)
        assert "bundle" not in spec, (name, spec)


@pytest.mark.usefixtures("operator")
def test_a_termination_message_that_the_sidecar_did_not_write_is_shown_as_forged(make, kubelet):
    """A process of the Ray container overwrote the last line while the launcher waited."""
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    lie = {**REPORT, "class": "KernelOOMNode", "sentence": "Pod team-b/noisy used up the node's memory",
           "evidence": [{"source": "kernel log", "text": "Out of memory: Killed process 7"}]}
    kubelet.restart(worker, 1, 137, message=message(**lie), forged=True)
    spec = cluster.wait_failures(1)[0]["spec"]
    assert spec["class"] == "Killed" and spec["confidence"] != "certain" and "team-b" not in json.dumps(spec)
    assert [e for e in spec["evidence"] if "is not signed by the sidecar" in e["text"]]
    assert not [e for e in spec["evidence"] if e["source"] == "kernel log"]


def test_a_pod_that_nobody_manages_is_recorded_and_left_alone(operator, api, kubelet, plane):
    for name, labels in {"lone": {"ray.io/is-ray-node": "yes", "ray.io/cluster": "of-another"}, "other": {"app": "web"}}.items():
        pod = api.create("pods", {"metadata": {"name": name, "labels": labels},
                                  "spec": {"containers": [{"name": "ray", "image": "ray:test"}]}})
        kubelet.end(pod, 137, **OOM)
    wait_for("the failure", lambda: api.items("rayfailures"))
    settle(operator, api, kubelet)
    (failure,) = [f for f in api.items("rayfailures") if not f["spec"]["pod"].startswith("marker")]
    assert failure["spec"]["pod"] == "lone" and failure["spec"]["cluster"] == "of-another"
    assert not plane.writes(api.namespace, "pods")


LOST = {"reason": "ContainerStatusUnknown", "message": "The container could not be located when the pod was terminated"}


def pending(operator):
    return operator.metric("afterglow_failures_pending")


@pytest.mark.parametrize("code, more", [(137, LOST), (137, {}), (143, {}), (1, {})])
def test_an_eviction_of_which_the_status_speaks_last_is_an_eviction(make, operator, kubelet, code, more):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    kubelet.ending(worker, code, **more)
    wait_for("the operator to wait for more", lambda: pending(operator) == 1)
    assert cluster.failures() == []
    kubelet.evicted(worker, code, **more)
    (failure,) = cluster.wait_failures(1)
    assert (failure["spec"]["class"], failure["spec"]["exitCode"]) == ("Evicted", code)
    assert any("low on resource" in e["text"] for e in failure["spec"]["evidence"])


def test_a_kill_that_nothing_explains_later_is_a_kill(make, operator, kubelet):
    cluster = make("demo", group("small", 3))
    _, (restarted, deleted, silent) = cluster.wait_pods(1, 3)
    kubelet.run_all()
    for pod in restarted, deleted, silent:
        kubelet.ending(pod, 137)
    wait_for("the operator to wait for more", lambda: pending(operator) == 3)
    kubelet.restart(restarted, 1, 137)
    kubelet.api.delete("pods", deleted["metadata"]["name"])
    found = cluster.wait_failures(3)  # of the one that stays as it is, after a while
    assert {f["spec"]["class"] for f in found} == {"Killed"}


def test_a_dead_pod_that_vanishes_is_recorded_from_its_last_state(make, operator, api, kubelet):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    kubelet.end(worker, 134)
    try:
        api.delete("pods", worker["metadata"]["name"])
    except ApiError as error:
        assert error.status == 404  # the operator was quicker
    (failure,) = cluster.wait_failures(1)
    assert failure["spec"]["class"] == "Abort"
    settle(operator, api, kubelet)
    cluster.wait_pods(1, 1)


def test_without_managing_clusters_deaths_are_recorded_and_nothing_else(make, start, api, kubelet, plane):
    operator = start(manage=False)
    cluster = make("demo", group("small", 1))
    pod = api.create("pods", {"metadata": {"name": "kuberays", "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": "demo"}},
                              "spec": {"containers": [{"name": "ray", "image": "ray:test"}]}})
    kubelet.end(pod, 137, **OOM)
    cluster.wait_failures(1)
    wait_for("all written", lambda: operator.metric("afterglow_failures_pending") == 0)
    wait_for("its event", lambda: plane.writes(api.namespace, "events"))
    assert {w["objectRef"]["resource"] for w in plane.writes(api.namespace)} == {"events", "rayfailures"}
