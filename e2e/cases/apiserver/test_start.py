# SPDX-License-Identifier: Apache-2.0
"""Options, configuration and credentials: the operator reports a mistake in one line, and uses credentials that change."""

import os
import subprocess

import pytest

from conftest import wait_for
from apiserver.conftest import BUILD, group
from apiserver.control_plane import free_port


def run(*args, env=None):
    """Runs an operator that is expected to end at once."""
    clean = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}
    return subprocess.run([BUILD / "afterglow-operator", "--metrics-address", "", *args], capture_output=True, text=True,
                          timeout=180, check=False, env={**clean, **(env or {})})


def errors(result):
    return [line.split(" error ", 1)[1] for line in result.stderr.splitlines() if " error " in line]


def test_an_unknown_option_is_one_line_and_exit_2():
    result = run("--no-such-option")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "afterglow-operator: unknown option --no-such-option (see --help)\n"


def test_help_and_version_go_to_stdout():
    for option in ("--help", "--version"):
        result = run(option)
        assert (result.returncode, result.stderr) == (0, "") and "afterglow-operator" in result.stdout


@pytest.mark.parametrize("text, complaint", [
    (None, "No such file"), ("", "no mapping"), ("{", "kubeconfig"), ("apiVersion: v1\ncurrent-context: x\n", "x"),
])
def test_a_wrong_kubeconfig_is_named_and_the_exit_is_not_0(tmp_path, text, complaint):
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    result = run("--kubeconfig", str(path))
    assert result.returncode == 1
    (line,) = errors(result)
    assert "kubeconfig" in line and complaint in line


def test_without_any_credentials_it_says_where_it_looked():
    result = run()
    assert result.returncode == 1
    (line,) = errors(result)
    assert "no API server: give --kubeconfig FILE or $KUBECONFIG" in line


def test_a_wrong_key_in_the_configuration_is_named_with_file_and_line(tmp_path, plane):
    path = tmp_path / "policy.yaml"
    path.write_text("warnAt: 0.8\nsidecarImagge: x\n")
    result = run("--kubeconfig", plane.kubeconfig("operator"), "--config", str(path))
    assert result.returncode == 1
    (line,) = errors(result)
    assert f"{path}:2" in line and "sidecarImagge" in line


def test_the_configuration_decides_unless_an_option_does(make, start, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("sidecarImage: localhost/of-the-file:1\nheadNumCPUs: null\nwarnAt: 0.7\n")
    start("--config", path, image=None)
    _, (worker,) = make("demo", group("small", 1)).wait_pods(1, 1)
    sidecar = worker["spec"]["containers"][1]
    assert sidecar["image"] == "localhost/of-the-file:1"
    assert "0.7" in sidecar["args"]


def test_without_a_sidecar_image_pods_have_no_sidecar_and_the_cluster_says_so(make, start):
    start(image=None)
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    assert [c["name"] for c in worker["spec"]["containers"]] == ["ray-worker"]
    cluster.wait_condition("afterglow.dev/Recording", "False", "NoSidecar")


def test_an_api_server_that_is_not_there_is_waited_for(start, plane, api):
    operator = start(kubeconfig=plane.kubeconfig("operator", port=free_port()), ready=False)
    wait_for("the complaint", lambda: "rayclusters: GET" in operator.text())
    assert operator.http("/healthz")[0] == 200 and operator.http("/readyz")[0] == 503
    assert operator.stop() == 0
    assert not plane.writes(api.namespace)


def test_another_authoritys_certificate_is_refused(start, plane, tmp_path, api):
    plane.openssl("req", "-x509", "-config", "openssl.cnf", "-new", "-newkey", "ec", "-pkeyopt",
                  "ec_paramgen_curve:prime256v1", "-noenc", "-subj", "/CN=other", "-keyout", str(tmp_path / "o.key"),
                  "-out", str(tmp_path / "o.crt"))
    path = tmp_path / "kubeconfig"
    path.write_text(plane.kubeconfig("operator").read_text().replace(str(plane.file("ca.crt")), str(tmp_path / "o.crt")))
    operator = start(kubeconfig=path, ready=False)
    wait_for("the complaint", lambda: "certificate" in operator.text())
    assert not plane.writes(api.namespace)


def test_a_rotated_token_is_taken_up_and_the_old_one_may_end(make, start, plane, new_token, tmp_path):
    old, end_old = new_token("old")
    new, _ = new_token("new")
    path = tmp_path / "token"
    path.write_text(old)
    operator = start(kubeconfig=plane.kubeconfig("operator", credentials={"tokenFile": str(path)}))
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    path.write_text(new)
    end_old()
    cluster.scale(small=3)
    cluster.wait_pods(1, 3)
    assert old not in operator.text() and new not in operator.text()
