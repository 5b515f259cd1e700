# SPDX-License-Identifier: Apache-2.0
"""What the Helm chart gives the operator, its options, policy and rights, is right and enough."""

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


@pytest.fixture(name="chart", params=["all namespaces", "one namespace"])
def rendered_chart(request, plane, api):
    """The chart's objects, by kind; those about rights are in force."""
    scope = ["--set", f"watchNamespace={api.namespace}"] if request.param == "one namespace" else []
    result = template(plane, "--namespace", api.namespace, "--set", "recording.kernelLog.enabled=true", *scope)
    assert result.returncode == 0, result.stderr
    objects = [o for o in yaml.safe_load_all(result.stdout) if o]
    rights = plane.file("rights.yaml")
    rights.write_text(yaml.safe_dump_all([o for o in objects if o["kind"] in RIGHTS]))
    plane.kubectl("apply", "--namespace", api.namespace, "-f", str(rights))
    yield {o["kind"]: o for o in objects}
    plane.kubectl("delete", "--namespace", api.namespace, "--wait=false", "-f", str(rights))


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
    operator = start(*args, image=None, namespace="--namespace" not in args, kubeconfig=plane.kubeconfig(account, credentials={"token": token}))
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
    assert answers(("get", "patch", "delete"), "persistentvolumeclaims/other") == ["no"] * 3
    assert answers(("get", "list", "patch"), "secrets/other") == ["no"] * 3


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
    ("retention=null", "missing property 'retention'"),
])
def test_a_wrong_value_is_refused_with_its_place(plane, value, place):
    result = template(plane, "--set", value)
    assert result.returncode != 0 and place in result.stderr
