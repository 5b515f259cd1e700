# SPDX-License-Identifier: Apache-2.0
"""kubectl afterglow, started by the real kubectl against a real API server with the operator's RayFailures."""

import json
import os
import subprocess

import pytest

from conftest import wait_for
from apiserver.conftest import BUILD, ROOT, group


@pytest.fixture
def afterglow(plane, api):
    """Runs `kubectl afterglow` in the test's namespace; with the wrong exit code it fails."""
    path = os.pathsep.join([str(plane.bin), str(BUILD.resolve()), str(ROOT / "plugin"), os.environ["PATH"]])

    def run(*args, code=0):
        command = ["kubectl", "afterglow", *args, "--kubeconfig", plane.kubeconfig("test"), "-n", api.namespace]
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                env={**os.environ, "PATH": path, "HOME": str(plane.directory)})
        assert result.returncode == code, (args, result)
        return result.stdout + result.stderr if code else result.stdout
    return run


@pytest.fixture
def failure(make, start, kubelet):
    """A RayFailure that the operator wrote of an OOM kill."""
    start()
    cluster = make("demo", group("small", 1))
    _, [worker] = cluster.wait_pods(1, 1)
    kubelet.run_all()
    kubelet.restart(worker, 1, 137, reason="OOMKilled")
    return wait_for("the RayFailure", lambda: cluster.failures()[0])


def test_failures_are_listed_and_one_is_shown_by_its_name_or_its_pods(afterglow, failure):
    name, pod = failure["metadata"]["name"], failure["spec"]["pod"]
    listed = afterglow("list")
    assert name in listed and pod in listed and "KernelOOMContainer" in listed and "137" in listed
    assert name in afterglow("list", "--class", "KernelOOMContainer", "--owner", "RayCluster/demo", "--since", "30d")
    assert name not in afterglow("list", "--class", "Segfault")
    assert "v1:" in afterglow("list", "--by-signature")
    for which in name, pod:
        shown = afterglow("show", which)
        assert failure["spec"]["verdict"] in shown
        assert f"  failure    {name}\n" in shown and "  exit       137" in shown
        for note in failure["spec"]["evidence"]:
            assert note["text"] in shown


def test_other_formats_are_kubectls_own(afterglow, failure):
    assert json.loads(afterglow("show", failure["spec"]["pod"], "-o", "json"))["metadata"]["uid"] == failure["metadata"]["uid"]
    assert afterglow("list", "-o", "name", "--class", "KernelOOMContainer").split() == \
        [f"rayfailure.afterglow.dev/{failure['metadata']['name']}"]
    assert afterglow("list", "-o", "name", "--class", "Segfault") == ""


def test_what_kubectl_cannot_do_is_said_in_its_words(afterglow):
    assert "no failure and no pod" in afterglow("show", "nobody", code=1)
    assert "context" in afterglow("list", "--context", "elsewhere", code=1)
    assert "kubectl failed" in afterglow("list", "--selector", "a b c", code=1)
    assert "is no command" in afterglow("lsit", code=2)


def test_the_doctor_says_what_is_there_and_what_is_not(afterglow, make, start, kubelet):
    start()
    make("demo", group("small", 1)).wait_pods(1, 1)
    kubelet.run_all()
    # The operator is a process of this machine here: it has no Deployment, and there is no webhook.
    told = afterglow("doctor", code=1)
    assert "The CRDs are installed." in told and "There is no operator." in told and "There is no webhook." in told
    assert "Ray pods with the sidecar: 2." in told
    assert "has Ray pods, and no claim ray-failures" in told
    assert told.strip().endswith("not known")


def test_who_may_not_read_failures_hears_it_from_kubernetes(plane, api, tmp_path):
    config = tmp_path / "nobody"
    config.write_text(open(plane.kubeconfig("test"), encoding="utf-8").read().replace("client-", "no-client-"), encoding="utf-8")
    result = subprocess.run([BUILD.resolve() / "kubectl-afterglow", "list", "--kubeconfig", config, "-n", api.namespace],
                            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                            env={**os.environ, "KUBECTL": str(plane.bin / "kubectl")})
    assert result.returncode == 1 and not result.stdout
    assert "kubectl afterglow: " in result.stderr and len(result.stderr.splitlines()) > 1
