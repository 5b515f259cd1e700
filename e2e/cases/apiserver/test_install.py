# SPDX-License-Identifier: Apache-2.0
"""helm install, upgrade, rollback and uninstall, also beside other releases and KubeRay."""

import base64
import json
import os
import subprocess

import pytest

from conftest import PATIENCE, wait_for
from apiserver.conftest import ROOT, Operators, group, ray_cluster
from apiserver.control_plane import ControlPlane

OURS = ["clusterraypolicies.afterglow.dev", "rayfailures.afterglow.dev", "raypolicies.afterglow.dev"]
CRDS = sorted(["rayclusters.ray.io", *OURS])  # of an Afterglow that makes the pods of RayClusters
MANAGING = "manageRayClusters=true"
# The chart as it was before the webhook and policies, by `helm package`.
FORMER_CHART = ROOT / "e2e/cases/apiserver/testdata/afterglow-chart-2026-11-21.tgz"


def failure(name):
    return {"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure", "metadata": {"name": name},
            "spec": {"pod": "p", "container": "c", "class": "Killed", "confidence": "certain", "verdict": "It was killed."}}


class Helm:
    """helm on a control plane of its own, without a kubelet: objects are made, and no pod of them runs."""

    def __init__(self, plane):
        self.plane = plane
        self.api = plane.api()

    def run(self, *args):
        env = {**os.environ, "HOME": str(self.plane.directory)}
        return subprocess.run([self.plane.bin / "helm", "--kubeconfig", self.plane.kubeconfig("test"), *args],
                              capture_output=True, text=True, check=False, env=env, timeout=120 * PATIENCE)

    def install(self, release, namespace, *values, chart=ROOT / "charts/afterglow", options=()):
        sets = [part for value in values for part in ("--set", value)]
        return self.run("upgrade", "--install", release, chart, "--namespace", namespace, "--create-namespace",
                        *sets, *options)

    def must_install(self, *args, **kwargs):
        result = self.install(*args, **kwargs)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def uninstall(self, release, namespace):
        assert self.run("uninstall", release, "--namespace", namespace).returncode == 0

    def configuration(self, name):
        return json.loads(self.plane.kubectl("get", "mutatingwebhookconfiguration", name, "-o", "json"))

    def operator_config(self):
        """The configuration that the chart gives the operator, as text."""
        return self.plane.kubectl("get", "configmap", "afterglow", "--namespace", "afterglow-system", "-o",
                                  "jsonpath={.data.config\\.yaml}")

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
    """helm on a control plane on which nothing is installed, before and after the test."""
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
    helm.must_install("afterglow", "afterglow-system", MANAGING)
    # The API server serves a kind a little after it has stored it.
    wait_for("the kind", lambda: helm.api.within("default").create("rayfailures", failure("old")))
    helm.uninstall("afterglow", "afterglow-system")
    assert helm.crds() == CRDS
    assert helm.api.within("default").get("rayfailures", "old")
    left = helm.plane.kubectl("get", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=afterglow",
                              "deployments,configmaps,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,"
                              "poddisruptionbudgets,services,mutatingwebhookconfigurations")
    assert left == ""
    # And it can be installed again.
    assert "is of" not in helm.must_install("afterglow", "afterglow-system", MANAGING)


def test_an_installation_beside_kuberay_leaves_nothing_but_its_kind(helm):
    helm.must_install("afterglow", "afterglow-system")
    assert helm.configuration("afterglow")
    helm.uninstall("afterglow", "afterglow-system")
    assert helm.crds() == OURS
    left = helm.plane.kubectl("get", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=afterglow",
                              "services,mutatingwebhookconfigurations,clusterroles,clusterrolebindings,roles,rolebindings")
    assert left == ""


def test_beside_kuberay_the_operator_is_ready_before_kuberays_kinds_are_there(helm, tmp_path):
    helm.must_install("afterglow", "afterglow-system")
    wait_for("the kind", lambda: helm.api.items("rayfailures") == [])
    operators = Operators(helm.plane, "default", tmp_path)
    try:
        operator = operators(manage=False)
        assert "rayclusters: not synced" in operator.http("/readyz")[1]
        helm.plane.kubectl("apply", "-f", str(ROOT / "charts/afterglow/files/crds/ray.io_rayclusters.yaml"))
        wait_for("the RayClusters", lambda: "rayclusters: synced" in operator.http("/readyz")[1], timeout=90)
        # One that is to make their pods does nothing without them.
        helm.plane.kubectl("delete", "crd", "rayclusters.ray.io")
        managing = operators(ready=False)
        wait_for("the answer", lambda: "rayclusters: not synced: " in managing.http("/readyz")[1])
        assert managing.http("/readyz")[0] == 503
    finally:
        operators.close()


def test_an_upgrade_keeps_the_ca_that_was_filled_into_the_webhooks(helm):
    helm.must_install("afterglow", "afterglow-system")
    ca = base64.b64encode(helm.plane.file("ca.crt").read_bytes()).decode()
    patch = {"webhooks": [{"name": name, "clientConfig": {"caBundle": ca}} for name in
                          ("pods.afterglow.dev", "ray.afterglow.dev")]}
    helm.plane.kubectl("patch", "mutatingwebhookconfiguration", "afterglow", "--type=strategic", "-p", json.dumps(patch))
    # The first changes nothing of the webhooks, the second each of them.
    for value, seconds in (("logLevel=debug", 3), ("webhook.timeoutSeconds=7", 7)):
        helm.must_install("afterglow", "afterglow-system", value)
        webhooks = helm.configuration("afterglow")["webhooks"]
        assert [(w["clientConfig"].get("caBundle"), w["timeoutSeconds"]) for w in webhooks] == [(ca, seconds)] * 2
        assert all(w["clientConfig"]["service"]["name"] == "afterglow-webhook" for w in webhooks)


def test_the_api_server_keeps_the_webhooks_as_they_are_rendered(helm):
    helm.must_install("afterglow", "one", "watchNamespace=one")
    pods, ray = helm.configuration("afterglow-one")["webhooks"]
    assert pods["objectSelector"] == {"matchLabels": {"ray.io/is-ray-node": "yes"}} and ray["objectSelector"] == {}
    assert {w["failurePolicy"] for w in (pods, ray)} == {"Ignore"}
    assert {w["reinvocationPolicy"] for w in (pods, ray)} == {"IfNeeded"}


def test_a_release_of_the_former_chart_is_upgraded_rolled_back_and_upgraded_again(helm):
    """Failures, policies, RayClusters and the user's values outlive each of these steps."""
    release, default = ("afterglow", "afterglow-system"), helm.api.within("default")

    def upgrade(*options):
        return helm.install(*release, MANAGING, options=options)

    def must(result):
        assert result.returncode == 0, result.stderr

    def names(plural):
        return sorted(o["metadata"]["name"] for o in default.items(plural))

    def wait_for_all():
        # A CRD that has just changed is not served for a moment.
        for plural, there in (("rayfailures", ["new", "old"]), ("rayclusters", ["demo"]), ("raypolicies", ["policy"])):
            wait_for(plural, lambda p=plural, n=there: names(p) == n)

    helm.must_install(*release, MANAGING, "store.spoolMax=500Mi", chart=FORMER_CHART)
    assert helm.crds() == ["rayclusters.ray.io", "rayfailures.afterglow.dev"]
    wait_for("RayFailures", lambda: default.create("rayfailures", failure("old")))
    wait_for("RayClusters", lambda: default.create("rayclusters", ray_cluster("demo", group("small", 1))))

    # With --reuse-values, Helm leaves out the defaults of what is new in the chart.
    refused = upgrade("--reuse-values")
    assert refused.returncode != 0 and "missing propert" in refused.stderr
    must(upgrade("--reset-then-reuse-values"))
    assert helm.crds() == CRDS
    assert 'spoolMax: "500Mi"' in helm.operator_config()
    signature = "v1:Killed:raylet:SIGKILL"
    new = failure("new")
    new["spec"]["signature"] = signature
    # Until the API server has read the new CRD, it leaves out a field that the old one does not have.
    wait_for("the new field", lambda: default.request("POST", default.path("rayfailures") + "?dryRun=All", new)["spec"]["signature"])
    wait_for("the failure", lambda: default.create("rayfailures", new))
    wait_for("RayPolicies", lambda: default.create("raypolicies", {
        "apiVersion": "afterglow.dev/v1alpha1", "kind": "RayPolicy", "metadata": {"name": "policy"},
        "spec": {"recording": {"enabled": False}}}))

    must(helm.run("rollback", "afterglow", "1", "--namespace", "afterglow-system"))
    assert helm.crds() == CRDS
    wait_for_all()
    assert 'spoolMax: "500Mi"' in helm.operator_config()

    must(upgrade("--reset-then-reuse-values"))
    wait_for_all()
    # What the old CRD does not know is not shown while it is in force, and not lost as long as nobody writes the object.
    wait_for("the new field", lambda: default.get("rayfailures", "new")["spec"].get("signature") == signature)


def test_two_releases_with_a_namespace_each_live_side_by_side(helm):
    assert "neither upgrades" not in helm.must_install("afterglow", "one", "watchNamespace=one", MANAGING)
    helm.plane.kubectl("create", "namespace", "two")
    said = helm.must_install("afterglow", "two", "watchNamespace=two", MANAGING)
    for crd in CRDS:
        assert f"CRD {crd} belongs to release afterglow in namespace one" in said
    assert "Ray pods that run go on with" in helm.must_install("afterglow", "one", "watchNamespace=one", MANAGING,
                                                                   "logLevel=debug")
    # The one whose they are goes; they stay, for the other's sake too.
    helm.uninstall("afterglow", "one")
    assert helm.crds() == CRDS
    helm.must_install("afterglow", "two", "watchNamespace=two", MANAGING)


def test_a_release_for_one_namespace_may_do_nothing_elsewhere(helm):
    helm.must_install("afterglow", "one", "watchNamespace=one", MANAGING)
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
    refused = helm.install("afterglow", "afterglow-system", MANAGING)
    assert refused.returncode != 0
    assert "KubeRay runs in namespace default" in refused.stderr and "leave manageRayClusters at false" in refused.stderr
    assert "It works beside KubeRay" in helm.must_install("afterglow", "afterglow-system")
    assert helm.crds() == OURS


def test_people_who_may_edit_a_namespace_may_make_rayclusters_in_it(helm):
    helm.must_install("afterglow", "afterglow-system", MANAGING)
    rights = {r["metadata"]["name"]: r["rules"] for r in helm.api.items("clusterroles") if "afterglow" in r["metadata"]["name"]}
    assert {v for rule in rights["afterglow-edit"] if "ray.io" in rule["apiGroups"] for v in rule["verbs"]} >= {"create", "delete"}
    assert all(set(rule["verbs"]) == {"get", "list", "watch"} for rule in rights["afterglow-view"])
