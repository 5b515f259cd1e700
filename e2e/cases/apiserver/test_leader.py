# SPDX-License-Identifier: Apache-2.0
"""Of several replicas exactly one acts, and never two."""

import datetime
import os
import signal

import pytest

from conftest import wait_for
from apiserver import stalled
from apiserver.conftest import group, settle, settle_with_events
from apiserver.kubelet import Kubelet
from apiserver.replicas import LEADER

# By one worker, right after each other.
doomed = pytest.mark.xdist_group("doomed leaders")


def lease_of(api):
    return api.get("leases", f"afterglow-operator.{api.namespace}")


def in_turn(writers):
    """Checks that all writes of the first replica came before all writes of the second."""
    return writers == sorted(writers) and set(writers) == {"first", "second"}


@doomed
def test_the_standby_acts_after_the_leader_was_killed(scenarios):
    replicas = scenarios["killed"].taken_over()
    wait_for("the second to act", lambda: replicas.second.metric(LEADER) == 1)
    assert in_turn(replicas.writers())
    assert lease_of(replicas.api)["spec"]["leaseTransitions"] >= 1


@doomed
def test_a_leader_that_stood_still_writes_nothing_more_and_exits(scenarios):
    replicas = scenarios["stopped"].taken_over()
    before = len(replicas.writes("first"))
    replicas.first.send(signal.SIGCONT)
    assert replicas.first.process.wait(180) == 1
    assert "is lost: another replica acts" in replicas.first.text()
    settle(replicas.second, replicas.api, Kubelet(replicas.api))
    assert len(replicas.writes("first")) == before
    assert in_turn(replicas.writers())


@doomed
def test_a_leader_that_is_cut_off_gives_up_by_itself(scenarios):
    replicas = scenarios["cut-off"].taken_over()
    assert replicas.first.process.wait(180) == 1
    assert in_turn(replicas.writers())


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
    assert leader.process.wait(180) == 1
    assert lease_of(api)["spec"]["holderIdentity"] == "usurper"


def test_a_deleted_lease_is_made_again(start, api, make):
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    holder = lease_of(api)["spec"]["holderIdentity"]
    api.delete("leases", f"afterglow-operator.{api.namespace}")
    wait_for("the lease", lambda: lease_of(api)["spec"]["holderIdentity"] == holder)
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert leader.running()


def seconds(micro_time):
    return datetime.datetime.fromisoformat(micro_time.replace("Z", "+00:00")).timestamp()


@pytest.mark.long
def test_while_the_main_loop_stands_still_the_lease_is_renewed_and_nobody_else_acts(plane, start, api, make):
    plane.issue("standby", "/O=system:masters/CN=standby")
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    standby = start("--leader-elect", "--lease-namespace", api.namespace, kubeconfig=plane.kubeconfig("standby"))
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    with stalled.main_thread(leader.process.pid):
        before = lease_of(api)["spec"]
        cluster.scale(small=3)
        # Longer than the Lease lasts without its holder.
        wait_for("renewals", lambda: seconds(lease_of(api)["spec"]["renewTime"]) > seconds(before["renewTime"]) + 16, timeout=60)
        after = lease_of(api)["spec"]
        assert after["holderIdentity"] == before["holderIdentity"]
        assert after["leaseTransitions"] == before["leaseTransitions"]
        assert len(cluster.pods("worker")) == 1 and standby.metric(LEADER) == 0
    cluster.wait_pods(1, 3)
    assert leader.http("/healthz")[0] == 200
    assert plane.writes(api.namespace, user="standby") == []


def test_who_lost_the_lease_while_its_main_loop_stood_still_writes_nothing_more(plane, start, api, make, kubelet):
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    settle_with_events(leader, api, kubelet)

    def writes():
        return [w["objectRef"] for w in plane.writes(api.namespace)
                if w["objectRef"]["resource"] != "leases" and not w["objectRef"].get("name", "").startswith("marker")]
    with stalled.main_thread(leader.process.pid):
        before = writes()
        cluster.scale(small=5)
        api.patch("leases", f"afterglow-operator.{api.namespace}", {"spec": {"holderIdentity": "usurper"}})
        wait_for("the end of the thread that renews", lambda: len(os.listdir(f"/proc/{leader.process.pid}/task")) == 1)
    assert leader.process.wait(180) == 1
    assert "is lost: another replica acts or may" in leader.text()
    assert writes() == before
    assert lease_of(api)["spec"]["holderIdentity"] == "usurper"
