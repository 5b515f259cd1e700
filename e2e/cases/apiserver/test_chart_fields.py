# SPDX-License-Identifier: Apache-2.0
"""
The real API server knows each field that the chart renders, and refuses any that it does not know. It validates more than the JSON schemas
of kubeconform do, which are made from the same OpenAPI documents: also values, references between fields and server-side apply.
"""

import copy
import os
import pathlib
import subprocess

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import ROOT
from apiserver.judges import judge
from apiserver.test_chart import DIGEST, EVERYTHING, only, pod_of, rendered

# One worker installs the kinds of others.
pytestmark = pytest.mark.xdist_group("chart-fields")

# What the pod of the operator takes from values, with all of it given.
POD = (f"image.digest={DIGEST}", "extraArgs[0]=--keep-count=1", "env[0].name=A", "env[0].value=B", "volumes[0].name=v",
       "volumes[0].emptyDir.medium=Memory", "volumeMounts[0].name=v", "volumeMounts[0].mountPath=/v", "topologySpreadConstraints[0].maxSkew=1",
       "topologySpreadConstraints[0].topologyKey=zone", "topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
       "nodeSelector.disk=ssd", "tolerations[0].operator=Exists", "imagePullSecrets[0].name=pull", "priorityClassName=system-cluster-critical",
       "livenessProbe.failureThreshold=5", "podLabels.team=ml", "podAnnotations.note=x", "commonLabels.owner=ml", "serviceAccount.annotations.role=r")
OPENSHIFT = ("podSecurityContext.runAsUser=null", "podSecurityContext.runAsGroup=null")
# The kinds of others that the chart has objects of. Their other CRDs are not needed.
OTHERS = ("certificates", "issuers", "podmonitors", "prometheusrules", "servicemonitors")
SETS = {
    "the defaults": (),
    "everything beside KubeRay": (*EVERYTHING, *POD, "webhook.certManager.enabled=true", "recording.syslog.path=/var/log"),
    "it manages clusters": (*EVERYTHING, *POD, "manageRayClusters=true", "recording.kernelLog.enabled=true", "nodeAgent.enabled=true"),
    # This API server forbids privileged containers, as which the agent would read the kernel log.
    "one namespace": (*EVERYTHING, "watchNamespace=NAMESPACE", "nodeAgent.enabled=true", "nodeAgent.syslog=false"),
    "OpenShift": (*EVERYTHING, *OPENSHIFT, "manageRayClusters=true"),
}


@pytest.fixture(scope="module", autouse=True)
def kinds_of_others(plane):
    """The CRDs of cert-manager and of the Prometheus operator. They stay: no other test has objects of these kinds."""
    folders = [pathlib.Path(line) for line in judge("crds")]
    files = [str(next(path for folder in folders for path in folder.glob(f"*_{plural}.yaml"))) for plural in OTHERS]
    options = [part for file in files for part in ("-f", file)]
    plane.kubectl("apply", "--server-side", *options)
    for plural in OTHERS:
        wait_for(f"the kind {plural}", lambda plural=plural: plane.kubectl("get", plural, "-A", "-o", "name") == "", interval=0.1)


def dry_run(plane, objects, directory):
    """Returns what the API server says of the objects, which it does not store."""
    path = directory / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return subprocess.run([plane.bin / "kubectl", "--kubeconfig", plane.kubeconfig("test"), "apply", "--server-side", "--force-conflicts",
                           "--dry-run=server", "--validate=strict", "-f", path], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("sets", SETS)
def test_the_api_server_knows_each_field_that_is_rendered(plane, api, sets, tmp_path):
    objects = rendered(plane, *(s.replace("NAMESPACE", api.namespace) for s in SETS[sets]), namespace=api.namespace)
    answer = dry_run(plane, objects, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("serverside-applied (server dry run)") == len(objects)


def misspelt(o):
    """Returns a copy of the object with a field, as deep as its kind allows, that the API server does not know."""
    wrong = copy.deepcopy(o)
    spec = wrong.get("spec", wrong)
    for key in ("template", "spec", "containers", "podMetricsEndpoints", "endpoints", "groups", "rules", "ingress", "webhooks", "versions"):
        spec = spec.get(key, spec) if isinstance(spec, dict) else spec
        spec = spec[0] if isinstance(spec, list) else spec
    spec["readinesProbe"] = {}
    return wrong


def test_a_field_that_is_misspelt_is_refused_in_each_kind(plane, api, tmp_path):
    """Without this the other test might pass because nothing is validated."""
    objects = [*rendered(plane, *SETS["everything beside KubeRay"], namespace=api.namespace),
               only(rendered(plane, "nodeAgent.enabled=true", namespace=api.namespace), "DaemonSet")]
    each = list({o["kind"]: o for o in objects}.values())
    assert len(each) > 15
    answer = dry_run(plane, [misspelt(o) for o in each], tmp_path)
    assert answer.returncode != 0 and "dry run" not in answer.stdout, answer.stdout
    assert answer.stderr.count("readinesProbe") >= len(each), answer.stderr


def test_kube_score_finds_nothing_critical(plane):
    """tools/chart_score.sh says which checks are left out, and why."""
    def score(*values):
        return subprocess.run([ROOT / "tools/chart_score.sh", *values], capture_output=True, text=True, check=False, env={
            **os.environ, "KUBE_SCORE": program, "PATH": f"{plane.bin}:{os.environ['PATH']}"})

    (program,) = judge("kube-score")
    answer = score()
    assert answer.returncode == 0, answer.stdout + answer.stderr
    answer = score("securityContext.readOnlyRootFilesystem=false")
    assert answer.returncode == 1 and "[CRITICAL] afterglow-operator" in answer.stdout, answer.stdout + answer.stderr


@pytest.mark.parametrize("sets", [(), OPENSHIFT])
def test_its_pods_run_in_a_namespace_that_enforces_the_level_restricted(plane, api, sets):
    api.patch("namespaces", api.namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    objects = rendered(plane, *POD, *sets, namespace=api.namespace)
    template = pod_of(objects)
    template["metadata"]["name"] = "operator"
    del template["spec"]["priorityClassName"]  # nobody made it here
    for pod in (template, only(objects, "Pod")):
        created = api.request("POST", api.path("pods") + "?dryRun=All", {"apiVersion": "v1", "kind": "Pod", **pod})
        assert created["spec"]["securityContext"]["runAsNonRoot"] is True
