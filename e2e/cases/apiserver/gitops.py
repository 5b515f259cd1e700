# SPDX-License-Identifier: Apache-2.0
"""
The libraries with which Argo CD and Flux look for drift see none in what the chart installs, while
an operator runs on it, and none in a RayCluster that the webhook has changed. Only make test-gitops
runs this, because these libraries take five minutes to compile.
"""

import subprocess

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import ROOT, group, ray_cluster
from apiserver.control_plane import free_port
from apiserver.judges import judge
from apiserver.test_chart import rendered
from apiserver.test_webhook import served, webhook  # pylint: disable=unused-import # fixtures
from apiserver.webhook import HOST, SECRET

HOOK = "helm.sh/hook"


def drift(plane, way, manifests):
    """Returns what e2e/chart/drift prints; its last line is a sum."""
    result = subprocess.run([judge("drift")[0], way, plane.kubeconfig("test")], input=manifests,
                            capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1) and not result.stderr, result.stderr
    return result.stdout.splitlines()


def operate(api, start, values):
    """Runs the operator on what is installed, until it has written all that it writes there."""
    election = ["--leader-elect", "--lease-namespace", api.namespace]
    if "manageRayClusters=true" in values:
        start(*election)
        return
    start("--webhook-address", f"127.0.0.1:{free_port()}", "--webhook-service", HOST,
          "--webhook-secret", SECRET, "--webhook-configuration", "afterglow", *election, manage=False)

    def bundles():
        hooks = api.get("mutatingwebhookconfigurations", "afterglow")["webhooks"]
        return [hook["clientConfig"].get("caBundle") for hook in hooks]
    wait_for("a caBundle", lambda: all(bundles()), interval=0.1)


def change_by_hand(plane, api):
    plane.kubectl("-n", api.namespace, "scale", "deployment/afterglow-operator", "--replicas=5")


VALUES = [pytest.param([], id="beside KubeRay"),
          pytest.param(["manageRayClusters=true", "networkPolicy.enabled=true"], id="without KubeRay")]
WAYS = [("argo", []),
        ("argo-server", ["--server-side", "--force-conflicts", "--field-manager=argocd-controller"])]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("way, flags", WAYS)
def test_argo_cd_sees_no_drift(plane, api, start, tmp_path, way, flags, values):
    # Argo CD renders, leaves hooks out, and applies.
    objects = [o for o in rendered(plane, *values, namespace=api.namespace)
               if HOOK not in o["metadata"].get("annotations", {})]
    manifests = yaml.safe_dump_all(objects)
    file = tmp_path / "manifests.yaml"
    file.write_text(manifests, encoding="utf-8")
    plane.kubectl("apply", *flags, "-f", str(file))
    try:
        operate(api, start, values)
        assert drift(plane, way, manifests) == [f"0 of {len(objects)} differ"]
        change_by_hand(plane, api)
        changed, count = drift(plane, way, manifests)
        assert changed.startswith("Deployment afterglow-operator") and count.startswith("1 of")
    finally:
        keep_crds(plane, objects, tmp_path)


def keep_crds(plane, objects, directory):
    """Removes what was applied, but for the CRDs, which the next case needs."""
    file = directory / "removed.yaml"
    rest = [o for o in objects if o["kind"] != "CustomResourceDefinition"]
    file.write_text(yaml.safe_dump_all(rest), encoding="utf-8")
    plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", str(file))


@pytest.mark.parametrize("values", VALUES)
def test_flux_sees_no_drift(plane, api, start, values):
    # Flux installs by Helm's library and compares with the manifest that Helm keeps. The CRDs of
    # the session are not Helm's.
    helm = [judge("helm4")[0], "--kubeconfig", plane.kubeconfig("test"), "-n", api.namespace]
    sets = [part for value in [*values, "crds.install=false"] for part in ("--set", value)]
    subprocess.run([*helm, "install", "afterglow", ROOT / "charts/afterglow", *sets], check=True,
                   capture_output=True)
    try:
        operate(api, start, values)
        manifests = subprocess.run([*helm, "get", "manifest", "afterglow"], check=True,
                                   capture_output=True, text=True).stdout
        assert drift(plane, "flux", manifests)[0].startswith("0 of ")
        change_by_hand(plane, api)
        changed, count = drift(plane, "flux", manifests)
        assert changed.startswith("Deployment afterglow-operator") and count.startswith("1 of")
    finally:
        subprocess.run([*helm, "uninstall", "afterglow"], check=True, capture_output=True)


FLUX = ("flux", ["--server-side", "--field-manager=helm-controller"])


@pytest.mark.parametrize("way, flags", [*WAYS, FLUX])
# pylint: disable-next=redefined-outer-name,unused-argument
def test_a_raycluster_that_the_webhook_has_changed_does_not_drift(plane, api, served, tmp_path, way, flags):
    cluster = ray_cluster("train", group("small"))
    cluster["metadata"]["namespace"] = api.namespace
    # As a sync of Argo CD marks what it applies.
    if way != "flux":
        cluster["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "app:ray.io/RayCluster:ns/train"}
    manifest = yaml.safe_dump(cluster)
    file = tmp_path / "cluster.yaml"
    file.write_text(manifest, encoding="utf-8")
    for _ in range(2):
        plane.kubectl("apply", *flags, "-f", str(file))
        head = api.get("rayclusters", "train")["spec"]["headGroupSpec"]["rayStartParams"]
        assert head["num-cpus"] == "0", head
        assert drift(plane, way, manifest) == ["0 of 1 differ"]
    params = {"dashboard-host": "127.0.0.1"}
    api.patch("rayclusters", "train", {"spec": {"headGroupSpec": {"rayStartParams": params}}})
    assert drift(plane, way, manifest)[-1] == "1 of 1 differ"
