# SPDX-License-Identifier: Apache-2.0
"""
One tenant, and one who reaches the webhook's port without login, send reviews that cost much. The operator lives, stays small,
and answers for the pods of others.
"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import ssl
import time

import pytest

from apiserver.conftest import RayCluster, group, ray_cluster
from apiserver.test_webhook import annotation, names, ray_pod, served, webhook

__all__ = ["served", "webhook"]  # fixtures

PEAK_MAX_KIB = 96 << 10  # of the 256 MiB of the chart
SANITIZED = "address" in os.environ.get("AFTERGLOW_BUILD", "")


def peak_kib(operator):
    status = pathlib.Path(f"/proc/{operator.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


def review(pod, namespace, **more):
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "u", "kind": {"group": "", "version": "v1", "kind": pod.get("kind", "Pod")}, "namespace": namespace,
        "operation": "CREATE", "object": pod, **more}}


def connect(port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)


def post(port, body, path="/mutate/pods"):
    """Asks the webhook as anybody can who reaches its port. Returns the status and the answer."""
    connection = connect(port)
    connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if response.status == 200 else None


def wide_pod(**more):
    pod = ray_pod("wide")
    pod["spec"]["containers"][0].update(more)
    return pod


def dry(api, body, plural="pods"):
    return api.request("POST", api.path(plural) + "?dryRun=All", body)


@pytest.mark.long
def test_pods_of_a_tenant_that_cost_too_much_come_unread_and_the_operator_stays_small(api, served):
    operator = served.operators[0]
    pod = dry(api, wide_pod(args=[""] * 700_000))  # 2.8 MB, as Python writes it
    assert names(pod) == ["ray-worker"] and annotation(pod) == "none: TooLarge"
    # The API server itself compares lists of names in quadratic time, but not these.
    assert annotation(dry(api, wide_pod(env=[{"name": f"E{i}", "value": "v"} for i in range(30_000)]))) == "none: TooLarge"
    cluster = ray_cluster("wide", group("small"))
    cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["args"] = [""] * 200_000
    api.create("rayclusters", cluster)
    RayCluster(api, "wide").scale(small=2)
    assert operator.metric("afterglow_admissions_total", kind="RayCluster", outcome="TooLarge") >= 2
    assert operator.metric("afterglow_admissions_total", kind="Pod", outcome="TooLarge") >= 2
    assert names(api.create("pods", ray_pod("usual"))) == ["ray-worker", "afterglow"]
    assert SANITIZED or peak_kib(operator) < PEAK_MAX_KIB


@pytest.mark.long
def test_bodies_without_login_do_not_end_the_operator(api, served):
    operator = served.operators[0]
    port = operator.webhook_port
    bodies = [review(wide_pod(args=[""] * 900_000), "ml"), review(ray_pod("v", volumes=[{"name": f"v{i}"} for i in range(300_000)]), "ml"),
              review(ray_pod("l", labels={f"l{i}": "v" for i in range(300_000)}), "ml"),
              review({"kind": "RayCluster", "spec": {"workerGroupSpecs": [{"groupName": f"g{i}"} for i in range(200_000)]}}, "ml")]
    for body in bodies:
        for path in ("/mutate/pods", "/mutate/ray"):
            status, answer = post(port, body, path)
            assert status == 200 and answer["response"]["allowed"] is True and "patch" not in answer["response"] or \
                len(answer["response"]["patch"]) < 1000
    assert post(port, b"[" * 6_000_000)[0] == 400
    assert post(port, b'{"request":' * 600_000)[0] == 400
    # Many at a time: bodies that never end, and answers that nobody reads.
    held, long_args = [], json.dumps(review(wide_pod(args=["x" * 2_900_000]), "ml")).encode()
    for i in range(60):
        connection = connect(port)
        try:
            connection.putrequest("POST", "/mutate/pods")
            connection.putheader("Content-Length", str(len(long_args) if i % 2 else 7_000_000))
            connection.endheaders()
            connection.send(long_args if i % 2 else b" " * 6_900_000)
            held.append(connection)
        except OSError:
            connection.close()  # the operator has closed it
    assert names(api.create("pods", ray_pod("meanwhile"))) == ["ray-worker", "afterglow"]
    for connection in held:
        connection.close()
    assert operator.running() and (SANITIZED or peak_kib(operator) < PEAK_MAX_KIB), peak_kib(operator)


@pytest.mark.long
def test_a_namespace_that_sends_many_costly_pods_has_few_of_them_read_and_costs_others_nothing(api, served):
    operator = served.operators[0]
    costly = json.dumps(review(wide_pod(env=[{"name": f"E{i}", "value": "v"} for i in range(16_000)]), "greedy")).encode()
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as senders:
        answers = list(senders.map(lambda _: post(operator.webhook_port, costly)[1]["response"], range(60)))
    most = 6 + 2 * (time.monotonic() - began) + 1  # REVIEW_COSTLY_NAMESPACE_BURST and _RATE
    read = operator.metric("afterglow_admissions_total", kind="Pod", outcome="Changed")
    many = operator.metric("afterglow_admissions_total", kind="Pod", outcome="TooMany")
    assert all(a["allowed"] for a in answers) and 0 < read <= most and read + many >= 60
    assert names(api.create("pods", ray_pod("usual"))) == ["ray-worker", "afterglow"]


@pytest.mark.long
def test_reviews_without_login_about_the_pods_of_others_teach_the_webhook_nothing(api, served):
    """Whoever reaches the port may claim that pods of a group are asked for again and again, and never come."""
    api.create("rayclusters", ray_cluster("demo", group("small")))
    for i in range(24):
        answer = post(served.operators[0].webhook_port, review({**ray_pod(f"forged-{i}"), "kind": "Pod"}, api.namespace))[1]
        assert "patch" in answer["response"]
        time.sleep(0.3)  # refusals in less than five seconds count as a burst
    assert annotation(api.create("pods", ray_pod("real"))) == "added"
