# SPDX-License-Identifier: Apache-2.0
"""A real OpenTelemetry collector with the configuration and the rights of docs/export.md makes log records of RayFailures."""

import json
import os
import re
import signal
import subprocess
import textwrap

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import ROOT, group, kubeconfig_of
from apiserver.control_plane import Daemon

PAGE = (ROOT / "docs/export.md").read_text()


def page():
    """Returns the collector's configuration and the ClusterRole of the page."""
    blocks = [yaml.safe_load(textwrap.dedent(block)) for block in re.findall(r"(?:^ {4}.*\n)+", PAGE, re.M)]
    (config,), (role,) = [b for b in blocks if "receivers" in b], [b for b in blocks if b.get("kind") == "ClusterRole"]
    return config, role


def values(of):
    return {a["key"]: next(iter(a["value"].values())) for a in of["attributes"]}


class Collector(Daemon):
    """A collector that prints each batch of records as a line of JSON."""

    def __init__(self, program, directory, config, kubeconfig):
        path = directory / "collector.yaml"
        path.write_text(yaml.safe_dump(config))
        super().__init__([program, "--config", f"file:{path}"], directory / "collector.log", {**os.environ, "KUBECONFIG": str(kubeconfig)})

    def records(self):
        """Returns (attributes of the resource, the record, its attributes) of each record, in their order."""
        lines = [line for line in self.text().splitlines(keepends=True) if line.startswith('{"resourceLogs"') and line.endswith("\n")]
        return [(values(resource["resource"]), record, values(record)) for line in lines for resource in json.loads(line)["resourceLogs"]
                for scope in resource["scopeLogs"] for record in scope["logRecords"]]

    def wait_record(self, name, **attributes):
        """Waits for a record of the RayFailure with these attributes, and returns it."""
        wanted = {"afterglow.failure": name, **{f"afterglow.{key}": value for key, value in attributes.items()}}

        def find():
            if not self.running():
                pytest.fail(f"the collector has ended: {self.text()}")  # nothing to wait for
            return [found for found in self.records() if wanted.items() <= found[2].items()][0]
        return wait_for(f"the record {wanted}", find)


@pytest.fixture
def collector(plane, api, tmp_path):
    """Runs the page's collector for the case's namespace, as a service account with the page's right."""
    result = subprocess.run([ROOT / "e2e/otelcol/build.sh"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    config, role = page()
    (objects,) = config["receivers"]["k8sobjects"]["objects"]
    objects["namespaces"] = [api.namespace]
    config["receivers"]["k8sobjects"]["auth_type"] = "kubeConfig"
    config["exporters"] = {"print": {}}
    config["service"]["pipelines"]["logs/rayfailures"]["exporters"] = ["print"]
    config["service"]["telemetry"] = {"metrics": {"level": "none"}}
    running = Collector(result.stdout.splitlines()[-1], tmp_path, config, kubeconfig_of(plane, api, "collector", role["rules"]))
    wait_for("the watch", lambda: "Started collecting" in running.text())
    yield running
    running.stop(signal.SIGKILL)


def test_a_failure_arrives_as_the_page_says_and_again_with_its_incident(collector, start, api, make, kubelet):
    start()
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.restart(worker, 1, 137, reason="OOMKilled")
    (failure,) = cluster.wait_failures(1)
    name, spec = failure["metadata"]["name"], failure["spec"]
    resource, record, attributes = collector.wait_record(name)
    assert resource == {
        "service.name": "demo", "k8s.namespace.name": api.namespace, "k8s.pod.name": worker["metadata"]["name"],
        "k8s.pod.uid": worker["metadata"]["uid"], "k8s.container.name": "ray-worker"}
    assert record["body"] == {"stringValue": spec["verdict"]} and record["severityNumber"] == 17
    assert 0 < int(record["timeUnixNano"]) < int(record["observedTimeUnixNano"])
    assert attributes["log.record.uid"] == failure["metadata"]["uid"]
    assert {key: attributes[f"afterglow.{key}"] for key in ("class", "confidence", "signature")} == {
        key: spec[key] for key in ("class", "confidence", "signature")}
    api.patch("rayfailures", name, {"status": {"incident": "one", "causedBy": {"name": "first", "class": "GCSFailed"}}}, "status")
    assert collector.wait_record(name, incident="one", caused_by="first")[2]["log.record.uid"] == failure["metadata"]["uid"]
