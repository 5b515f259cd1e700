# SPDX-License-Identifier: Apache-2.0
"""helm install, upgrade and uninstall, beside others that are there already."""

import os
import subprocess

import pytest

from conftest import wait_for
from apiserver.conftest import ROOT
from apiserver.control_plane import ControlPlane

OURS = ["clusterraypolicies.afterglow.dev", "rayfailures.afterglow.dev", "raypolicies.afterglow.dev"]
CRDS = sorted(["rayclusters.ray.io", *OURS])


class Helm:
    """helm on a control plane of its own, without a kubelet: objects are made, and no pod of them runs."""

    def __init__(self, plane):
        self.plane = plane
        self.api = plane.api()

    def run(self, *args):
        env = {**os.environ, "HOME": str(self.plane.directory)}
        return subprocess.run([self.plane.bin / "helm", "--kubeconfig", self.plane.kubeconfig("test"), *args],
                              capture_output=True, text=True, check=False, env=env, timeout=120)

    def install(self, release, namespace, *values):
        sets = [part for value in values for part in ("--set", value)]
        return self.run("upgrade", "--install", release, ROOT / "charts/afterglow", "--namespace", namespace,
                        "--create-namespace", *sets)

    def must_install(self, *args):
        result = self.install(*args)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def uninstall(self, release, namespace):
        assert self.run("uninstall", release, "--namespace", namespace).returncode == 0

    def crds(self):
        return sorted(crd["metadata"]["name"] for crd in self.api.items("customresourcedefinitions"))


@pytest.fixture(scope="module")
def fresh_plane(tmp_path_factory):
    control_plane = ControlPlane(tmp_path_factory.mktemp("install"))
    try:
        control_plane.start()
        yield control_plane
    finally:
        control_plane.stop()


@pytest.fixture
def helm(fresh_plane):
    """On it nothing is installed, before and after."""
    made = Helm(fresh_plane)
    yield made
    for release in made.run("list", "-A", "-q").stdout.split():
        for namespace in ("one", "two", "afterglow-system"):
            made.run("uninstall", release, "--namespace", namespace)
    fresh_plane.kubectl("delete", "deployments", "-A", "--all")
    # kubectl would wait for as long as it takes.
    fresh_plane.kubectl("delete", "crd", "--all", "--wait=false")
    # On a busy machine the server has been seen to need five minutes for that.
    wait_for("the kinds to go", lambda: not made.crds(), timeout=300)


def test_what_helm_uninstall_leaves_is_the_kinds_and_what_is_of_them(helm):
    helm.must_install("afterglow", "afterglow-system")
    # The API server serves a kind a little after it has stored it.
    wait_for("the kind", lambda: helm.api.within("default").create("rayfailures", {
        "apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure", "metadata": {"name": "old"},
        "spec": {"pod": "p", "container": "c", "class": "Killed", "confidence": "certain", "verdict": "It was killed."}}))
    helm.uninstall("afterglow", "afterglow-system")
    assert helm.crds() == CRDS
    assert helm.api.within("default").get("rayfailures", "old")
    left = helm.plane.kubectl("get", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=afterglow",
                              "deployments,configmaps,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,"
                              "poddisruptionbudgets")
    assert left == ""
    # And it can be installed again.
    assert "is of" not in helm.must_install("afterglow", "afterglow-system")


def test_two_releases_with_a_namespace_each_live_side_by_side(helm):
    assert "was left as it is" not in helm.must_install("afterglow", "one", "watchNamespace=one")
    helm.plane.kubectl("create", "namespace", "two")
    said = helm.must_install("afterglow", "two", "watchNamespace=two")
    for crd in CRDS:
        assert f"CRD {crd} is of release afterglow in namespace one and was left as it is" in said
    assert "Ray pods that run go on with" in helm.must_install("afterglow", "one", "watchNamespace=one", "logLevel=debug")
    # The one whose they are goes; they stay, for the other's sake too.
    helm.uninstall("afterglow", "one")
    assert helm.crds() == CRDS
    helm.must_install("afterglow", "two", "watchNamespace=two")


def test_a_release_for_one_namespace_may_do_nothing_elsewhere(helm):
    helm.must_install("afterglow", "one", "watchNamespace=one")
    as_operator = "system:serviceaccount:one:afterglow"

    def may(verb, what, namespace):
        command = [helm.plane.bin / "kubectl", "--kubeconfig", helm.plane.kubeconfig("test"), "auth", "can-i", verb, what,
                   "--namespace", namespace, "--as", as_operator]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == "yes"

    for verb, what in (("create", "pods"), ("create", "secrets"), ("create", "rolebindings"), ("list", "rayclusters.ray.io")):
        assert may(verb, what, "one")
        assert not may(verb, what, "default")


def test_a_second_operator_for_all_namespaces_is_refused_and_the_first_is_named(helm):
    helm.must_install("afterglow", "afterglow-system")
    refused = helm.install("other", "two")
    assert refused.returncode != 0
    assert "installed already, as release afterglow in namespace afterglow-system" in refused.stderr
    helm.must_install("afterglow", "afterglow-system", "logLevel=debug")


def test_beside_kuberay_it_is_installed_only_if_it_leaves_rayclusters_alone(helm):
    helm.plane.kubectl("create", "deployment", "kuberay-operator", "--image=kuberay:test", "--namespace", "default")
    refused = helm.install("afterglow", "afterglow-system")
    assert refused.returncode != 0
    assert "KubeRay runs in namespace default" in refused.stderr and "set manageRayClusters=false" in refused.stderr
    helm.must_install("afterglow", "afterglow-system", "manageRayClusters=false")
    assert helm.crds() == OURS


def test_people_who_may_edit_a_namespace_may_make_rayclusters_in_it(helm):
    helm.must_install("afterglow", "afterglow-system")
    rights = {r["metadata"]["name"]: r["rules"] for r in helm.api.items("clusterroles") if "afterglow" in r["metadata"]["name"]}
    assert {v for rule in rights["afterglow-edit"] if "ray.io" in rule["apiGroups"] for v in rule["verbs"]} >= {"create", "delete"}
    assert all(set(rule["verbs"]) == {"get", "list", "watch"} for rule in rights["afterglow-view"])
