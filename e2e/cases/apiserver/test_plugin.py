# SPDX-License-Identifier: Apache-2.0
"""The real kubectl starts kubectl afterglow, against a real API server with the operator's RayFailures."""

import html
import errno
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import wait_for
from apiserver.conftest import BUILD, IMAGE, ROOT, group
from apiserver.kubelet import Kubelet, ended, running
from apiserver.pod_sidecar import PodSidecar
from stores.shipping import Bundle


@pytest.fixture
def afterglow(plane, api):
    """Runs `kubectl afterglow` in the test's namespace; with the wrong exit code it fails."""
    path = os.pathsep.join([str(plane.bin), str(BUILD.resolve()), str(ROOT / "plugin"), os.environ["PATH"]])

    def run(*args, code=0, stdout=subprocess.PIPE):
        command = ["kubectl", "afterglow", *args, "--kubeconfig", plane.kubeconfig("test"), "-n", api.namespace]
        result = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
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


def test_failures_are_listed_and_one_is_shown_by_whatever_a_person_holds(afterglow, failure):
    name, pod = failure["metadata"]["name"], failure["spec"]["pod"]
    listed = afterglow("list")
    assert name in listed and pod in listed and "KernelOOMContainer" in listed and "137" in listed
    assert name in afterglow("list", "--class", "KernelOOMContainer", "--owner", "RayCluster/demo", "--since", "30d")
    assert name not in afterglow("list", "--class", "Segfault")
    assert "v1:" in afterglow("list", "--by-signature")
    group, = json.loads(afterglow("list", "--by-signature", "-o", "json"))["signatures"]
    assert (group["failures"], group["signature"]) == (1, failure["spec"]["signature"])
    for which in name, pod, "RayCluster/demo", "demo", f"rf/{name}", f"pod/{pod}", pod.rpartition("-")[0]:
        shown = afterglow("show", which)
        assert failure["spec"]["verdict"] in shown
        assert f"  failure    {name}\n" in shown and "  exit       137" in shown
        for note in failure["spec"]["evidence"]:
            assert note["text"] in shown


def test_what_tasks_needed_is_kept_when_the_pods_of_a_job_that_ended_well_are_gone(make, start, kubelet, afterglow, api):
    start()
    for name, mib, day in (("monday", 100, 23), ("tuesday", 140, 24)):
        cluster = make(name, group("small", 1))
        _, [worker] = cluster.wait_pods(1, 1)
        api.patch("pods", worker["metadata"]["name"], {"metadata": {"annotations": {"afterglow.dev/owner": "RayJob/train"}}})
        kubelet.run_all()
        task = {"name": "ray::load", "runs": 3, "atOnce": 1, "peakBytes": mib << 20, "runsByPeak": [[mib << 20, 3]]}
        said = "#afterglow-memory/1 " + json.dumps({"containers": 1, "limitBytes": 1 << 30, "node": {"cpus": 1},
                                                    "peaks": {"workingSetBytes": mib << 21}, "tasks": [task]})
        more = {"afterglow": {"message": said, "finishedAt": f"2026-11-{day}T10:00:00Z"}}
        states = [{**running(worker, n), "ready": False, "started": False, "state": ended(worker, n, 0, 0, **more.get(n, {}))}
                  for n in (c["name"] for c in worker["spec"]["containers"])]
        kubelet.say(worker, "Succeeded", states, False)
        wait_for("the ConfigMap", lambda n=name: api.get("configmaps", "afterglow-memory")["data"][n])
        api.delete("rayclusters", name)
    for pod in api.items("pods"):  # there is no garbage collector
        api.delete("pods", pod["metadata"]["name"])
    text = afterglow("memory", "RayJob/train")
    assert "load peaked 40 % higher than in the run before: 140.0 MiB after 100.0 MiB." in text
    assert "load: @ray.remote(memory=" in text
    assert "ray::load" in afterglow("memory", "monday") and "peaked 40 % higher" in afterglow("memory", "tuesday", "monday")
    assert json.loads(afterglow("memory", "RayJob/train", "-o", "json"))["before"]["tasks"][0]["peakBytes"] == 100 << 20
    assert "knows what RayJob/none needs" in afterglow("memory", "RayJob/none", code=1)


def test_all_failures_are_on_one_page(afterglow, failure, tmp_path):
    written = tmp_path / "page.html"
    assert afterglow("page", written, "--class", "KernelOOMContainer") == f"1 failure is in {written}\n"
    assert failure["spec"]["verdict"] in html.unescape(written.read_text()) and failure["spec"]["signature"] in afterglow("page")
    assert "no such file" in afterglow("page", tmp_path / "none/page.html", code=1).lower()


def test_other_formats_are_kubectls_own(afterglow, failure):
    assert json.loads(afterglow("show", failure["spec"]["pod"], "-o", "json"))["metadata"]["uid"] == failure["metadata"]["uid"]
    assert afterglow("list", "-o", "name", "--class", "KernelOOMContainer").split() == \
        [f"rayfailure.afterglow.dev/{failure['metadata']['name']}"]
    assert afterglow("list", "-o", "name", "--class", "Segfault") == ""


def test_describe_shows_what_joins_failures_line_by_line(plane, api, failure):
    shown = subprocess.run([plane.bin / "kubectl", "describe", "rayfailure", failure["metadata"]["name"], "-n", api.namespace,
                            "--kubeconfig", plane.kubeconfig("test")], capture_output=True, text=True, check=True).stdout
    lines = [line.strip() for line in shown.splitlines()]
    assert "afterglow.dev/facts:" in lines[lines.index("Labels:       afterglow.dev/class=KernelOOMContainer"):lines.index("API Version:  afterglow.dev/v1alpha1")]
    assert "exitCode: 137" in lines and f"pod: {failure['spec']['pod']}" in lines and "{" not in shown


def on_a_terminal(afterglow, *args):
    """Returns what a terminal gets of the command."""
    ours, its = pty.openpty()
    text = b""
    try:
        afterglow(*args, stdout=its)
        os.close(its)
        while piece := os.read(ours, 1 << 16):
            text += piece
    except OSError as error:
        if error.errno != errno.EIO:  # the other end is closed
            raise
    finally:
        os.close(ours)
    return text.decode().replace("\r\n", "\n")


def test_what_a_tenant_wrote_does_not_drive_a_terminal_and_stays_whole_in_a_file(afterglow, api, failure):
    hostile, name = "a\x1b]0;x\x07\x9b2J\u202eb", failure["metadata"]["name"]
    # Kept short: a pseudoterminal that nobody reads holds 4 KiB.
    api.patch("rayfailures", name, {"metadata": {"annotations": {"note": hostile}}})
    short = ["list", "-o", "jsonpath={.items[*].metadata.annotations}"]
    assert json.loads(on_a_terminal(afterglow, *short))["note"] == "a\x1b]0;x\x07??2J???b"
    assert json.loads(afterglow(*short))["note"] == hostile
    raw = ["list", "-o", "jsonpath={.items[*].metadata.annotations.note}"]
    assert on_a_terminal(afterglow, *raw) == "a?]0;x???2J???b"
    assert afterglow(*raw) == hostile


def test_what_kubectl_cannot_do_is_said_in_its_words(afterglow):
    assert "no failure and no pod" in afterglow("show", "nobody", code=1)
    assert "context" in afterglow("list", "--context", "elsewhere", code=1)
    assert "kubectl failed\n" in afterglow("list", "--selector", "a b c", code=1)
    assert "is not a command" in afterglow("lsit", code=2)


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


# --- Pods that run -------------------------------------------------------------------------------------------

def running_pod(api, name, address, port):
    """Makes a Ray pod whose sidecar the API server reaches at that address: it refuses addresses of the loopback network."""
    sidecar = {"name": "afterglow", "image": IMAGE, "args": ["--warn-at", "0.8"],
               "ports": [{"name": "afterglow-http", "containerPort": port}]}
    api.create("pods", {"apiVersion": "v1", "kind": "Pod",
                        "metadata": {"name": name, "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": "demo"}},
                        "spec": {"containers": [{"name": "ray-worker", "image": "ray"}, sidecar]}})
    return Kubelet(api).run_at(api.get("pods", name), address)


@pytest.fixture
def live(api, tmp_path):
    """A Ray pod whose real sidecar sees a task, and another pod where nobody answers."""
    address = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()[0]
    port = random.randrange(20000, 30000)
    running_pod(api, "silent", address, port + 1)
    (tmp_path / "pod").mkdir()
    sidecar = PodSidecar(running_pod(api, "worker", address, port), tmp_path / "pod", address=address, port=port)
    try:
        sidecar.launch("setpriv", "--pdeathsig", "KILL", "bash", "-c", "exec -a ray::train sleep 1000")
        yield sidecar
    finally:
        sidecar.close()


def test_top_shows_what_the_sidecars_see_now(afterglow, live):
    wait_for("the task to be seen", lambda: "ray::train" in afterglow("top"))
    told = afterglow("top", "--cluster", "demo")
    assert "ray-worker" in told and "largest processes" not in told
    assert "The largest processes of container ray-worker" in afterglow("top", "worker")
    (answer,) = json.loads(afterglow("top", "-o", "json"))["pods"]
    assert answer["pod"] == "worker" and answer["memory"]["podUID"] == live.pod["metadata"]["uid"]
    (container,) = answer["memory"]["containers"]
    assert ("task", "ray::train") in [(c["kind"], c["name"]) for c in container["components"]]
    # The other pod is asked as well, and what became of that is said.
    assert "asking the sidecar of pod silent" in afterglow("top", "silent", code=1)
    assert "No running Ray pod" in afterglow("top", "--cluster", "other", code=1)
    assert '"pods"' in afterglow("top", "--cluster", "other", "-o", "json", code=1)


@pytest.mark.parametrize("words, proposed", [
    (["li"], ["list"]), (["list", "--class", "KernelOOMC"], ["KernelOOMContainer"]), (["top", "--clu"], ["--cluster"]),
])
def test_kubectl_completes_the_words_of_the_plugin(plane, words, proposed):
    # What the completion of every shell asks: bash, zsh and fish.
    path = os.pathsep.join([str(plane.bin), str(BUILD.resolve()), str(ROOT / "plugin"), os.environ["PATH"]])
    for shell in "bash", "zsh", "fish":
        script = subprocess.run([plane.bin / "kubectl", "completion", shell], capture_output=True, text=True, check=True).stdout
        assert "__complete" in script
    result = subprocess.run([plane.bin / "kubectl", "__complete", "afterglow", *words], capture_output=True, text=True, check=True,
                            env={**os.environ, "PATH": path, "HOME": str(plane.directory)})
    assert result.stdout.splitlines() == [*proposed, ":4"]


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
                        plane.kubeconfig("test"), "-n", api.namespace, "--image", IMAGE]

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


def test_a_claim_that_no_sidecar_uses_is_not_mounted_for_a_failure_that_names_it(store):
    """What a RayFailure says may be the words of a tenant, and the claim may be theirs."""
    store.command = store.command[:-2]
    assert "no Ray pod of the namespace has a sidecar with that store" in store.end(store.start(), 1)
    assert not (store.directory / "claim.asked").exists()


def test_a_damaged_bundle_is_refused_and_a_lost_file_is_named(store):
    (store.claim / PATH_IN_STORE / "core.python.7.zst").unlink()
    said = store.end(store.start(), 0)
    assert "or cannot read them:\n  core.python.7.zst\n" in said
    shutil.rmtree(store.directory / "out")
    (store.claim / PATH_IN_STORE / "report.json").write_bytes(store.bundle.files["report.json"].swapcase())
    assert "report.json is not what MANIFEST.json says" in store.end(store.start(), 1)


def test_a_report_is_written_and_opened(store, tmp_path):
    opened = tmp_path / "bin"
    opened.mkdir()
    (opened / "xdg-open").write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/seen\n')
    (opened / "xdg-open").chmod(0o755)
    store.environment["PATH"] = f"{opened}:{os.environ['PATH']}"
    store.environment["TMPDIR"] = str(tmp_path)
    page = store.bundle.files["report.html"]
    store.command[1:4] = ["report", "kept"]
    said = store.end(store.start(), 0)
    (written,) = tmp_path.glob("afterglow-*/report.html")
    shown = written.read_text()
    assert f"The report is in {written}" in said and (tmp_path / "seen").read_text() == shown
    # Whoever can write into the store may have written the page: it is in a frame without scripts, and nothing of it is outside.
    (framed,) = re.findall(r'<iframe sandbox referrerpolicy="no-referrer" srcdoc="([^"]*)"></iframe>', shown)
    assert html.unescape(framed) == page.decode() and shown.index("default-src 'none'") < shown.index("<iframe")
    # Nothing but the page is written, and with --no-open nothing is opened.
    (tmp_path / "seen").unlink()
    store.command += ["--no-open", "--output", tmp_path / "page.html"]
    assert f"The report is in {tmp_path}/page.html" in store.end(store.start(), 0)
    assert (tmp_path / "page.html").read_text() == shown and not (tmp_path / "seen").exists()
    # A damaged page is not taken.
    (store.claim / PATH_IN_STORE / "report.html").write_bytes(page.swapcase())
    assert "report.html is not what MANIFEST.json says" in store.end(store.start(), 1)
    (store.claim / PATH_IN_STORE / "report.html").unlink()
    assert "the bundle has no report.html" in store.end(store.start(), 1)


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


def test_what_a_program_of_the_pod_prints_drives_no_terminal(tmp_path):
    pod = json.dumps({"metadata": {"name": "demo-worker", "namespace": "ml"}, "status": {"phase": "Running"},
                      "spec": {"containers": [{"name": "ray-worker"}, {"name": "afterglow"}]}})
    script = tmp_path / "kubectl"
    script.write_text(f"""#!/bin/sh
case " $* " in
*" exec "*) printf 'target 7 a\\033]0;owned\\007\\nfailed b\\302\\2332J\\n'; printf 'c\\033[8m\\n' >&2 ;;
*) echo '{pod}' ;;
esac
""")
    script.chmod(0o755)
    for command in (["stack", "demo-worker"], ["release", "demo-worker"]):
        result = subprocess.run([BUILD.resolve() / "kubectl-afterglow", *command], capture_output=True, check=False, text=True,
                                env={**os.environ, "KUBECTL": str(script)})
        assert "owned" in result.stdout and "c?[8m" in result.stderr, result
        assert not set(result.stdout + result.stderr) & set("\x1b\x07\u009b"), result


def test_a_bundle_in_a_directory_runs_no_script_and_drives_no_terminal(tmp_path):
    """Others may write to that directory, or wrote to the store from which it was saved: they choose every file."""
    bundle = tmp_path / "store" / "evil\x1b[2J" / "1-Segfault"
    bundle.mkdir(parents=True)
    (bundle / "report.json").write_text(json.dumps({"class": "Segfault", "container": "train", "sentence": "It \x1b[8mended."}))
    (bundle / "report.txt").write_text("It ended.\x1b]0;owned\x07\n\tlog \u009b2J\n")
    (bundle / "report.html").write_text("<script>fetch('https://evil.example/')</script>")
    (tmp_path / "store" / "evil\x1b[2J" / "2").mkdir()
    (tmp_path / "store" / "evil\x1b[2J" / "2" / "report.json").write_text("{")

    def run(*words):
        return subprocess.run([BUILD.resolve() / "kubectl-afterglow", *words, "--store", tmp_path / "store"], capture_output=True,
                              text=True, check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    for words in (["list"], ["show"], ["report", "--no-open"]):
        result = run(*words)
        assert "left out" in result.stderr and not set(result.stdout + result.stderr) & set("\x1b\x07\u009b"), result
    page = Path(run("report", "--no-open").stdout.removeprefix("The report is in ").strip()).read_text()
    assert "<script" not in page and "<iframe sandbox" in page and "&lt;script&gt;" in page
