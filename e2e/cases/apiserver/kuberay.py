# SPDX-License-Identifier: Apache-2.0
"""
Writes down what an operator makes of e2e/kuberay/clusters.yaml on a real kube-apiserver, as facts: a place in the world after each step,
and what stands there. Names, uids, addresses and times are masked, so that the facts of two operators can be compared.
"""

import copy
import json
import pathlib
import re

import yaml

from conftest import wait_for
from apiserver import kubelet
from apiserver.api import ApiError

FOLDER = pathlib.Path(__file__).parents[2] / "kuberay"
KINDS = ("services", "ingresses", "serviceaccounts", "roles", "rolebindings", "secrets", "persistentvolumeclaims")
PREFIX = "rc-"  # so that a cluster's name can be told from other words


# --- manifests ------------------------------------------------------------------------------------------------


def put(tree, path, value):
    """Sets the value at a path; null removes the value."""
    *parents, last = re.findall(r"[^.]+", path)
    for part in parents:
        tree = tree[int(part)] if isinstance(tree, list) else tree.setdefault(part, {})
    if isinstance(tree, list):
        tree[int(last):int(last) + 1] = [value]
    elif value is None:
        tree.pop(last, None)
    else:
        tree[last] = value


def manifest(base, name, places):
    made = copy.deepcopy(base)
    made["metadata"]["name"] = name
    for path, value in places.items():
        if path != "then":
            put(made, path, copy.deepcopy(value))
    return made


class Scene:
    """The clusters of a part of clusters.yaml: by name the manifest, and the changes that come later."""

    def __init__(self, part="clusters", refused=None):
        text = yaml.safe_load((FOLDER / "clusters.yaml").read_text(encoding="utf-8"))
        self.clusters = {PREFIX + n: manifest(text["base"], PREFIX + n, places) for n, places in text[part].items()}
        self.then = {PREFIX + n: places.get("then", []) for n, places in text[part].items()}
        self.accounts = text["accounts"]
        self.refused = {n: manifest(text["base"], n, places) for n, places in text.get(refused, {}).items()}


# What is asked of an operator as it usually runs, and of one that uses login shells.
def scenes(samples=None):
    return (Samples(samples), None) if samples else (Scene(refused="refused"), Scene("login"))


class Samples:
    """RayClusters of a folder of manifests as they are, but for names and namespaces."""

    def __init__(self, folder):
        self.clusters, self.then, self.refused, self.accounts = {}, {}, {}, []
        for path in sorted(pathlib.Path(folder).rglob("*.yaml")):
            for n, document in enumerate(yaml.safe_load_all(path.read_text(encoding="utf-8"))):
                if document and document.get("kind") == "RayCluster" and document["apiVersion"] == "ray.io/v1":
                    name = PREFIX + re.sub("[^a-z0-9]+", "-", path.stem.removeprefix("ray-cluster.").lower())[:40] + f"-{n}"
                    document["metadata"] = {**document["metadata"], "name": name}
                    document["metadata"].pop("namespace", None)
                    self.clusters[name], self.then[name] = document, []


# --- playing it ------------------------------------------------------------------------------------------------


class Play:
    """Lets one operator act in one namespace, and notes what it did. settle: returns when the operator has acted on all that there is."""

    def __init__(self, api, settle):
        self.api, self.settle = api, settle
        self.kubelet = kubelet.Kubelet(api)
        self.facts = {}    # by cluster
        self.answers = {}  # by refused cluster
        self.named = {}    # by cluster, a pod that is to be deleted
        self.rejected = {}

    def create(self, name, body):
        try:
            self.api.create("rayclusters", body)
        except ApiError as error:
            if error.status not in (400, 422):
                raise
            self.rejected[name] = json.loads(str(error).split(f"{error.status} ", 1)[1])["message"]

    def run_pods(self):
        for pod in self.api.items("pods"):
            if pod["status"]["phase"] == "Pending":
                self.kubelet.run(pod)

    def note(self, step, names):
        world = World(self.api, self.named)
        for name in names:
            if name not in self.rejected:
                self.facts.setdefault(name, {}).update(world.facts(name, step))

    def play(self, scene):
        for name in scene.accounts:
            self.api.create("serviceaccounts", {"metadata": {"name": name}})
        for name, body in {**scene.clusters, **scene.refused}.items():
            self.create(name, body)
        self.settle()
        wait_for("a head pod of each cluster", lambda: self.heads(scene), timeout=30, interval=0.5)
        self.settle()
        self.note("created", scene.clusters)
        self.run_pods()
        self.settle()
        self.note("running", scene.clusters)
        for n in range(max((len(steps) for steps in scene.then.values()), default=0)):
            names = [name for name, steps in scene.then.items() if n < len(steps)]
            self.change({name: scene.then[name][n] for name in names})
            self.note(f"then[{n}]", names)
        self.answers = {name: self.answer(name) for name in scene.refused}
        for name, message in self.rejected.items():
            if name in scene.clusters:
                self.facts[name] = {"rejected": message}
        return self

    def heads(self, scene):
        found = {p["metadata"]["labels"]["ray.io/cluster"] for p in self.api.items("pods", "ray.io/node-type=head")}
        expected = {n for n, body in scene.clusters.items() if not body["spec"].get("suspend") and n not in self.rejected}
        missing = {name: self.events(name) for name in expected - found}
        # What is refused has no head either: that is a fact.
        missing = {name: words for name, words in missing.items() if "Warning InvalidRayClusterSpec" not in words}
        assert not missing, missing
        return True

    def change(self, changes):
        """Sets places of clusters, where POD stands for a worker of the cluster, or deletes a cluster."""
        for name, places in changes.items():
            if places == "deleted":
                self.api.delete("rayclusters", name)
                continue
            body = self.api.get("rayclusters", name)
            for path, value in places.items():
                put(body, path, self.name_pods(name, value))
            self.api.request("PUT", self.api.path("rayclusters", name), body)
        self.settle()
        self.run_pods()
        self.settle()

    def name_pods(self, name, value):
        if "POD" not in json.dumps(value):
            return value
        pod = self.api.items("pods", f"ray.io/cluster={name},ray.io/node-type=worker")[0]["metadata"]["name"]
        self.named[name] = pod
        return json.loads(json.dumps(value).replace("POD", pod))

    def events(self, name):
        return {f"{e['type']} {e['reason']}" for e in self.api.items("events") if e["regarding"].get("name") == name}

    def answer(self, name):
        """Returns who refused the cluster that should be refused."""
        if name in self.rejected:
            return {"refused by": "the API server"}
        events = [e for e in self.api.items("events") if e["regarding"].get("name") == name and e["type"] == "Warning"]
        pods = len(self.api.items("pods", f"ray.io/cluster={name}"))
        if pods or not events:
            return {"refused by": "nobody", "pods": pods}
        return {"refused by": "the operator", "reason": events[0]["reason"]}


# --- what there is, as facts ----------------------------------------------------------------------------------


class World:
    """All objects of a namespace at one moment."""

    def __init__(self, api, named):
        self.namespace, self.named = api.namespace, named
        self.clusters = {c["metadata"]["name"]: c for c in api.items("rayclusters")}
        self.pods = api.items("pods")
        self.objects = {kind: api.items(kind) for kind in KINDS}
        self.events = api.items("events")
        self.jobs = api.items("jobs")

    def facts(self, name, step):
        cluster = self.clusters[name]
        uid = cluster["metadata"]["uid"]
        mask = Mask(name, uid, self.namespace)
        status = {k: v for k, v in cluster.get("status", {}).items() if v not in (0, "")}
        status["head"] = {k: v for k, v in status.get("head", {}).items() if v}
        status["observedGeneration"] = status.get("observedGeneration") == cluster["metadata"]["generation"]
        found = {"status": status, "pods": self.pods_of(name, step)}
        if name in self.named:
            found["named pod"] = "there" if self.named[name] in [p["metadata"]["name"] for p in self.pods] else "gone"
        if "deletionTimestamp" in cluster["metadata"]:
            found = {"finalizers": cluster["metadata"].get("finalizers", []), "pods": self.pods_of(name, step),
                     "job": next((without_script(j) for j in self.jobs if j["metadata"]["name"].startswith(f"{name}-")), {})}
        elif step == "created":
            found["finalizers"] = cluster["metadata"].get("finalizers", [])
            del found["status"]  # a matter of moments
            for kind, items in self.objects.items():
                found[kind] = {i["metadata"]["name"]: i for i in items if is_owned(i, uid)}
        else:
            found["services"] = {i["metadata"]["name"]: "there" for i in self.objects["services"] if is_owned(i, uid)}
        found["events"] = {f"{e['type']} {e['reason']}": "there" for e in self.events if e["regarding"].get("uid") == uid}
        return dict(flatten(mask({key: value for key, value in found.items() if value}), step))

    def pods_of(self, name, step):
        groups = {}
        for pod in self.pods:
            labels = pod["metadata"]["labels"]
            if labels.get("ray.io/cluster") == name and "deletionTimestamp" not in pod["metadata"]:
                groups.setdefault(labels["ray.io/group"], []).append(pod)
        if step != "created":
            return {group: {"number": len(pods)} for group, pods in groups.items()}
        return {group: {"number": len(pods), "pod": [without_status(p) for p in sorted(pods, key=place)]}
                for group, pods in groups.items()}


def is_owned(item, uid):
    return any(ref["uid"] == uid for ref in item["metadata"].get("ownerReferences", []))


def place(pod):
    labels = pod["metadata"]["labels"]
    return [int(labels.get(f"ray.io/{key}", 0)) for key in ("worker-group-replica-index", "replica-host-index")]


def without_status(pod):
    return {k: v for k, v in pod.items() if k != "status"}


JOBS = {"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name", "selector"}
def without_script(job):
    """Leaves a script out, because two operators cannot be compared by it."""
    job = copy.deepcopy(without_status(job))
    for item in job["spec"]["template"]["spec"]["containers"]:
        item["args"] = []
        item["env"] = [e for e in item["env"] if e["name"] != "AFTERGLOW_SCRIPT"]
    return job


SERVERS = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generateName", "selfLink", "generation", "namespace"}
TIMES = {"lastTransitionTime", "lastUpdateTime"}
MASKED_LABELS = {"ray.io/worker-group-replica-name"}
HASHES = {"ray.io/upgrade-strategy-recreate-hash"}


class Mask:
    """Replaces what differs by chance by fixed words."""

    def __init__(self, name, uid, namespace):
        self.words = [(re.escape(uid), "UID"), (re.escape(namespace), "NAMESPACE"),
                      (rf"\b{re.escape(name)}\b", "NAME"), (r"\b10\.0\.\d+\.\d+\b", "CLUSTER-IP"),
                      (r"-redis-cleanup-[a-z0-9]{5}$", "-redis-cleanup"),
                      (r"-(head|worker)-[bcdfghjklmnpqrstvwxz2456789]{5}$", r"-\1-*")]

    def text(self, text):
        for pattern, word in self.words:
            text = re.sub(pattern, word, text)
        return text

    def __call__(self, value, key=""):
        if isinstance(value, dict):
            return self.object(value, key)
        if isinstance(value, list):
            return [self(item) for item in value]
        if key in TIMES or key in MASKED_LABELS or key in HASHES:
            return "*"
        if key == "nodePort" or key == "healthCheckNodePort":
            return "*"
        return self.text(value) if isinstance(value, str) else value

    def object(self, value, key):
        if key == "metadata":
            value = {k: v for k, v in value.items() if k not in SERVERS}
        if key == "ownerReferences":
            return {k: self(v) for k, v in value.items()}
        if key in ("stateTransitionTimes", "data"):
            return {k: "*" for k in value}
        if key == "endpoints":
            return {k: "*" if re.fullmatch(r"3[0-2]\d{3}", v) else v for k, v in value.items()}
        if "containers" in value:
            value = {**value, **{k: [container(c) for c in value[k]] for k in ("containers", "initContainers") if k in value}}
        if "controller-uid" in value or "backoffLimit" in value or "matchLabels" in value:
            value = {k: v for k, v in value.items() if k not in JOBS}
        return {self.text(k): self(v, k) for k, v in value.items()}


def container(spec):
    """Gives a container one argv, whatever program starts it: ours are started by the launcher."""
    if spec["name"] == "wait-gcs-ready":
        return {"name": spec["name"]}
    spec = dict(spec)
    command, args = spec.pop("command", []), spec.pop("args", [])
    if command[-1:] == ["afterglow"]:
        spec["launcher"] = "there"
        command, args = args, []
    spec["argv"] = [ray_start(word) for word in command + args]
    spec["has command"] = bool(command)
    spec["env"] = [{**e, "value": ray_start(e.get("value"))} if e["name"] == "KUBERAY_GEN_RAY_START_CMD" else e
                   for e in spec.get("env", [])]
    return spec


def ray_start(text):
    """Splits a generated `ray start` into its options."""
    if not isinstance(text, str) or not re.search(r"ray start .* --[a-z-]+.* $", text):
        return text
    head, *options = re.split(r"(?<= )(?= --)|(?<=--head )", text)
    return [{"name": "start", "text": head}] + [{"name": re.match("[^=]+", o.strip())[0], "text": o} for o in options]


# --- facts as places and values ---------------------------------------------------------------------------------


def key_of(items):
    """Returns the member that tells the items of a list apart; None: their index does."""
    for key in ("name", "mountPath", "type", "containerPort"):
        keys = [item.get(key) for item in items if isinstance(item, dict)]
        if len(keys) == len(items) and None not in keys and len(set(keys)) == len(keys):
            return key
    return None


def flatten(value, path):
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from flatten(item, f"{path}.{key}")
    elif isinstance(value, list) and value:
        key = key_of(value)
        names = [item[key] if key else n for n, item in enumerate(value)]
        for name, item in zip(names, value):
            yield from flatten({k: v for k, v in item.items() if k != key} if key else item, f"{path}[{name}]")
        if key and len(names) > 1 and not path.endswith(".ports"):  # theirs is chance
            yield f"{path} in order", " ".join(map(str, names))
    else:
        yield path, value


# --- comparing --------------------------------------------------------------------------------------------------


def in_common_order(theirs, ours):
    """Returns whether what both lists have comes in the same order."""
    both = set(theirs.split(" ")) & set(ours.split(" "))
    return [w for w in theirs.split(" ") if w in both] == [w for w in ours.split(" ") if w in both]


def differences(theirs, ours):
    """Returns (place, theirs, ours) for each place where they are not the same; None: nothing stands there."""
    for path in sorted(theirs.keys() | ours.keys()):
        a, b = theirs.get(path), ours.get(path)
        if path.endswith(" in order") and (a is None or b is None or in_common_order(a, b)):
            continue
        if a != b:
            yield path, a, b


class Table:
    """The intended differences: rows of where (with * for anything) and why."""

    def __init__(self, path=FOLDER / "differences.yaml"):
        self.rows = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.patterns = [(row, [re.compile(".*".join(map(re.escape, at.split("*")))) for at in row["at"]]) for row in self.rows]
        self.used = set()

    def explains(self, name, place_):
        for row, patterns in self.patterns:
            for pattern in patterns:
                if name not in row.get("unless", []) and (
                        pattern.fullmatch(place_) or pattern.fullmatch(f"{name}: {place_}")):
                    self.used.add(pattern.pattern)
                    return True
        return False

    def unused(self):
        return [p.pattern for _, patterns in self.patterns for p in patterns if p.pattern not in self.used]


# --- the record -------------------------------------------------------------------------------------------------


def pack(facts):
    """Returns for each cluster what differs from the first one."""
    first, *rest = facts
    packed = {first: facts[first]}
    for name in rest:
        packed[name] = {p: facts[name].get(p) for p in sorted(facts[name].keys() | facts[first].keys())
                        if facts[name].get(p, "-") != facts[first].get(p, "-")}
    return packed


def unpack(packed):
    first, *rest = packed
    facts = {first: packed[first]}
    for name in rest:
        both = {**packed[first], **packed[name]}
        facts[name] = {p: v for p, v in both.items() if not (v is None and p in packed[name])}
    return facts
