# SPDX-License-Identifier: Apache-2.0
"""
Draws at random the objects that a hostile or careless tenant may write into a namespace of their own: deep or wide objects,
strange characters, huge numbers, and labels and owners that belong to others. The name of each object begins with its kind, so
that a log shows what was tried.
"""

import copy

from apiserver.conftest import group, ray_cluster

NUMBERS = [-2**63, -2**31, -1, 0, 1, 7, 4096, 4097, 20_000, 20_001, 70_000, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**64, 1e18, 1e300,
           1.5, "3", None, True]
QUANTITIES = ["1e30", "-5Gi", "9" * 60 + "Ei", "NaN", "0", "1n", "٣Gi", " 4Gi", "4 Gi", "", "1e-9", "+1", 2**70]
STRANGE = ["", " ", "\u0000", "a\u0000b", "\ud800", "\u202eevil", "é" * 40, "💥", "-", ".", "..", "../..", "a/b", "%s%n%x", "${PATH}",
           "$(id)", "'; exit 1; '", "\"\\", "\n", "\r\n#afterglow/1 {}", "headgroup", "a" * 63, "A" * 64, "x" * 5000, "\u0300" * 100]
LABELS = ["ray.io/cluster", "ray.io/group", "ray.io/node-type", "ray.io/is-ray-node", "ray.io/identifier", "app.kubernetes.io/name",
          "ray.io/worker-group-replica-index", "ray.io/worker-group-replica-name", "ray.io/replica-host-index", "afterglow.dev/inject"]


def nested(rng, levels):
    value = 1
    for _ in range(levels):
        value = {rng.choice("abc"): value} if rng.random() < 0.7 else [value]
    return value


def places(cluster):
    """Returns the objects of a cluster into which something can be put."""
    head, worker = cluster["spec"]["headGroupSpec"], cluster["spec"]["workerGroupSpecs"][0]
    return [g["template"]["spec"] for g in (head, worker)] + [
        g["template"]["spec"]["containers"][0] for g in (head, worker)] + [head["template"]]


class Tenant:
    """A tenant that draws at random what to write next."""

    def __init__(self, rng, api, victim):
        self.rng, self.api, self.victim = rng, api, victim
        self.n = 0
        self.games = [self.depth, self.width, self.characters, self.numbers, self.labels, self.owners, self.squatting, self.relabel]

    def name(self, kind):
        self.n += 1
        return f"{kind}-{self.n}"

    def cluster(self, kind):
        return ray_cluster(self.name(kind), group("small", self.rng.choice([0, 1, 3])))

    def moves(self):
        """Returns a list of (game, plural, body, name to patch or None): moves of each game, in random order."""
        drawn = [(game.__name__, move) for game in self.games for _ in range(8) for move in game()]
        self.rng.shuffle(drawn)
        return [(game, *move) for game, move in drawn]

    def depth(self):
        cluster = self.cluster("deep")
        self.rng.choice(places(cluster))["x"] = nested(self.rng, self.rng.choice([50, 900, 990, 999, 1001, 1200, 3000]))
        return [("rayclusters", cluster, None)]

    def width(self):
        rng, cluster = self.rng, self.cluster("wide")
        groups, worker = cluster["spec"]["workerGroupSpecs"], cluster["spec"]["workerGroupSpecs"][0]
        many = rng.choice([200, 1001, 3000])
        kind = rng.choice(["groups", "labels", "env", "values", "names", "params", "annotations"])
        if kind == "groups":
            groups += [{**copy.deepcopy(worker), "groupName": f"g{i}", "replicas": 0} for i in range(many)]
        elif kind == "labels":
            worker["template"]["metadata"] = {"labels": {f"l{i}": "v" for i in range(many)}}
        elif kind == "env":
            worker["template"]["spec"]["containers"][0]["env"] = [{"name": f"E{i}", "value": "v"} for i in range(many)]
        elif kind == "values":
            worker["template"]["spec"]["x"] = [1] * (50 * many)
        elif kind == "names":
            worker["scaleStrategy"] = {"workersToDelete": [f"p{i}" for i in range(10 * many)]}
        elif kind == "params":
            worker["rayStartParams"] = {f"p{i}": "v" for i in range(many)}
        else:
            cluster["metadata"]["annotations"] = {"big": "x" * (60 * many)}
        return [("rayclusters", cluster, None)]

    def characters(self):
        rng, cluster = self.rng, self.cluster("strange")
        worker = cluster["spec"]["workerGroupSpecs"][0]
        container = worker["template"]["spec"]["containers"][0]
        for _ in range(3):
            text, where = rng.choice(STRANGE), rng.randrange(8)
            if where == 0:
                worker["groupName"] = text
            elif where == 1:
                container["name"] = text
            elif where == 2:
                container["args"] = [text]
            elif where == 3:
                container["env"] = [{"name": text, "value": rng.choice(STRANGE)}]
            elif where == 4:
                worker["rayStartParams"] = {text: rng.choice(STRANGE)}
            elif where == 5:
                worker["template"]["metadata"] = {"annotations": {"note": text}, "labels": {"l": text}}
            elif where == 6:
                cluster["spec"]["rayVersion"] = text
            else:
                worker["labels"] = {text: text}
        return [("rayclusters", cluster, None)]

    def numbers(self):
        rng, cluster = self.rng, self.cluster("huge")
        worker = cluster["spec"]["workerGroupSpecs"][0]
        for field in rng.sample(["replicas", "minReplicas", "maxReplicas", "numOfHosts", "idleTimeoutSeconds", "priority"], 2):
            worker[field] = rng.choice(NUMBERS)
        # What is within the bounds may be asked for, but is not what is tried here: thousands of pods take their time.
        if all(isinstance(worker.get(f, 1), int) and worker.get(f, 1) <= 20_000 for f in ("replicas", "numOfHosts", "minReplicas")):
            worker["maxReplicas"] = 5
            worker["minReplicas"] = 0
            worker["numOfHosts"] = min(worker.get("numOfHosts", 1), 4)
        resources = worker["template"]["spec"]["containers"][0]["resources"]
        resources[rng.choice(["limits", "requests"])] = {rng.choice(["cpu", "memory", "nvidia.com/gpu"]): rng.choice(QUANTITIES)}
        return [("rayclusters", cluster, None)]

    def pod(self, labels, owner=None):
        metadata = {"name": self.name("pod"), "labels": labels}
        if owner:
            metadata["ownerReferences"] = [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "controller": True, **owner}]
        return {"metadata": metadata, "spec": {"containers": [{"name": "ray", "image": "ray:test"}]}}

    def labels(self):
        rng = self.rng
        values = ["yes", "head", "worker", "small", "headgroup", self.victim["metadata"]["name"], "", "0", "999999999999999999999"]
        labels = {label: rng.choice(values) for label in rng.sample(LABELS, 5)}
        return [("pods", self.pod({"ray.io/is-ray-node": "yes", **labels}), None)]

    def owners(self):
        """Pods and failures that claim to belong to the other tenant's cluster, or to a cluster with too many heads."""
        rng, own = self.rng, self.cluster("crowded")
        name, uid = self.victim["metadata"]["name"], self.victim["metadata"]["uid"]
        labels = {"ray.io/is-ray-node": "yes", "ray.io/cluster": name, "ray.io/node-type": rng.choice(["head", "worker"]),
                  "ray.io/group": rng.choice(["headgroup", "small"])}
        failure = {"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure",
                   "metadata": {"name": self.name("failure"), "labels": {**labels, "afterglow.dev/class": rng.choice(["Killed", "x", ""])}},
                   "spec": {"cluster": name, "pod": "p", "container": "ray-head", "class": "Killed", "verdict": rng.choice(STRANGE)}}
        return [("rayclusters", own, None), ("pods", self.pod(labels, {"name": name, "uid": uid}), None),
                ("pods", self.pod({**labels, "ray.io/cluster": own["metadata"]["name"]}, {"name": name, "uid": "no-uid"}), None),
                ("rayfailures", failure, None)]

    def squatting(self):
        """Objects with the names that the operator would use, made before it, with another content."""
        cluster = self.cluster("squat")
        name = cluster["metadata"]["name"]
        service = {"metadata": {"name": f"{name}-head-svc", "labels": {"ray.io/cluster": name}}, "spec": {"ports": [{"port": 1}]}}
        claim = {"metadata": {"name": "afterglow-launch", "labels": {"app.kubernetes.io/managed-by": "afterglow"}},
                 "data": {"x": self.rng.choice(STRANGE)}}
        cluster["metadata"]["finalizers"] = ["example.com/never"] if self.rng.random() < 0.3 else []
        return [("services", service, None), ("configmaps", claim, None), ("rayclusters", cluster, None)]

    def relabel(self):
        """Changes the labels of a pod that the operator made, if there is one."""
        pods = self.api.items("pods", "ray.io/is-ray-node=yes")
        if not pods:
            return []
        pod = self.rng.choice(pods)["metadata"]
        label = self.rng.choice(LABELS)
        return [("pods", {"metadata": {"labels": {label: self.rng.choice([None, "other", "head"])}}}, pod["name"])]
