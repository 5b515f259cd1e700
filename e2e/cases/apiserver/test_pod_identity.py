# SPDX-License-Identifier: Apache-2.0
"""The operator puts back the labels by which it finds pods, and never uses the name of a pod again."""

import pytest

from conftest import wait_for
from apiserver.conftest import group, settle
from apiserver.peer import Peer
from apiserver.proxy import Proxy
from apiserver.replicas import LEADER

OURS = ("is-ray-node", "cluster", "node-type", "group")


def lists(operator):
    return operator.metric("afterglow_watch_lists_total", resource="pods")


def uids(pods):
    return {p["metadata"]["uid"] for p in pods}


def labels(pod):
    return {name: pod["metadata"]["labels"].get(f"ray.io/{name}") for name in OURS}


def take_away(api, pod, *names):
    api.patch("pods", pod["metadata"]["name"], {"metadata": {"labels": {f"ray.io/{name}": None for name in names}}})


def test_a_template_cannot_take_its_pods_out_of_sight(make, operator, api, kubelet):
    hidden = group("small", 2)
    hidden["template"]["metadata"] = {"labels": {f"ray.io/{name}": "no" for name in OURS} | {"mine": "yes"}}
    cluster = make("demo", hidden)
    _, (worker, _) = cluster.wait_pods(1, 2)
    assert labels(worker) == {"is-ray-node": "yes", "cluster": "demo", "node-type": "worker", "group": "small"}
    assert worker["metadata"]["labels"]["mine"] == "yes"
    before = lists(operator)
    settle(operator, api, kubelet)
    assert lists(operator) == before and len(cluster.pods()) == 3


@pytest.mark.parametrize("names", [["is-ray-node"], ["cluster"], ["node-type"], ["is-ray-node", "cluster", "node-type"]],
                         ids="-".join)
@pytest.mark.parametrize("node", ["head", "worker"])
def test_a_label_that_is_taken_away_is_put_back_and_the_pod_stays(make, operator, api, kubelet, node, names):
    cluster = make("demo", group("small", 1))
    (head,), (worker,) = cluster.wait_pods(1, 1)
    kubelet.run_all()
    cluster.wait_status(state="ready")
    before, pod = lists(operator), head if node == "head" else worker
    take_away(api, pod, *names)
    wait_for("its labels", lambda: labels(api.get("pods", pod["metadata"]["name"])) == labels(pod), interval=0.05)
    settle(operator, api, kubelet)
    assert uids(api.items("pods")) == uids([head, worker])
    assert lists(operator) == before


def test_many_labels_that_are_taken_away_at_once_are_put_back(make, operator, api, kubelet):
    cluster = make("demo", group("small", 80, maxReplicas=80))
    cluster.wait_pods(1, 80)
    before, pods = lists(operator), api.items("pods")
    for pod in pods:
        take_away(api, pod, "is-ray-node")
    wait_for("the labels", lambda: all(labels(p)["is-ray-node"] == "yes" for p in api.items("pods")))
    settle(operator, api, kubelet)
    assert uids(api.items("pods")) == uids(pods)
    assert lists(operator) == before


def test_a_pod_whose_label_names_another_cluster_is_taken_back(make, operator, api, kubelet):
    cluster, other = make("demo", group("small", 1)), make("other", group("small", 1))
    _, (worker,) = cluster.wait_pods(1, 1)
    other.wait_pods(1, 1)
    api.patch("pods", worker["metadata"]["name"], {"metadata": {"labels": {"ray.io/cluster": "other"}}})
    wait_for("its label", lambda: labels(api.get("pods", worker["metadata"]["name"])) == labels(worker), interval=0.05)
    settle(operator, api, kubelet)
    assert uids(cluster.pods("worker")) == uids([worker]) and len(api.items("pods")) == 4


def test_a_worker_without_its_group_is_replaced(make, operator, api, kubelet):
    cluster = make("demo", group("small", 2))
    _, (first, second) = cluster.wait_pods(1, 2)
    take_away(api, first, "group")
    wait_for("another", lambda: first["metadata"]["uid"] not in uids(cluster.pods()) and len(cluster.pods("worker")) == 2,
             interval=0.05)
    settle(operator, api, kubelet)
    assert second["metadata"]["uid"] in uids(cluster.pods("worker")) and len(cluster.pods("worker")) == 2


def test_labels_that_were_taken_away_while_nobody_looked_make_no_second_pod(make, start, api, kubelet):
    operator = start()
    cluster = make("demo", group("small", 2))
    (head,), (first, _) = cluster.wait_pods(1, 2)
    operator.stop()
    for pod in head, first:
        take_away(api, pod, "is-ray-node")
    before = uids(api.items("pods"))
    operator = start()
    wait_for("the labels", lambda: all(labels(p)["is-ray-node"] == "yes" for p in api.items("pods")), interval=0.05)
    settle(operator, api, kubelet)
    assert uids(api.items("pods")) == before


def test_no_name_comes_back_though_nothing_on_record_tells_of_it(make, operator, api, kubelet, plane):
    cluster = make("demo", group("small", 1))
    for _ in range(4):
        (head,), (worker,) = cluster.wait_pods(1, 1)
        api.delete("pods", worker["metadata"]["name"])
        wait_for("another worker", lambda worker=worker: cluster.pods("worker") and
                 uids(cluster.pods("worker")) != uids([worker]), interval=0.05)
        # What tells of its deaths is gone before the next one dies.
        for failure in api.items("rayfailures"):
            api.delete("rayfailures", failure["metadata"]["name"])
    settle(operator, api, kubelet)
    created = [w["objectRef"]["name"] for w in plane.writes(api.namespace, "pods", "create") if "name" in w["objectRef"]]
    mine = [name for name in created if name.startswith("demo-")]
    assert len(mine) == len(set(mine)) == 6, mine
    assert uids(cluster.pods("head")) == uids([head])


@pytest.fixture
def proxy(plane):
    p = Proxy(plane.port)
    yield p
    p.close()


def test_a_lost_answer_costs_one_question_and_no_list(make, start, plane, proxy, api, kubelet):
    operator = start(kubeconfig=plane.kubeconfig("operator", port=proxy.port))
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    settle(operator, api, kubelet)
    before = lists(operator)
    proxy.lose_answer(1)
    cluster.scale(small=4)
    cluster.wait_pods(1, 4)
    settle(operator, api, kubelet)
    assert proxy.lost == 1 and len(cluster.pods()) == 5
    assert lists(operator) == before


@pytest.fixture
def peer(plane):
    p = Peer(plane)
    yield p
    p.close()


def test_a_new_leader_whose_watch_lags_behind_makes_no_second_pod(make, start, peer, api, kubelet):
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    standby = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=peer.kubeconfig())
    peer.rule(lambda r: r.plural == "pods" and r.resumes, times=1000, lines=lambda line: b"")
    peer.cut()
    cluster = make("demo", group("small", 2))
    before = cluster.wait_pods(1, 2)
    wait_for("the standby to know the cluster", lambda: standby.metric("afterglow_watch_objects", resource="rayclusters") == 1)
    assert standby.metric("afterglow_watch_objects", resource="pods") == 0
    leader.stop()
    wait_for("the new leader", lambda: standby.metric(LEADER) == 1)
    cluster.scale(small=3)
    cluster.wait_pods(1, 3)
    assert uids(before[0] + before[1]) < uids(api.items("pods"))
    assert len(api.items("pods")) == 4


def test_creations_without_an_answer_cost_no_list_and_keep_their_names(make, start, peer, api, kubelet):
    operator = start(kubeconfig=peer.kubeconfig())
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    settle(operator, api, kubelet)
    before = lists(operator)
    # More than libcurl asks again by itself.
    rule = peer.rule(lambda r: r.method == "POST" and r.plural == "pods", times=6, hang_up=True)
    cluster.scale(small=3)
    cluster.wait_pods(1, 3)
    settle(operator, api, kubelet)
    assert rule.done and len(cluster.pods()) == 4
    assert lists(operator) == before


def test_a_question_without_an_answer_holds_up_no_other_cluster(make, start, peer):
    start(kubeconfig=peer.kubeconfig())
    one, two = make("one", group("small", 1)), make("two", group("small", 1))
    one.wait_pods(1, 1)
    two.wait_pods(1, 1)
    lost = peer.rule(lambda r: r.method == "POST" and r.plural == "pods", times=1000, hang_up=True)
    asked = peer.rule(lambda r: r.method == "GET" and r.plural == "pods" and not r.is_watch, times=1000, hold=True)
    one.scale(small=2)
    wait_for("the question", lambda: asked.used)
    lost.left = 0
    two.scale(small=2)
    two.wait_pods(1, 2)
    # The question was still open meanwhile: a timeout would have let the operator go on as well.
    assert not asked.given_up
    # Of the other nobody knows yet whether the pod is there.
    assert len(one.pods()) == 2
    asked.left = 0
    peer.cut()
    one.wait_pods(1, 2)
