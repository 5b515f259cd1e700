# SPDX-License-Identifier: Apache-2.0
"""Tools that compare objects, and KubeRay's own code, see what the webhook does to KubeRay's samples."""

import copy
import json
import os
import pathlib
import subprocess

import pytest
import yaml

from apiserver.samples import build

ROOT = pathlib.Path(__file__).parents[3]
BUILD = ROOT / os.environ.get("AFTERGLOW_BUILD", "build")
RECORD = "afterglow.dev/memory-safety"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Lines:
    """A program that answers each line of JSON with one."""

    def __init__(self, program):
        self.program = program

    def __call__(self, inputs):
        done = subprocess.run([self.program], input="".join(json.dumps(i) + "\n" for i in inputs), text=True,
                              capture_output=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(inputs)
        return answers


@pytest.fixture(scope="module")
def kuberay():
    """Returns the directory with the programs that are built of KubeRay, and its samples."""
    return build()


@pytest.fixture(scope="module")
def admit():
    program = BUILD / "test/cluster-admission"
    subprocess.run(["make", "--no-print-directory", "-C", ROOT, program.relative_to(ROOT)], check=True, timeout=1200)
    lines = Lines(program)

    def admitted(objects, olds=None, mode="Apply"):
        """Returns the objects that stand after the request."""
        inputs = [{"object": o, "old": old, "mode": mode} for o, old in zip(objects, olds or [None] * len(objects))]
        return [answer["object"] or o for answer, o in zip(lines(inputs), objects)]

    return admitted


@pytest.fixture(scope="module")
def threeway():
    program = BUILD / "test/threeway"
    # As e2e/cluster/build.sh compiles the same packages.
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    go = subprocess.run([ROOT / "tools/go.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    subprocess.run([f"{go}/go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "."], cwd=ROOT / "e2e/kuberay/threeway",
                   env=env, check=True, timeout=1200)
    return Lines(program)


@pytest.fixture(scope="module")
def validate(kuberay):
    return Lines(kuberay / "validate")


@pytest.fixture(scope="module")
def samples(kuberay):
    """Returns the RayClusters of KubeRay's samples, and those of its RayJobs and RayServices as if they were written directly."""
    clusters = []
    for path in sorted((kuberay / "samples").glob("**/*.yaml")):
        for doc in yaml.safe_load_all(path.read_text()):
            spec = cluster_spec(doc or {})
            if spec:
                clusters.append({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": spec,
                                 "metadata": {"name": doc["metadata"].get("name", "generated"), "namespace": "default"}})
    assert len(clusters) > 70
    return clusters


def cluster_spec(doc):
    spec = doc.get("spec") or {}
    return {"RayCluster": spec, "RayJob": spec.get("rayClusterSpec"), "RayService": spec.get("rayClusterConfig")}.get(doc.get("kind"))


def tracked(objects):
    """Returns the objects as Argo CD writes them."""
    objects = copy.deepcopy(objects)
    for o in objects:
        o["metadata"].setdefault("annotations", {})["argocd.argoproj.io/tracking-id"] = "app:ray.io/RayCluster:default/" + o["metadata"]["name"]
    return objects


def applied(manifest):
    """Returns the objects as kubectl apply sends them."""
    manifest = copy.deepcopy(manifest)
    manifest["metadata"].setdefault("annotations", {})[LAST_APPLIED] = json.dumps(manifest)
    return manifest


def patches(threeway, manifests, lives):
    return threeway([{"original": m, "modified": m, "current": live} for m, live in zip(manifests, lives)])


def test_memory_safety_reaches_most_of_the_samples(admit, samples):
    lives = admit(samples)
    heads = [live["spec"]["headGroupSpec"].get("rayStartParams", {}) for live in lives]
    assert sum("object-store-memory" in head for head in heads) > len(samples) * 2 / 3
    assert sum(RECORD in live["metadata"].get("annotations", {}) for live in lives) > len(samples) * 2 / 3


def test_by_default_no_sample_gets_a_budget_and_none_that_has_one_loses_it(admit, samples):
    def budgets(cluster):
        groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"].get("workerGroupSpecs", [])]
        return [[(g.get(place) or {}).get(name) for place in ("rayStartParams", "resources") for name in ("memory", "object-store-memory")]
                for g in groups]
    lives = admit(samples, mode="Default")
    assert lives != samples and [budgets(live) for live in lives] == [budgets(s) for s in samples]
    earlier = admit(samples)
    assert admit(samples, earlier, mode="Default") == earlier


def test_kubectl_apply_of_the_same_manifest_leaves_the_live_object_as_it_is(admit, threeway, samples):
    manifests = [applied(s) for s in samples]
    lives = admit(manifests)
    patched = patches(threeway, manifests, lives)
    # Of lists only the whole is known: without the webhook's second look the workers' values would be gone.
    assert any(p["result"] != live for p, live in zip(patched, lives))
    assert admit([p["result"] for p in patched], lives) == lives


def test_what_a_tool_replaces_whole_stands_again(admit, samples):
    lives = admit(samples)
    assert lives != samples
    assert admit(samples, lives) == lives


def test_argo_cd_finds_no_difference(admit, threeway, samples):
    manifests = tracked(samples)
    lives = admit(manifests)
    assert lives != manifests
    for manifest, live, p in zip(manifests, lives, patches(threeway, manifests, lives)):
        assert p["patch"] == {}, manifest["metadata"]["name"]
        assert p["result"] == live


def test_a_change_of_the_manifest_reaches_the_cluster(admit, threeway, samples):
    manifests = [s for s in samples if s["spec"].get("workerGroupSpecs")]
    lives = admit(manifests)
    changed = copy.deepcopy(manifests)
    for c in changed:
        c["spec"]["workerGroupSpecs"][0]["rayStartParams"] = {"memory": "123456789"}
    sent = threeway([{"original": m, "modified": c, "current": live} for m, c, live in zip(manifests, changed, lives)])
    for live in admit([s["result"] for s in sent], lives):
        group = live["spec"]["workerGroupSpecs"][0]
        assert group["rayStartParams"]["memory"] == "123456789"
        record = json.loads(live["metadata"].get("annotations", {}).get(RECORD, "{}"))
        assert "rayStartParams.memory" not in record.get("workers", {}).get(group["groupName"], {}).get("set", {})


def test_kuberay_accepts_with_us_what_it_accepts_without(admit, validate, samples):
    def kuberays(objects):
        return [answer["error"] for answer in validate(objects)]

    without = kuberays(samples)
    assert without.count("") > len(samples) * 2 / 3
    assert kuberays(admit(samples)) == without
    # Groups with `resources`, where KubeRay refuses the same in rayStartParams.
    moved = copy.deepcopy(samples)
    for m in moved:
        for group in [m["spec"]["headGroupSpec"], *m["spec"].get("workerGroupSpecs", [])]:
            group["rayStartParams"] = {}
            group["resources"] = {"GPU": "1"}
    assert kuberays(admit(moved)) == kuberays(moved)
    # And when a running cluster gets them.
    assert kuberays(admit(moved, admit(samples))) == kuberays(moved)


def test_the_hash_of_recreate_stays_through_kubectl_apply(admit, threeway, validate, samples):
    manifests = copy.deepcopy(samples)
    for m in manifests:
        m["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    lives = admit(manifests)
    patched = [p["result"] for p in patches(threeway, manifests, lives)]

    def hashes(objects):
        return [answer["hash"] for answer in validate(objects)]

    assert hashes(lives) != hashes(manifests)
    # Also while no webhook runs.
    assert hashes(patched) == hashes(lives)
    assert hashes(admit(patched, lives)) == hashes(lives)
