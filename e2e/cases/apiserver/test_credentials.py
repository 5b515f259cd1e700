# SPDX-License-Identifier: Apache-2.0
"""The operator reaches the API server, and proves who it is, in each way that it supports."""

import base64

import yaml

from apiserver.conftest import group


def write_config(path, **entries):
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **entries}))
    return path


def cluster_entry(plane, **more):
    return [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{plane.port}",
                                      "certificate-authority": str(plane.file("ca.crt")), **more}}]


def context_entry(user="u"):
    return [{"name": "x", "context": {"cluster": "c", "user": user}}]


def certificate(plane, name="operator"):
    return {"client-certificate": str(plane.file(f"{name}.crt")), "client-key": str(plane.file(f"{name}.key"))}


def test_a_context_can_be_chosen(start, plane, make, tmp_path):
    config = write_config(tmp_path / "config", contexts=context_entry() + [
        {"name": "other", "context": {"cluster": "nowhere", "user": "u"}}], clusters=cluster_entry(plane),
        users=[{"name": "u", "user": certificate(plane)}], **{"current-context": "other"})
    start("--context", "x", kubeconfig=config)
    make("demo", group("small", 1)).wait_pods(1, 1)


def test_inline_certificates_work_as_files_do(start, plane, make, tmp_path):
    data = {name: base64.b64encode(plane.file(name).read_bytes()).decode() for name in ("ca.crt", "operator.crt", "operator.key")}
    config = write_config(
        tmp_path / "config", contexts=context_entry(), **{"current-context": "x"},
        clusters=[{"name": "c", "cluster": {"server": f"https://127.0.0.1:{plane.port}",
                                            "certificate-authority-data": data["ca.crt"]}}],
        users=[{"name": "u", "user": {"client-certificate-data": data["operator.crt"],
                                      "client-key-data": data["operator.key"]}}])
    start(kubeconfig=config)
    make("demo", group("small", 1)).wait_pods(1, 1)


def test_who_does_not_want_to_know_the_authority_need_not(start, plane, make, tmp_path):
    config = write_config(tmp_path / "config", contexts=context_entry(), **{"current-context": "x"}, clusters=[
        {"name": "c", "cluster": {"server": f"https://127.0.0.1:{plane.port}", "insecure-skip-tls-verify": True}}],
        users=[{"name": "u", "user": certificate(plane)}])
    start(kubeconfig=config)
    make("demo", group("small", 1)).wait_pods(1, 1)
