# SPDX-License-Identifier: Apache-2.0
"""
KubeRay's operator acts on all of KubeRay's sample manifests, once without and once with our webhook: the two runs differ in
nothing that KubeRay decides.
"""

import collections

import pytest

from apiserver import samples
from apiserver.conftest import ROOT, Operators, new_namespace
from apiserver.control_plane import ControlPlane
from apiserver.webhook import Webhook
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
        for path in (ROOT / "charts/afterglow/files/crds").glob("afterglow.dev_*.yaml"):
            plane.kubectl("apply", "--server-side", "-f", str(path))
        for plural in (*samples.PLURALS.values(), "rayfailures"):
            wait_for(f"the kind {plural}", lambda plural=plural: plane.api().items(plural) is not None, interval=0.1)
        yield plane
    finally:
        plane.stop()


@pytest.fixture(name="manifests", scope="module")
def sample_manifests(program):
    return samples.read(program / "samples")


@pytest.fixture(name="without", scope="module")
def run_without_the_webhook(plane, program, manifests):
    api = new_namespace(plane, "without")
    with samples.kuberay(plane, program, api.namespace) as operator:
        return samples.Run(plane, api, operator).play(manifests)


@pytest.fixture(name="beside", scope="module")
def run_with_the_webhook(plane, program, manifests, without, tmp_path_factory):
    assert without
    api = new_namespace(plane, "with")
    operators = Operators(plane, api.namespace, tmp_path_factory.mktemp("operator"))
    webhook = Webhook(api, operators)
    try:
        webhook.operator()
        webhook.wait_bundle()
        webhook.wait_works(ray_pod())
        with samples.kuberay(plane, program, api.namespace) as operator:
            yield samples.Run(plane, api, operator).play(manifests)
    finally:
        webhook.close()
        operators.close()


def ray_pod():
    return {"metadata": {"name": "probe", "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": "probe"}},
            "spec": {"containers": [{"name": "ray", "image": "ray:test", "command": ["/bin/bash", "-c", "--"], "args": ["true"]}]}}


def test_the_samples_are_of_all_kinds(manifests):
    kinds = collections.Counter(m["kind"] for m in manifests.values())
    assert kinds["RayCluster"] > 30 and kinds["RayJob"] > 15 and kinds["RayService"] > 10


def test_kuberay_makes_pods_of_them_without_us(without):
    assert not without.refused
    assert sum(groups.total() for groups in without.pods.values()) > 200


def test_no_sample_is_refused(beside):
    assert not beside.refused


def test_every_pod_has_the_sidecar_last_and_rays_container_first(without, beside):
    for name, specs in beside.specs.items():
        firsts = collections.Counter(spec["containers"][0]["name"] for spec in specs)
        assert firsts == collections.Counter(spec["containers"][0]["name"] for spec in without.specs[name])
        for spec in specs:
            assert [c["name"] for c in spec["containers"]].index("afterglow") == len(spec["containers"]) - 1, name


def head_cpus(cluster):
    """KubeRay takes one of the two."""
    head = cluster["spec"]["headGroupSpec"]
    return head.get("rayStartParams", {}).get("num-cpus") or head.get("resources", {}).get("CPU")


def may_have_workers(spec):
    """A head that is alone has to run the tasks."""
    groups = spec.get("workerGroupSpecs", [])
    return any(spec.get("enableInTreeAutoscaling") or max(g.get("replicas", 0), g.get("minReplicas", 0)) > 0 for g in groups)


def test_heads_of_rayclusters_get_no_tasks_and_say_so(without, beside):
    made_safe = [name for name, clusters in beside.clusters.items()
                 if any("afterglow.dev/memory-safety" in c["metadata"].get("annotations", {}) for c in clusters)]
    assert len(made_safe) > 40
    for name, clusters in beside.clusters.items():
        for cluster, before in zip(clusters, without.clusters[name]):
            ours = "0" if may_have_workers(cluster["spec"]) else None
            assert head_cpus(cluster) == (head_cpus(before) or ours), name


def test_the_webhook_changes_no_status_and_no_number_of_pods(without, beside):
    found = [f"{name}: {what}\n    without: {then}\n    with:    {now}"
             for name, what, then, now in samples.differences(without, beside)]
    assert not found, "\n" + "\n".join(found)


def test_what_kuberay_does_not_write_at_every_look_without_us_it_does_not_write_with_us(without, beside):
    assert beside.restless <= without.restless


def test_kuberay_does_not_write_more(without, beside):
    assert not samples.more_writes(without, beside)
