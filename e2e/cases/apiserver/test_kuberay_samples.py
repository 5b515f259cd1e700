# SPDX-License-Identifier: Apache-2.0
"""
KubeRay's operator acts on all of KubeRay's sample manifests, once without and once with our webhook: the two runs differ in
nothing that KubeRay decides.
"""

import pytest

from apiserver import samples
from apiserver.conftest import new_namespace
from apiserver.control_plane import ControlPlane
from conftest import wait_for

pytestmark = [pytest.mark.xdist_group("kuberay-samples"), pytest.mark.long]


@pytest.fixture(name="program", scope="module")
def built_kuberay():
    return samples.build()


@pytest.fixture(name="plane", scope="module")
def kuberays_control_plane(program, tmp_path_factory):
    """A control plane with KubeRay's CRDs, of which one has the name of ours."""
    plane = ControlPlane(tmp_path_factory.mktemp("kuberay-plane"))
    try:
        plane.start()
        plane.issue(samples.USER, f"/O=system:masters/CN={samples.USER}")
        plane.kubectl("apply", "--server-side", "-f", str(program / "crd"))
        for plural in samples.PLURALS.values():
            wait_for(f"the kind {plural}", lambda plural=plural: plane.api().items(plural) is not None, interval=0.1)
        yield plane
    finally:
        plane.stop()


@pytest.fixture(name="manifests", scope="module")
def sample_manifests(program):
    return samples.read(program / "samples")


@pytest.fixture(name="without", scope="module")
def run_without_afterglow(plane, program, manifests):
    api = new_namespace(plane, "without")
    with samples.kuberay(plane, program, api.namespace):
        return samples.Run(plane, api).play(manifests)


def test_the_samples_are_all_kinds_of_kuberay(manifests):
    kinds = [m["kind"] for m in manifests.values()]
    assert {kind: kinds.count(kind) for kind in ("RayCluster", "RayJob", "RayService")} == {
        "RayCluster": 38, "RayJob": 22, "RayService": 14}


def test_kuberay_comes_to_rest_without_the_webhook(without):
    assert not without.refused
    assert sum(sum(groups.values()) for groups in without.pods.values()) > 150


def test_again(plane, program, manifests, without):
    api = new_namespace(plane, "again")
    with samples.kuberay(plane, program, api.namespace):
        again = samples.Run(plane, api).play(manifests)
    for d in samples.differences(without, again):
        print("DIFF", d)
    print("MORE", samples.more_writes(without, again))
    print(sorted(without.writes.items()))
    print(sorted(again.writes.items()))
    for n, s in list(without.statuses.items())[:60:6]: print(n, without.pods[n], s)
    print(sum(sum(groups.values()) for groups in without.pods.values()), without.idle, again.idle)
