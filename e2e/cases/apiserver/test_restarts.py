# SPDX-License-Identifier: Apache-2.0
"""Crashes, restarts and bad connections lead to the same final state: nothing is done twice, and nothing is forgotten."""

import collections
import signal

import pytest

from conftest import wait_for
from apiserver.conftest import group, install_crds, settle
from apiserver.crds import delete_crds
from apiserver.proxy import Proxy

OOM = {"reason": "OOMKilled"}


def uids(pods):
    return {p["metadata"]["uid"] for p in pods}


def created(plane, api):
    """Returns how often each object was created, by kind and name."""
    return collections.Counter((w["objectRef"]["resource"], w["objectRef"].get("name"))
                               for w in plane.writes(api.namespace, verb="create"))


def test_sigterm_ends_it_with_zero(operator):
    assert operator.stop(signal.SIGTERM) == 0
    assert "no write is under way" in operator.text()


@pytest.mark.parametrize("pods_before_the_signal", [0, 5, 15])
def test_sigterm_while_scaling_up_finishes_what_is_under_way(make, start, plane, api, kubelet, pods_before_the_signal):
    operator = start()
    cluster = make("demo", group("small", 30, maxReplicas=30))
    wait_for("some pods", lambda: len(cluster.pods()) >= pods_before_the_signal, interval=0)
    assert operator.stop(signal.SIGTERM) == 0
    assert "unanswered" not in operator.text()
    # What it knows of is what there is.
    assert len(cluster.pods()) == operator.text().count(": create Pod")
    operator = start()
    cluster.wait_pods(1, 30)
    settle(operator, api, kubelet)
    assert all(n == 1 for (kind, _), n in created(plane, api).items() if kind == "pods")


def test_a_restarted_operator_changes_nothing(make, start, api, kubelet, plane):
    operator = start()
    cluster = make("demo", group("small", 3))
    cluster.wait_pods(1, 3)
    kubelet.run_all()
    cluster.wait_status(state="ready")
    settle(operator, api, kubelet)
    operator.stop(signal.SIGKILL)
    before, pods = len(plane.writes(api.namespace)), uids(cluster.pods())
    operator = start()
    settle(operator, api, kubelet)
    mine = [w for w in plane.writes(api.namespace)[before:] if not w["objectRef"].get("name", "").startswith("marker")]
    assert [(w["verb"], w["objectRef"]["resource"]) for w in mine if w["objectRef"]["resource"] != "rayfailures"
            and w["objectRef"]["resource"] != "events"] == []
    assert uids(cluster.pods()) == pods


def test_another_policy_is_for_new_pods_and_restarts_none(start, make, api, plane, kubelet, tmp_path):
    def operator_with(image, warn_at):
        policy = tmp_path / f"{warn_at}.yaml"
        policy.write_text(f"sidecarImage: {image}\nwarnAt: {warn_at}\nheadNumCPUs: 1\nobjectStoreFraction: {warn_at / 2}\n")
        return start("--config", policy, image=None)
    first = operator_with("localhost/sidecar:1", 0.5)
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    kubelet.run_all()
    cluster.wait_status(state="ready")
    assert first.stop(signal.SIGTERM) == 0
    before = plane.writes(api.namespace, "pods")
    second = operator_with("localhost/sidecar:2", 0.8)
    settle(second, api, kubelet)
    assert [w for w in plane.writes(api.namespace, "pods") if w["user"]["username"] == "operator"] == before
    cluster.scale(small=2)
    _, workers = cluster.wait_pods(1, 2)
    assert sorted(p["spec"]["containers"][-1]["image"] for p in workers) == ["localhost/sidecar:1", "localhost/sidecar:2"]


@pytest.mark.parametrize("pods_before_the_kill", [0, 1, 2, 5, 9])
def test_an_operator_killed_while_scaling_up_leaves_the_same_state(make, start, api, kubelet, plane, pods_before_the_kill):
    operator = start()
    cluster = make("demo", group("small", 10))
    wait_for("so many pods", lambda: len(cluster.pods()) >= pods_before_the_kill, interval=0)
    operator.stop(signal.SIGKILL)
    operator = start()
    cluster.wait_pods(1, 10)
    settle(operator, api, kubelet)
    cluster.wait_pods(1, 10)
    assert all(n == 1 for (kind, _), n in created(plane, api).items() if kind == "pods"), created(plane, api)
    assert not plane.writes(api.namespace, "pods", "delete")
    assert all(p["metadata"]["ownerReferences"][0]["uid"] == cluster.get()["metadata"]["uid"] for p in cluster.pods())


def test_an_api_server_killed_and_started_again_costs_nothing(make, start, api, kubelet, plane):
    operator = start()
    cluster = make("demo", group("small", 3))
    _, (first, *_) = cluster.wait_pods(1, 3)
    kubelet.run_all()
    cluster.wait_status(state="ready")
    before = uids(cluster.pods())
    plane.api_server.stop(signal.SIGKILL)
    assert operator.running()
    plane.start_api_server()
    kubelet.restart(first, 1, 137, **OOM)
    cluster.wait_failures(1)
    cluster.scale(small=4)
    cluster.wait_pods(1, 4)
    settle(operator, api, kubelet)
    assert before < uids(cluster.pods())
    assert max(created(plane, api).values()) == 1, created(plane, api)


def test_an_api_server_killed_while_scaling_up(make, start, api, kubelet, plane):
    operator = start()
    cluster = make("demo", group("small", 10, maxReplicas=40))
    cluster.wait_pods(1, 10)
    cluster.scale(small=40)
    wait_for("some pods", lambda: len(cluster.pods("worker")) > 12, interval=0)
    plane.api_server.stop(signal.SIGKILL)
    plane.start_api_server()
    cluster.wait_pods(1, 40)
    settle(operator, api, kubelet)
    cluster.wait_pods(1, 40)
    assert not plane.writes(api.namespace, "pods", "delete")


@pytest.mark.long
def test_forty_deaths_are_each_reported_once_while_the_leader_and_the_api_server_are_killed(start, plane, api, kubelet):
    """Three operators, of which the leader is killed in the middle of deaths and comes back, and the API server is killed twice."""
    def replica():
        return start("--leader-elect", "--lease-namespace", api.namespace)

    def pod(n):
        return api.create("pods", {
            "metadata": {"name": f"ray-{n}", "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": f"ray-{n}"}},
            "spec": {"containers": [{"name": "ray", "image": "ray:test"}]}})

    def written(count):
        wait_for(f"{count} RayFailures", lambda: len(api.items("rayfailures")) >= count, interval=0.01)

    leader = replica()
    wait_for("a leader", lambda: leader.metric("leader_election_master_status") == 1)
    for _ in range(2):
        replica()
    pods = [pod(n) for n in range(40)]
    for n, dead in enumerate(pods):
        kubelet.restart(dead, 1, 137 if n % 2 else 1, **(OOM if n % 4 == 3 else {}))
        if n in (9, 29):
            written(1 if n == 9 else 11)
            plane.api_server.stop(signal.SIGKILL)
            plane.start_api_server()
        elif n == 19:
            written(12)
            leader.stop(signal.SIGKILL)
            replica()
    written(40)
    last = wait_for("a leader", lambda: next(o for o in start.started if o.running() and o.metric("leader_election_master_status") == 1))
    settle(last, api, kubelet)
    failures = api.items("rayfailures")
    assert sorted(f["spec"]["pod"] for f in failures if f["spec"]["pod"].startswith("ray-")) == sorted(p["metadata"]["name"] for p in pods)
    assert all(n == 1 for (kind, _), n in created(plane, api).items() if kind == "rayfailures")
    # An operator that is killed between a RayFailure and its Event leaves the RayFailure alone. No other
    # operator emits that Event later.
    emitted = collections.Counter()
    for event in api.items("events"):
        key = event["regarding"]["name"], event["reason"]
        emitted[key] += event.get("series", {}).get("count", 1)
    assert emitted and max(emitted.values()) == 1, emitted


@pytest.fixture
def proxy(plane):
    p = Proxy(plane.port)
    yield p
    p.close()


@pytest.mark.parametrize("nth", range(1, 6))
def test_a_lost_answer_makes_no_second_pod(make, start, plane, proxy, api, kubelet, nth):
    operator = start(kubeconfig=plane.kubeconfig("operator", port=proxy.port))
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    settle(operator, api, kubelet)
    # Its watches say nothing to the API server; what it says next are the creations and the status.
    proxy.lose_answer(nth)
    cluster.scale(small=4)
    cluster.wait_pods(1, 4)
    settle(operator, api, kubelet)
    # libcurl may have asked again by itself, as it does on a connection that was used before.
    assert proxy.lost == 1
    assert len(cluster.pods()) == 5
    assert all(n == 1 for (kind, _), n in created(plane, api).items() if kind == "pods")
    assert not plane.writes(api.namespace, "pods", "delete")


def test_every_write_may_lose_its_answer(make, start, plane, proxy, api, kubelet):
    operator = start(kubeconfig=plane.kubeconfig("operator", port=proxy.port))
    cluster = make("demo", group("small", 2, maxReplicas=99))
    cluster.wait_pods(1, 2)
    for n in range(1, 6):
        cluster.scale(small=2 + 3 * n)
        # Right after the API server did the first of these writes.
        wait_for("a write", lambda n=n: len(cluster.pods("worker")) > 2 + 3 * (n - 1), interval=0)
        proxy.cut()
        cluster.wait_pods(1, 2 + 3 * n)
    settle(operator, api, kubelet)
    cluster.wait_pods(1, 17)
    assert all(n == 1 for (kind, _), n in created(plane, api).items() if kind == "pods")
    assert not plane.writes(api.namespace, "pods", "delete")


def test_missing_crds_are_waited_for_and_named(start, plane, make, api):
    delete_crds(plane.api(), ["rayclusters.ray.io", "rayfailures.afterglow.dev"])
    try:
        operator = start(ready=False)
        wait_for("both complaints", lambda: operator.text().count("is its CRD installed?") >= 2)
        assert operator.http("/readyz")[0] == 503 and operator.http("/healthz")[0] == 200
        assert "rayclusters: not synced" in operator.http("/readyz")[1]
        assert operator.text().count("is its CRD installed?") == 2
    finally:
        install_crds(plane)
    operator.wait_ready()
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert api.items("pods")


def test_crds_deleted_and_made_again_under_it(start, plane, make, api, kubelet):
    operator = start()
    make("before", group("small", 1)).wait_pods(1, 1)
    delete_crds(plane.api(), ["rayclusters.ray.io", "rayfailures.afterglow.dev"])
    try:
        wait_for("not ready", lambda: operator.http("/readyz")[0] == 503)
        # The other kinds go on.
        assert "pods: synced" in operator.http("/readyz")[1]
    finally:
        install_crds(plane)
    operator.wait_ready()
    cluster = make("after", group("small", 1))
    cluster.wait_pods(1, 1)
    settle(operator, api, kubelet)
