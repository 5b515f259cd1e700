# SPDX-License-Identifier: Apache-2.0
"""The same RayClusters with Afterglow and without it: what is stored of them, and what real Ray offers and does."""

import json
import uuid

import pytest

from conftest import Kubectl, wait_for
from kuberay.objects import KubeRay, cluster_spec, container, dry_run, group, scripts, small_group, template
from kuberay.same.test_pods import differences, wait_for_launcher, Side
from live import container_status

# As in ray#64181: Ray in the background, and a shell above it.
SHELL_ABOVE = 'eval "$KUBERAY_GEN_RAY_START_CMD" && tail -f /dev/null'
GRACE = 15  # seconds; the task takes a part of it

# Runs a task on the worker, and says when it has begun; then the pod is deleted. A head may have CPUs, too.
TASK = """
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

@ray.remote(num_cpus=1, max_retries=0)
def work():
    time.sleep(6)
    return "done"

worker = next(n["NodeID"] for n in ray.nodes() if n["Alive"] and "node:__internal_head__" not in n["Resources"])
task = work.options(scheduling_strategy=NodeAffinitySchedulingStrategy(worker, soft=False)).remote()
while ray.available_resources().get("CPU", 0) == ray.cluster_resources()["CPU"]:
    time.sleep(0.2)
print("begun", flush=True)
try:
    print("task:", ray.get(task), flush=True)
except Exception as error:
    print("task:", type(error).__name__, flush=True)
"""

# The worker has that memory only after its pod was resized, and the head has no CPU.
GROW = """
@ray.remote(num_cpus=0.1, memory=900 << 20)
def work():
    return "done"

print("task:", ray.get(work.remote()), flush=True)
"""


def worker(**more):
    return container("ray-worker", "1000Mi", **more)


def with_env(name, value):
    made = worker()
    made["env"].append({"name": name, "value": value})
    return group("small", template(made), rayStartParams={})


def cluster(*groups, annotations=None, **spec):
    return cluster_spec(*groups, **spec), annotations or {}


# What somebody may write. What is stored of it differs as the list says, and in nothing else.
HEADS_CPUS = {"spec.headGroupSpec.rayStartParams.num-cpus": "no task runs beside the GCS",
              "metadata.annotations.afterglow.dev/memory-safety": "what memory safety has set"}
CLUSTERS = {
    "plain": (cluster(small_group(), head_params={}), HEADS_CPUS),
    "sized-head": (cluster(small_group(), head_params={"num-cpus": "2"}), {}),
    "head-alone": (cluster(head_params={}), {}),
    "store-by-env": (cluster(with_env("RAY_DEFAULT_OBJECT_STORE_MEMORY_PROPORTION", "0.6"), head_params={}), HEADS_CPUS),
    "in-place-resizing": (cluster(small_group(), head_params={}, enableInTreeAutoscaling=True, annotations={"ray.io/ippr": json.dumps(
        {"groups": {"headgroup": {"max-cpu": "4", "max-memory": "8Gi"}, "small": {"max-cpu": "4", "max-memory": "8Gi"}}})}), {}),
    "switched-off": (cluster(small_group(), head_params={}, annotations={"afterglow.dev/memory": "off"}), {}),
}


@pytest.fixture(name="sides", scope="module")
def two_sides():
    name = "same-ray-" + uuid.uuid4().hex[:5]
    sides = [Side(name, {}), Side(name + "-without", {"afterglow.dev/inject": "disabled"})]
    for side in sides:
        side.make()
    yield sides
    for side in sides:
        side.k("delete", "rayclusters", "--all", "--timeout=90s", check=False)
        Kubectl()("delete", "namespace", side.name, "--wait=false")


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_is_stored_of_a_raycluster_differs_as_it_is_meant(sides, name):
    (spec, annotations), meant = CLUSTERS[name]
    stored = [dry_run(side.k, {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": spec,
                               "metadata": {"name": name, "annotations": annotations}}) for side in sides]
    found = differences(*({"spec": cluster["spec"], "metadata": {"annotations": cluster["metadata"].get("annotations", {})}}
                          for cluster in stored))
    assert set(found) == set(meant), found


def rough(amount):
    """Ray computes its budgets from what is free at its start; half of it is no other class."""
    return round(amount / (200 << 20))


def offered(owner):
    """Returns what each kind of Ray node offers."""
    nodes = json.loads(owner.run("offered").rsplit("\n@", 1)[1])
    return {"head" if "node:__internal_head__" in resources else "worker": {
        name: rough(amount) if "memory" in name else amount for name, amount in resources.items() if not name.startswith("node:1")}
        for resources in nodes}


def stopped_worker(side, owner):
    """Deletes the worker while a task runs there. Returns what became of the task."""
    pod = owner.pod("worker")["metadata"]["name"]
    side.k("exec", owner.pod("head")["metadata"]["name"], "-c", "ray-head", "--", "sh", "-c",
           "nohup python3 /scripts/task.py >/tmp/task.out 2>&1 &")

    def said(word):
        return [line for line in side.k("exec", owner.pod("head")["metadata"]["name"], "-c", "ray-head", "--", "cat", "/tmp/task.out").splitlines()
                if line.startswith(word)]
    wait_for("the task to begin", lambda: said("begun"), timeout=60, interval=1)
    side.k("delete", "pod", pod, "--wait=false")
    return wait_for("the end of the task", lambda: said("task:"), timeout=60, interval=1)


@pytest.mark.long
def test_ray_offers_and_finishes_the_same(sides):
    """A worker with a shell above Ray works on until the grace period is over, so its task ends."""
    owners = []
    for side in sides:
        side.k.apply(scripts(side.name, task=TASK, offered="print('\\n@' + __import__('json').dumps([n['Resources'] for n in ray.nodes() if n['Alive']]))"))
        if side is sides[0]:
            wait_for_launcher(side)
        above = template(worker(command=["/bin/bash", "-c"], args=[SHELL_ABOVE]), {"ray.io/overwrite-container-cmd": "true"},
                         terminationGracePeriodSeconds=GRACE)
        owners.append(KubeRay(side.k, side.name, None).create("RayCluster", "ray", cluster_spec(group("small", above), head_params={})))
    for owner in owners:
        owner.wait_ready("worker", timeout=180)
    for owner in owners:
        wait_for("two Ray nodes", lambda owner=owner: len(offered(owner)) == 2, timeout=90, interval=3)
    found = differences(*(offered(owner) for owner in owners))
    assert set(found) == {"head.CPU"}, found
    assert [stopped_worker(*pair) for pair in zip(sides, owners)] == [["task: done"], ["task: done"]]


def small_worker():
    """Ray's autoscaler resizes pods that request both, and adds the same to request and limit."""
    return container("ray-worker", "700Mi", resources={"requests": {"cpu": "100m", "memory": "300Mi"}, "limits": {"cpu": "1", "memory": "700Mi"}})


def memory_of(pod):
    """Returns the limit of the Ray container as the kubelet has set it, and how often it was started."""
    status = container_status(pod, "ray-worker")
    return status["resources"]["limits"]["memory"], status["restartCount"]


@pytest.mark.long
def test_ray_resizes_a_worker_in_place_the_same(sides):
    """The autoscaler gives the only worker more memory for a task that does not fit, and the sidecar knows the new limit."""
    owners = []
    for side in sides:
        side.k.apply(scripts(side.name, grow=GROW))
        if side is sides[0]:
            wait_for_launcher(side)
        owners.append(KubeRay(side.k, side.name, None).create("RayCluster", "resized", cluster_spec(
            group("small", template(small_worker()), rayStartParams={}), enableInTreeAutoscaling=True,
            autoscalerOptions={"version": "v2", "imagePullPolicy": "IfNotPresent"}), {"ray.io/ippr": json.dumps(
                {"groups": {"small": {"max-cpu": "1", "max-memory": "1100Mi", "resize-timeout": 120}}})}))
    for owner in owners:
        assert memory_of(owner.wait_ready("worker", timeout=180)) == ("700Mi", 0)
    for owner in owners:
        assert "task: done" in owner.run("grow", timeout=240)
        assert memory_of(owner.pod("worker")) == ("1100Mi", 0)
    pod = owners[0].pod("worker")["metadata"]["name"]
    metrics = sides[0].k("get", "--raw", f"/api/v1/namespaces/{sides[0].name}/pods/{pod}:9095/proxy/metrics")
    assert f'afterglow_container_memory_limit_bytes{{container="ray-worker"}} {1100 << 20}' in metrics, metrics
