# SPDX-License-Identifier: Apache-2.0
"""KubeRay's pods are created even if the webhook is away, is slow, has a wrong certificate, or one of its replicas is
killed; and the webhooks of others may stand beside it."""

import os
import signal
import subprocess

import pytest
import yaml

from conftest import wait_for
from kuberay import webhooks
from kuberay.objects import SIDECAR, check_injected, dry_run, sleeping_spec, unscheduled_pod
from live import SYSTEM

pytestmark = pytest.mark.alone

WITHOUT_SIDECAR = "afterglow_pods_without_sidecar"
BURST = 80


def scraped(kubectl):
    """Returns the metrics of all replicas."""
    pods = kubectl.items("--namespace", SYSTEM, "pods", "-l", webhooks.LABEL)
    return "\n".join(kubectl("get", "--raw", f"/api/v1/namespaces/{SYSTEM}/pods/{p['metadata']['name']}:8080/proxy/metrics")
                     for p in pods)


def missed(kubectl, namespace):
    """Returns how many pods of the namespace the webhook missed: the API server did not ask it, or it did not answer in time. The
    leader counts them."""
    count = 0
    for line in scraped(kubectl).splitlines():
        if line.startswith(WITHOUT_SIDECAR) and f'namespace="{namespace}"' in line and 'reason="Missed"' in line:
            count = max(count, int(float(line.rsplit(" ", 1)[1])))
    return count


def pod_of(k, name):
    pods = k.items("pods", "-l", f"ray.io/cluster={name}")
    assert len(pods) == 1, f"{len(pods)} pods of {name}"
    return pods[0]


@pytest.fixture(name="trouble", params=["no operator", "wrong certificate", "hangs"])
def trouble_with_the_webhook(request, kubectl):
    if request.param == "no operator":
        with webhooks.no_operator(kubectl):
            yield request.param
    elif request.param == "wrong certificate":
        with webhooks.server() as (url, _), webhooks.elsewhere(kubectl, url):
            yield request.param
    else:
        with webhooks.silence() as url, webhooks.elsewhere(kubectl, url):
            yield request.param


def test_kuberays_pods_come_without_the_webhook(k, kuberay, trouble):
    name = "without-" + trouble.replace(" ", "-")
    kuberay.create("RayCluster", name, sleeping_spec())
    # KubeRay writes the cluster's status before and after: each write may wait for the time limit of 3 s.
    pod = wait_for("the pod", lambda: pod_of(k, name), timeout=40)
    assert [c["name"] for c in pod["spec"]["containers"]] == ["ray-head"]
    wait_for("the pod to run", lambda: pod_of(k, name)["status"]["phase"] == "Running")


def test_the_pods_that_came_without_are_counted_and_live_on(kubectl, k, kuberay, namespace):
    assert kuberay
    before = [p["metadata"]["uid"] for p in k.items("pods", "-l", "ray.io/is-ray-node=yes")]
    assert len(before) == 3
    wait_for("three missed pods", lambda: missed(kubectl, namespace) == 3, timeout=90)
    assert [p["metadata"]["uid"] for p in k.items("pods", "-l", "ray.io/is-ray-node=yes")] == before


def test_the_webhook_works_again(k, kuberay):
    def injected():
        kuberay.k("delete", "raycluster", "again", "--ignore-not-found")
        wait_for("the last one's pod to be gone", lambda: not k.items("pods", "-l", "ray.io/cluster=again"))
        kuberay.create("RayCluster", "again", sleeping_spec())
        check_injected(wait_for("the pod", lambda: pod_of(k, "again")))
        return True
    wait_for("pods to get the sidecar", injected, timeout=60)


def test_a_replica_is_killed_in_the_middle_and_no_pod_is_refused(kubectl, k, kuberay, namespace):
    assert kuberay
    replicas = kubectl.items("--namespace", SYSTEM, "pods", "-l", webhooks.LABEL)
    assert len(replicas) == 2
    pods = yaml.safe_dump_all(unscheduled_pod(f"burst-{n}") for n in range(BURST))
    with subprocess.Popen(["kubectl", "--namespace", namespace, "create", "-f", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as creation:
        creation.stdin.write(pods)
        creation.stdin.close()
        lines = [creation.stdout.readline() for _ in range(BURST // 4)]
        victims = webhooks.processes(replicas[0])
        assert victims
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        lines += creation.stdout.readlines()
        assert creation.wait(180) == 0, lines
    assert len([line for line in lines if line.endswith("created\n")]) == BURST, lines
    made = [[c["name"] for c in p["spec"]["containers"]] for p in k.items("pods", "-l", "ray.io/cluster=nobodys")]
    assert len(made) == BURST
    # The other replica has answered the rest, but for questions that the dead one had.
    assert made.count(["ray-worker", SIDECAR]) > BURST * 0.7, made
    kubectl("--namespace", SYSTEM, "rollout", "status", "deployment/afterglow-operator", "--timeout=300s", timeout=320)


def in_one_order(pod):
    """Returns the pod without what the API server and we generate, with its containers and volumes in a fixed order."""
    spec = dict(pod["spec"])
    for key in ("containers", "initContainers", "volumes"):
        spec[key] = sorted((item for item in spec.get(key, []) if not item["name"].startswith("kube-api-access")),
                           key=lambda item: item["name"])
        for item in spec[key]:
            item["volumeMounts"] = [m for m in item.get("volumeMounts", []) if not m["name"].startswith("kube-api-access")]
    annotations = dict(pod["metadata"].get("annotations", {}))
    assert annotations.pop("afterglow.dev/report-key")
    return {"spec": spec, "annotations": annotations}


def test_a_neighbours_webhook_before_and_after_ours_ends_alike(kubectl, k, namespace):
    plain = dry_run(k, unscheduled_pod("plain"))
    check_injected(plain)
    ends = {}
    with webhooks.server() as (url, bundle):
        for order in ("aaa-before", "zzz-after"):
            configuration = webhooks.neighbours_configuration(order, namespace, url, bundle)
            kubectl.apply(configuration)
            try:
                ends[order] = wait_for("both sidecars", lambda: with_both(dry_run(k, unscheduled_pod("both"))), timeout=60)
            finally:
                kubectl("delete", "mutatingwebhookconfiguration", order)
    assert in_one_order(ends["aaa-before"]) == in_one_order(ends["zzz-after"])


def with_both(pod):
    names = [c["name"] for c in pod["spec"]["containers"]]
    assert names[0] == "ray-worker" and sorted(names[1:]) == [SIDECAR, webhooks.NEIGHBOUR], names
    return pod
