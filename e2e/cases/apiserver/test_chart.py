# SPDX-License-Identifier: Apache-2.0
"""What the Helm chart gives the operator, its options, policy and rights, is right and enough."""

import contextlib
import subprocess

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import BUILD, ROOT, RayCluster, group, ray_cluster, settle
from apiserver.test_raycluster_features import end_job, gone

RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def template(plane, *args):
    """Of `helm template`."""
    return subprocess.run([plane.bin / "helm", "template", "afterglow", ROOT / "charts/afterglow", "--kube-version", "1.34.0",
                           *args], capture_output=True, text=True, check=False)


def rendered(plane, *values, namespace="afterglow-system"):
    """The objects of `helm template`, which sees no cluster, in their order."""
    result = template(plane, "--namespace", namespace, *(part for value in values for part in ("--set", value)))
    assert result.returncode == 0, result.stderr
    return [o for o in yaml.safe_load_all(result.stdout) if o]


def kinds(objects):
    return [o["kind"] for o in objects]


def only(objects, kind):
    (found,) = [o for o in objects if o["kind"] == kind]
    return found


@contextlib.contextmanager
def rights_of(plane, objects, namespace):
    """What of them is about rights is in force."""
    rights = plane.file("rights.yaml")
    rights.write_text(yaml.safe_dump_all([o for o in objects if o["kind"] in RIGHTS]))
    plane.kubectl("apply", "--namespace", namespace, "-f", str(rights))
    try:
        yield
    finally:
        plane.kubectl("delete", "--namespace", namespace, "--wait=false", "-f", str(rights))


@pytest.fixture(name="chart", params=["all namespaces", "one namespace"])
def rendered_chart(request, plane, api):
    """The chart's objects, by kind; those about rights are in force."""
    scope = [f"watchNamespace={api.namespace}"] if request.param == "one namespace" else []
    objects = rendered(plane, "manageRayClusters=true", "recording.kernelLog.enabled=true", *scope, namespace=api.namespace)
    with rights_of(plane, objects, api.namespace):
        yield {o["kind"]: o for o in objects}


def may(plane, api, chart, verb, what):
    """Whether the operator may do that in the namespace: "yes" or "no"."""
    account = f"system:serviceaccount:{api.namespace}:{chart['ServiceAccount']['metadata']['name']}"
    result = subprocess.run([plane.bin / "kubectl", "--kubeconfig", plane.kubeconfig("test"), "auth", "can-i", verb, what,
                             "--as", account, "--namespace", api.namespace], capture_output=True, text=True, check=False)
    return result.stdout.strip()


def test_the_operator_works_with_the_charts_options_policy_and_rights(chart, start, plane, api, make, kubelet, tmp_path):
    account = chart["ServiceAccount"]["metadata"]["name"]
    token = api.create("serviceaccounts", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
                       account, "token")["status"]["token"]
    (tmp_path / "config.yaml").write_text(chart["ConfigMap"]["data"]["config.yaml"])
    (container,) = chart["Deployment"]["spec"]["template"]["spec"]["containers"]
    launchers = ("/usr/libexec/afterglow/launchers", str(BUILD / "afterglow-launch"))
    args = [a.replace("/etc/afterglow", str(tmp_path)).replace(*launchers) for a in container["args"]]
    at = args.index("--metrics-address")
    del args[at:at + 2]  # the port is the test's
    if "--leader-elect" in args:
        args += ["--lease-namespace", api.namespace]  # in a pod, its own
    # The chart watches all namespaces by default; here others' tests have theirs.
    # The API server learns of rights a little after it has stored them.
    wait_for("the rights", lambda: all(may(plane, api, chart, verb, what) == "yes" for verb, what in
                                       (("create", "leases.coordination.k8s.io"), ("create", "pods"), ("list", "pods"))))
    operator = start(*args, image=None, manage=False, namespace="--namespace" not in args, kubeconfig=plane.kubeconfig(account, credentials={"token": token}))
    cluster = make("demo", group("small", 2))
    _, (first, _) = cluster.wait_pods(1, 2)
    assert first["spec"]["containers"][-1]["name"] == "afterglow"
    kubelet.run_all()
    cluster.wait_status(state="ready")
    kubelet.end(first, 137, reason="OOMKilled")
    cluster.wait_failures(1)
    cluster.scale(small=1)
    cluster.wait_pods(1, 1)
    make("invalid", group("same"), group("same")).wait_condition("afterglow.dev/SpecValid", "False")
    # Each right has its use; this cluster uses those that the others do not.
    everything = ray_cluster("everything", group("slice", 1, numOfHosts=2), rayVersion="2.60.0",
                             enableInTreeAutoscaling=True, authOptions={"mode": "token"},
                             gcsFaultToleranceOptions={"backend": "rocksdb"})
    everything["spec"]["headGroupSpec"]["enableIngress"] = True
    api.create("rayclusters", everything)
    RayCluster(api, "everything").wait_pods(1, 2)
    for plural, name in (("roles", "everything"), ("rolebindings", "everything"), ("serviceaccounts", "everything"),
                         ("secrets", "everything"), ("ingresses", "everything-head-ingress"),
                         ("persistentvolumeclaims", "everything-gcs-pvc"), ("services", "everything-headless")):
        assert api.get(plural, name)
    make("tolerant", gcsFaultToleranceOptions={"redisAddress": "redis:6379"}).wait_pods(1, 0)
    api.delete("rayclusters", "tolerant")
    (job,) = wait_for("the Job that cleans Redis", lambda: api.items("jobs", "ray.io/cluster=tolerant"))
    end_job(api, job, "Complete")
    wait_for("the cluster to go", lambda: gone(api, "tolerant"))
    settle(operator, api, kubelet)
    assert ": 403 " not in operator.text() and "Forbidden" not in operator.text()


def test_the_operator_may_read_and_change_no_configmap_or_claim_that_is_not_its_own(chart, plane, api):
    def answers(verbs, what):
        return [may(plane, api, chart, verb, what) for verb in verbs]

    wait_for("the rights", lambda: answers(("create", "get", "patch"), "configmaps/afterglow-launch") == ["yes"] * 3 and
             answers(["get"], "persistentvolumeclaims/ray-failures") == ["yes"])
    assert answers(("get", "patch", "update", "delete"), "configmaps/other") == ["no"] * 4
    # A RayPolicy may name any claim. One for RocksDB has a name of the cluster's, and its owner may change: that takes patch.
    assert answers(("update", "delete", "deletecollection"), "persistentvolumeclaims/other") == ["no"] * 3
    assert answers(("patch", "delete"), "raypolicies") == ["no"] * 2
    assert answers(("get", "list", "patch"), "secrets/other") == ["no"] * 3


def test_beside_kuberay_the_operator_may_do_what_the_webhook_needs_and_make_no_pods(plane, api):
    objects = rendered(plane, namespace=api.namespace)
    chart = {o["kind"]: o for o in objects}

    def answers(verbs, what):
        return [may(plane, api, chart, verb, what) for verb in verbs]

    with rights_of(plane, objects, api.namespace):
        wait_for("the rights", lambda: answers(["get"], "secrets/afterglow-webhook-tls") == ["yes"] and
                 answers(["get"], "mutatingwebhookconfigurations/afterglow") == ["yes"] and
                 answers(["patch"], "configmaps/afterglow-launch") == ["yes"])
        assert answers(("get", "patch", "update"), "secrets/afterglow-webhook-tls") == ["yes"] * 3
        assert answers(("create", "get", "patch"), "configmaps/afterglow-launch") == ["yes"] * 3
        assert answers(("get", "patch"), "mutatingwebhookconfigurations/afterglow") == ["yes"] * 2
        assert answers(("get", "list", "patch", "delete"), "secrets/other") == ["no"] * 4
        assert answers(("get", "list", "patch"), "mutatingwebhookconfigurations/other") == ["no"] * 3
        assert answers(("delete", "update"), "mutatingwebhookconfigurations/afterglow") == ["no"] * 2
        assert answers(("create", "delete", "patch"), "pods") == ["no"] * 3
        assert answers(("get", "create", "patch", "delete"), "persistentvolumeclaims/other") == ["no"] * 4
        assert answers(["patch"], "rayclusters.ray.io") == ["no"]
        assert answers(["list"], "leases.coordination.k8s.io") == ["no"]


def test_by_default_it_works_beside_kuberay(plane):
    objects = rendered(plane)
    assert {o["metadata"]["name"] for o in objects if o["kind"] == "CustomResourceDefinition"} == {
        f"{plural}.afterglow.dev" for plural in ("rayfailures", "raypolicies", "clusterraypolicies")}
    (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert "--manage-clusters" not in container["args"]
    at = container["args"].index("--webhook-address")
    assert container["args"][at:] == [
        "--webhook-address", ":9443", "--webhook-service", "afterglow-webhook", "--webhook-secret", "afterglow-webhook-tls",
        "--webhook-configuration", "afterglow", "--webhook-certificates", "self"]
    assert {"name": "webhook", "containerPort": 9443} in container["ports"]
    service = only(objects, "Service")
    assert service["metadata"]["name"] == "afterglow-webhook" and service["spec"]["ports"][0]["targetPort"] == "webhook"
    labels = only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()


def test_the_webhooks_ask_for_ray_pods_and_ray_objects_and_never_stand_in_the_way(plane):
    configuration = only(rendered(plane), "MutatingWebhookConfiguration")
    pods, ray = configuration["webhooks"]
    for webhook, path in ((pods, "/mutate/pods"), (ray, "/mutate/ray")):
        # Who fills in caBundle is not the chart: what is not rendered is not taken back.
        assert webhook["clientConfig"] == {"service": {
            "name": "afterglow-webhook", "namespace": "afterglow-system", "path": path, "port": 443}}
        assert (webhook["failurePolicy"], webhook["timeoutSeconds"], webhook["sideEffects"]) == ("Ignore", 3, "None")
        assert (webhook["reinvocationPolicy"], webhook["matchPolicy"]) == ("IfNeeded", "Equivalent")
        assert webhook["namespaceSelector"] == {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn",
             "values": ["kube-system", "kube-public", "kube-node-lease", "afterglow-system"]},
            {"key": "afterglow.dev/inject", "operator": "NotIn", "values": ["false", "disabled"]}]}
    assert pods["objectSelector"] == {"matchLabels": {"ray.io/is-ray-node": "yes"}} and "objectSelector" not in ray
    assert [(r["resources"], r["operations"]) for r in pods["rules"]] == [(["pods"], ["CREATE"])]
    assert [(r["resources"], r["operations"]) for r in ray["rules"]] == [
        (["rayclusters", "rayjobs", "rayservices"], ["CREATE", "UPDATE"])]


def test_the_webhooks_of_one_namespace_ask_for_nothing_else(plane):
    objects = rendered(plane, "watchNamespace=ml")
    configuration = only(objects, "MutatingWebhookConfiguration")
    assert configuration["metadata"]["name"] == "afterglow-ml"
    for webhook in configuration["webhooks"]:
        assert webhook["namespaceSelector"]["matchExpressions"][0] == {
            "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["ml"]}
    assert "afterglow-ml" in only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]


def test_more_conditions_for_the_webhooks_come_beside_ours(plane):
    pods, ray = only(rendered(
        plane, "webhook.namespaceSelector.matchLabels.team=ml", "webhook.namespaceSelector.matchExpressions[0].key=stage",
        "webhook.namespaceSelector.matchExpressions[0].operator=Exists", "webhook.objectSelector.matchLabels.record=please",
    ), "MutatingWebhookConfiguration")["webhooks"]
    assert pods["objectSelector"] == {"matchLabels": {"ray.io/is-ray-node": "yes", "record": "please"}}
    for webhook in (pods, ray):
        assert webhook["namespaceSelector"]["matchLabels"] == {"team": "ml"}
        assert [e["key"] for e in webhook["namespaceSelector"]["matchExpressions"]] == [
            "kubernetes.io/metadata.name", "afterglow.dev/inject", "stage"]


def test_with_cert_manager_it_makes_the_certificate_and_the_operator_may_only_read_it(plane):
    objects = rendered(plane, "webhook.certManager.enabled=true")
    certificate = only(objects, "Certificate")
    assert certificate["spec"]["secretName"] == "afterglow-webhook-tls"
    assert "afterglow-webhook.afterglow-system.svc" in certificate["spec"]["dnsNames"]
    assert certificate["spec"]["issuerRef"] == {"kind": "Issuer", "name": only(objects, "Issuer")["metadata"]["name"]}
    assert only(objects, "MutatingWebhookConfiguration")["metadata"]["annotations"] == {
        "cert-manager.io/inject-ca-from": "afterglow-system/afterglow-webhook"}
    args = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--webhook-certificates") + 1] == "external"
    verbs = [(rule["resources"], rule["verbs"]) for o in objects if o["metadata"]["name"] == "afterglow-webhook"
             for rule in o.get("rules", [])]
    assert sorted(verbs) == [(["mutatingwebhookconfigurations"], ["get"]), (["secrets"], ["get"])]
    ours = rendered(plane, "webhook.certManager.enabled=true", "webhook.certManager.issuerRef.name=company",
                    "webhook.certManager.issuerRef.kind=ClusterIssuer")
    assert only(ours, "Certificate")["spec"]["issuerRef"] == {"kind": "ClusterIssuer", "name": "company"}
    assert "Issuer" not in kinds(ours)


@pytest.mark.parametrize("value", ["manageRayClusters=true", "webhook.enabled=false"])
def test_without_need_of_a_webhook_there_is_none_and_no_right_for_it(plane, value):
    objects = rendered(plane, value)
    assert not {"MutatingWebhookConfiguration", "Service"} & set(kinds(objects))
    args = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert not [a for a in args if "webhook" in a] and ("--manage-clusters" in args) == (value == "manageRayClusters=true")
    assert not [o for o in objects if "webhook" in o["metadata"]["name"]]


@pytest.mark.parametrize("manages", ["true", "false"])
def test_for_one_namespace_nothing_need_be_made_outside_of_namespaces(plane, manages):
    objects = rendered(plane, "watchNamespace=ml", f"manageRayClusters={manages}", "crds.install=false", "rbac.aggregate=false",
                       "rbac.findKubeRay=false", "webhook.enabled=false")
    assert all(o["metadata"].get("namespace") for o in objects)


def test_the_operator_starts_only_where_the_sidecars_image_can_be_had(plane):
    """KubeRay waits for all containers of a pod, also for one whose image is missing."""
    def init_containers(*sets):
        return next(o for o in rendered(plane, *sets) if o["kind"] == "Deployment")["spec"]["template"]["spec"].get("initContainers")

    assert [c["image"] for c in init_containers("sidecar.image.repository=ours/sidecar", "sidecar.image.tag=v7")] == ["ours/sidecar:v7"]
    assert init_containers("sidecar.enabled=false") is None
    assert init_containers("manageRayClusters=true") is None


def test_without_a_sidecar_only_ray_objects_are_asked_for(plane):
    (webhook,) = only(rendered(plane, "sidecar.enabled=false"), "MutatingWebhookConfiguration")["webhooks"]
    assert webhook["name"] == "ray.afterglow.dev"


def test_large_numbers_of_a_values_file_reach_the_operator_digit_by_digit(plane, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text("retention: {maxPerNamespace: 1000000}\nstore: {keep: {bundles: 1000000, max: 20000000000}}\n")
    result = template(plane, "-f", values)
    assert result.returncode == 0, result.stderr
    assert 'storeKeepBundles: 1000000\n' in result.stdout and 'storeKeepMax: "20000000000"\n' in result.stdout
    assert '- "1000000"\n' in result.stdout and "e+" not in result.stdout


@pytest.mark.parametrize("value", ["sidecar.warnAt=0.9", "memory.rayMemoryFraction=0.8", "memory.usageThreshold=0.9"])
def test_a_fraction_may_be_given_with_set(plane, value):
    result = template(plane, "--set", value)
    assert result.returncode == 0, result.stderr
    name, fraction = value.split(".", 1)[1].split("=")
    assert f"{name}: {fraction}\n" in result.stdout


@pytest.mark.parametrize("value, place", [
    ("memory.rayMemoryFraction=1.5", "at '/memory/rayMemoryFraction'"),
    ("sidecar.warnAt=0.01", "at '/sidecar/warnAt'"),
    ("store.keep.max=10X", "at '/store/keep/max'"),
    ("resources.memory=1Gi", "at '/resources': additional properties 'memory' not allowed"),
    ("watchNamespace=a.b", "at '/watchNamespace'"),
    ("webhook.port=8080", "at '/webhook/port'"),
    ("webhook.timeoutSeconds=31", "at '/webhook/timeoutSeconds'"),
    ("webhook.failurePolicy=Fail", "at '/webhook': additional properties 'failurePolicy' not allowed"),
    ("webhook.certManager.issuerRef.nam=x", "at '/webhook/certManager/issuerRef'"),
    ("retention=null", "missing property 'retention'"),
])
def test_a_wrong_value_is_refused_with_its_place(plane, value, place):
    result = template(plane, "--set", value)
    assert result.returncode != 0 and place in result.stderr
