# SPDX-License-Identifier: Apache-2.0
"""
After ten thousand reconciles and fifty restarts of the API server the operator has the memory that it had before. Only make soak runs
this, because it takes a quarter of an hour. SOAK_RECONCILES and SOAK_RESTARTS set other numbers.
"""

import os
import pathlib
import signal
import time

from conftest import wait_for
from apiserver.conftest import group
from apiserver.kubelet import Kubelet

RECONCILES = int(os.environ.get("SOAK_RECONCILES", "10000"))
RESTARTS = int(os.environ.get("SOAK_RESTARTS", "50"))
CLUSTERS = 40
# Growth from the tenth round to the last: below that the allocator does as it likes.
GROWTH_MAX_KIB = 1024
REST_S = 3  # then the operator has given back what it can


def rss_kib(operator):
    for line in pathlib.Path(f"/proc/{operator.process.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def reconciles(operator):
    return operator.metric("controller_runtime_reconcile_total")


def touch_until(operator, clusters, count):
    """Makes changes that mean nothing, until the operator has reconciled so often."""
    n = 0
    while reconciles(operator) < count:
        for cluster in clusters:
            n += 1
            cluster.api.patch("rayclusters", cluster.name, {"metadata": {"annotations": {"touched": str(n)}}})
    return n


def live(cluster, kubelet):
    """Adds a worker and takes it away; then a worker dies, and its RayFailure is read and deleted."""
    cluster.scale(small=2)
    cluster.wait_pods(1, 2)
    kubelet.run_all(f"ray.io/cluster={cluster.name}")
    cluster.scale(small=1)
    _, (worker,) = cluster.wait_pods(1, 1)
    kubelet.end(worker, 137, reason="OOMKilled")
    (failure,) = cluster.wait_failures(1)
    wait_for("its successor", lambda: worker["metadata"]["uid"] not in
             {p["metadata"]["uid"] for p in cluster.pods("worker")} and len(cluster.pods("worker")) == 1)
    cluster.api.delete("rayfailures", failure["metadata"]["name"])


def test_memory_is_flat_over_reconciles_and_restarts_of_the_api_server(make, operator, plane, api):
    kubelet = Kubelet(api)
    clusters = [make(f"c{n}", group("small", 1)) for n in range(CLUSTERS)]
    for cluster in clusters:
        cluster.wait_pods(1, 1)
    kubelet.run_all()
    history = []
    for n in range(1, RESTARTS + 1):
        live(clusters[n % CLUSTERS], kubelet)
        touch_until(operator, clusters, RECONCILES * n // RESTARTS)
        plane.api_server.stop(signal.SIGKILL)
        plane.start_api_server()
        operator.wait_ready()
        live(clusters[(n + 1) % CLUSTERS], kubelet)
        time.sleep(REST_S)
        history.append(rss_kib(operator))
        print(f"soak: restart {n}, {reconciles(operator):.0f} reconciles, {history[-1]} KiB RSS", flush=True)
    early = max(history[:10])
    assert reconciles(operator) >= RECONCILES
    assert history[-1] <= early + GROWTH_MAX_KIB, history
    assert all(len(cluster.pods()) == 2 for cluster in clusters)
