# SPDX-License-Identifier: Apache-2.0
"""From 1.7 on KubeRay puts the collector of its history server into pods. It reads Ray's logs in a volume that all containers share, and
takes them away when a pod ends. Here both do their work in the same pod. `e2e/run.sh kuberay-collector` runs it."""

import pathlib
import subprocess

import pytest

from cluster.stores import server
from conftest import wait_for
from kuberay.objects import check_injected, cluster_spec, container, group, template

COLLECTOR = "ray-history-collector"
ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(name="store", scope="module")
def s3_server():
    with server("s3.sh") as env:
        yield env


@pytest.fixture(name="cluster", scope="module")
def ray_cluster(kuberay, store):
    image = subprocess.run([ROOT / "e2e/kuberay/collector.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    kuberay.give(leak="outlive(leak)")
    env = {"STORAGE_BACKEND": "s3", "S3_BUCKET": store["S3_BUCKET"], "S3_ENDPOINT": store["S3_ENDPOINT"], "S3_REGION": store["S3_REGION"],
           "S3FORCE_PATH_STYLE": "true", "S3DISABLE_SSL": "true", "AWS_ACCESS_KEY_ID": store["S3_ACCESS_KEY_ID"],
           "AWS_SECRET_ACCESS_KEY": store["S3_SECRET_ACCESS_KEY"], "STORAGE_ROOT_DIR": "history", "PUSH_INTERVAL": "5s"}
    collector = {"image": image, "imagePullPolicy": "IfNotPresent", "env": [{"name": n, "value": v} for n, v in env.items()]}
    return kuberay.create("RayCluster", "history", cluster_spec(
        group("small", template(container("ray-worker", "1000Mi"))), historyServerOptions={"collectorOptions": collector}))


def test_a_pod_with_a_collector_has_the_sidecar_last_and_all_of_it_runs(cluster):
    for kind in "head", "worker":
        pod = cluster.wait_ready(kind, timeout=240)
        check_injected(pod)
        assert [c["name"] for c in pod["spec"]["containers"]][1:] == [COLLECTOR, "afterglow"]
        assert all(c["ready"] for c in pod["status"]["containerStatuses"])


def test_an_oom_kill_of_its_worker_is_explained_as_without_it(cluster):
    pod = cluster.wait_ready(group_name="small")["metadata"]["name"]
    cluster.run("leak", timeout=240)
    failure = cluster.wait_failure("KernelOOMContainer", pod=pod, timeout=90)
    report = cluster.check_failure(failure)
    assert report["processes"][0]["name"] == "ray::leak"


def test_its_pods_end_with_their_cluster_as_without_it(cluster, kuberay):
    before = [f["metadata"]["name"] for f in cluster.failures()]
    head = cluster.pod("head")["metadata"]["name"]
    with subprocess.Popen(["kubectl", "--namespace", kuberay.namespace, "logs", "--follow", head, "-c", COLLECTOR],
                          stdout=subprocess.PIPE, text=True) as log:
        cluster.k("delete", "raycluster", cluster.name, "--timeout=120s")
        words = log.communicate(timeout=120)[0]
    wait_for("the pods to go", lambda: not cluster.pods(), timeout=120)
    classes = {f["spec"]["class"] for f in cluster.failures() if f["metadata"]["name"] not in before}
    assert classes <= {"PodDeleted"}  # the ends by deletion are recorded, as the module's chart asks for them
    assert "panic" not in words and words.strip(), words
