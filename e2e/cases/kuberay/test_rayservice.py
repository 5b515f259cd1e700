# SPDX-License-Identifier: Apache-2.0
"""The replicas of a RayService die, and its spec changes: KubeRay goes on serving, and upgrades with exactly one new
cluster."""

import pytest
import yaml

from conftest import wait_for
from kuberay.objects import check_injected, cluster_spec, small_group
from live import container_status

APP = """
import ctypes, time
from ray import serve

@serve.deployment(ray_actor_options={"num_cpus": 0.1}, max_ongoing_requests=2)
class Echo:
    def __call__(self, request):
        if request.url.path == "/leak":
            kept = []
            while True:
                kept.append(bytearray(8 << 20))
                time.sleep(0.03)
        if request.url.path == "/crash":
            ctypes.string_at(0)
        return "hello"

app = Echo.bind()
"""
CONFIG = {"applications": [{"name": "echo", "import_path": "echo_app:app", "route_prefix": "/"}]}


def spec(**env):
    cluster = cluster_spec(small_group())
    for template in (cluster["headGroupSpec"]["template"], cluster["workerGroupSpecs"][0]["template"]):
        template["spec"]["containers"][0]["env"] += [{"name": name, "value": value} for name, value in env.items()]
    return {"serveConfigV2": yaml.safe_dump(CONFIG), "rayClusterConfig": cluster, "rayClusterDeletionDelaySeconds": 2}


@pytest.fixture(name="service", scope="module")
def ray_service(kuberay):
    kuberay.give(echo_app=APP)
    made = kuberay.create("RayService", "echo", spec(REVISION="1"))
    wait_serving(made)
    return made


def wait_serving(service, timeout=180):
    def ready():
        conditions = {c["type"]: c["status"] for c in service.status()["conditions"]}
        assert conditions["Ready"] == "True", conditions
        return True
    wait_for("the service to be ready", ready, timeout=timeout, interval=1)


def ask(service, path, check=True):
    """Sends a request to the serve service from within the head, because this machine is not in the pods' network."""
    head = service.pod("head")["metadata"]["name"]
    code = (f"import urllib.request; print(urllib.request.urlopen("
            f"'http://{service.name}-serve-svc:8000/{path}', timeout=60).read().decode())")
    return service.k.run("exec", head, "-c", "ray-head", "--", "python3", "-c", code, check=check, timeout=90)


def wait_answer(service):
    wait_for("an answer", lambda: ask(service, "").stdout.strip() == "hello", timeout=90, interval=2)


def test_every_pod_of_a_service_has_the_sidecar(service):
    for pod in service.pods():
        check_injected(pod)
    wait_answer(service)


def test_a_segfault_of_a_replica_is_explained(service):
    ask(service, "crash", check=False)
    service.check_failure(service.wait_failure("Segfault", "WorkerCrash", timeout=90))


def test_an_oom_kill_of_a_replica_is_explained_and_the_service_answers_again(service):
    wait_answer(service)
    pod = service.pod(group_name="small")["metadata"]["name"]
    ask(service, "leak", check=False)
    failure = service.wait_failure("KernelOOMContainer", pod=pod, timeout=120)
    service.check_failure(failure)
    wait_for("the restart", lambda: container_status(service.pod(group_name="small"), "ray-worker")["restartCount"] >= 1)
    assert "[afterglow]" in service.previous_log(pod)
    wait_answer(service)


@pytest.mark.long
def test_a_changed_spec_makes_exactly_one_new_cluster(service):
    wait_answer(service)
    old, = service.clusters()
    service.kuberay.create("RayService", service.name, spec(REVISION="2"))
    seen = {old}

    def upgraded():
        seen.update(service.clusters())
        status = service.status()["activeServiceStatus"]["rayClusterName"]
        assert status != old and service.clusters() == [status], (status, service.clusters())
        return status
    new = wait_for("the new cluster to serve, and the old to be gone", upgraded, timeout=240, interval=1)
    assert seen == {old, new}
    wait_answer(service)
    # No comparison of KubeRay's finds a difference in what stands there now.
    service.k("annotate", "rayservice", service.name, "look=again")
    assert [c for c in (service.clusters() for _ in range(10)) if c != [new]] == []
