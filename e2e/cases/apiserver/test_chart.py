# SPDX-License-Identifier: Apache-2.0
"""What the Helm chart gives the operator, its options, policy and rights, is right and enough."""

import contextlib
import json
import os
import socket
import subprocess

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import BUILD, ROOT, RayCluster, group, ray_cluster, settle
from apiserver.control_plane import free_port
from apiserver.test_raycluster_features import end_job, gone

RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def template(plane, *args, chart=ROOT / "charts/afterglow"):
    """Runs `helm template`."""
    return subprocess.run([plane.bin / "helm", "template", "afterglow", chart, "--kube-version", "1.37.0", *args],
                          capture_output=True, text=True, check=False)


def rendered(plane, *values, namespace="afterglow-system"):
    """Returns the objects of `helm template`, which sees no cluster, in their order."""
    result = template(plane, "--namespace", namespace, *(part for value in values for part in ("--set", value)))
    assert result.returncode == 0, result.stderr
    return [o for o in yaml.safe_load_all(result.stdout) if o]


def kinds(objects):
    return [o["kind"] for o in objects]


def named(objects, kind, name):
    (found,) = [o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name]
    return found


def only(objects, kind):
    (found,) = [o for o in objects if o["kind"] == kind]
    return found


@contextlib.contextmanager
def rights_of(plane, objects, namespace):
    """Applies those objects that grant rights, and deletes them afterwards."""
    rights = plane.file("rights.yaml")
    rights.write_text(yaml.safe_dump_all([o for o in objects if o["kind"] in RIGHTS]))
    plane.kubectl("apply", "--namespace", namespace, "-f", str(rights))
    try:
        yield
    finally:
        plane.kubectl("delete", "--namespace", namespace, "--wait=false", "-f", str(rights))


@pytest.fixture(name="chart", params=["all namespaces", "one namespace"])
def rendered_chart(request, plane, api):
    """The chart's objects, by kind; those that grant rights are applied."""
    scope = [f"watchNamespace={api.namespace}"] if request.param == "one namespace" else []
    objects = rendered(plane, "manageRayClusters=true", "recording.kernelLog.enabled=true", *scope, namespace=api.namespace)
    with rights_of(plane, objects, api.namespace):
        yield {o["kind"]: o for o in objects}


def may(plane, api, chart, verb, what):
    """Returns whether the operator may do that in the namespace: "yes" or "no"."""
    account = f"system:serviceaccount:{api.namespace}:{chart['ServiceAccount']['metadata']['name']}"
    result = subprocess.run([plane.bin / "kubectl", "--kubeconfig", plane.kubeconfig("test"), "auth", "can-i", verb, what,
                             "--as", account, "--namespace", api.namespace], capture_output=True, text=True, check=False)
    return result.stdout.strip()


def test_the_operator_works_with_the_charts_options_policy_and_rights(chart, start, plane, api, make, kubelet, tmp_path):
    account = chart["ServiceAccount"]["metadata"]["name"]
    token = api.new_token(account)
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
    operator = start(*args, image=None, manage=False, namespace="--namespace" not in args,
                     kubeconfig=plane.kubeconfig(account, credentials={"token": token})).restart_when_lost()
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
        # The RoleBinding comes when the Role has been read.
        wait_for(f"{plural} {name}", lambda plural=plural, name=name: api.get(plural, name))
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
    assert answers(("create", "get", "patch", "delete"), "configmaps/afterglow-memory") == ["yes"] * 3 + ["no"]
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
    service = named(objects, "Service", "afterglow-webhook")
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
    assert "MutatingWebhookConfiguration" not in kinds(objects)
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


def pod_of(objects):
    return only(objects, "Deployment")["spec"]["template"]


def operator_of(objects):
    (container,) = pod_of(objects)["spec"]["containers"]
    return container


EVERYTHING = ("monitoring.serviceMonitor.enabled=true", "monitoring.podMonitor.enabled=true", "monitoring.prometheusRule.enabled=true",
              "monitoring.dashboards.enabled=true", "networkPolicy.enabled=true")
DIGEST = "sha256:" + "0123456789abcdef" * 4


def test_by_default_nothing_needs_a_crd_of_others(plane):
    groups = {o["apiVersion"].split("/")[0] for o in rendered(plane)}
    assert groups == {"v1", "apps", "policy", "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io"}


@pytest.mark.parametrize("sets, name", [
    (["nameOverride=ray-deaths"], "afterglow-ray-deaths"), (["fullnameOverride=deaths"], "deaths"),
    (["nameOverride=glow"], "afterglow"), (["nameOverride=x", "fullnameOverride=deaths"], "deaths"),
])
def test_names_may_be_others_and_go_together(plane, sets, name):
    objects = rendered(plane, *sets, *EVERYTHING)
    ours = [o for o in objects if o["kind"] != "CustomResourceDefinition"]
    assert all(o["metadata"]["name"].startswith(name) for o in ours), [o["metadata"]["name"] for o in ours]
    deployment = only(objects, "Deployment")
    assert deployment["metadata"]["name"] == f"{name}-operator"
    assert pod_of(objects)["spec"]["volumes"][0]["configMap"]["name"] == name and named(objects, "ConfigMap", name)
    assert pod_of(objects)["spec"]["serviceAccountName"] == only(objects, "ServiceAccount")["metadata"]["name"] == name
    # By this label the plugin and a second release find it.
    assert deployment["metadata"]["labels"]["app.kubernetes.io/name"] == "afterglow"


def test_labels_of_people_come_to_all_objects_and_take_the_place_of_none(plane):
    objects = rendered(plane, "commonLabels.team=ml", "commonLabels.helm\\.sh/chart=theirs", *EVERYTHING)
    for o in objects:
        if o["kind"] != "CustomResourceDefinition":
            assert o["metadata"]["labels"]["team"] == "ml", (o["kind"], o["metadata"])
            assert o["metadata"]["labels"]["helm.sh/chart"].startswith("afterglow-")
    assert pod_of(objects)["metadata"]["labels"]["team"] == "ml"
    assert "team" not in only(objects, "Deployment")["spec"]["selector"]["matchLabels"]


def test_images_may_be_pinned_by_digest(plane):
    objects = rendered(plane, f"image.digest={DIGEST}", "image.tag=v7", f"sidecar.image.digest={DIGEST}")
    (init,) = pod_of(objects)["spec"]["initContainers"]
    assert operator_of(objects)["image"] == f"localhost/afterglow-operator@{DIGEST}"
    assert init["image"] == f"localhost/afterglow-sidecar@{DIGEST}"
    policy = yaml.safe_load(named(objects, "ConfigMap", "afterglow")["data"]["config.yaml"])
    assert policy["sidecarImage"] == f"localhost/afterglow-sidecar@{DIGEST}"


def test_on_openshift_no_user_is_asked_for(plane):
    objects = rendered(plane, "podSecurityContext.runAsUser=null", "podSecurityContext.runAsGroup=null")
    for pod in (pod_of(objects)["spec"], only(objects, "Pod")["spec"]):
        assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                    "capabilities": {"drop": ["ALL"]}}


def test_the_pod_takes_more_arguments_volumes_and_times(plane, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({
        "extraArgs": ["--keep-count=50", "--log-level=debug"], "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "volumes": [{"name": "more", "emptyDir": {}}], "volumeMounts": [{"name": "more", "mountPath": "/more"}],
        "livenessProbe": {"periodSeconds": 60, "failureThreshold": 5},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}))
    result = template(plane, "-f", values)
    assert result.returncode == 0, result.stderr
    objects = [o for o in yaml.safe_load_all(result.stdout) if o]
    container, pod = operator_of(objects), pod_of(objects)["spec"]
    assert container["args"][-2:] == ["--keep-count=50", "--log-level=debug"]
    assert container["env"] == [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]
    assert [v["name"] for v in pod["volumes"]] == ["config", "more"] == [m["name"] for m in container["volumeMounts"]]
    assert container["livenessProbe"] == {"httpGet": {"path": "/healthz", "port": "metrics"}, "periodSeconds": 60, "timeoutSeconds": 5,
                                          "failureThreshold": 5}
    assert pod["topologySpreadConstraints"][0]["topologyKey"] == "zone"


def test_the_operator_logs_json_if_values_say_so(plane, start, make):
    args = operator_of(rendered(plane, "logFormat=json", "logLevel=debug"))["args"]
    at = [args.index(option) for option in ("--log-level", "--log-format")]
    given = [part for n in at for part in args[n:n + 2]]
    assert given == ["--log-level", "debug", "--log-format", "json"]
    operator = start(*given)
    make("demo", group("small", 2)).wait_pods(1, 2)
    lines = [json.loads(line) for line in operator.text().splitlines()]
    assert lines and all(set(line) == {"time", "level", "msg"} for line in lines), lines


def test_the_rules_and_dashboards_of_the_chart_are_those_of_the_folder_monitoring(plane):
    objects = rendered(plane, *EVERYTHING, "monitoring.prometheusRule.drivers=true", "monitoring.prometheusRule.labels.release=kps", namespace="ray")
    rule = only(objects, "PrometheusRule")
    assert rule["metadata"]["labels"]["release"] == "kps"
    wanted = [g for path in sorted((ROOT / "monitoring/rules").glob("*.yaml"))
              for g in yaml.safe_load(path.read_text().replace("afterglow-system", "ray"))["groups"]]
    assert rule["spec"]["groups"] == wanted and "kubectl get secret -n ray" in str(wanted)
    dashboards = [o for o in objects if o["metadata"]["labels"].get("grafana_dashboard") == "1"]
    assert {json.loads(text)["uid"] for o in dashboards for text in o["data"].values()} == {
        json.loads(path.read_text())["uid"] for path in (ROOT / "monitoring/dashboards").glob("*.json")}


def test_verdicts_are_quoted_in_metrics_only_where_alerts_are_installed_or_somebody_wants_it(plane):
    rule, quoted = "monitoring.prometheusRule.enabled=", "monitoring.quoteVerdicts="
    wanted = {(): False, (rule + "true",): True, (rule + "true", quoted + "false"): False, (quoted + "true",): True}
    assert {values: "--quote-verdicts" in operator_of(rendered(plane, *values))["args"] for values in wanted} == wanted


def test_alerts_link_to_a_runbook_where_it_is_served_and_tell_of_drivers_where_that_is_asked_for(plane):
    def alerts(*values):
        groups = only(rendered(plane, *EVERYTHING, *values), "PrometheusRule")["spec"]["groups"]
        return {r["alert"]: r["annotations"].get("runbook_url") for g in groups for r in g["rules"] if "alert" in r}
    assert set(alerts().values()) == {None} and "RayDriversFail" not in alerts()
    served = alerts("monitoring.runbookURL=https://wiki.example/ray/", "monitoring.prometheusRule.drivers=true")
    assert "RayDriversFail" in served and all(url == f"https://wiki.example/ray/{name}.md" for name, url in served.items())


def test_the_monitors_find_the_operators_service_and_the_sidecars_port(plane, operator, make):
    objects = rendered(plane, *EVERYTHING)
    monitor, service = only(objects, "ServiceMonitor")["spec"], named(objects, "Service", "afterglow-metrics")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert not monitor["selector"]["matchLabels"].items() <= named(objects, "Service", "afterglow-webhook")["metadata"]["labels"].items()
    assert [e["port"] for e in monitor["endpoints"]] == [p["name"] for p in service["spec"]["ports"]]
    assert service["spec"]["ports"][0]["targetPort"] in {p["name"] for p in operator_of(objects)["ports"]}
    # And a pod that the operator made has what the other one selects.
    assert operator.running()
    pods = only(objects, "PodMonitor")["spec"]
    _, (worker,) = make("demo", group("small", 1)).wait_pods(1, 1)
    assert pods["selector"]["matchLabels"].items() <= worker["metadata"]["labels"].items()
    assert pods["podMetricsEndpoints"][0]["port"] in {p["name"] for c in worker["spec"]["containers"] for p in c.get("ports", [])}
    assert only(rendered(plane, *EVERYTHING, "watchNamespace=ml"), "PodMonitor")["spec"]["namespaceSelector"] == {"matchNames": ["ml"]}


def test_the_network_policy_lets_in_the_webhooks_calls_scrapes_and_the_test(plane):
    objects = rendered(plane, *EVERYTHING)
    policy, labels = only(objects, "NetworkPolicy"), pod_of(objects)["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    webhook, metrics = policy["spec"]["ingress"]
    ports = {p["name"] for p in operator_of(objects)["ports"]}
    assert webhook == {"ports": [{"port": "webhook"}]} and metrics["ports"] == [{"port": "metrics"}] and ports == {"webhook", "metrics"}
    test = only(objects, "Pod")["metadata"]["labels"]
    assert any(f.get("podSelector", {}).get("matchLabels", {"": ""}).items() <= test.items() for f in metrics["from"])
    assert len(only(rendered(plane, *EVERYTHING, "webhook.enabled=false"), "NetworkPolicy")["spec"]["ingress"]) == 1


def test_the_charts_test_asks_the_operator_whether_it_is_ready(plane, operator, tmp_path):
    objects = rendered(plane)
    pod = only(objects, "Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    # It is none of the pods that the webhook's Service, the Deployment or the PodDisruptionBudget choose.
    for o in objects:
        selector = o.get("spec", {}).get("selector", {})
        selector = selector.get("matchLabels", selector)
        assert not selector or not selector.items() <= pod["metadata"]["labels"].items(), o["kind"]
    container, webhook = pod["spec"]["containers"]
    assert webhook["image"] == container["image"]
    service = named(objects, "Service", "afterglow-metrics")
    address = f"{service['metadata']['name']}.afterglow-system.svc:{service['spec']['ports'][0]['port']}"
    assert address in container["args"][1] and container["image"] == operator_of(objects)["image"]

    def ask(port):
        args = [a.replace(address, f"127.0.0.1:{port}") for a in container["args"]]
        return subprocess.run([BUILD / "afterglow-operator", *args], capture_output=True, text=True, timeout=300, check=False)
    asked = ask(operator.metrics_port)
    assert asked.returncode == 0 and asked.stdout, asked
    # It asks again until there is one; who comes late is waited for.
    late = free_port()
    with subprocess.Popen([BUILD / "afterglow-operator", "--check-ready", f"http://127.0.0.1:{late}/readyz"], stdout=subprocess.PIPE,
                          text=True) as waiting:
        answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"
        with socket.create_server(("127.0.0.1", late)) as server:
            server.settimeout(180)
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer.encode())
        assert waiting.communicate(timeout=60)[0] == "ok\n" and waiting.returncode == 0


def test_the_archive_of_a_release_is_the_chart(plane, tmp_path):
    archives = [tmp_path / name for name in ("one.tgz", "two.tgz")]
    for archive in archives:
        subprocess.run([ROOT / "tools/chart_archive.sh", archive], env={**os.environ, "SOURCE_DATE_EPOCH": "1"}, check=True)
    assert archives[0].read_bytes() == archives[1].read_bytes()
    values = [part for value in EVERYTHING for part in ("--set", value)]
    from_archive, from_folder = (template(plane, *values, chart=chart) for chart in (archives[0], ROOT / "charts/afterglow"))
    assert from_archive.returncode == 0, from_archive.stderr
    assert from_archive.stdout == from_folder.stdout


@pytest.mark.parametrize("value, place", [
    ("memory.rayMemoryFraction=1.5", "at '/memory/rayMemoryFraction'"),
    ("sidecar.warnAt=0.01", "at '/sidecar/warnAt'"),
    ("store.keep.max=10X", "at '/store/keep/max'"),
    ("resources.memory=1Gi", "at '/resources': additional properties 'memory' not allowed"),
    ("watchNamespace=a.b", "at '/watchNamespace'"),
    ("webhook.port=8080", "at '/webhook/port'"),
    ("image.digest=sha256:12", "at '/image/digest'"),
    ("extraArgs[0]=7", "at '/extraArgs/0'"),
    ("logFormat=xml", "at '/logFormat'"),
    ("livenessProbe.httpGet.path=/", "at '/livenessProbe/httpGet'"),
    ("monitoring.serviceMonitor.interval=soon", "at '/monitoring/serviceMonitor/interval'"),
    ("networkPolicy.egress=true", "at '/networkPolicy': additional properties 'egress' not allowed"),
    ("webhook.timeoutSeconds=31", "at '/webhook/timeoutSeconds'"),
    ("webhook.failurePolicy=Fail", "at '/webhook': additional properties 'failurePolicy' not allowed"),
    ("webhook.certManager.issuerRef.nam=x", "at '/webhook/certManager/issuerRef'"),
    ("otlp=http://collector:4318", "at '/otlp'"),
    ("retention=null", "missing property 'retention'"),
])
def test_a_wrong_value_is_refused_with_its_place(plane, value, place):
    result = template(plane, "--set", value)
    assert result.returncode != 0 and place in result.stderr


def test_a_former_value_is_refused_if_it_was_in_use_and_harmless_at_its_default(plane):
    for value, why in (("otlp.endpoint=http://collector:4318", "otlp.endpoint is set, and the operator exports nothing any more"),
                       ("qps=50", "qps is set, and the operator does not limit its requests any more")):
        result = template(plane, "--set", value)
        assert result.returncode != 0 and why in result.stderr
    default = ["--set", "otlp.endpoint=,qps=0,burst=200", "--set-json", "otlp.resourceAttributes={}"]
    for sets in default, ["--set", "otlp=null,qps=null,burst=null"]:
        result = template(plane, *sets)
        assert result.returncode == 0, result.stderr
