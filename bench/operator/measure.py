#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Measures the operator beside KubeRay's, on a real etcd and kube-apiserver of its own and on the same RayClusters. Nobody
runs the pods: requests.c writes into their status what kubelets would. Times are those of the API server's audit log.
Each line holds a figure and what it is compared with. Arguments: build directory, KubeRay's directory.
"""

import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "e2e/cases"))

# pylint: disable=wrong-import-position # they are where the tests are
import fleet  # noqa: E402
from apiserver import kubelet  # noqa: E402
from apiserver.control_plane import ControlPlane, Daemon, free_port  # noqa: E402
from conftest import wait_for  # noqa: E402

BUILD, KUBERAY = (pathlib.Path(p) for p in sys.argv[1:3])
GROUP = 99  # workers of a cluster
SINGLE = [int(n) for n in os.environ.get("BENCH_SINGLE", "1000 5000 20000").split()]  # pods of one cluster
SMALL, LARGE = (int(n) for n in os.environ.get("BENCH_PODS", "1000 10000").split())
FLEET_DEATHS = 30
DEATHS = int(os.environ.get("BENCH_DEATHS", "60"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
NODES, FLEET = (int(n) for n in os.environ.get("BENCH_FLEET", "5000 100000").split())
IDLE_S = int(os.environ.get("BENCH_SECONDS", "15"))


def say(words):
    print(f"operator: {words}", flush=True)


def seconds(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Audit:
    """The API server's audit log as it grows."""

    def __init__(self, path):
        self.file = open(path, encoding="utf-8")  # pylint: disable=consider-using-with # as long as the program
        self.rest = ""

    def read(self):
        """The successful writes since the last call."""
        *lines, self.rest = (self.rest + self.file.read()).split("\n")
        events = [json.loads(line) for line in lines if line]
        return [e for e in events if e.get("responseStatus", {}).get("code", 0) // 100 == 2]


def is_write(event, user, verb, plural, subresource=None):
    what = event.get("objectRef", {})
    return (event["user"]["username"], event["verb"], what.get("resource"), what.get("subresource")) == (
        user, verb, plural, subresource)


class Contender:
    """An operator that can be started, several times. Its user has its name."""

    name = words = ready_line = None
    limits = []

    def __init__(self, bench):
        self.bench = bench
        bench.plane.issue(self.name, f"/O=system:masters/CN={self.name}")

    def command(self, namespace):
        raise NotImplementedError

    @contextlib.contextmanager
    def running(self, namespace, timeout=60):
        log = self.bench.directory / f"{self.name}-{namespace}-{time.monotonic_ns()}.log"
        started = time.monotonic()
        daemon = Daemon(self.command(namespace), log, {**os.environ, "KUBECONFIG": str(self.bench.plane.kubeconfig(self.name))})
        try:
            wait_for(f"{self.words} to be ready", lambda: self.is_ready(daemon), timeout=timeout, interval=0.01)
            daemon.ready_s = time.monotonic() - started
            yield daemon
        finally:
            daemon.stop(timeout=60)
            self.forget(namespace)

    def forget(self, namespace):
        """Removes what the next contender would take for a running operator."""

    def is_ready(self, daemon):
        """The caches are filled; both say so in their logs or by a question that costs nothing."""
        assert daemon.running(), daemon.text()[-2000:]
        return self.ready_line in daemon.text()


class Ours(Contender):
    name, words = "operator", "Afterglow"

    def __init__(self, bench):
        super().__init__(bench)
        self.port = free_port()

    def command(self, namespace):
        return [BUILD / "afterglow-operator", "--launcher", BUILD / "afterglow-launch", "--namespace", namespace,
                "--sidecar-image", "localhost/sidecar:bench", "--metrics-address", f"127.0.0.1:{self.port}",
                "--manage-clusters", "--leader-elect", "--lease-namespace", namespace]

    def is_ready(self, daemon):
        # pylint: disable=import-outside-toplevel
        import urllib.request
        assert daemon.running(), daemon.text()[-2000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10) as response:
                return response.status == 200
        except OSError:
            return False


class KubeRay(Contender):
    name, words = "kuberay", "KubeRay"
    ready_line = '"logger":"controllers.RayCluster","msg":"Starting workers"'

    def command(self, namespace):
        return [KUBERAY / "kuberay-operator", "--watch-namespace", namespace, "--enable-leader-election",
                "--leader-election-namespace", namespace, "--metrics-addr", f"127.0.0.1:{free_port()}",
                "--health-probe-bind-address", f"127.0.0.1:{free_port()}", *self.limits]

    def forget(self, namespace):
        """KubeRay does not give its Lease back when it ends, and ours would wait until it has run out."""
        self.bench.plane.api().within(namespace).delete("leases", "ray-operator-leader")


class FastKubeRay(KubeRay):
    """Without the limit of 100 requests a second that it has by default, and with more than one cluster at a time."""

    name, words = "kuberay-fast", "KubeRay (--qps 10000 --reconcile-concurrency 16)"
    limits = ["--qps", "10000", "--burst", "10000", "--reconcile-concurrency", "16"]


def rss_kib(daemon):
    for line in pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def peak_kib(daemon):
    for line in pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


def cpu_s(daemon):
    """Of all its threads, in ticks of 10 ms."""
    fields = pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def container(name, cpu, memory):
    return {"spec": {"containers": [{"name": name, "image": "ray:bench", "resources": {
        "limits": {"cpu": cpu, "memory": memory}, "requests": {"cpu": cpu, "memory": memory}}}]}}


def ray_cluster(name, workers):
    """As people write them for KubeRay."""
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": {"rayVersion": "2.46.0",
                     "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"},
                                       "template": container("ray-head", "2", "4Gi")},
                     "workerGroupSpecs": [{"groupName": "small", "replicas": workers, "minReplicas": 0,
                                           "maxReplicas": max(workers, 1000), "rayStartParams": {},
                                           "template": container("ray-worker", "1", "2Gi")}]}}


def as_new(pod, namespace):
    """What was sent to create the pod, nearly: the API server's defaults have come in."""
    metadata = {k: pod["metadata"][k] for k in ("name", "labels", "annotations", "ownerReferences") if k in pod["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "namespace": namespace}, "spec": pod["spec"]}


class Bench:
    """The control plane, and what is done with it."""

    def __init__(self, directory):
        self.directory = directory
        self.plane = ControlPlane(directory)
        self.plane.start()
        self.plane.issue("plain", "/O=system:masters/CN=plain")
        # KubeRay's own definitions, for both: its operator wants all three kinds.
        self.plane.kubectl("apply", "--server-side", "-f", str(KUBERAY / "crd"))
        self.plane.kubectl("apply", "-f", str(ROOT / "crds/afterglow.dev_rayfailures.yaml"))
        for plural in ("rayclusters", "rayfailures"):
            wait_for(f"the kind {plural}", lambda plural=plural: self.plane.api().items(plural) is not None, interval=0.1)
        self.audit = Audit(self.plane.file("audit.log"))
        self.contenders = [Ours(self), KubeRay(self), FastKubeRay(self)]

    def send(self, lines, connections):
        """Many requests at once: (method, path, body)."""
        text = "".join(f"{method} {path} {json.dumps(body)}\n" for method, path, body in lines)
        subprocess.run([BUILD / "bench/operator/requests", f"https://127.0.0.1:{self.plane.port}",
                        self.plane.file("ca.crt"), self.plane.file("plain.crt"), self.plane.file("plain.key"),
                        str(connections)], input=text, text=True, check=True, stdout=subprocess.DEVNULL)

    def namespace(self, name):
        self.plane.api().create("namespaces", {"metadata": {"name": name}})
        return self.plane.api().within(name)

    def count_pods(self, api):
        pods = api.request("GET", api.path("pods") + "?limit=1")
        return len(pods["items"]) + pods["metadata"].get("remainingItemCount", 0)

    def make_clusters(self, api, numbers, workers=GROUP):
        path = api.path("rayclusters")
        self.send([("POST", path, ray_cluster(f"c{n}", workers)) for n in numbers], 8)

    def run_all(self, api):
        """All pods run."""
        lines = []
        for pod in api.items("pods"):
            containers = [kubelet.running(pod, c["name"]) for c in pod["spec"]["containers"]]
            lines.append(("PATCH", api.path("pods", pod["metadata"]["name"], "status"),
                          kubelet.status(pod, "Running", containers, True)))
        self.send(lines, 16)

    def created_per_s(self, user, since="pods"):
        """From the first write of that kind to the last pod, as the API server noted them."""
        events = self.audit.read()
        first = min(seconds(e["requestReceivedTimestamp"]) for e in events if e["verb"] == "create" and
                    e["objectRef"]["resource"] == since)
        stamps = [seconds(e["stageTimestamp"]) for e in events if is_write(e, user, "create", "pods")]
        return len(stamps) / (max(stamps) - first)

    # --- what is measured ---

    def idle(self):
        figures = {}
        for contender in self.contenders[:2]:
            api = self.namespace(f"idle-{contender.name}")
            with contender.running(api.namespace) as daemon:
                time.sleep(3)
                before = cpu_s(daemon)
                time.sleep(IDLE_S)
                figures[contender.name] = rss_kib(daemon), 100 * (cpu_s(daemon) - before) / IDLE_S
        (ours, our_cpu), (theirs, their_cpu) = figures["operator"], figures["kuberay"]
        say(f"idle: {ours} KiB RSS, KubeRay {theirs} KiB, ratio {ours / theirs:.3f}; claim 6144 KiB, ratio {ours / 6144:.2f}")
        say(f"idle: {our_cpu:.2f} % of a core over {IDLE_S} s, KubeRay {their_cpu:.2f} %")
        return {name: figure[0] for name, figure in figures.items()}

    def creation(self):
        """
        The rate at which each makes a thousand pods, and right after it a plain client the very same: the machine may have
        other things to do, so that only neighbours can be compared.
        """
        rates = {c.name: [] for c in self.contenders}
        self.warm_up()
        for n in range(ROUNDS):
            for contender in self.contenders:
                api = self.namespace(f"rate-{n}-{contender.name}")
                with contender.running(api.namespace) as daemon:
                    self.audit.read()
                    used = -cpu_s(daemon)
                    self.make_clusters(api, range(SMALL // (GROUP + 1)))
                    wait_for("all pods", lambda api=api: self.count_pods(api) == SMALL, timeout=300, interval=0.2)
                    time.sleep(0.5)
                    used += cpu_s(daemon)
                    rate = self.created_per_s(contender.name, "rayclusters")
                    pods = api.items("pods")
                    if n == 0:
                        self.deaths(contender, api)
                for plural in ("rayclusters", "pods", "services"):
                    api.request("DELETE", api.path(plural))
                raw = max(self.raw(f"raw-{n}-{contender.name}-{connections}", pods, connections) for connections in (16, 48))
                say(f"creation: {contender.words}: {rate:.0f} pods/s, plain client {raw:.0f}/s, ratio {rate / raw:.2f}; "
                    f"{1000 * used / SMALL:.2f} ms of CPU a pod")
                rates[contender.name].append(rate / raw)
        for contender in self.contenders:
            aim = "; aim 0.90" if contender.name == "operator" else ""
            ratios = " ".join(f"{r:.2f}" for r in sorted(rates[contender.name]))
            say(f"creation: {contender.words}: median ratio {statistics.median(rates[contender.name]):.2f} of {ratios}{aim}")

    def warm_up(self):
        """An API server that has just begun is slow for whoever comes first."""
        pod = {"metadata": {}, "spec": container("ray-worker", "1", "2Gi")["spec"]}
        for n in range(3):
            self.raw(f"warm-{n}", [{**pod, "metadata": {"name": f"p{i}"}} for i in range(SMALL)], 16)

    def raw(self, namespace, pods, connections):
        """How many of these pods a second the API server takes."""
        api = self.namespace(namespace)
        self.audit.read()
        self.send([("POST", api.path("pods"), as_new(pod, namespace)) for pod in pods], connections)
        time.sleep(0.5)
        rate = self.created_per_s("plain")
        api.request("DELETE", api.path("pods"))
        return rate

    def deaths(self, contender, api):
        """From a pod's death in its status to the creation of its successor."""
        self.run_all(api)
        time.sleep(3)
        kubelets, latencies = kubelet.Kubelet(api), []
        clusters = SMALL // (GROUP + 1)
        for n in range(DEATHS):
            pod = api.items("pods", f"ray.io/cluster=c{n % clusters},ray.io/node-type=worker")[n // clusters]
            self.audit.read()
            kubelets.end(pod, 1)
            events = []

            def replaced(events=events):
                events += self.audit.read()
                return next((e for e in events if is_write(e, contender.name, "create", "pods")), None)
            born = seconds(wait_for("a successor", replaced, interval=0.01)["stageTimestamp"])
            died = next(e for e in events if is_write(e, "test", "patch", "pods", "status"))
            latencies.append(1000 * (born - seconds(died["stageTimestamp"])))
        latencies.sort()
        say(f"death to successor: {contender.words}: median {statistics.median(latencies):.0f} ms, "
            f"p99 {latencies[int(0.99 * len(latencies))]:.0f} ms of {len(latencies)}")

    def single(self):
        """One cluster of many pods: what each of them costs must not grow with their number."""
        least = None
        for pods in SINGLE:
            api = self.namespace(f"single-{pods}")
            with self.contenders[0].running(api.namespace) as daemon:
                began, used = time.monotonic(), -cpu_s(daemon)
                self.make_clusters(api, [0], pods - 1)
                wait_for("all pods", lambda api=api, pods=pods: self.count_pods(api) == pods, timeout=900, interval=0.2)
                used += cpu_s(daemon)
                took, each = time.monotonic() - began, 1000 * used / pods
                least = least or each
                say(f"one cluster of {pods} pods: made in {took:.1f} s, {pods / took:.0f}/s; {each:.2f} ms of CPU a pod, "
                    f"ratio {each / least:.2f}; peak {peak_kib(daemon)} KiB RSS")
                began, used = time.monotonic(), -cpu_s(daemon)
                cluster = api.get("rayclusters", "c0")["spec"]["workerGroupSpecs"]
                cluster[0]["replicas"] = 0
                api.patch("rayclusters", "c0", {"spec": {"workerGroupSpecs": cluster}})
                wait_for("its end", lambda api=api: self.count_pods(api) == 1, timeout=900, interval=0.2)
                used += cpu_s(daemon)
                lease = api.get("leases", f"afterglow-operator.{api.namespace}")["spec"]
                say(f"one cluster of {pods} pods: scaled to zero in {time.monotonic() - began:.1f} s; {1000 * used / pods:.2f} ms of CPU a "
                    f"pod; the lease changed hands {lease['leaseTransitions']} times")

    def fleet(self):
        """Many nodes and pods: what the caches take, how soon they are filled, and how soon a death is dealt with."""
        api = self.namespace(fleet.NAMESPACE)
        with self.contenders[0].running(api.namespace):
            self.send([("POST", api.path("rayclusters"), ray_cluster(fleet.CLUSTER, GROUP))], 1)
            wait_for("all pods", lambda: self.count_pods(api) == GROUP + 1, timeout=60, interval=0.2)
            made = fleet.Fleet(self.plane, api, NODES, FLEET)
            made.place()
            wait_for("its status", lambda: api.get("rayclusters", fleet.CLUSTER).get("status", {}).get("state") == "ready")
            time.sleep(3)
        began = time.monotonic()
        made.copy_nodes()
        made.copy_clusters()
        wait_for("all pods", lambda: self.count_pods(api) == FLEET, timeout=300, interval=1)
        say(f"fleet: {NODES} nodes, {FLEET} pods in {made.clusters} RayClusters, copied in {time.monotonic() - began:.0f} s")
        for contender in self.contenders[:2]:
            with contender.running(api.namespace, timeout=600) as daemon:
                self.rest(contender, daemon)
                say(f"fleet: {contender.words}: cold start {daemon.ready_s:.1f} s; {rss_kib(daemon) / 1024:.0f} MiB RSS, "
                    f"{peak_kib(daemon) / 1024:.0f} MiB at the most; {cpu_s(daemon):.1f} s of CPU until it rested")
                self.fleet_deaths(contender, made, api)

    def rest(self, contender, daemon, timeout=180):
        """Until it has looked at all clusters: it uses little of a core."""
        began = time.monotonic()
        while time.monotonic() - began < timeout:
            before = cpu_s(daemon)
            time.sleep(3)
            if cpu_s(daemon) - before < 0.15:
                return
        say(f"fleet: {contender.words} does not rest within {timeout} s")

    def fleet_deaths(self, contender, made, api):
        """From a death in a pod's status to its RayFailure and to its successor."""
        kubelets, first = kubelet.Kubelet(api), contender.name == "kuberay"
        written, replaced = [], []
        for n in range(FLEET_DEATHS):
            pod = api.get("pods", made.worker(n + FLEET_DEATHS * first))
            self.audit.read()
            kubelets.end(pod, 1)
            events = []

            def is_replaced(events=events):
                events += self.audit.read()
                return any(is_write(e, contender.name, "create", "pods") for e in events)
            wait_for("a successor", is_replaced, timeout=120, interval=0.01)
            died = seconds(next(e for e in events if is_write(e, "test", "patch", "pods", "status"))["stageTimestamp"])
            for plural, list_ in (("rayfailures", written), ("pods", replaced)):
                list_ += [1000 * (seconds(e["stageTimestamp"]) - died) for e in events if is_write(e, contender.name, "create", plural)]
        for what, list_ in (("RayFailure", written), ("successor", replaced)):
            if list_:
                say(f"fleet: {contender.words}: death to {what}: median {statistics.median(list_):.0f} ms, at the most {max(list_):.0f} ms "
                    f"of {len(list_)}")

    def cold_start(self, idle):
        api = self.namespace("cold")
        done = 0
        for pods in (SMALL, LARGE):
            with self.contenders[0].running("cold"):
                self.make_clusters(api, range(done // (GROUP + 1), pods // (GROUP + 1)))
                wait_for("all pods", lambda pods=pods: self.count_pods(api) == pods, timeout=600, interval=0.5)
                self.run_all(api)
                time.sleep(5)
            done = pods
            figures = {}
            for contender in self.contenders[:2]:
                with contender.running("cold") as daemon:
                    time.sleep(10)
                    kib = rss_kib(daemon)
                    figures[contender.name] = daemon.ready_s, kib, (kib - idle[contender.name]) / pods
            (ours, our_rss, our_pod), (theirs, their_rss, their_pod) = figures["operator"], figures["kuberay"]
            say(f"cold start at {pods} pods: {ours:.2f} s, KubeRay {theirs:.2f} s, ratio {ours / theirs:.2f}")
            say(f"memory at {pods} pods: {our_rss} KiB RSS, KubeRay {their_rss} KiB, ratio {our_rss / their_rss:.3f}")
            say(f"memory a pod at {pods}: {our_pod:.2f} KiB, KubeRay {their_pod:.2f} KiB, ratio {our_pod / their_pod:.3f}; "
                f"claim 2.50 KiB, ratio {our_pod / 2.5:.2f}")


def main():
    with tempfile.TemporaryDirectory(prefix="afterglow-bench.") as directory:
        bench = Bench(pathlib.Path(directory))
        try:
            only = os.environ.get("BENCH_ONLY", "idle creation single cold").split()
            idle = bench.idle() if "idle" in only or "cold" in only else {}
            if "creation" in only:
                bench.creation()
            if "single" in only:
                bench.single()
            if "fleet" in only:
                bench.fleet()
            if "cold" in only:
                bench.cold_start(idle)
        except BaseException:
            for log in pathlib.Path(directory).glob("*-*.log"):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
            raise
        finally:
            bench.plane.stop()


main()
