# SPDX-License-Identifier: Apache-2.0
"""
Which flows the chart's NetworkPolicy lets through. Cyclonus judges, which was written to compare CNI plugins with the specification: it
evaluates the policy, and sends no packets. Nothing enforces policies in the clusters of the tests: kube-network-policies needs the kernel's
NFT_QUEUE, which the machines of the tests do not have.
"""

import json
import re
import subprocess
import textwrap

import pytest
import yaml

from apiserver.conftest import ROOT
from apiserver.judges import judge
from apiserver.test_chart import EVERYTHING, only, operator_of, pod_of, rendered

SYSTEM = "afterglow-system"
PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}


@pytest.fixture(name="program", scope="module")
def flow_judge():
    """The program that says which flows are allowed."""
    return judge("flows")[0]


class Flows:
    """The rendered policy, and who may reach whom by it."""

    def __init__(self, plane, program, *values):
        objects = rendered(plane, *EVERYTHING, *values)
        self.program, self.policy = program, only(objects, "NetworkPolicy")
        self.ports = {p["name"]: p["containerPort"] for p in operator_of(objects)["ports"]}
        self.operator = peer(SYSTEM, pod_of(objects)["metadata"]["labels"], "10.1.0.2")
        self.test = peer(SYSTEM, only(objects, "Pod")["metadata"]["labels"], "10.1.0.3")

    def answers(self, *flows):
        """For each flow (source, destination, port's number and name) whether it is allowed."""
        question = {"policies": [self.policy], "flows": [
            {"Source": source, "Destination": to, "ResolvedPort": port, "ResolvedPortName": name, "Protocol": "TCP"}
            for source, to, port, name in flows]}
        result = subprocess.run([self.program], input=json.dumps(question), capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def to_operator(self, source, *names):
        return self.answers(*((source, self.operator, self.ports[name], name) for name in names))


def peer(namespace, labels, address, **namespace_labels):
    """A pod; Kubernetes gives each namespace a label with its name."""
    return {"IP": address, "Internal": {"Namespace": namespace, "PodLabels": labels, "NamespaceLabels": {
        "kubernetes.io/metadata.name": namespace, **namespace_labels}}}


API_SERVER = {"IP": "192.168.0.10"}  # a process of a node: it has no labels
RAY = peer("ml", {"ray.io/is-ray-node": "yes"}, "10.1.0.9")
MONITORING = peer("monitoring", PROMETHEUS, "10.1.0.7")


def test_the_api_server_reaches_the_webhook_and_prometheus_and_helm_test_the_metrics(plane, program):
    flows = Flows(plane, program)
    assert flows.ports == {"metrics": 8080, "webhook": 9443}
    assert flows.to_operator(API_SERVER, "webhook") == [True]
    assert flows.to_operator(MONITORING, "metrics") == [True]
    assert flows.to_operator(flows.test, "metrics") == [True]


def test_nothing_else_of_the_operators_pods_can_be_reached(plane, program):
    flows = Flows(plane, program)
    # Another pod of the same namespace has the rights of any other.
    neighbour = peer(SYSTEM, {"app": "other"}, "10.1.0.5")
    assert flows.answers((RAY, flows.operator, 22, ""), (MONITORING, flows.operator, 9000, "other"),
                         (API_SERVER, flows.operator, 8080, "metrics"), (neighbour, flows.operator, 9000, "other")) == [False] * 4


def test_what_the_operator_itself_asks_for_is_not_limited(plane, program):
    flows = Flows(plane, program)
    assert flows.answers((flows.operator, API_SERVER, 6443, "https"), (flows.operator, RAY, 9095, "afterglow-http"),
                         (flows.operator, peer("kube-system", {"k8s-app": "kube-dns"}, "10.1.0.4"), 53, "dns")) == [True] * 3


def test_the_policy_concerns_no_pods_but_the_operators(plane, program):
    flows = Flows(plane, program, "nodeAgent.enabled=true")
    assert flows.answers((MONITORING, RAY, 9095, "afterglow-http"), (RAY, flows.test, 80, ""),
                         (RAY, peer(SYSTEM, {"app.kubernetes.io/name": "afterglow-node"}, "10.1.0.6"), 80, "")) == [True] * 3


def test_metrics_may_be_left_to_one_namespace_and_helm_test_goes_on(plane, program):
    flows = Flows(plane, program, "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring")
    assert flows.to_operator(MONITORING, "metrics") == [True] and flows.to_operator(flows.test, "metrics") == [True]
    assert flows.to_operator(RAY, "metrics") == [False]
    assert flows.to_operator(API_SERVER, "webhook") == [True]


def test_the_webhook_may_be_left_to_the_addresses_of_the_api_server(plane, program):
    flows = Flows(plane, program, "networkPolicy.webhookFrom[0].ipBlock.cidr=192.168.0.0/24")
    assert flows.to_operator(API_SERVER, "webhook") == [True]
    assert flows.to_operator(RAY, "webhook") + flows.to_operator({"IP": "192.168.1.10"}, "webhook") == [False, False]
    assert flows.to_operator(MONITORING, "metrics") == [True]


@pytest.mark.parametrize("value", ["manageRayClusters=true", "webhook.enabled=false"])
def test_without_a_webhook_its_port_is_closed(plane, program, value):
    flows = Flows(plane, program, value)
    assert "webhook" not in flows.ports
    assert flows.answers((API_SERVER, flows.operator, 9443, "webhook"), (MONITORING, flows.operator, 8080, "metrics")) == [False, True]


def test_the_webhooks_port_may_be_another(plane, program):
    flows = Flows(plane, program, "webhook.port=10250")
    assert flows.ports["webhook"] == 10250 and flows.to_operator(API_SERVER, "webhook") == [True]
    assert flows.answers((API_SERVER, flows.operator, 9443, "")) == [False]


def test_the_policy_of_the_page_lets_the_operator_ask_the_sidecars_and_needs_another_for_ray(plane, program):
    page = (ROOT / "docs/install.md").read_text()
    (block,) = [b for b in re.findall(r"(?:^ {6}.*\n)+", page, re.M) if "kind: NetworkPolicy" in b]
    flows = Flows(plane, program)
    flows.policy = yaml.safe_load(textwrap.dedent(block))
    worker = peer("ml", {"ray.io/is-ray-node": "yes"}, "10.1.0.8")
    assert flows.answers((flows.operator, RAY, 9095, "afterglow-http"), (MONITORING, RAY, 9095, "afterglow-http"),
                         (flows.operator, RAY, 6379, "gcs"), (worker, RAY, 6379, "gcs")) == [True, False, False, False]
