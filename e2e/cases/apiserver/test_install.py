# SPDX-License-Identifier: Apache-2.0
"""helm installs the chart, upgrades it, rolls it back and uninstalls it, also beside other releases and KubeRay."""

import base64
import concurrent.futures
import datetime
import json
import os
import subprocess

import pytest
import yaml

from conftest import PATIENCE, wait_for
from apiserver.conftest import BUILD, ROOT, Operators, group, ray_cluster
from apiserver.control_plane import ControlPlane
from apiserver.crds import delete_crds
from apiserver.judges import judge
from apiserver.test_chart import EVERYTHING

# The Job that upgrades the CRDs of another release, and everything that it needs, have this name and this label.
CRDS_JOB, CRDS_LABEL = "afterglow-crds-hook", "app.kubernetes.io/name=afterglow-crds"
OURS = ["clusterraypolicies.afterglow.dev", "rayfailures.afterglow.dev", "raypolicies.afterglow.dev"]
CRDS = sorted(["rayclusters.ray.io", *OURS])  # of an Afterglow that makes the pods of RayClusters
MANAGING = "manageRayClusters=true"
# The chart as it was before the webhook and policies, by `helm package`.
FORMER_CHART = ROOT / "e2e/cases/apiserver/testdata/afterglow-chart-2026-11-21.tgz"


def failure(name):
    return {"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure", "metadata": {"name": name},
            "spec": {"pod": "p", "container": "c", "class": "Killed", "confidence": "certain", "verdict": "It was killed."}}


def program_of(plane, version):
    """Helm 3 comes with the cluster, Helm 4 is built for these cases."""
    return plane.bin / "helm" if version == 3 else judge("helm4")[0]


class Helm:
    """helm on a control plane of its own, without a kubelet: objects are made, and no pod of them runs."""

    def __init__(self, plane, version=3):
        self.plane = plane
        self.api = plane.api()
        self.program = program_of(plane, version)
        self.job_log = ""  # of the last Job that upgraded CRDs

    def run(self, *args):
        env = {**os.environ, "HOME": str(self.plane.directory)}
        return subprocess.run([self.program, "--kubeconfig", self.plane.kubeconfig("test"), *args],
                              capture_output=True, text=True, check=False, env=env, timeout=120 * PATIENCE)

    def install(self, release, namespace, *values, chart=ROOT / "charts/afterglow", options=()):
        sets = [part for value in values for part in ("--set", value)]
        return self.run("upgrade", "--install", release, chart, "--namespace", namespace, "--create-namespace",
                        *sets, *options)

    def must_install(self, *args, **kwargs):
        result = self.install(*args, **kwargs)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def install_with_job(self, release, namespace, *values, look=lambda: None):
        """An installation that upgrades CRDs of another release. look() is called while the Job's rights are there."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            job = pool.submit(self.run_job, namespace, look)
            # On a busy machine the Job may need more than the five minutes that Helm gives it.
            said = self.must_install(release, namespace, *values, options=("--timeout", "20m"))
            job.result()
        return said

    def run_job(self, namespace, look):
        """In place of controllers and kubelet: the program of the Job, as its service account, and then the Job's status."""
        api = self.plane.api().within(namespace)
        job = wait_for("the Job", lambda: api.get("jobs", CRDS_JOB), timeout=120)
        spec = job["spec"]["template"]["spec"]
        directory = self.plane.directory / f"crds-{namespace}"
        directory.mkdir(exist_ok=True)
        for name, text in api.get("configmaps", spec["volumes"][0]["configMap"]["name"])["data"].items():
            (directory / name).write_text(text)
        token = api.new_token(spec["serviceAccountName"])
        # The API server hears of new rights by a watch.
        wait_for("the rights", lambda: self.may("patch", "rayfailures.afterglow.dev", f"{namespace}:{CRDS_JOB}"))
        look()
        mount = spec["containers"][0]["volumeMounts"][0]["mountPath"]
        arguments = [str(directory) if a == mount else a for a in spec["containers"][0]["args"]]
        config = self.plane.kubeconfig(f"job-{namespace}", credentials={"token": token})
        result, again = (subprocess.run([BUILD / "afterglow-operator", "--kubeconfig", config, *arguments], capture_output=True,
                                        text=True, check=False, timeout=120 * PATIENCE) for _ in range(2))
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        ends = ("SuccessCriteriaMet", "Complete") if result.returncode == 0 else ("FailureTarget", "Failed")
        status = {"startTime": now, "conditions": [{"type": end, "status": "True", "lastTransitionTime": now} for end in ends]}
        api.patch("jobs", CRDS_JOB, {"status": {**status, **({} if result.returncode else {"completionTime": now})}}, "status")
        assert result.returncode == 0, result.stderr
        self.job_log = result.stderr
        # What the API server stored is what the Job wrote, without defaults of the API server.
        assert again.stderr.count("it is up to date") == len(list(directory.iterdir())), again.stderr

    def may(self, verb, crd, service_account):
        command = [self.plane.bin / "kubectl", "--kubeconfig", self.plane.kubeconfig("test"), "auth", "can-i", verb,
                   f"customresourcedefinitions.apiextensions.k8s.io/{crd}", "--as", f"system:serviceaccount:{service_account}"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == "yes"

    def fields(self, crd):
        """Returns the properties below spec that the installed CRD has."""
        versions = self.api.get("customresourcedefinitions", crd)["spec"]["versions"]
        return set(versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])

    def need_namespace(self, name):
        """Makes the namespace, unless a case before this one has made it on the same control plane."""
        if name not in {n["metadata"]["name"] for n in self.api.items("namespaces")}:
            self.plane.kubectl("create", "namespace", name)

    def uninstall(self, release, namespace):
        assert self.run("uninstall", release, "--namespace", namespace).returncode == 0

    def configuration(self, name):
        return json.loads(self.plane.kubectl("get", "mutatingwebhookconfiguration", name, "-o", "json"))

    def operator_config(self):
        """Returns the configuration that the chart gives the operator, as text."""
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


# Helm 4 applies on the server, where fields have owners; Helm 3 does not.
each_helm = pytest.mark.parametrize("helm", [3, 4], ids=["helm3", "helm4"], indirect=True)


@pytest.fixture
def helm(request, fresh_plane):
    """helm on a control plane on which nothing is installed, before and after the test."""
    made = Helm(fresh_plane, getattr(request, "param", 3))
    yield made
    for release in made.run("list", "-A", "-q").stdout.split():
        for namespace in ("one", "two", "afterglow-system"):
            made.run("uninstall", release, "--namespace", namespace)
    fresh_plane.kubectl("delete", "deployments", "-A", "--all")
    delete_crds(made.api, made.crds())


@each_helm
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


@pytest.mark.parametrize("values, second", [
    ([], "kubectl -n NAMESPACE run probe --image=none --labels=ray.io/is-ray-node=yes --dry-run=server "),
    (["watchNamespace=ml", "webhook.objectSelector.matchLabels.team=a"],
     "kubectl -n ml run probe --image=none --labels=ray.io/is-ray-node=yes,team=a --dry-run=server "),
    (["webhook.enabled=false"], "kubectl afterglow doctor"),
    (["sidecar.enabled=false"], "kubectl afterglow doctor"),
    ([MANAGING], "kubectl -n NAMESPACE apply -f raycluster.yaml"),
])
def test_the_notes_have_the_three_next_commands(plane, values, second):
    said = Helm(plane).must_install("afterglow", "nowhere", "crds.install=false", *values, options=("--dry-run=client",))
    commands = [line.strip() for line in said.split("\nNext:\n")[1].splitlines() if line.strip().startswith("kubectl ")]
    assert len(commands) == 3
    assert commands[0] == "kubectl -n nowhere rollout status deployment/afterglow-operator"
    assert commands[1].startswith(second)
    assert commands[2].startswith("kubectl get rayfailures " + ("-n ml " if "watchNamespace=ml" in values else "-A "))


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
        delete_crds(helm.api, ["rayclusters.ray.io"])
        managing = operators(ready=False)
        wait_for("the answer", lambda: "rayclusters: not synced: " in managing.http("/readyz")[1])
        assert managing.http("/readyz")[0] == 503
    finally:
        operators.close()


@each_helm
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


def test_a_release_of_helm_3_goes_on_with_helm_4_on_the_server_and_with_helm_3_again(helm):
    """Helm 3 patches objects and Helm 4 applies them on the server: both go over fields that the operator owns."""
    release, helm4 = ("afterglow", "afterglow-system"), Helm(helm.plane, 4)
    helm.must_install(*release, chart=FORMER_CHART)
    helm.must_install(*release)
    ca = base64.b64encode(helm.plane.file("ca.crt").read_bytes()).decode()
    patch = {"webhooks": [{"name": "pods.afterglow.dev", "clientConfig": {"caBundle": ca}}]}
    helm.plane.kubectl("patch", "mutatingwebhookconfiguration", "afterglow", "--type=strategic", "-p", json.dumps(patch),
                       "--field-manager=afterglow")

    def webhook():
        return helm.configuration("afterglow")["webhooks"][0]

    for by, level, seconds, options in ((helm4, "debug", 5, ["--server-side=true"]), (helm4, "info", 6, []), (helm, "debug", 7, [])):
        by.must_install(*release, f"logLevel={level}", f"webhook.timeoutSeconds={seconds}", options=options)
        args = json.loads(helm.plane.kubectl("get", "deployment", "afterglow-operator", "--namespace", "afterglow-system", "-o",
                                             "jsonpath={.spec.template.spec.containers[0].args}"))
        assert args[args.index("--log-level") + 1] == level
        assert (webhook()["clientConfig"]["caBundle"], webhook()["timeoutSeconds"]) == (ca, seconds)
    rollback = helm4.run("rollback", "afterglow", "3", "--namespace", "afterglow-system")
    assert rollback.returncode == 0, rollback.stderr
    assert (webhook()["clientConfig"]["caBundle"], webhook()["timeoutSeconds"]) == (ca, 5)
    assert "signature" in helm.fields("rayfailures.afterglow.dev")
    helm4.uninstall(*release)
    assert helm.crds() == CRDS


@pytest.mark.parametrize("helm", [4], indirect=True)
def test_what_somebody_changed_by_hand_stops_helm_4_until_it_may_force(helm):
    release = ("afterglow", "afterglow-system")
    helm.must_install(*release)
    helm.plane.kubectl("patch", "deployment", "afterglow-operator", "--namespace", "afterglow-system", "-p", '{"spec":{"replicas":5}}')
    refused = helm.install(*release)
    assert refused.returncode != 0 and 'conflict with "kubectl-patch"' in refused.stderr and ".spec.replicas" in refused.stderr
    helm.must_install(*release, options=("--force-conflicts",))
    assert helm.plane.kubectl("get", "deployment", "afterglow-operator", "--namespace", "afterglow-system", "-o",
                              "jsonpath={.spec.replicas}") == "2"


def test_helm_4_finds_no_fault_with_the_chart_and_renders_what_helm_3_does(fresh_plane):
    def output(version, command, *options):
        result = subprocess.run([program_of(fresh_plane, version), *command, ROOT / "charts/afterglow", "--kube-version", "1.37.0",
                                 *options], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    sets = [part for value in (*EVERYTHING, "nodeAgent.enabled=true") for part in ("--set", value)]
    for options in ([], sets, ["--set", MANAGING]):
        three, four = ([o for o in yaml.safe_load_all(output(v, ["template", "afterglow"], *options)) if o] for v in (3, 4))
        assert three == four and len(three) > 10
        assert "0 chart(s) failed" in output(4, ["lint", "--strict"], *options)


def test_the_api_server_keeps_the_webhooks_as_they_are_rendered(helm):
    helm.must_install("afterglow", "one", "watchNamespace=one")
    pods, ray = helm.configuration("afterglow-one")["webhooks"]
    assert pods["objectSelector"] == {"matchLabels": {"ray.io/is-ray-node": "yes"}} and ray["objectSelector"] == {}
    assert {w["failurePolicy"] for w in (pods, ray)} == {"Ignore"}
    assert {w["reinvocationPolicy"] for w in (pods, ray)} == {"IfNeeded"}


@each_helm
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


@each_helm
def test_crds_that_an_uninstalled_release_left_are_upgraded_by_another_and_nothing_is_lost(helm):
    default, failures = helm.api.within("default"), "rayfailures.afterglow.dev"
    helm.must_install("former", "one", MANAGING, chart=FORMER_CHART)
    wait_for("RayFailures", lambda: default.create("rayfailures", failure("old")))
    wait_for("RayClusters", lambda: default.create("rayclusters", ray_cluster("demo", group("small", 1))))
    helm.uninstall("former", "one")

    said = helm.must_install("afterglow", "afterglow-system", MANAGING, "crds.upgrade=false")
    assert f"CRD {failures} belongs to release former in namespace one: this release neither upgrades nor removes it." in said
    assert "signature" not in helm.fields(failures)
    helm.uninstall("afterglow", "afterglow-system")

    def look():
        job = "afterglow-system:" + CRDS_JOB
        assert helm.may("get", failures, job) and helm.may("patch", "rayclusters.ray.io", job)
        assert not helm.may("patch", "raypolicies.afterglow.dev", job) and not helm.may("delete", failures, job)
        assert not helm.may("patch", failures, "afterglow-system:afterglow")
        spec = helm.api.within("afterglow-system").get("jobs", CRDS_JOB)["spec"]
        assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (240, 86400)
        pod = spec["template"]
        assert pod["metadata"]["labels"].items() >= {"team": "ml", "sidecar.istio.io/inject": "false"}.items()
        assert pod["metadata"]["annotations"] == {"linkerd.io/inject": "disabled"}
        (term,) = pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "zone"
    said = helm.install_with_job(
        "afterglow", "afterglow-system", MANAGING, "podLabels.team=ml",
        "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey=zone", look=look)
    assert f"CRD {failures} belongs to release former in namespace one. A Job of this release upgrades it before" in said
    assert helm.crds() == CRDS
    for crd in CRDS:
        wanted = next(path for path in (ROOT / "crds").glob("*.yaml") if path.stem == "_".join(crd.split(".", 1)[::-1]))
        schema = yaml.safe_load(wanted.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert helm.fields(crd) == set(schema["properties"]["spec"]["properties"]), crd
    for plural, name in (("rayfailures", "old"), ("rayclusters", "demo")):
        wait_for(plural, lambda p=plural, n=name: [o["metadata"]["name"] for o in default.items(p)] == [n])
    # What made it is gone.
    assert helm.plane.kubectl("get", "-A", "-o", "name", "-l", CRDS_LABEL,
                              "jobs,configmaps,serviceaccounts,clusterroles,clusterrolebindings") == ""

    # There is nothing more to do: without a Job, which nobody would run here.
    assert f"CRD {failures} belongs to release former in namespace one and is up to date." in helm.must_install(
        "afterglow", "afterglow-system", MANAGING, "logLevel=debug")
    rollback = helm.run("rollback", "afterglow", "1", "--namespace", "afterglow-system")
    assert rollback.returncode == 0, rollback.stderr
    assert "signature" in helm.fields(failures)


@each_helm
def test_crds_of_which_their_owner_put_an_older_version_back_are_upgraded_again(helm):
    failures = "rayfailures.afterglow.dev"
    helm.must_install("former", "one", "watchNamespace=one", chart=FORMER_CHART)
    helm.install_with_job("afterglow", "two", "watchNamespace=two")
    assert "signature" in helm.fields(failures)
    # The former chart does not know the annotation with the digest of the spec, and so Helm leaves it.
    # Nor does Helm 4 meet a field of which the Job is still the owner.
    helm.must_install("former", "one", "watchNamespace=one", "logLevel=debug", chart=FORMER_CHART)
    assert "signature" not in helm.fields(failures)
    helm.install_with_job("afterglow", "two", "watchNamespace=two", "logLevel=debug")
    assert "signature" in helm.fields(failures)


@each_helm
def test_crds_that_somebody_changed_by_hand_are_the_charts_again_and_the_job_says_whose_change_went(helm):
    failures, changed = "rayfailures.afterglow.dev", "spec.versions is the chart's again; it had been changed by "
    column = {"name": "By-Hand", "type": "string", "jsonPath": ".spec.class"}

    def columns():
        return [c["name"] for c in helm.api.get("customresourcedefinitions", failures)["spec"]["versions"][0]["additionalPrinterColumns"]]
    helm.must_install("former", "one", "watchNamespace=one", chart=FORMER_CHART)
    helm.plane.kubectl("patch", "crd", failures, "--type=json", "-p",
                       json.dumps([{"op": "add", "path": "/spec/versions/0/additionalPrinterColumns/-", "value": column}]))
    assert "By-Hand" in columns()
    helm.install_with_job("afterglow", "two", "watchNamespace=two")
    assert "By-Hand" not in columns() and "signature" in helm.fields(failures)
    assert f"CRD {failures}: {changed}kubectl-patch" in helm.job_log and helm.job_log.count(changed) == 1
    # Nobody is the owner of the field afterwards, so the release that has the CRD meets no conflict.
    helm.must_install("former", "one", "watchNamespace=one", "logLevel=debug", chart=FORMER_CHART)


@each_helm
def test_crds_that_a_release_left_are_upgraded_when_it_is_installed_again(helm):
    helm.must_install("afterglow", "afterglow-system", chart=FORMER_CHART)
    assert "signature" not in helm.fields("rayfailures.afterglow.dev")
    helm.uninstall("afterglow", "afterglow-system")
    helm.must_install("afterglow", "afterglow-system")
    assert "signature" in helm.fields("rayfailures.afterglow.dev")


@each_helm
def test_no_release_takes_fields_from_a_crd_of_a_newer_version(helm, tmp_path):
    failures = "rayfailures.afterglow.dev"
    helm.must_install("afterglow", "one", "watchNamespace=one")
    newer = {"metadata": {"labels": {"app.kubernetes.io/version": "9.1.0"}, "annotations": {"afterglow.dev/spec-sha256": "of 9.1"}},
             "spec": {"versions": helm.api.get("customresourcedefinitions", failures)["spec"]["versions"]}}
    properties = newer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["future"] = {"type": "string"}
    helm.api.patch("customresourcedefinitions", failures, newer)

    said = helm.must_install("afterglow", "one", "watchNamespace=one", "logLevel=debug")
    note = f"CRD {failures} is of version 9.1.0, which is newer than this chart, and stays as it is."
    assert note in said
    # The version of a chart that a pipeline built may be the name of a commit.
    packed = helm.run("package", str(ROOT / "charts/afterglow"), "--app-version", "main-abc123", "--destination", str(tmp_path))
    assert packed.returncode == 0, packed.stderr
    (chart,) = tmp_path.iterdir()
    assert note in helm.must_install("afterglow", "one", "watchNamespace=one", chart=chart, options=("--dry-run=server",))
    helm.need_namespace("three")
    said = helm.must_install("afterglow", "afterglow-system", "watchNamespace=three")
    assert f"CRD {failures} belongs to release afterglow in namespace one and is of version 9.1.0" in said
    after = helm.api.get("customresourcedefinitions", failures)
    assert "future" in helm.fields(failures)
    assert after["metadata"]["labels"]["app.kubernetes.io/version"] == "9.1.0"
    assert after["metadata"]["annotations"]["afterglow.dev/spec-sha256"] == "of 9.1"


@each_helm
def test_kuberays_crd_stays_kuberays(helm):
    name = "rayclusters.ray.io"
    helm.plane.kubectl("apply", "-f", str(ROOT / "crds/ray.io_rayclusters.yaml"))
    helm.api.patch("customresourcedefinitions", name, {"metadata": {
        "labels": {"helm.sh/chart": "kuberay-operator-1.6.2", "app.kubernetes.io/version": "0.0.1"},
        "annotations": {"meta.helm.sh/release-name": "kuberay", "meta.helm.sh/release-namespace": "default"}}})
    before = helm.api.get("customresourcedefinitions", name)
    said = helm.must_install("afterglow", "afterglow-system", MANAGING)
    assert f"CRD {name} belongs to release kuberay in namespace default: this release neither upgrades nor removes it." in said
    after = helm.api.get("customresourcedefinitions", name)
    assert (after["spec"], after["metadata"]["labels"]) == (before["spec"], before["metadata"]["labels"])


def test_two_releases_with_a_namespace_each_live_side_by_side(helm):
    assert "neither upgrades" not in helm.must_install("afterglow", "one", "watchNamespace=one", MANAGING)
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
