# SPDX-License-Identifier: Apache-2.0
"""
A large fleet within a minute: one RayCluster is made, placed and run by requests, and then its objects are copied in etcd,
with other names, uids, nodes and addresses. To write a hundred thousand pods by requests, and their statuses, takes the API
server a quarter of an hour. What replaces a text is as long, so that the API server's own encoding of a pod stays valid.
"""

import base64
import uuid

from apiserver import kubelet

NAMESPACE = "fleet"
CLUSTER, NODE, ADDRESS = "fleet-0000", "node-0000", "10.101.101.101"
AT_ONCE = 100  # values in a transaction; etcd takes 128 operations and 1.5 MB


def encoded(data):
    return base64.b64encode(data).decode()


def address(n):
    return f"10.{100 + n // 10000}.{100 + n // 100 % 100}.{100 + n % 100}"


def node_object():
    """As much as a kubelet says of its node."""
    amounts = {"cpu": "64", "memory": "263842Mi", "pods": "110", "ephemeral-storage": "500Gi"}
    conditions = [{"type": kind, "status": str(kind == "Ready"), "reason": "Kubelet", "message": "as it should be"}
                  for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")]
    return {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions,
                       "addresses": [{"type": "Hostname", "address": NODE}],
                       "nodeInfo": {k: "v" for k in ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage",
                                                     "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion",
                                                     "operatingSystem", "architecture")}}}


class Fleet:
    """The namespace fleet with so many nodes and pods. The first RayCluster is there, with all its pods."""

    def __init__(self, plane, api, nodes, pods):
        self.plane, self.api = plane, api
        self.templates = api.items("pods")
        self.nodes, self.clusters = nodes, pods // len(self.templates)
        self.workers = [p["metadata"]["name"] for p in self.templates if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]

    def place(self):
        """All pods of the first cluster run on the first node."""
        self.api.create("nodes", node_object())
        for pod in self.templates:
            name = pod["metadata"]["name"]
            self.api.request("POST", self.api.path("pods", name, "binding"), {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": NODE}})
            states = [kubelet.running(pod, c["name"]) for c in pod["spec"]["containers"]]
            body = kubelet.status(pod, "Running", states, True)
            body["status"].update(podIP=ADDRESS, podIPs=[{"ip": ADDRESS}])
            self.api.patch("pods", name, body, "status")

    def read(self, prefix):
        """(key, value, uid) of all below that prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        answer = self.plane.etcd_call("kv/range", {"key": encoded(prefix.encode()), "range_end": encoded(end.encode())})
        return [(base64.b64decode(kv["key"]), base64.b64decode(kv["value"])) for kv in answer.get("kvs", [])]

    def write(self, values):
        put = [{"requestPut": {"key": encoded(key), "value": encoded(value)}} for key, value in values]
        for at in range(0, len(put), AT_ONCE):
            self.plane.etcd_call("kv/txn", {"success": put[at:at + AT_ONCE]})

    def copy_nodes(self):
        (node,) = self.read(f"/registry/minions/{NODE}")
        own = self.api.get("nodes", NODE)["metadata"]["uid"].encode()
        batch = []
        for n in range(1, self.nodes):
            swaps = ((NODE.encode(), f"node-{n:04d}".encode()), (own, str(uuid.uuid4()).encode()))
            batch.append(tuple(replaced(part, swaps) for part in node))
        self.write(batch)

    def copy_clusters(self):
        uid_of = {p["metadata"]["name"]: p["metadata"]["uid"] for p in self.templates}
        cluster_uid = self.api.get("rayclusters", CLUSTER)["metadata"]["uid"]
        services = {s["metadata"]["name"]: s["metadata"]["uid"] for s in self.api.items("services")}
        uid_of.update(services)
        objects = [kv for prefix in (f"/registry/ray.io/rayclusters/{NAMESPACE}/", f"/registry/services/specs/{NAMESPACE}/",
                                     f"/registry/pods/{NAMESPACE}/") for kv in self.read(prefix)]
        for n in range(1, self.clusters):
            common = ((CLUSTER.encode(), f"fleet-{n:04d}".encode()), (cluster_uid.encode(), str(uuid.uuid4()).encode()))
            batch = []
            for i, (key, value) in enumerate(objects):
                at = n * len(objects) + i
                own = uid_of.get(key.decode().rsplit("/", 1)[1], cluster_uid)
                swaps = (*common, (own.encode(), str(uuid.uuid4()).encode()), (ADDRESS.encode(), address(at).encode()),
                         (NODE.encode(), f"node-{at // 20 % self.nodes:04d}".encode()))
                batch.append((replaced(key, swaps[:1]), replaced(value, swaps)))
            self.write(batch)

    def worker(self, n):
        """The n-th of some that are all of different clusters."""
        cluster = 1 + n * 7 % (self.clusters - 1)
        return self.workers[n % len(self.workers)].replace(CLUSTER, f"fleet-{cluster:04d}")


def replaced(data, swaps):
    for old, new in swaps:
        assert len(old) == len(new)
        data = data.replace(old, new)
    return data
