# SPDX-License-Identifier: Apache-2.0
"""The kubelet and containerd's shims are killed with -9 in the middle of deaths. Each death has one report, which is true."""

import collections
import os
import pathlib
import re
import signal
import subprocess

import pytest

from cluster.conftest import ROOT, check_bundle, container_status
from conftest import wait_for
from live import processes_of
from node_v2.deaths import head

pytestmark = [pytest.mark.alone, pytest.mark.skipif("KUBECONFIG_E2E" in os.environ,
                                                    reason="kills processes of the node, which must be this machine")]

HOG = "k=[]\nwhile True:\n    k.append(bytearray(4 << 20))\n"
# By the cluster's name: what its container does then, and its exit code and class.
DEEDS = {
    "exits": ("exit 3", 3, "ApplicationError"),
    "leaks": (f"exec python3 -c '{HOG}'", 137, "KernelOOMContainer"),
    "killed": ("kill -9 $BASHPID", 137, "Killed"),
    "loses-its-shim": ("sleep 1000", 137, "Killed"),
    "ends-with-its-shim": ("exit 4", 4, "ApplicationError"),
}


def cluster_of(new_cluster, name, deed):
    """Makes a cluster of a head alone, which does its deed when /tmp/go is there; the next instance has a /tmp of its own."""
    return new_cluster(name, {}, head=head(f"until [ -e /tmp/go ]; do sleep .1; done; {deed}"))


def parent_of(pid):
    return int(re.search(r"^PPid:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def is_watched(cluster):
    return '"attached"' in cluster.k("logs", cluster.pod_name("head"), "-c", "afterglow", check=False)


def runs_again(cluster):
    """Returns whether the Ray container was restarted, and all containers run."""
    pod = cluster.pod("head")
    return all("running" in s["state"] for s in pod["status"]["containerStatuses"]) and container_status(pod, "ray-head")["restartCount"]


@pytest.fixture(name="reported", scope="module")
def deaths_and_kills(new_cluster, volume):
    """The RayFailures of each cluster, as lists, when all containers run again."""
    assert volume.is_dir()
    clusters = {name: cluster_of(new_cluster, name, deed) for name, (deed, _, _) in DEEDS.items()}
    launchers = {}
    for name, cluster in clusters.items():
        wait_for(f"the sidecar to watch {name}", lambda cluster=cluster: is_watched(cluster), timeout=120)
        (launchers[name],) = processes_of(cluster.pod("head")["metadata"]["uid"], "afterglow-launch")
    shims = [parent_of(launchers[name]) for name in DEEDS if "shim" in name]
    for launcher in launchers.values():
        pathlib.Path(f"/proc/{launcher}/root/tmp/go").touch()
    for shim in shims:
        os.kill(shim, signal.SIGKILL)
    subprocess.run([ROOT / "e2e/cluster/restart.sh", "kubelet"], check=True, timeout=60)
    for name, cluster in clusters.items():
        wait_for(f"{name} to run again", lambda cluster=cluster: runs_again(cluster), timeout=120)
        wait_for(f"a RayFailure of {name}", cluster.failures, timeout=60)
    return {name: [f["spec"] for f in cluster.failures()] for name, cluster in clusters.items()}


def test_each_death_is_reported_once(reported):
    for name, failures in reported.items():
        count = collections.Counter(f.get("containerID", f["endedAt"]) for f in failures if f["container"] == "ray-head")
        assert list(count.values()) == [1], (name, failures)


@pytest.mark.parametrize("name", [name for name in DEEDS if "shim" not in name])
def test_the_report_of_a_death_without_a_kubelet_is_true(reported, volume, name):
    (failure,) = reported[name]
    assert (failure["exitCode"], failure["class"]) == DEEDS[name][1:], failure
    assert check_bundle(volume / failure["bundle"].partition("/")[2])["class"] == failure["class"]


@pytest.mark.parametrize("name", [name for name in DEEDS if "shim" in name])
def test_of_a_pod_that_lost_its_shim_nothing_is_certain_but_what_happened(reported, name):
    for failure in reported[name]:
        _, code, failure_class = DEEDS[name]
        assert failure["confidence"] != "certain" or (failure["exitCode"], failure["class"]) in {(code, failure_class), (137, "Killed")}, failure


def test_no_bundle_is_there_twice_and_each_is_whole(reported, volume):
    for name in reported:
        pattern = f"*/{name}/*/ray-head/*/MANIFEST.json"
        wait_for(f"a bundle of {name}", lambda pattern=pattern: list(volume.glob(pattern)))
        bundles = list(volume.glob(pattern))
        assert len(bundles) == 1, (name, bundles)
        check_bundle(bundles[0].parent)
