# SPDX-License-Identifier: Apache-2.0
"""
The operator and a sidecar work where nothing passes but what the chart's NetworkPolicy and those of docs/networks.md allow. Pods are network
namespaces, with packet filters made from the answers of cyclonus: this shows that Afterglow needs no connection that the policies forget,
with the API server behind a Service and the webhook called by it. It is no test of a CNI plugin.
"""

import json
import re
import sys

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import BUILD, IMAGE
from apiserver.control_plane import Daemon
from apiserver.judges import judge
from apiserver.pod_network import LISTEN, Bridge, allowed, connect, run
from apiserver.pod_sidecar import PodSidecar
from apiserver.test_chart import EVERYTHING, only, pod_of, rendered
from apiserver.test_network_policy import MONITORING, RAY_LABELS, STRANGER, SYSTEM, deny_all, page_policies, peer
from apiserver.test_webhook import names, ray_pod
from apiserver.webhook import SECRET, configuration

SERVICE = "10.0.0.1"  # of the API server: the first address of the plane's services
GCS = 6379
PORTS = ((8080, "metrics"), (9443, "webhook"), (9095, "afterglow-http"), (GCS, "gcs"), (22, ""))


@pytest.fixture(name="bridge")
def node():
    made = Bridge()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(name="near")
def api_server_of_the_node(plane):
    """An API server that pods reach, and that finds the webhook behind its Service."""
    plane.issue("service", "/CN=kube-apiserver", f"subjectAltName=IP:127.0.0.1,IP:{SERVICE}")
    with plane.another_api_server("--bind-address", "0.0.0.0", "--enable-aggregator-routing", "--tls-cert-file", plane.file("service.crt"),
                                  "--tls-private-key-file", plane.file("service.key")) as near:
        yield near


class Cluster:
    """The pods, and policies that hold for them."""

    def __init__(self, plane, bridge, port):
        self.program = judge("flows")[0]
        objects = rendered(plane, *EVERYTHING, f"networkPolicy.webhookFrom[0].ipBlock.cidr={bridge.address}/32",
                           "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring")
        self.bridge, self.api_server, self.ports = bridge, {"IP": bridge.address}, (*PORTS, (port, ""))
        self.operator = bridge.pod("operator", peer(SYSTEM, pod_of(objects)["metadata"]["labels"], ""))
        self.prometheus, self.stranger = bridge.pod("prometheus", MONITORING), bridge.pod("stranger", STRANGER)
        self.head, self.worker = (bridge.pod(name, peer("ml", RAY_LABELS, "")) for name in ("head", "worker"))
        # The page has an example's address and port of the API server.
        text = json.dumps(page_policies()[0]).replace("10.0.0.0/28", f"{bridge.address}/32").replace('"port": 6443', f'"port": {port}')
        page = json.loads(text)
        self.policies = {"chart": only(objects, "NetworkPolicy"), "nothing": deny_all(SYSTEM), "out": page["afterglow-out"],
                         "sidecars": page["afterglow-sidecars-only"]}

    def enforce(self, *left_out):
        policies = [policy for name, policy in self.policies.items() if name not in left_out]
        flows = allowed(self.program, policies, [self.api_server, *(p.peer for p in self.bridge.pods.values())], self.ports)
        for pod in self.bridge.pods.values():
            pod.allow_only(flows)

    def lift(self):
        for pod in self.bridge.pods.values():
            pod.allow_only(None)


@pytest.fixture(name="cluster")
def pods_of_a_cluster(plane, bridge, near):
    made = Cluster(plane, bridge, near.port)
    made.operator.service(SERVICE, 443, f"{bridge.address}:{near.port}")
    return made


@pytest.fixture(name="gcs")
def listener_in_place_of_ray(cluster, tmp_path):
    """Lists the connections that other Ray pods make to the worker's pod."""
    gcs = Daemon([*cluster.worker.inside, sys.executable, "-c", LISTEN, GCS], tmp_path / "gcs.log")
    try:
        wait_for("the listener", lambda: connect(cluster.worker.address, GCS) == "open")
        yield gcs
    finally:
        gcs.stop()


@pytest.fixture(name="record")
def sidecar_of_the_worker(cluster, tmp_path):
    """Starts the sidecar of a pod. It is asked by the API server's address, which the policies let in."""
    started = []

    def start(pod):
        (tmp_path / "pod").mkdir()
        started.append(PodSidecar(pod, tmp_path / "pod", address=cluster.worker.address, inside=cluster.worker.inside))
    yield start
    for sidecar in started:
        sidecar.close()


@pytest.fixture(name="confined")
def operator_in_its_pod(plane, api, cluster, gcs, tmp_path):  # pylint: disable=unused-argument # gcs: it is looked for before the policies hold
    """Started where the policies hold already, as the chart starts it."""
    cluster.enforce()
    config = yaml.safe_load(plane.kubeconfig("operator").read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://{SERVICE}"
    path = tmp_path / "operator.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    point_service_at(api, cluster.operator.address)
    name = f"afterglow-{api.namespace}"
    api.create("mutatingwebhookconfigurations", by_service(configuration(name, api.namespace, 0, timeout=30), api.namespace))
    operator = Daemon([*cluster.operator.inside, BUILD / "afterglow-operator", "--launcher", BUILD / "afterglow-launch", "--kubeconfig", path,
                       "--namespace", api.namespace, "--sidecar-image", IMAGE, "--metrics-address", ":8080", "--webhook-address", ":9443",
                       "--webhook-service", "afterglow-webhook", "--webhook-secret", SECRET, "--webhook-configuration", name,
                       "--lease-namespace", api.namespace], tmp_path / "operator.log")
    yield operator
    operator.stop()
    print(operator.text())
    api.delete("mutatingwebhookconfigurations", name)


def point_service_at(api, address):
    """Makes the chart's Service of the webhook, and the slice that the endpoint slice controller would make of it."""
    api.create("services", {"metadata": {"name": "afterglow-webhook"}, "spec": {"ports": [{"name": "webhook", "port": 443, "targetPort": 9443}]}})
    api.request("POST", f"/apis/discovery.k8s.io/v1/namespaces/{api.namespace}/endpointslices", {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "afterglow-webhook", "labels": {"kubernetes.io/service-name": "afterglow-webhook"}},
        "ports": [{"name": "webhook", "port": 9443, "protocol": "TCP"}], "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]})


def by_service(config, namespace):
    for hook in config["webhooks"]:
        path = "/mutate" + hook["clientConfig"]["url"].rsplit("/mutate", 1)[1]
        hook["clientConfig"] = {"service": {"namespace": namespace, "name": "afterglow-webhook", "port": 443, "path": path}}
    return config


def scraped(pod, address, port=8080):
    return run(*pod.inside, "curl", "--silent", "--fail", f"http://{address}:{port}/metrics")


def test_what_the_policies_allow_is_all_that_afterglow_needs(cluster, near, api, kubelet, record, confined):
    near = near.within(api.namespace)

    def works():
        assert confined.running(), confined.text()
        return names(near.request("POST", near.path("pods") + "?dryRun=All", ray_pod("probe"))) == ["ray-worker", "afterglow"]
    # The operator has read what it watches and published its certificate, and the API server has called it.
    wait_for("the webhook", works, timeout=120)
    pod = near.create("pods", ray_pod("recorded"))
    record(pod)
    kubelet.run_at(pod, cluster.worker.address)
    wait_for("the operator to reach the sidecar",
             lambda: re.search(r'^afterglow_sidecars\{answers="true"\} 1$', scraped(cluster.prometheus, cluster.operator.address), re.M))
    assert scraped(cluster.prometheus, cluster.worker.address, 9095)
    operator, worker = cluster.operator.address, cluster.worker.address

    def refused():
        return [pod.connect(address, port) for pod, address, port in (
            (cluster.stranger, operator, 8080), (cluster.stranger, operator, 9443), (cluster.worker, operator, 9443), (cluster.stranger, worker, 9095),
            (cluster.head, worker, 9095), (cluster.operator, worker, GCS))] + [connect(operator, 8080)]
    assert refused() == ["filtered"] * 7
    # Ray's own connections stay open: between its pods, and from everybody who could connect before.
    assert [pod.connect(worker, GCS) for pod in (cluster.head, cluster.stranger)] == ["open"] * 2
    assert cluster.stranger.connect(operator, 22) == "filtered" and cluster.stranger.connect(worker, 22) == "closed"
    # Without one of them, what it is for goes; without all of them, what was refused works.
    cluster.enforce("out")
    assert cluster.operator.connect(SERVICE, 443) == "filtered" and cluster.operator.connect(worker, 9095) == "filtered"
    cluster.enforce("chart")
    assert cluster.prometheus.connect(operator, 8080) == "filtered" and connect(operator, 9443) == "filtered"
    cluster.lift()
    assert refused() == ["open"] * 7
