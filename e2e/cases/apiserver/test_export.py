# SPDX-License-Identifier: Apache-2.0
"""RayFailures go to a real OpenTelemetry collector as log records; no collector, however it behaves, holds up the operator."""

import json
import signal
import socket
import subprocess

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import ROOT, group
from apiserver.control_plane import Daemon, free_port

OOM = {"reason": "OOMKilled"}


@pytest.fixture(scope="module")
def program():
    """The collector's program."""
    result = subprocess.run([ROOT / "e2e/otelcol/build.sh"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.splitlines()[-1]


class Collector(Daemon):
    """A collector that prints each request that it gets as a line of JSON."""

    def __init__(self, program, directory, port, tls=None):
        config = directory / "collector.yaml"
        config.write_text(yaml.safe_dump({
            "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}", **({"tls": tls} if tls else {})}}}},
            "exporters": {"print": {}},
            "service": {"telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {"logs": {"receivers": ["otlp"], "exporters": ["print"]}}}}))
        super().__init__([program, "--config", f"file:{config}"], directory / "collector.log")

    def records(self):
        """Returns (attributes of the resource, the record, its attributes) of each record, in their order."""
        found = []
        for line in self.text().splitlines(keepends=True):
            if not line.startswith('{"resourceLogs"') or not line.endswith("\n"):
                continue
            for resource_logs in json.loads(line)["resourceLogs"]:
                for scope_logs in resource_logs["scopeLogs"]:
                    assert scope_logs["scope"]["name"] == "dev.afterglow.operator"
                    found += [(values(resource_logs["resource"]), record, values(record)) for record in scope_logs["logRecords"]]
        return found

    def wait_records(self, *names):
        """Waits for the records of these RayFailures, and returns them."""
        def find():
            if not self.running():
                pytest.fail(f"the collector has ended: {self.text()}")  # nothing to wait for
            found = {a["afterglow.failure"]: (resource, record, a) for resource, record, a in self.records()}
            return [found[name] for name in names]
        return wait_for(f"the records {names}", find)


def values(of):
    return {a["key"]: next(iter(a["value"].values())) for a in of["attributes"]}


@pytest.fixture
def collect(program, tmp_path):
    """Starts a collector."""
    started = []

    def start(port, tls=None):
        started.append(Collector(program, tmp_path, port, tls))
        return started[-1]
    yield start
    for collector in started:
        collector.stop(signal.SIGKILL)


def kill(cluster, kubelet, worker, restart=1):
    """Sets that the worker's container was OOM-killed, and returns the names of all RayFailures after that."""
    kubelet.restart(worker, restart, 137, **OOM)
    return [f["metadata"]["name"] for f in cluster.wait_failures(restart)]


def test_a_failure_arrives_with_its_attributes_and_a_restart_sends_it_no_second_time(collect, start, plane, api, make, kubelet, tmp_path):
    port, headers = free_port(), tmp_path / "headers"
    headers.write_text("Authorization: Bearer secret-of-the-test\n")
    plane.issue("collector", "/CN=collector", "subjectAltName=IP:127.0.0.1")
    collector = collect(port, {"cert_file": str(plane.file("collector.crt")), "key_file": str(plane.file("collector.key"))})
    options = ["--otlp-endpoint", f"https://127.0.0.1:{port}/",
               "--otlp-ca", plane.file("ca.crt"), "--otlp-headers", headers, "--otlp-resource-attribute", "k8s.cluster.name=prod"]
    first = start(*options)
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    (name,) = kill(cluster, kubelet, worker)
    ((resource, record, attributes),) = collector.wait_records(name)
    failure = api.get("rayfailures", name)
    assert resource == {
        "service.name": "demo", "service.namespace": api.namespace, "k8s.namespace.name": api.namespace, "k8s.cluster.name": "prod",
        "k8s.pod.name": worker["metadata"]["name"], "k8s.pod.uid": worker["metadata"]["uid"],
        "k8s.container.name": "ray-worker", "k8s.container.restart_count": "0", "container.id": failure["spec"]["containerID"]}
    assert record["severityText"] == "ERROR" and record["body"] == {"stringValue": failure["spec"]["verdict"]}
    assert int(record["timeUnixNano"]) < int(record["observedTimeUnixNano"])
    assert attributes["log.record.uid"] == f"{api.namespace}/{name}" and attributes["process.exit.code"] == "137"
    for key, field in (("class", "class"), ("confidence", "confidence"), ("signature", "signature"), ("cluster", "cluster"),
                       ("group", "group"), ("kubernetes_reason", "kubernetesReason")):
        assert attributes[f"afterglow.{key}"] == failure["spec"][field]
    # The next one knows what was written before it, and exports what it writes itself.
    wait_for("the answer", lambda: first.metric("afterglow_otlp_records_total", result="sent") == 1)
    assert first.stop() == 0
    next_one = start(*options)
    kill(cluster, kubelet, worker, 2)
    (second,) = {f["metadata"]["name"] for f in cluster.failures()} - {name}
    collector.wait_records(second)
    assert sorted(a["afterglow.failure"] for _, _, a in collector.records()) == sorted([name, second])
    wait_for("the answer", lambda: next_one.metric("afterglow_otlp_records_total", result="sent") == 1)
    assert "secret-of-the-test" not in first.text() + next_one.text()


def test_only_the_leader_exports_and_the_next_leader_goes_on_without_what_was_sent(collect, start, api, make, kubelet):
    port = free_port()
    collector = collect(port)
    options = ["--otlp-endpoint", f"http://127.0.0.1:{port}", "--leader-elect", "--lease-namespace", api.namespace]
    leader = start(*options)
    wait_for("the leader", lambda: leader.metric("leader_election_master_status") == 1)
    standby = start(*options)
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    (first,) = kill(cluster, kubelet, worker)
    collector.wait_records(first)
    wait_for("the answer", lambda: leader.metric("afterglow_otlp_records_total", result="sent") == 1)
    # The standby has seen the failure, too, and that it is written.
    wait_for("the standby's copy", lambda: standby.metric("afterglow_watch_objects", resource="rayfailures") == 1)
    wait_for("nothing to write", lambda: standby.metric("afterglow_failures_pending") == 0)
    assert standby.metric("afterglow_otlp_records_waiting") == 0 and standby.metric("leader_election_master_status") == 0
    assert leader.stop() == 0
    # Nobody leads at this moment, perhaps; the standby finds the death when it does.
    (second,) = set(kill(cluster, kubelet, worker, 2)) - {first}
    collector.wait_records(second)
    wait_for("the answer", lambda: standby.metric("afterglow_otlp_records_total", result="sent") == 1)
    assert standby.metric("afterglow_otlp_records_waiting") == 0
    assert [a["afterglow.failure"] for _, _, a in collector.records()] == [first, second]


def test_a_collector_that_is_down_at_first_gets_the_failure_later(collect, start, make, kubelet):
    port = free_port()
    operator = start("--otlp-endpoint", f"http://127.0.0.1:{port}")
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    names = kill(cluster, kubelet, worker)
    wait_for("the first attempt", lambda: "1 RayFailures wait to be exported; again in" in operator.text())
    assert operator.metric("afterglow_otlp_records_waiting") == 1
    collect(port).wait_records(*names)
    wait_for("the answer", lambda: operator.metric("afterglow_otlp_records_total", result="sent") == 1)
    assert operator.metric("afterglow_otlp_records_waiting") == 0


def test_what_is_still_held_goes_out_before_the_operator_ends(start, make, kubelet):
    # The kernel takes connection and request; nobody answers.
    with socket.create_server(("127.0.0.1", free_port())) as server:
        operator = start("--otlp-endpoint", f"http://127.0.0.1:{server.getsockname()[1]}")
        cluster = make("demo", group("small", 1))
        _, (worker,) = cluster.wait_pods(1, 1)
        (name,) = kill(cluster, kubelet, worker)
        assert operator.stop() == 0
        server.settimeout(180)
        connection, _ = server.accept()
        with connection:
            request = b"".join(iter(lambda: connection.recv(65536), b""))
        assert request.startswith(b"POST /v1/logs HTTP/1.1\r\n") and name.encode() in request


def test_a_collector_that_hangs_holds_up_nothing(start, make, kubelet):
    with socket.create_server(("127.0.0.1", free_port())) as server:
        operator = start("--otlp-endpoint", f"http://127.0.0.1:{server.getsockname()[1]}")
        cluster = make("demo", group("small", 1))
        _, (worker,) = cluster.wait_pods(1, 1)
        kill(cluster, kubelet, worker)
        server.settimeout(180)
        connection, _ = server.accept()
        with connection:
            assert connection.recv(4096).startswith(b"POST /v1/logs HTTP/1.1\r\n")
            # Deaths are recorded, pods are made, and it ends in order, while the collector owes an answer.
            kill(cluster, kubelet, worker, 2)
            cluster.scale(small=2)
            cluster.wait_pods(1, 2)
            assert operator.metric("afterglow_otlp_records_total", result="sent") == 0
            assert operator.stop() == 0
