# SPDX-License-Identifier: Apache-2.0
"""kubectl afterglow, started by the real kubectl against a real API server with the operator's RayFailures."""

import html
import json
import os
import shutil
import signal
import subprocess

import pytest

from conftest import wait_for
from apiserver.conftest import BUILD, IMAGE, ROOT, group
from stores.shipping import Bundle


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


def test_all_failures_are_on_one_page(afterglow, failure, tmp_path):
    written = tmp_path / "page.html"
    assert afterglow("page", written, "--class", "KernelOOMContainer") == f"1 failures are in {written}\n"
    assert failure["spec"]["verdict"] in html.unescape(written.read_text()) and failure["spec"]["signature"] in afterglow("page")
    assert "no such file" in afterglow("page", tmp_path / "none/page.html", code=1).lower()


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


# --- Bundles -------------------------------------------------------------------------------------------------

# kubectl, where no kubelet is: a pod is ready once somebody waits for it, and what is run in the reader's runs here, on STORE.
KUBECTL = """#!/bin/sh
case " $* " in
*" wait "*)
	for word; do case $word in pod/*) pod=${word#pod/} ;; esac; done
	"$REAL_KUBECTL" "$1" "$2" patch pod "$pod" --namespace "$NAMESPACE" --subresource=status --type=merge \\
		-p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' >/dev/null ;;
*" exec "*)
	while [ "$1" != -- ]; do shift; done
	echo "$2" >"$STORE.asked"
	[ ! -e "$STORE.hang" ] || exec sleep 1000
	shift 2
	n=$#
	while [ "$n" -gt 0 ]; do
		word=$1
		[ "$word" != /afterglow/store ] || word=$STORE
		set -- "$@" "$word"
		shift
		n=$((n - 1))
	done
	exec "$SHIP" "$@" ;;
esac
exec "$REAL_KUBECTL" "$@"
"""
PATH_IN_STORE = "ml/demo/worker.0123/ray-worker/20261122T112153Z-KernelOOMContainer"


class Store:
    """A claim as this machine has it, with one bundle; and the RayFailure that names it."""

    def __init__(self, api, plane, directory, failure):
        self.api, self.directory = api, directory
        self.bundle = Bundle(directory / "bundle", core=2 << 20)
        self.claim = directory / "claim"
        self.claim.mkdir()
        command = [BUILD / "afterglow-ship", "--store", self.claim, "--as", PATH_IN_STORE, self.bundle.path]
        subprocess.run(command, check=True, capture_output=True)
        script = directory / "kubectl"
        script.write_text(KUBECTL)
        script.chmod(0o755)
        api.create("rayfailures", {"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayFailure", "metadata": {"name": "kept"},
                                   "spec": {**failure["spec"], "bundle": f"pvc:ray-failures/{PATH_IN_STORE}"}})
        self.environment = {"KUBECTL": str(script), "REAL_KUBECTL": str(plane.bin / "kubectl"), "STORE": str(self.claim),
                            "SHIP": str(BUILD.resolve() / "afterglow-ship"), "NAMESPACE": api.namespace}
        self.command = [BUILD.resolve() / "kubectl-afterglow", "bundle", "kept", directory / "out", "--kubeconfig",
                        plane.kubeconfig("test"), "-n", api.namespace]

    def start(self):
        # A session of its own: its signals are not ours.
        return subprocess.Popen([str(word) for word in self.command], env={**os.environ, **self.environment}, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)

    def readers(self):
        return self.api.items("pods", "app.kubernetes.io/name=afterglow-reader")

    def end(self, process, code):
        """Returns what the command printed, and checks that its pod is gone."""
        said, _ = process.communicate(timeout=180)
        assert process.returncode == code, said
        wait_for("the reader to go", lambda: not self.readers())
        return said

    def files(self):
        top = self.directory / "out"
        return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


@pytest.fixture
def store(api, plane, tmp_path, failure):
    return Store(api, plane, tmp_path, failure)


def test_a_bundle_comes_to_a_directory_and_its_reader_goes(store, afterglow):
    said = store.end(store.start(), 0)
    assert store.files() == store.bundle.files
    assert f"reads the bundle {PATH_IN_STORE}" in said and "logs/raylet.out" in said
    assert f"{len(store.bundle.files) - 1} files" in said and "each is what MANIFEST.json says" in said
    # What is there is not written over.
    assert "is not empty" in store.end(store.start(), 1)
    other = next(f for f in store.api.items("rayfailures") if f["metadata"]["name"] != "kept")
    assert "has no bundle in a store" in afterglow("bundle", other["metadata"]["name"], str(store.directory / "new"), code=1)
    assert not (store.directory / "new").exists() and not store.readers()


def test_a_damaged_bundle_is_refused_and_a_lost_file_is_named(store):
    (store.claim / PATH_IN_STORE / "core.python.7.zst").unlink()
    said = store.end(store.start(), 0)
    assert "or cannot give them:\n  core.python.7.zst\n" in said
    shutil.rmtree(store.directory / "out")
    (store.claim / PATH_IN_STORE / "report.json").write_bytes(store.bundle.files["report.json"].swapcase())
    assert "report.json is not what MANIFEST.json says" in store.end(store.start(), 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_loses_patience_leaves_no_reader_behind(store, number):
    (store.directory / "claim.hang").touch()
    process = store.start()
    wait_for("the reader to be asked", (store.directory / "claim.asked").exists, interval=0.05)
    assert len(store.readers()) == 1
    # As a terminal does it: the whole group gets it.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    assert "interrupted" in store.end(process, 1)


def test_the_reader_may_do_nothing_but_read(store):
    (store.directory / "claim.hang").touch()
    process = store.start()
    wait_for("the reader to be asked", (store.directory / "claim.asked").exists, interval=0.05)
    (reader,) = store.readers()
    process.send_signal(signal.SIGTERM)
    store.end(process, 1)
    spec = reader["spec"]
    (container,) = spec["containers"]
    assert container["image"] == IMAGE and container["volumeMounts"][0]["readOnly"] is True
    assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "ray-failures", "readOnly": True}
    assert container["securityContext"]["runAsNonRoot"] and container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert spec["automountServiceAccountToken"] is False and spec["activeDeadlineSeconds"] == 3600 and spec["restartPolicy"] == "Never"


def test_release_runs_the_launchers_own_option_in_the_pod(tmp_path):
    script = tmp_path / "kubectl"
    script.write_text('#!/bin/sh\necho "$@"\n')
    script.chmod(0o755)
    result = subprocess.run([BUILD.resolve() / "kubectl-afterglow", "release", "demo-worker", "-n", "ml", "-c", "ray-worker"],
                            capture_output=True, text=True, check=True, env={**os.environ, "KUBECTL": str(script)})
    assert result.stdout == ("exec demo-worker --namespace ml --container ray-worker -- "
                             "/afterglow/bin/afterglow-launch --release\n")
