# SPDX-License-Identifier: Apache-2.0
"""While the Lease of KubeRay's operator shows that it runs, our operator manages no RayCluster. A Lease of anybody else stops nothing."""

import contextlib
import datetime
import os
import threading
import time

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import ROOT, Operators, RayCluster, empty, group, new_namespace, ray_cluster
from apiserver.control_plane import ControlPlane, Daemon, free_port
from apiserver.peer import Peer

LEASE = "ray-operator-leader"
MANAGES = "afterglow_manages_clusters"


def now():
    """Returns a MicroTime as client-go writes it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


POD = "kuberay-operator-7d5f"
WRITES = {"apiGroups": ["ray.io"], "resources": ["rayclusters", "rayclusters/status"], "verbs": ["get", "list", "watch", "update", "patch"]}


class KubeRay:
    """KubeRay's Lease in a namespace of its own, which is renewed until the test ends it; its pod and its rights, unless it is a tenant's."""

    def __init__(self, plane, seconds=15):
        self.plane = plane
        self.api = new_namespace(plane, "kuberay-system")
        self.seconds = seconds
        self.ended = threading.Event()
        self.thread = None
        self.is_everywhere = True

    def spec(self):
        return {"holderIdentity": f"{POD}_1", "leaseDurationSeconds": self.seconds, "leaseTransitions": 0,
                "acquireTime": now(), "renewTime": now()}

    def pod(self):
        """Makes the pod that holds the Lease."""
        account = {"kind": "ServiceAccount", "name": "kuberay-operator", "namespace": self.api.namespace}
        self.api.create("serviceaccounts", {"metadata": {"name": account["name"]}})
        self.api.create("pods", {"metadata": {"name": POD}, "spec": {
            "serviceAccountName": account["name"], "containers": [{"name": "manager", "image": "kuberay:test"}]}})
        return account

    def grant(self, account, namespace=None):
        """Lets the service account write RayClusters: of one namespace, or of all."""
        name = f"kuberay-{self.api.namespace}"
        role, api = ("roles", self.plane.api().within(namespace)) if namespace else ("clusterroles", self.plane.api())
        api.create(role, {"metadata": {"name": name}, "rules": [WRITES]})
        api.create("rolebindings" if namespace else "clusterrolebindings", {
            "metadata": {"name": name}, "subjects": [account],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role" if namespace else "ClusterRole", "name": name}})

    def take(self):
        if self.is_everywhere:
            self.grant(self.pod())
        self.api.create("leases", {"metadata": {"name": LEASE}, "spec": self.spec()})
        return self

    def renew(self):
        self.api.patch("leases", LEASE, {"spec": {"renewTime": now()}})

    def run(self):
        """Renews the Lease every 2 s, as KubeRay does."""
        self.take()

        def live():
            while not self.ended.wait(2):
                self.renew()
        self.thread = threading.Thread(target=live)
        self.thread.start()
        return self

    def end(self):
        """Ends like a KubeRay that is killed: the Lease stays, with its holder."""
        self.ended.set()
        if self.thread:
            self.thread.join()

    def forget(self):
        self.end()
        for plural in ("clusterrolebindings", "clusterroles"):
            with contextlib.suppress(ApiError):
                self.plane.api().delete(plural, f"kuberay-{self.api.namespace}")
        with contextlib.suppress(ApiError):
            self.api.delete("leases", LEASE)


@pytest.fixture
def kuberay(plane):
    """Deletes the Lease at the end, because the tests after this one do not expect it."""
    made = KubeRay(plane)
    yield made
    made.forget()


def others_writes(plane, namespace):
    """Returns what our operator wrote, without failures, Events, and the launchers, which it keeps wherever there is Ray."""
    expected = ("rayfailures", "events", "leases", "configmaps")
    return [w["objectRef"] for w in plane.writes(namespace) if w["objectRef"]["resource"] not in expected]


def wait_looks(operator, count):
    """Waits until the operator has read the Lease that often from now on: it reads little else again and again."""
    def looks():
        return operator.metric("rest_client_requests_total", method="GET", code="200")
    before = looks()
    wait_for(f"{count} looks at the Lease", lambda: looks() >= before + count)


def test_without_kuberay_it_manages_at_once_and_says_so(start, make):
    operator = start()
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert operator.metric(MANAGES) == 1
    assert "managing RayClusters: yes, no Lease ray-operator-leader of KubeRay is being renewed" in operator.http("/readyz")[1]


@pytest.mark.long
def test_a_renewed_lease_keeps_it_from_making_pods_until_kuberay_is_gone(start, api, plane, make, kubelet, kuberay):
    kuberay.seconds = 3  # four times that long it counts when it has ended
    kuberay.run()
    # For one namespace, and KubeRay's is another one.
    operator = start()
    cluster = make("demo", group("small", 1))
    wait_for("the refusal", lambda: "KubeRay runs in namespace" in operator.text())
    status, text = operator.http("/readyz")
    assert status == 200 and f"managing RayClusters: no, KubeRay runs in namespace {kuberay.api.namespace}" in text
    assert operator.metric(MANAGES) == 0
    # The deaths of KubeRay's pods are recorded all the same.
    labels = {"ray.io/is-ray-node": "yes", "ray.io/cluster": "demo"}
    pod = api.create("pods", {"metadata": {"name": "kuberays", "labels": labels},
                              "spec": {"containers": [{"name": "ray", "image": "ray:test"}]}})
    kubelet.end(pod, 137, reason="OOMKilled")
    cluster.wait_failures(1)
    wait_looks(operator, 2)
    assert others_writes(plane, api.namespace) == [] and cluster.status() == {}
    (event,) = wait_for("the Event", lambda: [e for e in plane.api().within("default").items("events")
                                              if e["reason"] == "KubeRayRuns" and kuberay.api.namespace in e["note"]])
    assert event["type"] == "Warning" and "manageRayClusters=false" in event["note"]
    assert operator.text().count("KubeRay runs in namespace") == 1  # once, not with each look
    kuberay.end()
    cluster.wait_pods(1, 1)
    assert operator.metric(MANAGES) == 1 and "RayClusters are managed from now on" in operator.text()


@pytest.mark.long
def test_a_kuberay_that_appears_later_stops_it(start, api, plane, make, kuberay):
    operator = start()
    cluster = make("demo", group("small", 1))
    cluster.wait_pods(1, 1)
    kuberay.seconds = 3
    kuberay.run()
    wait_for("the refusal", lambda: operator.metric(MANAGES) == 0)
    wait_for("the end of what was under way", lambda: operator.metric("workqueue_depth") == 0)
    before = others_writes(plane, api.namespace)
    cluster.scale(small=3)
    another = make("another", group("small", 1))
    wait_looks(operator, 2)
    assert others_writes(plane, api.namespace) == before
    assert len(cluster.pods()) == 2
    kuberay.end()
    # What came meanwhile has waited and is not lost.
    cluster.wait_pods(1, 3)
    another.wait_pods(1, 1)


@pytest.mark.long
def test_a_stale_lease_with_a_holder_delays_the_start_by_its_duration(start, make, kuberay):
    kuberay.take()
    began = time.monotonic()
    operator = start()
    cluster = make("demo", group("small", 1))
    wait_for("the look", lambda: "it is not known yet whether it is renewed" in operator.text())
    assert cluster.pods() == []
    cluster.wait_pods(1, 1)
    # No earlier. That it is one duration and not several is a matter of kuberay_lease_test.c, which has a clock of its own.
    assert time.monotonic() - began >= kuberay.seconds
    assert "KubeRay runs" not in operator.text()


def test_a_lease_that_a_tenant_renews_stops_nothing_and_is_reported(start, api, plane, make, kuberay):
    """The role edit suffices for the Lease, and for a pod of any name with a service account of the namespace."""
    kuberay.is_everywhere = False
    kuberay.run()
    operator = start(namespace=False)
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert operator.metric(MANAGES) == 1
    wait_for("the report", lambda: f"namespace {kuberay.api.namespace} has a Lease" in operator.text())
    assert "which is no pod there: it is not taken for KubeRay" in operator.http("/readyz")[1]
    wait_for("the Event", lambda: [e for e in plane.api().within("default").items("events")
                                   if e["reason"] == "KubeRayUnproven" and kuberay.api.namespace in e["note"]])
    kuberay.pod()
    restarted = start(namespace=False)
    wait_for("the answer", lambda: "whose service account may not write RayClusters everywhere" in restarted.http("/readyz")[1])
    assert restarted.metric(MANAGES) == 1


@pytest.mark.long
def test_a_kuberay_of_one_namespace_keeps_that_namespace_alone(start, api, plane, make, kuberay):
    kuberay.is_everywhere = False
    kuberay.grant(kuberay.pod(), api.namespace)
    kuberay.run()
    elsewhere = new_namespace(plane, "elsewhere")
    operator = start(namespace=False)
    make("theirs", group("small", 1))
    elsewhere.create("rayclusters", ray_cluster("ours", group("small", 1)))
    try:
        RayCluster(elsewhere, "ours").wait_pods(1, 1)
        wait_looks(operator, 2)
        assert RayCluster(api, "theirs").pods() == [] and operator.metric(MANAGES) == 1
    finally:
        operator.stop()
        empty(elsewhere)


def test_leases_of_megabytes_stop_nothing_and_hide_no_kuberay(start, plane, make, kuberay):
    """The API server takes 1.4 MB in a Lease, and makes six times as much of some of them in its answer."""
    tenants = [new_namespace(plane, f"long-lease-{i}") for i in range(4)]
    for tenant in tenants:
        tenant.create("leases", {"metadata": {"name": LEASE}, "spec": {
            **kuberay.spec(), "holderIdentity": "<" * 1400000, "leaseDurationSeconds": 1}})
    try:
        operator = start(namespace=False)
        make("demo", group("small", 1)).wait_pods(1, 1)
        kuberay.run()
        wait_for("the refusal", lambda: f"KubeRay runs in namespace {kuberay.api.namespace}" in operator.text())
        assert "cannot be read" not in operator.text()
    finally:
        for tenant in tenants:
            tenant.delete("leases", LEASE)


def test_of_named_namespaces_alone_a_lease_counts_and_needs_no_proof(start, make, kuberay):
    kuberay.is_everywhere = False
    kuberay.run()
    operator = start("--kuberay-namespaces", f"elsewhere,{kuberay.api.namespace}")
    wait_for("the refusal", lambda: f"KubeRay runs in namespace {kuberay.api.namespace}" in operator.text())
    operator.stop()
    other = start("--kuberay-namespaces", "elsewhere")
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert other.metric(MANAGES) == 1


def test_where_namespaces_are_named_no_lease_of_another_one_is_read(start, plane, make, kuberay):
    """However many tenants have such a Lease, a look costs one request for each named namespace."""
    peer = Peer(plane)
    try:
        operator = start("--kuberay-namespaces", f"elsewhere,{kuberay.api.namespace}", kubeconfig=peer.kubeconfig())
        make("demo", group("small", 1)).wait_pods(1, 1)
        kuberay.run()
        wait_for("the refusal", lambda: f"KubeRay runs in namespace {kuberay.api.namespace}" in operator.text())
        asked = {r.path for r in peer.seen(lambda r: r.plural == "leases" and LEASE in r.query.get("fieldSelector", ""))}
        assert asked == {f"/apis/coordination.k8s.io/v1/namespaces/{name}/leases" for name in ("elsewhere", kuberay.api.namespace)}
    finally:
        peer.close()


def test_a_lease_that_was_given_back_delays_nothing(start, make, kuberay):
    kuberay.take()
    kuberay.api.patch("leases", LEASE, {"spec": {"holderIdentity": ""}})
    operator = start()
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert operator.metric(MANAGES) == 1 and "not known yet" not in operator.text()


def allowed(plane, api, rules):
    """Makes a service account that may do all in the namespace, and cluster-wide no more than the rules. Returns a kubeconfig and an Api."""
    name = api.namespace
    account = {"kind": "ServiceAccount", "name": name, "namespace": name}
    api.create("serviceaccounts", {"metadata": {"name": name}})
    api.create("rolebindings", {"metadata": {"name": name}, "subjects": [account], "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}})
    plane.api().create("clusterroles", {"metadata": {"name": name}, "rules": rules})
    plane.api().create("clusterrolebindings", {"metadata": {"name": name}, "subjects": [account], "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}})
    token = api.new_token(name)
    listed = plane.api(token=token).within(name)
    wait_for("the rights", lambda: listed.items("pods") == [])
    return plane.kubeconfig(name, credentials={"token": token}), plane.api(token=token)


def test_a_list_by_name_is_allowed_by_name_in_all_namespaces(start, plane, api, make, kuberay):
    kubeconfig, as_operator = allowed(plane, api, [{
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [LEASE], "verbs": ["list"]}])
    path = "/apis/coordination.k8s.io/v1/leases"
    wait_for("the right", lambda: as_operator.request("GET", f"{path}?fieldSelector=metadata.name%3D{LEASE}")["items"] == [])
    with pytest.raises(ApiError, match="403"):
        as_operator.request("GET", path)
    kuberay.run()
    operator = start(kubeconfig=kubeconfig)
    cluster = make("demo", group("small", 1))
    wait_for("the refusal", lambda: f"KubeRay runs in namespace {kuberay.api.namespace}" in operator.text())
    assert cluster.pods() == [] and "is searched" not in operator.text()


def test_without_the_right_for_all_namespaces_the_watched_one_is_searched(start, plane, api, make, kuberay):
    kubeconfig, _ = allowed(plane, api, [])
    kuberay.api = api  # KubeRay runs where the RayClusters are
    kuberay.run()
    operator = start(kubeconfig=kubeconfig)
    cluster = make("demo", group("small", 1))
    wait_for("the refusal", lambda: f"KubeRay runs in namespace {api.namespace}" in operator.text())
    assert cluster.pods() == []
    assert operator.text().count("only the operator's own namespace and the watched one is searched") == 1


def test_without_the_right_for_it_a_lease_elsewhere_is_not_seen_and_the_log_says_where_it_looked(
        start, plane, api, make, kuberay):
    kubeconfig, _ = allowed(plane, api, [])
    kuberay.run()
    operator = start(kubeconfig=kubeconfig)
    make("demo", group("small", 1)).wait_pods(1, 1)
    assert "only the operator's own namespace and the watched one is searched" in operator.text()


@pytest.fixture(name="other_plane")
def plane_with_kinds_of_kuberay(tmp_path):
    """A control plane of its own, with KubeRay's RayCluster in the place of ours."""
    control_plane = ControlPlane(tmp_path)
    try:
        control_plane.start()
        control_plane.issue("kuberay", "/O=system:masters/CN=kuberay")
        control_plane.kubectl("apply", "--server-side", "-f", os.environ["AFTERGLOW_KUBERAY"] + "/crd")
        control_plane.kubectl("apply", "-f", str(ROOT / "crds/afterglow.dev_rayfailures.yaml"))
        for plural in ("rayclusters", "rayfailures"):
            wait_for(f"the kind {plural}", lambda plural=plural: control_plane.api().items(plural) is not None)
        yield control_plane
    finally:
        control_plane.stop()


@pytest.mark.long
@pytest.mark.skipif("AFTERGLOW_KUBERAY" not in os.environ, reason="e2e/kuberay/compare.sh runs it, with KubeRay")
def test_the_real_kuberay_is_seen_and_its_clusters_are_left_alone(other_plane, tmp_path):
    api, home = new_namespace(other_plane, "ml"), new_namespace(other_plane, "kuberay-home")
    command = [os.environ["AFTERGLOW_KUBERAY"] + "/kuberay-operator", "--enable-leader-election",
               "--leader-election-namespace", home.namespace, "--metrics-addr", f"127.0.0.1:{free_port()}", "--health-probe-bind-address",
               f"127.0.0.1:{free_port()}"]
    kuberay = Daemon(command, tmp_path / "kuberay.log", {**os.environ, "KUBECONFIG": str(other_plane.kubeconfig("kuberay"))})
    operators = Operators(other_plane, api.namespace, tmp_path)
    # It writes the name of this machine, which is not a pod.
    try:
        wait_for("KubeRay", lambda: "Starting workers" in kuberay.text(), timeout=120)
        operator = operators("--kuberay-namespaces", home.namespace)
        wait_for("the refusal", lambda: f"KubeRay runs in namespace {home.namespace}" in operator.text())
        api.create("rayclusters", ray_cluster("demo", group("small", 1)))
        RayCluster(api, "demo").wait_pods(1, 1)
        wait_looks(operator, 2)
        assert others_writes(other_plane, api.namespace) == []
        kuberay.stop()
        # It is a minute until the operator believes that.
        RayCluster(api, "demo").scale(small=2)
        RayCluster(api, "demo").wait_pods(1, 2)
        assert operator.metric(MANAGES) == 1
    finally:
        kuberay.stop()
        operators.close()


# --- there and back ---

@pytest.fixture
def switch(other_plane, tmp_path):
    """Starts one of the two operators after the other; each alone."""
    api = new_namespace(other_plane, "ml")
    operators, running = Operators(other_plane, api.namespace, tmp_path), []

    def start_kuberay():
        command = [os.environ["AFTERGLOW_KUBERAY"] + "/kuberay-operator", "--enable-leader-election=false", "--watch-namespace", api.namespace,
                   "--metrics-addr", f"127.0.0.1:{free_port()}", "--health-probe-bind-address", f"127.0.0.1:{free_port()}"]
        daemon = Daemon(command, tmp_path / f"kuberay-{len(running)}.log",
                        {**os.environ, "KUBECONFIG": str(other_plane.kubeconfig("kuberay"))})
        running.append(daemon)
        wait_for("KubeRay", lambda: "Starting workers" in daemon.text(), timeout=120)
        return daemon

    try:
        yield api, start_kuberay, operators
    finally:
        for daemon in running:
            daemon.stop()
        operators.close()


def uids(cluster):
    return {p["metadata"]["uid"] for p in cluster.pods()}


def annotations(cluster):
    return [p["metadata"]["annotations"] for p in cluster.pods()]


@pytest.mark.long
@pytest.mark.skipif("AFTERGLOW_KUBERAY" not in os.environ, reason="e2e/kuberay/compare.sh runs it, with KubeRay")
def test_a_switch_from_the_real_kuberay_and_back_restarts_no_cluster(switch):
    api, start_kuberay, operators = switch
    recreate = {"upgradeStrategy": {"type": "Recreate"}}
    kuberay = start_kuberay()
    theirs, plain, shrunk = (RayCluster(api, name) for name in ("theirs", "plain", "shrunk"))
    api.create("rayclusters", ray_cluster("theirs", group("small", 2), **recreate))
    api.create("rayclusters", ray_cluster("plain", group("small", 1)))
    api.create("rayclusters", ray_cluster("shrunk", group("small", 1), group("gone", 1)))
    theirs.wait_pods(1, 2)
    plain.wait_pods(1, 1)
    shrunk.wait_pods(1, 2)
    shrunk.patch({"workerGroupSpecs": [group("small", 1)]})
    before = [uids(cluster) for cluster in (theirs, plain, shrunk)]
    kuberay.stop()

    operator = operators()
    wait_for("adoption", lambda: all("afterglow.dev/recreate-hash" in a for a in annotations(theirs)))
    api.create("rayclusters", ray_cluster("ours", group("small", 2), **recreate))
    ours = RayCluster(api, "ours")
    ours.wait_pods(1, 2)
    plain.scale(small=2)
    plain.wait_pods(1, 2)
    wait_for("a look at the cluster without a group", lambda: "afterglow.dev/SpecValid" in str(shrunk.get().get("status")))
    assert [uids(theirs), uids(shrunk)] == [before[0], before[2]] and before[1] < uids(plain)
    before = [uids(theirs), uids(ours)]
    operator.stop()

    start_kuberay()
    wait_for("adoption by KubeRay", lambda: [a for a in annotations(ours) if a.get("ray.io/kuberay-version", "").startswith("v")])
    plain.scale(small=3)
    plain.wait_pods(1, 3)
    assert [uids(theirs), uids(ours)] == before
    newer = group("small", 2)
    newer["template"]["spec"]["containers"][0]["image"] = "ray:newer"
    for cluster, old in zip((theirs, ours), before):
        cluster.patch({"workerGroupSpecs": [newer]})
        wait_for("other pods", lambda cluster=cluster, old=old: len(uids(cluster)) == 3 and not uids(cluster) & old, timeout=60)
