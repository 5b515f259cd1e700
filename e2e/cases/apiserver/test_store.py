# SPDX-License-Identifier: Apache-2.0
"""Helm's values bring into a Ray pod what its store needs, and kube-apiserver accepts the pod."""

import subprocess

import pytest
import yaml

from apiserver.conftest import ROOT, group

ROLE = "arn:aws:iam::123456789012:role/ray-failures"
S3 = {"store.type": "s3", "store.s3.bucket": "failures", "store.s3.webIdentity.roleARN": ROLE}


def template(plane, **values):
    sets = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    return subprocess.run([plane.bin / "helm", "template", "afterglow", ROOT / "charts/afterglow", "--kube-version", "1.37.0", *sets],
                          capture_output=True, text=True, check=False)


def config(plane, **values):
    done = template(plane, **values)
    assert done.returncode == 0, done.stderr
    (found,) = [o for o in yaml.safe_load_all(done.stdout) if o and o["kind"] == "ConfigMap" and "config.yaml" in o["data"]]
    return found["data"]["config.yaml"]


def test_a_web_identity_token_is_mounted_into_the_sidecar_alone(plane, api, make, start, tmp_path):
    api.patch("namespaces", api.namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}})
    policy = tmp_path / "policy.yaml"
    policy.write_text(config(plane, **S3, **{"store.s3.webIdentity.expirySeconds": 600}))
    start("--config", policy)
    (head,), (worker,) = make("demo", group("small")).wait_pods(1, 1)
    for pod in head, worker:
        volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
        (source,) = volumes["afterglow-credentials"]["projected"]["sources"]
        assert source == {"serviceAccountToken": {"audience": "sts.amazonaws.com", "expirationSeconds": 600,
                                                  "path": "web-identity-token"}}
        mounts = {c["name"]: {m["name"]: m for m in c.get("volumeMounts", [])} for c in pod["spec"]["containers"]}
        assert [name for name, of in mounts.items() if "afterglow-credentials" in of] == ["afterglow"]
        assert mounts["afterglow"]["afterglow-credentials"]["readOnly"]
        args = pod["spec"]["containers"][-1]["args"]
        assert args[args.index("--store-s3-role-arn") + 1] == ROLE


def test_without_a_role_there_is_no_such_volume(plane, make, start, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(config(plane, **{"store.type": "s3", "store.s3.bucket": "failures"}))
    start("--config", policy)
    (head,), _ = make("demo", group("small")).wait_pods(1, 1)
    assert "afterglow-credentials" not in {v["name"] for v in head["spec"]["volumes"]}


AZURE = {"store.type": "azure", "store.azure.account": "failures", "store.azure.container": "ray"}


def test_a_container_of_azure_is_the_store_and_the_pod_keeps_what_workload_identity_needs(plane, make, start, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(config(plane, **AZURE, **{"store.azure.prefix": "/pre/", "store.azure.endpoint": "https://failures.example/",
                                                "store.credentialsSecret": "keys"}))
    start("--config", policy)
    workers = group("small")
    workers["template"]["metadata"] = {"labels": {"azure.workload.identity/use": "true"}}
    _, (worker,) = make("demo", workers).wait_pods(1, 1)
    args = worker["spec"]["containers"][-1]["args"]
    assert args[args.index("--store") + 1] == "azure://failures/ray/pre"
    assert args[args.index("--store-azure-endpoint") + 1] == "https://failures.example/"
    volumes = {v["name"]: v for v in worker["spec"]["volumes"]}
    assert volumes["afterglow-credentials"]["secret"]["secretName"] == "keys"
    assert worker["metadata"]["labels"]["azure.workload.identity/use"] == "true"


@pytest.mark.parametrize("values, said", [
    ({"store.azure.account": ""}, "store.azure.account is missing"),
    ({"store.azure.container": ""}, "store.azure.container is missing"),
    ({"store.azure.account": "fail-ures"}, "account"),
    ({"store.azure.container": "a--b"}, "container"),
])
def test_wrong_values_of_azure_are_refused_by_their_name(plane, values, said):
    done = template(plane, **{**AZURE, **values})
    assert done.returncode != 0 and said in done.stderr, done.stderr


@pytest.mark.parametrize("values, said", [
    ({"store.s3.webIdentity.roleARN": "failures"}, "roleARN"),
    ({"store.s3.webIdentity.expirySeconds": "60"}, "expirySeconds"),
    ({"store.s3.webIdentity.stsEndpoint": "minio"}, "stsEndpoint"),
    ({"store.s3.webIdentity.role": ROLE}, "webIdentity"),
    ({"store.credentialsSecret": "keys"}, "store.s3.webIdentity.roleARN and store.credentialsSecret are both given"),
])
def test_wrong_values_are_refused_by_their_name(plane, values, said):
    done = template(plane, **{**S3, **values})
    assert done.returncode != 0 and said in done.stderr, done.stderr
