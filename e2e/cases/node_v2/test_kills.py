# SPDX-License-Identifier: Apache-2.0
"""
The kubelet and containerd's shims are killed with -9 in the middle of deaths, and then the machine loses its power in the middle of
others. Each death is reported once, and a verdict that is certain is true.
"""

import collections
import subprocess

import pytest

from cluster.test_kills import DEEDS
from conftest import MACHINE, wait_for
from live import check_bundle
from node_v2.deaths import Deaths, head, says

# The shim of a pod is the parent of the first processes of its containers.
SHIM = "print(open('/proc/%d/stat').read().rpartition(')')[2].split()[1])"
# The node runs this by itself, because our connection to the node goes through the kubelet.
KILLS = """
systemctl kill --signal=KILL kubelet
until [ "$(systemctl is-active kubelet)" = failed ]; do sleep .1; done
%s
systemctl start kubelet
"""


@pytest.fixture(scope="module")
def deaths(new_cluster, volume, node, go):
    assert volume.is_dir() and node
    return Deaths({name: new_cluster(name, {}, head=head(go.script(name, deed, "sleep 1000" if "shim" in name else deed),
                                                         volumes=[go.volume], volumeMounts=[go.mount]))
                   for name, (deed, _, _) in DEEDS.items()}, go)


def failures(deaths, name):
    return [f["spec"] for f in deaths.clusters[name].failures() if f["spec"]["container"] == "ray-head"]


@pytest.fixture(scope="module")
def reported(deaths, node, go):
    """The RayFailures of each cluster when the kubelet runs again."""
    shims = []
    for name in DEEDS:
        pids = node.look(deaths.wait_watched(name)["containerID"])["pids"]
        shims += [node.python(SHIM % min(pids))] if "shim" in name else []
    deed = "".join(f"touch {go.directory}/{name}.0\n" for name in DEEDS) + f"kill -9 {' '.join(map(str, shims))}"
    (go.directory / "kills.sh").write_text(KILLS % deed)
    # The connection goes through the kubelet, and ends with it.
    node.run("nsenter", "--target", "1", "--mount", "--", "systemd-run", "--quiet", "bash", str(go.directory / "kills.sh"), check=False)
    for name in DEEDS:
        deaths.failure(name)
        deaths.wait_watched(name, 1)
    return {name: failures(deaths, name) for name in DEEDS}


@pytest.fixture(scope="module")
def reported_again(deaths, reported):
    """The RayFailures of each cluster when the machine runs again. It lost its power when the first of the next deaths was reported."""
    dying = [name for name in DEEDS if "shim" not in name]
    for name in dying:
        deaths.go.start(name, 1)
    wait_for("one of these deaths to be reported", lambda: [f for name in dying for f in failures(deaths, name) if f.get("restartCount") == 1])
    subprocess.run([MACHINE, "crash"], check=True, timeout=120)
    for name in DEEDS:
        wait_for(f"{name} to run again", lambda name=name: deaths.ray(name)["restartCount"] > 1 and deaths.ray(name)["state"]["running"],
                 timeout=240)
        deaths.failure(name, 1)
    assert reported
    return {name: failures(deaths, name) for name in DEEDS}


def check_once(reported):
    for name, found in reported.items():
        assert set(collections.Counter(f.get("containerID", f["endedAt"]) for f in found).values()) == {1}, (name, says(found))


def test_each_death_beside_a_killed_kubelet_or_shim_is_reported_once(reported):
    check_once(reported)


@pytest.mark.parametrize("name", DEEDS)
def test_without_a_kubelet_or_a_shim_nothing_is_certain_but_what_happened(reported, name):
    _, code, failure_class = DEEDS[name]
    true = {(code, failure_class)} | ({(137, "Killed")} if "shim" in name else set())
    for failure in reported[name]:
        assert failure["confidence"] != "certain" or (failure["exitCode"], failure["class"]) in true, says(failure)


def test_each_death_is_reported_once_after_a_loss_of_power(reported_again):
    check_once(reported_again)


@pytest.mark.parametrize("name", DEEDS)
def test_after_a_loss_of_power_nothing_is_certain_but_what_happened(reported_again, name):
    for failure in reported_again[name]:
        if failure.get("restartCount") == 1 and failure["confidence"] == "certain":
            assert failure["class"] in {"NodeLost", DEEDS[name][2]}, says(failure)


def test_each_bundle_is_whole_after_a_loss_of_power(reported_again, volume):
    assert reported_again
    bundles = [m.parent for m in volume.glob("*/*/*/ray-head/*/MANIFEST.json") if not m.parent.name.startswith(".")]
    assert len(bundles) >= len(DEEDS)
    for bundle in bundles:
        check_bundle(bundle)
