# SPDX-License-Identifier: Apache-2.0
"""Of several replicas one acts, and never two."""

import contextlib
import signal

import pytest

from conftest import wait_for
from apiserver.conftest import Operators, RayCluster, empty, group, new_namespace, ray_cluster, settle
from apiserver.kubelet import Kubelet
from apiserver.proxy import Proxy

LEADER = "leader_election_master_status"


def lease_of(api):
    return api.get("leases", f"afterglow-operator.{api.namespace}")


class Replicas:
    """Two replicas with users of their own, so that the audit log tells them apart, and a cluster to look after."""

    def __init__(self, plane, directory, words, through=None):
        self.plane = plane
        self.api = new_namespace(plane, words)
        self.start = Operators(plane, self.api.namespace, directory)
        self.first = self.replica("first", through)
        wait_for("the first to act", lambda: self.first.metric(LEADER) == 1)
        self.second = self.replica("second")
        self.api.create("rayclusters", ray_cluster("demo", group("small", 1)))
        self.cluster = RayCluster(self.api, "demo")
        self.cluster.wait_pods(1, 1)

    def replica(self, user, through=None):
        self.plane.issue(user, f"/O=system:masters/CN={user}")
        return self.start("--leader-elect", "--lease-namespace", self.api.namespace,
                          kubeconfig=self.plane.kubeconfig(user, port=through.port if through else None))

    def writers(self):
        """Who wrote, in the order of the writes; the lease apart."""
        users = [(w["auditID"], user) for user in ("first", "second") for w in self.writes(user)]
        order = {w["auditID"]: n for n, w in enumerate(self.plane.writes(self.api.namespace, user=None))}
        return [user for audit_id, user in sorted(users, key=lambda u: order[u[0]])]

    def writes(self, user):
        return [w for w in self.plane.writes(self.api.namespace, user=user) if w["objectRef"]["resource"] != "leases"]

    def close(self):
        self.start.close()
        empty(self.api)


@pytest.fixture(scope="module")
def scenarios(plane, tmp_path_factory):
    """
    Takeovers wait for fifteen seconds, so they are waited for together: a leader that is killed, one that stands still
    and goes on, one that is cut off.
    """
    with contextlib.ExitStack() as stack:
        proxy = Proxy(plane.port)
        stack.callback(proxy.close)
        made = {}
        for words, through in {"killed": None, "stopped": None, "cut-off": proxy}.items():
            made[words] = Replicas(plane, tmp_path_factory.mktemp(words), words, through)
            stack.callback(made[words].close)
        made["killed"].first.stop(signal.SIGKILL)
        made["stopped"].first.send(signal.SIGSTOP)
        proxy.swallow()
        for replicas in made.values():
            replicas.cluster.scale(small=3)
        for replicas in made.values():
            replicas.cluster.wait_pods(1, 3)
        yield made


def test_the_standby_acts_after_the_leader_was_killed(scenarios):
    replicas = scenarios["killed"]
    assert replicas.second.metric(LEADER) == 1
    assert replicas.writers() == sorted(replicas.writers())
    assert lease_of(replicas.api)["spec"]["leaseTransitions"] == 1


def test_a_leader_that_stood_still_writes_nothing_more_and_exits(scenarios):
    replicas = scenarios["stopped"]
    before = len(replicas.writes("first"))
    replicas.first.send(signal.SIGCONT)
    assert replicas.first.process.wait(30) == 1
    assert "is lost: another replica acts" in replicas.first.text()
    settle(replicas.second, replicas.api, Kubelet(replicas.api))
    assert len(replicas.writes("first")) == before
    # All of the first's writes came before all of the second's.
    assert replicas.writers() == sorted(replicas.writers())


def test_a_leader_that_is_cut_off_gives_up_by_itself(scenarios):
    replicas = scenarios["cut-off"]
    assert replicas.first.process.wait(30) == 1
    assert replicas.writers() == sorted(replicas.writers())


def test_a_standby_is_ready_watches_and_writes_nothing(start, api, plane, make, kubelet):
    plane.issue("standby", "/O=system:masters/CN=standby")
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    standby = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=plane.kubeconfig("standby"))
    cluster = make("demo", group("small", 2))
    _, (worker, _) = cluster.wait_pods(1, 2)
    kubelet.restart(worker, 1, 137, reason="OOMKilled")
    cluster.wait_failures(1)
    settle(leader, api, kubelet)
    wait_for("the standby's copies", lambda: standby.metric("afterglow_watch_objects", resource="pods") == 3)
    # What another wrote need not be written here, nor be kept for it.
    wait_for("nothing to write", lambda: standby.metric("afterglow_failures_pending") == 0)
    assert f"lease: held by {lease_of(api)['spec']['holderIdentity']}" in standby.http("/readyz")[1]
    assert plane.writes(api.namespace, user="standby") == []


def test_the_lease_is_given_back_at_the_end_and_taken_by_the_next(start, api, make):
    first = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: first.metric(LEADER) == 1)
    spec = lease_of(api)["spec"]
    assert spec["leaseDurationSeconds"] == 15 and spec["leaseTransitions"] == 0 and "_" in spec["holderIdentity"]
    assert first.stop(signal.SIGTERM) == 0
    assert lease_of(api)["spec"].get("holderIdentity", "") == ""
    start("--leader-elect", "--lease-namespace", api.namespace)
    make("demo", group("small", 1)).wait_pods(1, 1)
    after = lease_of(api)["spec"]
    assert after["leaseTransitions"] == 1 and after["holderIdentity"] not in ("", spec["holderIdentity"])


def test_a_lease_taken_by_force_ends_the_leader(start, api):
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    api.patch("leases", f"afterglow-operator.{api.namespace}", {"spec": {"holderIdentity": "usurper"}})
    assert leader.process.wait(30) == 1
    assert lease_of(api)["spec"]["holderIdentity"] == "usurper"


def test_a_deleted_lease_is_made_again(start, api, make):
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    holder = lease_of(api)["spec"]["holderIdentity"]
    api.delete("leases", f"afterglow-operator.{api.namespace}")
    wait_for("the lease", lambda: lease_of(api)["spec"]["holderIdentity"] == holder)
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert leader.running()
