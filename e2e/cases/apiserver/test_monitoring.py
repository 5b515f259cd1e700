# SPDX-License-Identifier: Apache-2.0
"""Rules and dashboards find what they look for: in promtool's unit tests, and in a real Prometheus that scrapes a real operator and a real
sidecar."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

import pytest
import yaml

from conftest import wait_for
from apiserver.conftest import BUILD, ROOT, group
from apiserver.control_plane import Daemon, free_port
from apiserver.pod_sidecar import PORT, PodSidecar
from apiserver.test_chart import only, rendered

MONITORING = ROOT / "monitoring"
RULES = sorted((MONITORING / "rules").glob("*.yaml"))
DASHBOARDS = sorted((MONITORING / "dashboards").glob("*.json"))
RUNBOOKS = ROOT / "docs/runbooks"
LIMIT = 256 << 20
# What Grafana puts in place of its variables.
VARIABLES = {"$namespace": ".*", "$cluster": ".*", "$pod": ".*", "$__range": "5m", "$__rate_interval": "1m"}


@pytest.fixture(scope="module")
def programs():
    """The folder of prometheus and promtool."""
    result = subprocess.run([ROOT / "tools/prometheus.sh"], capture_output=True, text=True, check=True)
    return pathlib.Path(result.stdout.strip())


def alerts():
    return [rule for path in RULES for g in yaml.safe_load(path.read_text())["groups"] for rule in g["rules"] if "alert" in rule]


def queries():
    """Returns (dashboard, panel, query) of all dashboards."""
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                yield path.stem, panel["title"], target["expr"]


def test_the_rules_do_what_their_unit_tests_say(programs):
    for command in (["check", "rules", *RULES], ["test", "rules", *sorted((MONITORING / "tests").glob("*.yaml"))]):
        result = subprocess.run([programs / "promtool", *command], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr


def test_each_alert_has_a_unit_test_a_command_and_a_runbook():
    tests = "".join(path.read_text() for path in (MONITORING / "tests").glob("*.yaml"))
    index = (RUNBOOKS / "README.md").read_text()
    names = [a["alert"] for a in alerts()]
    assert len(names) == len(set(names)) and {p.stem for p in RUNBOOKS.glob("*.md")} == {*names, "README"}
    for alert in alerts():
        name, annotations = alert["alert"], alert["annotations"]
        assert {"summary", "description", "advice", "command"} <= set(annotations) and "kubectl" in annotations["command"]
        assert alert["labels"]["severity"] in ("info", "warning", "critical")
        page = (RUNBOOKS / f"{name}.md").read_text()
        assert re.findall("^## (.*)", page, re.M) == ["Meaning", "Impact", "Diagnosis", "Mitigation"], name
        # Those who have no plugin have kubectl.
        commands = [line.strip() for line in page.splitlines() if line.startswith("    ")]
        assert any(c.startswith("kubectl ") and "kubectl afterglow" not in c for c in commands), f"{name} has no command of kubectl alone"
        if "afterglow_failures_recorded_total" in alert["expr"]:
            assert any(c.startswith("kubectl get rf ") for c in commands), name
        assert page.startswith(f"# {name}\n") and f"Severity: {alert['labels']['severity']}." in page and annotations["summary"] in page
        assert f"]({name}.md) | {alert['labels']['severity']} |" in index
        assert re.search(rf"\b{name}\b", tests), f"no unit test has {name}"


def test_dashboards_have_ids_of_their_own_and_take_the_data_source_that_people_choose():
    loaded = [json.loads(path.read_text()) for path in DASHBOARDS]
    assert len({d["uid"] for d in loaded}) == len(loaded)
    for dashboard in loaded:
        ids = [p["id"] for p in dashboard["panels"]]
        assert len(set(ids)) == len(ids)
        variables = {v["name"] for v in dashboard["templating"]["list"]}
        for panel in dashboard["panels"]:
            assert panel["datasource"]["uid"] == "${datasource}" and panel["targets"]
            for target in panel["targets"]:
                for name in re.findall(r"\$(\w+)", target["expr"]):
                    assert name in variables or name.startswith("__"), (panel["title"], name)


# --- A real Prometheus ---------------------------------------------------------------------------------------


def snake_case(name):
    return re.sub("[A-Z]", lambda m: "_" + m[0].lower(), name)


class Prometheus:
    """A server that scrapes once a second, each target as the chart's monitor says."""

    def __init__(self, programs, directory, targets, rules=RULES, **limits):
        self.port = free_port()
        jobs = [{"job_name": name, "scrape_interval": "1s", "honor_labels": endpoint.get("honorLabels", False), **limits,
                 **{there: [{snake_case(k): v for k, v in r.items()} for r in endpoint.get(here, [])]
                    for here, there in (("relabelings", "relabel_configs"), ("metricRelabelings", "metric_relabel_configs"))},
                 "static_configs": [{"targets": [address], "labels": labels}]} for name, address, labels, endpoint in targets]
        (directory / "prometheus.yaml").write_text(yaml.safe_dump({
            "global": {"evaluation_interval": "1s"}, "rule_files": [str(p) for p in rules], "scrape_configs": jobs}))
        self.daemon = Daemon([programs / "prometheus", "--config.file", directory / "prometheus.yaml", "--storage.tsdb.path",
                              directory / "tsdb", "--web.listen-address", f"127.0.0.1:{self.port}"], directory / "prometheus.log")

    def get(self, path, **parameters):
        assert self.daemon.running(), self.daemon.text()
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=120) as answer:
            return json.load(answer)["data"]

    def query(self, text):
        return self.get("query", query=text)["result"]


@contextlib.contextmanager
def answering(text):
    """Starts a server that answers each request with this text, and yields its port."""
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@contextlib.contextmanager
def limited_cgroup(name):
    """A memory cgroup with a limit, for a launcher."""
    version_1 = pathlib.Path("/sys/fs/cgroup/memory")
    if version_1.is_dir():
        path, limit = version_1 / name, "memory.limit_in_bytes"
    else:
        path, limit = pathlib.Path("/sys/fs/cgroup") / name, "memory.max"
        (path.parent / "cgroup.subtree_control").write_text("+memory")
    path.mkdir()
    try:
        (path / limit).write_text(str(LIMIT))
        yield path
    finally:
        # The kernel takes a moment to let the last process go.
        wait_for("the cgroup to be empty", lambda: not (path / "cgroup.procs").read_text())
        path.rmdir()


# Has the title of a task, and more memory than a task needs to be named in metrics.
TASK = "import time\nheld = bytearray(96 << 20)\ntime.sleep(1000)\n"


@pytest.fixture
def sidecar(tmp_path):
    """The sidecar of a pod with a container that has a memory limit, and a task of Ray."""
    (tmp_path / "task.py").write_text(TASK)
    pod = {"metadata": {"namespace": "ml", "name": "worker", "uid": "0123456789", "labels": {"ray.io/cluster": "demo"}}}
    with limited_cgroup(f"afterglow-monitoring-{os.getpid()}") as cgroup:
        (tmp_path / "pod").mkdir()
        sidecar = PodSidecar(pod, tmp_path / "pod")
        try:
            sidecar.launcher = Daemon(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', cgroup, BUILD / "afterglow-launch",
                                       "--name", "ray-worker", "--socket", sidecar.directory / "socket", "--",
                                       "bash", "-c", 'exec -a ray::load_batch "$0" <"$1"', sys.executable, tmp_path / "task.py"],
                                      tmp_path / "launcher.log")
            yield sidecar
        finally:
            sidecar.close()


@pytest.fixture
def prometheus(programs, tmp_path, plane, start, api, sidecar):
    chart = rendered(plane, "monitoring.serviceMonitor.enabled=true", "monitoring.podMonitor.enabled=true")
    (service,), (pods,) = only(chart, "ServiceMonitor")["spec"]["endpoints"], only(chart, "PodMonitor")["spec"]["podMetricsEndpoints"]
    operator = start("--leader-elect", "--quote-verdicts", "--lease-namespace", api.namespace)
    server = Prometheus(programs, tmp_path, [
        ("operator", f"127.0.0.1:{operator.metrics_port}", {"namespace": "afterglow-system", "pod": "afterglow-operator-0", "container": "operator"}, service),
        ("sidecars", f"{sidecar.address}:{PORT}", {"namespace": "ml", "pod": "worker", "container": "afterglow", "__meta_kubernetes_pod_label_ray_io_cluster": "demo",
                                                       "__meta_kubernetes_pod_annotation_afterglow_dev_owner": "RayJob/train/of/day"}, pods)])
    yield server
    server.daemon.stop(signal.SIGKILL)


def test_prometheus_has_data_for_each_query_of_the_dashboards_and_evaluates_each_rule(prometheus, make, kubelet):
    cluster = make("demo", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    kubelet.restart(worker, 1, 137, reason="OOMKilled")
    cluster.wait_failures(1)
    labels = {"cluster": "demo", "class": "KernelOOMContainer", "namespace": worker["metadata"]["namespace"]}

    def series():
        (found,) = prometheus.query('afterglow_failures_recorded_total{class="KernelOOMContainer"}')
        return found
    found = wait_for("the failure in Prometheus", series)
    assert labels.items() <= found["metric"].items() and found["metric"]["confidence"] in ("certain", "likely")

    for dashboard, panel, query in queries():
        for variable, value in VARIABLES.items():
            query = query.replace(variable, value)
        wait_for(f"data for {dashboard}: {panel}: {query}", lambda query=query: prometheus.query(query))

    def evaluated():
        rules = [r for g in prometheus.get("rules")["groups"] for r in g["rules"]]
        assert len(rules) >= len(alerts()) and all(r["health"] == "ok" for r in rules), [(r["name"], r.get("lastError")) for r in rules]
        return rules
    wait_for("all rules", evaluated)
    # Of the container that is measured, and not of the sidecar that is asked.
    assert {s["metric"]["container"] for s in prometheus.query("afterglow_container_processes")} == {"ray-worker"}
    def ratio():
        (found,) = prometheus.query("namespace_pod_container:afterglow_memory:ratio")
        return found["metric"]
    of = wait_for("the ratio of memory", ratio)
    assert {"cluster": "demo", "owner_kind": "RayJob", "owner_name": "train/of/day"}.items() <= of.items() and "pod" in of

    # What alerts quote: the failure's sentence, and its name for the command that shows it.
    (failure,), (last,) = cluster.wait_failures(1), prometheus.query("topk(1, afterglow_failure_last)")
    assert {"owner_kind": "RayCluster", "owner_name": "demo", "cluster": "demo", "failure": failure["metadata"]["name"],
            "verdict": failure["spec"]["verdict"][:256]}.items() <= last["metric"].items()


def test_promtool_finds_nothing_wrong_with_the_operators_metrics(programs, operator):
    result = subprocess.run([programs / "promtool", "check", "metrics"], input=operator.http("/metrics")[1], capture_output=True,
                            text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


HOSTILE = """afterglow_watch_synced 1
leader_election_master_status{name="afterglow-operator"} 1
afterglow_failure_last{namespace="ml",failure="$(evil)"} 9
afterglow_sidecars{answers="true"} 9
afterglow_container_processes{container="ray-worker"} 7
afterglow_container_spill_full_seconds{container="a; evil"} 1
"""


def test_of_a_pod_prometheus_takes_what_a_sidecar_has_and_nothing_of_the_operators(programs, tmp_path, plane):
    """Everybody who may make a pod can answer as its sidecar: that silences no alert about the operator, and puts nothing into a command."""
    names = [re.findall(r'^METRIC\(\w+, "\w+", "(\w+)"', (ROOT / path).read_text(), re.M) for path in
             ("sidecar/http/metrics.def", "operator/kube/metrics.def")]  # fmt: skip
    monitor = only(rendered(plane, "monitoring.podMonitor.enabled=true"), "PodMonitor")["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    kept = endpoint["metricRelabelings"][0]["regex"]
    assert min(map(len, names)) > 20
    assert {name for part in names for name in part if re.fullmatch(kept, name)} == set(names[0])
    many = "".join(f'afterglow_spool_bytes{{n="{i}"}} 1\n' for i in range(monitor["sampleLimit"]))
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(answering(text)) for text in (HOSTILE, HOSTILE + many)]
        server = Prometheus(programs, tmp_path, [
            (f"pod-{i}", f"127.0.0.1:{port}", {"namespace": "ml", "pod": f"pod-{i}", "container": "afterglow"}, endpoint) for i, port in enumerate(ports)],
            rules=[], **{snake_case(name): monitor[name] for name in ("sampleLimit", "labelValueLengthLimit")})  # fmt: skip
        stack.callback(server.daemon.stop, signal.SIGKILL)
        wait_for("both scrapes", lambda: {s["value"][1] for s in server.query("up") if s["metric"]["pod"] in ("pod-0", "pod-1")} == {"0", "1"})
        taken = {s["metric"]["__name__"]: s["metric"] for s in server.query('{__name__=~"afterglow.*|leader.*"}')}
    assert set(taken) == {"afterglow_container_processes", "afterglow_container_spill_full_seconds"}
    assert {m["pod"] for m in taken.values()} == {"pod-0"} and [taken[n]["container"] for n in sorted(taken)] == ["ray-worker", "afterglow"]
