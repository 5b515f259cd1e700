# SPDX-License-Identifier: Apache-2.0
"""
This shows which flows the chart's NetworkPolicy and those of docs/networks.md let through. Cyclonus judges, which was written to compare CNI plugins
with the specification: it evaluates policies, and sends no packets (test_network_packets.py does). Nothing enforces policies in the
clusters of the tests: of the programs that do, none is to be had with all its parts, and kube-network-policies needs the kernel's
NFT_QUEUE besides.
"""

import json
import re
import subprocess
import textwrap

import pytest
import yaml

from apiserver.conftest import ROOT
from apiserver.judges import judge
from apiserver.test_chart import EVERYTHING, only, operator_of, pod_of, rendered, template

SYSTEM = "afterglow-system"
PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}


@pytest.fixture(name="program", scope="module")
def flow_judge():
    """The program that says which flows are allowed."""
    return judge("flows")[0]


class Flows:
    """The rendered policy, perhaps with others, and who may reach whom by it."""

    def __init__(self, plane, program, *values):
        objects = rendered(plane, *EVERYTHING, *values)
        self.program, self.policies = program, [only(objects, "NetworkPolicy")]
        self.ports = {p["name"]: p["containerPort"] for p in operator_of(objects)["ports"]}
        self.operator = peer(SYSTEM, pod_of(objects)["metadata"]["labels"], "10.1.0.2")
        self.test = peer(SYSTEM, only(objects, "Pod")["metadata"]["labels"], "10.1.0.3")

    def answers(self, *flows):
        """Returns for each flow (source, destination, port's number and name, perhaps the protocol) whether it is allowed."""
        question = {"policies": self.policies, "flows": [
            {"Source": source, "Destination": to, "ResolvedPort": port, "ResolvedPortName": name, "Protocol": (*protocol, "TCP")[0]}
            for source, to, port, name, *protocol in flows]}
        result = subprocess.run([self.program], input=json.dumps(question), capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def to_operator(self, source, *names):
        return self.answers(*((source, self.operator, self.ports[name], name) for name in names))


def peer(namespace, labels, address, **namespace_labels):
    """Returns a pod as cyclonus sees it. Kubernetes gives each namespace a label with its name."""
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
    assert flows.to_operator(API_SERVER, "webhook") + flows.to_operator(flows.test, "webhook") == [True, True]
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


# --- docs/networks.md ---------------------------------------------------------------------------------------


PAGE = (ROOT / "docs/networks.md").read_text()
RAY_LABELS = {"ray.io/is-ray-node": "yes", "app.kubernetes.io/name": "kuberay"}
HEAD, WORKER = peer("ml", RAY_LABELS, "10.1.0.9"), peer("ml", RAY_LABELS, "10.1.0.8")
READER = peer("ml", {"app.kubernetes.io/name": "afterglow-reader"}, "10.1.0.11")
OTHER_POD_OF_ML = peer("ml", {"app": "notebook"}, "10.1.0.12")
STRANGER = peer("other", {"app": "other"}, "10.1.0.13")
DNS = peer("kube-system", {"k8s-app": "kube-dns"}, "10.1.0.4")
CONTROL_PLANE = {"IP": "10.0.0.5"}  # what the page has as 10.0.0.0/28
STORE, POD_IDENTITY = {"IP": "203.0.113.10"}, {"IP": "169.254.170.23"}


def page_policies():
    """Returns the page's policies by name, and the values that it has for the chart."""
    blocks = [textwrap.dedent(b) for b in re.findall(r"^(?: {4}.*\n)+", PAGE, re.M)]
    found = [yaml.safe_load(b) for b in blocks]
    policies = {o["metadata"]["name"]: o for o in found if o.get("kind") == "NetworkPolicy"}
    assert set(policies) == {"afterglow-sidecars-only", "afterglow-sidecars", "afterglow-out", "afterglow-store"}
    return policies, [o for o in found if "kind" not in o]


def deny_all(namespace):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny-all", "namespace": namespace},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}}


def needed(flows):
    """Returns the first table of the page, with S3 and EKS Pod Identity as the store."""
    operator, test = flows.operator, flows.test
    hook = peer(SYSTEM, {"app.kubernetes.io/name": "afterglow-crds", "app.kubernetes.io/instance": "afterglow"}, "10.1.0.15")
    sidecar, dns = (9095, "afterglow-http"), ((53, "dns", "UDP"), (53, "dns-tcp"))
    return [
        (operator, CONTROL_PLANE, 6443, ""), (hook, CONTROL_PLANE, 6443, ""), (operator, HEAD, *sidecar), (operator, WORKER, *sidecar),
        (CONTROL_PLANE, operator, 9443, "webhook"),
        (MONITORING, operator, 8080, "metrics"), (MONITORING, WORKER, *sidecar), (CONTROL_PLANE, HEAD, *sidecar),
        (test, operator, 8080, "metrics"), (test, operator, 9443, "webhook"), *((test, DNS, *port) for port in dns),
        *((source, DNS, *port) for source in (WORKER, READER) for port in dns),
        *((source, *to, "") for source in (WORKER, READER) for to in ((STORE, 443), (POD_IDENTITY, 80)))]


def never_needed(flows):
    """Lists connections that Afterglow does not need, and that must be refused."""
    operator = flows.operator
    return [(STRANGER, operator, 8080, "metrics"), (STRANGER, operator, 9443, "webhook"), (WORKER, operator, 9443, "webhook"),
            (WORKER, operator, 8080, "metrics"), (MONITORING, operator, 9443, "webhook"), (CONTROL_PLANE, operator, 22, ""),
            (STRANGER, HEAD, 9095, "afterglow-http"), (OTHER_POD_OF_ML, WORKER, 9095, "afterglow-http"),
            (operator, HEAD, 8265, "dashboard"), (operator, STORE, 443, ""), (flows.test, HEAD, 9095, "afterglow-http"),
            (operator, CONTROL_PLANE, 22, ""), (WORKER, POD_IDENTITY, 22, ""), (OTHER_POD_OF_ML, STORE, 443, "")]


@pytest.fixture(name="narrow")
def page_with_the_chart(plane, program):
    """The chart's policy with the first values of the page, where both namespaces deny everything; and the page's policies."""
    policies, (values, _) = page_policies()
    flows = Flows(plane, program, "networkPolicy.webhookFrom[0].ipBlock.cidr=10.0.0.0/28",
                  "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring")
    webhook, metrics = flows.policies[0]["spec"]["ingress"]
    assert webhook["from"][0] in values["networkPolicy"]["webhookFrom"] and values["networkPolicy"]["metricsFrom"][0] in metrics["from"]
    flows.policies += [deny_all(SYSTEM), deny_all("ml")]
    return flows, policies


def test_with_the_policies_of_the_page_each_connection_of_its_table_works_where_all_else_is_denied(narrow):
    flows, policies = narrow
    flows.policies += [policies[name] for name in ("afterglow-sidecars", "afterglow-out", "afterglow-store")]
    assert {flow: answer for flow, answer in zip(map(str, needed(flows)), flows.answers(*needed(flows))) if not answer} == {}
    assert {flow: answer for flow, answer in zip(map(str, never_needed(flows)), flows.answers(*never_needed(flows))) if answer} == {}


@pytest.mark.parametrize("left_out, lost", [("afterglow-sidecars", 4), ("afterglow-out", 8), ("afterglow-store", 8)])
def test_each_policy_of_the_page_is_needed_there(narrow, left_out, lost):
    flows, policies = narrow
    flows.policies += [policies[name] for name in ("afterglow-sidecars", "afterglow-out", "afterglow-store") if name != left_out]
    assert flows.answers(*needed(flows)).count(False) == lost


def test_without_policies_everything_works_also_what_is_not_needed(plane, program):
    flows = Flows(plane, program)
    flows.policies = []
    assert all(flows.answers(*needed(flows), *never_needed(flows)))


def test_the_page_closes_the_sidecars_port_and_nothing_else_of_ray(plane, program):
    flows = Flows(plane, program)
    flows.policies = [page_policies()[0]["afterglow-sidecars-only"]]
    sidecar = (9095, "afterglow-http")
    assert flows.answers((flows.operator, HEAD, 9096, "afterglow-http"), (STRANGER, HEAD, 9096, "afterglow-http"), (WORKER, HEAD, 9099, "")) == [True, False, False]
    assert flows.answers((flows.operator, HEAD, *sidecar), (MONITORING, HEAD, *sidecar), (CONTROL_PLANE, HEAD, *sidecar)) == [True] * 3
    assert flows.answers((STRANGER, HEAD, *sidecar), (OTHER_POD_OF_ML, HEAD, *sidecar), (WORKER, HEAD, *sidecar), ({"IP": "192.0.2.1"}, HEAD, *sidecar),
                         (peer(SYSTEM, {"app": "other"}, "10.1.0.5"), HEAD, *sidecar)) == [False] * 5
    # GCS, the dashboard, clients, Serve, raylets and workers at whatever port they got, and what leaves the pod.
    rest = [(source, HEAD, port, "") for source in (WORKER, STRANGER, {"IP": "192.0.2.1"})
            for port in (1, 6379, 8265, 8000, 9094, 9100, 10001, 44217, 65535)]
    assert all(flows.answers(*rest, (WORKER, HEAD, 4791, "", "UDP"), (HEAD, STORE, 443, ""), (HEAD, DNS, 53, "dns", "UDP"),
                             (STRANGER, OTHER_POD_OF_ML, 9095, "")))


def test_on_gke_and_aks_the_webhook_is_for_the_agents_of_the_api_server(plane, program, tmp_path):
    _, (_, values) = page_policies()
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    flows = Flows(plane, program)
    result = template(plane, "--namespace", SYSTEM, "-f", path)
    assert result.returncode == 0, result.stderr
    flows.policies = [only([o for o in yaml.safe_load_all(result.stdout) if o], "NetworkPolicy")]
    agents = [peer("kube-system", labels, "10.1.0.16") for labels in ({"k8s-app": "konnectivity-agent"}, {"app": "konnectivity-agent"})]
    assert [flows.to_operator(agent, "webhook") for agent in agents] == [[True], [True]]
    others = (DNS, STRANGER, CONTROL_PLANE, peer("ml", {"k8s-app": "konnectivity-agent"}, "10.1.0.17"))
    assert [flows.to_operator(other, "webhook") for other in others] == [[False]] * 4
    # With the addresses of the control plane, which the page warns of, these agents are refused.
    flows = Flows(plane, program, "networkPolicy.webhookFrom[0].ipBlock.cidr=10.0.0.0/28")
    assert [flows.to_operator(agent, "webhook") for agent in agents] == [[False], [False]]


def test_the_api_server_takes_the_policies_of_the_page(plane, api):
    policies = page_policies()[0]
    path = plane.file("policies-of-the-page.yaml")
    path.write_text(yaml.safe_dump_all([{**policy, "metadata": {"name": name}} for name, policy in policies.items()]))
    plane.kubectl("apply", "--namespace", api.namespace, "--validate=strict", "-f", str(path))
    stored = json.loads(plane.kubectl("get", "networkpolicies", "--namespace", api.namespace, "-o", "json"))["items"]
    assert {o["metadata"]["name"]: o["spec"] for o in stored} == {name: o["spec"] for name, o in policies.items()}
