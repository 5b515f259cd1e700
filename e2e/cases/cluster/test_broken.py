# SPDX-License-Identifier: Apache-2.0
"""When parts of Afterglow are broken, Ray starts, runs and exits as usual."""

import os
import pathlib
import signal

import pytest

from cluster.conftest import RAY_IMAGE, container, container_status, install
from conftest import wait_for
from live import processes_of

RUN_A_TASK = """
import ray
ray.init(address='auto', log_to_driver=False, logging_level='error')

@ray.remote
def forty_two():
    return 42

answer(ray.get(forty_two.remote()))
"""

# Fills up to 85 % of the limit, waits for a file, then goes on until the kernel ends it.
HOG = r"""
import os, time
kept = []
while sum(map(len, kept)) < 255 << 20:
    kept.append(bytearray(5 << 20))
while not os.path.exists("/tmp/go"):
    time.sleep(0.01)
while True:
    kept.append(bytearray(20 << 20))
"""


@pytest.mark.skipif("KUBECONFIG_E2E" in os.environ, reason="kills processes of the node, which must be this machine")
def test_a_sidecar_killed_just_before_the_oom_leaves_a_record_that_names_what_is_missing(new_cluster, k, volume):
    assert volume.is_dir()
    worker = {**container("ray-worker", "300Mi", command=["python3", "-c", HOG]),
              "annotations": {"ray.io/overwrite-container-cmd": "true"}}
    cluster = new_cluster("blind", {"hog": worker})
    pod = wait_for("the worker", lambda: container_status(cluster.pod("worker"), "ray-worker")["ready"] is not None
                   and cluster.pod("worker"), timeout=60)
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    wait_for("the first snapshot", lambda: "of its memory limit" in k("logs", name, "-c", "ray-worker"))
    # Its first restart is immediate; after the second end the kubelet waits 10 s, and the hog is through by then.
    killed = set()
    for _ in range(2):
        sidecar = wait_for("the sidecar", lambda: set(processes_of(uid, "afterglow-sidecar")) - killed).pop()
        os.kill(sidecar, signal.SIGKILL)
        killed.add(sidecar)
    # Not by kubectl, which may take those 10 s on a busy machine.
    (launcher,) = processes_of(uid, "afterglow-launch")
    pathlib.Path(f"/proc/{launcher}/root/tmp/go").touch()
    failure = cluster.wait_failure(pod=name)
    assert failure["exitCode"] == 137
    assert failure["class"] == "KernelOOMContainer"
    assert failure["confidence"] == "likely"
    assert any("report" in m["what"] for m in failure["missing"]), failure["missing"]


# By the cluster's name. The second has no such program in it.
BROKEN = {"no-image": ("localhost/no-such-image", "none"), "no-program": RAY_IMAGE.rsplit(":", 1)}


@pytest.fixture(name="broken", scope="module")
def clusters_with_broken_sidecars(new_cluster):
    """The image is the chart's for everybody, and a pod's for as long as it lives: all clusters start side by side."""
    made = {}
    try:
        for name, (repository, tag) in BROKEN.items():
            install(sidecar__image__repository=repository, sidecar__image__tag=tag)
            made[name] = new_cluster(name, {"small": container("ray-worker", "1Gi")})
            wait_for("its pods", lambda name=name: made[name].pod("head") and made[name].pod("worker"))
    finally:
        install()
    return made


@pytest.mark.alone
@pytest.mark.parametrize("name", BROKEN)
def test_with_the_sidecar_broken_ray_starts_and_works(broken, name):
    broken[name].wait_nodes(2, timeout=150)
    assert broken[name].python(RUN_A_TASK) == 42
    sidecar = container_status(broken[name].pod("worker"), "afterglow")
    assert not sidecar["ready"], "the sidecar was to be broken"
