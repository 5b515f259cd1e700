#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Measures the webhook on a real etcd and kube-apiserver of its own. The reviews are testdata/review.json, which a kube-apiserver
asked about a worker of KubeRay 1.6.2; only names differ. load.c asks them, and echo.c is the server that answers at once, with
an answer of the operator's own. Each line holds a figure and what it is compared with.
"""

import contextlib
import json
import os
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "e2e/cases"))

# pylint: disable=wrong-import-position # they are where the tests are
from apiserver import kubelet  # noqa: E402
from apiserver.conftest import BUILD, Operators, install_crds  # noqa: E402
from apiserver.control_plane import ControlPlane, Daemon  # noqa: E402
from apiserver.webhook import Webhook  # noqa: E402
from conftest import wait_for  # noqa: E402

REVIEW = (pathlib.Path(__file__).parent / "testdata/review.json").read_text(encoding="utf-8")
CLUSTERS = int(os.environ.get("BENCH_CLUSTERS", "500"))
PODS = 10 * CLUSTERS
RATE, SECONDS = 50, int(os.environ.get("BENCH_SECONDS", "20"))
BURST, CONNECTIONS, BURSTS = 500, 32, int(os.environ.get("BENCH_BURSTS", "3"))
AIM_MS, AIM_KIB = 2.0, 7168


def say(words):
    print(f"webhook: {words}", flush=True)


# --- reviews and what is in the caches ---


def review(cluster, pod, group="large"):
    """The recorded one, with the names of that cluster and pod, in that group."""
    text = REVIEW.replace("training-0", f"training-{cluster}").replace('"ray.io/group":"large"', f'"ray.io/group":"{group}"')
    made = json.loads(text)
    made["request"]["uid"] = made["request"]["object"]["metadata"]["uid"] = str(uuid.uuid4())
    for where in (made["request"], made["request"]["object"]["metadata"]):
        where.pop("generateName", None)
        where["name"] = f"training-{cluster}-{group}-worker-{pod}"
    return made


def new_pod(cluster, pod):
    """What KubeRay sent to create it."""
    made = review(cluster, pod)["request"]["object"]
    for name in ("uid", "creationTimestamp", "managedFields", "namespace", "generation"):
        made["metadata"].pop(name, None)
    made.pop("status", None)
    made["spec"].pop("priority", None)
    return made


def ray_cluster(cluster):
    template = {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.46.0", "resources": {
        "limits": {"cpu": "2", "memory": "8Gi"}, "requests": {"cpu": "2", "memory": "8Gi"}}}]}}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": f"training-{cluster}"},
            "spec": {"rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": template},
                     "workerGroupSpecs": [{"groupName": "large", "replicas": 10, "minReplicas": 0, "maxReplicas": 100,
                                           "rayStartParams": {}, "template": template}]}}


# --- reading a process ---


def memory_kib(daemon):
    """RSS, and what of it is private and written to."""
    found = {}
    for line in pathlib.Path(f"/proc/{daemon.process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, value, *_ = line.split()
        found[name] = int(value)
    return found["Rss:"], found["Private_Dirty:"]


def cpu_ms(daemon):
    """Of all its threads."""
    total = 0
    for path in pathlib.Path(f"/proc/{daemon.process.pid}/task").glob("*/schedstat"):
        total += int(path.read_text(encoding="ascii").split()[0])
    return total / 1e6


# --- figures ---


class Latencies:
    """Of a server's answers, in ms."""

    def __init__(self):
        self.ms = []

    def add(self, rows):
        self.ms += [(answered - sent) / 1000 for sent, answered in rows]

    def at(self, share):
        return sorted(self.ms)[min(int(share * len(self.ms)), len(self.ms) - 1)]

    def __str__(self):
        return f"p50 {self.at(0.5):.2f} p99 {self.at(0.99):.2f} max {max(self.ms):.2f} ms"


def compare(what, ours, peer):
    more = ours.at(0.99) - peer.at(0.99)
    say(f"{what}: {ours}; answered at once: {peer}; p99 {more:+.2f} ms, median {ours.at(0.5) - peer.at(0.5):+.2f} ms; "
        f"claim +{AIM_MS:g} ms, ratio {more / AIM_MS:.2f}")


class Bench:
    """The control plane, and what is done with it."""

    def __init__(self, directory):
        self.directory = directory
        self.plane = ControlPlane(directory)
        self.plane.start()
        self.plane.issue("plain", "/O=system:masters/CN=plain")
        self.plane.issue("echo", "/CN=localhost", "subjectAltName=DNS:localhost")
        install_crds(self.plane)
        self.plane.api().create("namespaces", {"metadata": {"name": "ray"}})
        self.api = self.plane.api().within("ray")
        self.start = Operators(self.plane, "ray", directory)
        self.webhook = None

    def stop(self):
        for daemon in self.start.started:
            daemon.stop()
        self.plane.stop()

    @contextlib.contextmanager
    def running(self, webhook):
        """As the chart runs it beside KubeRay, for all namespaces."""
        if webhook:
            self.webhook = Webhook(self.api, self.start)
            daemon = self.webhook.operator("--leader-elect", namespace=False)
            self.webhook.wait_bundle()
        else:
            daemon = self.start("--leader-elect", "--lease-namespace", "ray", namespace=False, manage=False)
        try:
            yield daemon
        finally:
            daemon.stop()
            if webhook:
                self.webhook.close()

    def send(self, lines, connections=16):
        """Many requests at once to the API server: (method, path, body)."""
        text = "".join(f"{method} {path} {json.dumps(body)}\n" for method, path, body in lines)
        subprocess.run([BUILD / "bench/operator/requests", f"https://127.0.0.1:{self.plane.port}",
                        self.plane.file("ca.crt"), self.plane.file("plain.crt"), self.plane.file("plain.key"),
                        str(connections)], input=text, text=True, check=True, stdout=subprocess.DEVNULL)

    def fill(self):
        """Clusters with ten running pods each, which come through the webhook."""
        self.send([("POST", self.api.path("rayclusters"), ray_cluster(n)) for n in range(CLUSTERS)])
        with self.running(webhook=True):
            self.webhook.wait_works(new_pod(0, "probe"))
            self.send([("POST", self.api.path("pods"), new_pod(n, i)) for n in range(CLUSTERS) for i in range(10)])
        pods = self.api.items("pods")
        assert sum(len(p["spec"]["containers"]) == 2 for p in pods) == PODS, "a pod came without the sidecar"
        self.send([("PATCH", self.api.path("pods", p["metadata"]["name"], "status"), kubelet.status(
            p, "Running", [kubelet.running(p, c["name"]) for c in p["spec"]["containers"]], True)) for p in pods])

    def memory(self, pods):
        found = []
        for webhook in (True, False):
            with self.running(webhook) as daemon:
                time.sleep(5)
                found.append(memory_kib(daemon))
        (rss, dirty), (rss_without, dirty_without) = found
        claim = f"; claim {AIM_KIB} KiB, ratio {rss / AIM_KIB:.2f}" if pods == 0 else ""
        say(f"memory at {pods} pods: {rss} KiB RSS, {dirty} private dirty; without webhook {rss_without} and {dirty_without}, "
            f"ratio {rss / rss_without:.2f}{claim}")

    def answer_of(self, operator):
        """Its answer to a review that nothing comes of."""
        asked = review(0, "probe")
        asked["request"]["dryRun"] = True
        request = urllib.request.Request(f"https://localhost:{operator.webhook_port}/mutate/pods", json.dumps(asked).encode(),
                                         {"Content-Type": "application/json"})
        context = ssl.create_default_context(cadata=self.webhook.bundles()[0])
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return asked, answer.read()

    @contextlib.contextmanager
    def echo(self, answer):
        """Gives the URL of the server that answers at once."""
        path, log = self.directory / "answer.json", self.directory / "echo.log"
        path.write_bytes(answer)
        daemon = Daemon([BUILD / "bench/webhook/echo", self.plane.file("echo.crt"), self.plane.file("echo.key"), path], log)
        try:
            yield daemon, f"https://localhost:{wait_for('echo', lambda: int(daemon.text()), interval=0.05)}/mutate/pods"
        finally:
            daemon.stop()

    def load(self, first, reviews, connections, rate, *urls):
        """Of each URL in turn its reviews: when each was sent and answered, in us."""
        path = self.directory / "reviews"
        with open(path, "w", encoding="utf-8") as file:
            for asked in (first, *reviews):
                file.write(json.dumps(asked, separators=(",", ":")) + "\n")
        result = subprocess.run([BUILD / "bench/webhook/load", self.directory / "authorities.crt", path, str(connections),
                                 str(rate), *urls], stdout=subprocess.PIPE, text=True, check=True)
        rows = [[int(word) for word in line.split()] for line in result.stdout.splitlines()]
        assert len(rows) == len(reviews), (len(rows), len(reviews))
        return [[(sent, answered) for url, sent, answered in rows if url == n] for n in range(len(urls))]

    def steady(self, first, *urls):
        """Both at the same time: what the machine does besides meets both."""
        reviews = [review(n // 2 % CLUSTERS, f"s{n}", "steady") for n in range(2 * RATE * SECONDS)]
        ours, peer = Latencies(), Latencies()
        for latencies, rows in zip((ours, peer), self.load(first, reviews, CONNECTIONS, RATE, *urls)):
            latencies.add(rows)
        compare(f"{RATE} admissions a second for {SECONDS} s", ours, peer)

    def bursts(self, first, *urls):
        """One after the other, in turns; the rate is that of the burst as a whole."""
        found, took = [Latencies(), Latencies()], [[], []]
        for n in range(BURSTS):
            for i, url in enumerate(urls):
                reviews = [review(k % CLUSTERS, f"b{k}", f"burst-{n}") for k in range(BURST)]
                rows, = self.load(first, reviews, CONNECTIONS, 0, url)
                found[i].add(rows)
                took[i].append(max(answered for _, answered in rows) / 1000)
        compare(f"{BURST} at once over {CONNECTIONS} connections", *found)
        ours, peer = (sorted(t)[len(t) // 2] for t in took)
        say(f"{BURST} at once: all answered in {ours:.0f} ms, at once in {peer:.0f} ms, ratio {ours / peer:.2f}, "
            f"{(ours - peer) / BURST:.3f} ms an admission")

    def admissions(self):
        with self.running(webhook=True) as operator:
            first, answer = self.answer_of(operator)
            with self.echo(answer) as (echo, url):
                urls = f"https://localhost:{operator.webhook_port}/mutate/pods", url
                authorities = self.webhook.bundles()[0] + self.plane.file("ca.crt").read_text(encoding="ascii")
                (self.directory / "authorities.crt").write_text(authorities)
                say(f"a review has {len(REVIEW)} bytes, its answer {len(answer)}; {CLUSTERS} RayClusters, {PODS} pods")
                used = cpu_ms(operator), cpu_ms(echo)
                self.steady(first, *urls)
                self.bursts(first, *urls)
                ours, peer = cpu_ms(operator) - used[0], cpu_ms(echo) - used[1]
                asked = RATE * SECONDS + BURST * BURSTS
                say(f"CPU for each admission, connections and all else included: {ours / asked:.2f} ms, at once {peer / asked:.2f}")
                changed = operator.metric("afterglow_admissions_total", outcome="Changed")
                assert changed >= asked, f"{changed} of {asked} pods got the sidecar"
                say("memory after it: {} KiB RSS, {} private dirty".format(*memory_kib(operator)))


def main():
    with tempfile.TemporaryDirectory(prefix="afterglow-bench.") as directory:
        bench = Bench(pathlib.Path(directory))
        try:
            bench.memory(0)
            bench.fill()
            bench.memory(PODS)
            bench.admissions()
        except BaseException:
            for log in pathlib.Path(directory).glob("operator-*.log"):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
            raise
        finally:
            bench.stop()


main()
