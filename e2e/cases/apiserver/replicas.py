# SPDX-License-Identifier: Apache-2.0
"""Runs two replicas of the operator, of which the first is about to end."""

import contextlib
import signal

from conftest import wait_for
from apiserver.conftest import Operators, RayCluster, empty, group, new_namespace, ray_cluster
from apiserver.proxy import Proxy

LEADER = "leader_election_master_status"


class Replicas:
    """Two replicas with users of their own, so that the audit log tells them apart, and a cluster to look after."""

    def __init__(self, plane, directory, words, through=None):
        self.plane = plane
        self.api = new_namespace(plane, words)
        self.start = Operators(plane, self.api.namespace, directory)
        self.first = self.replica("first", through)
        wait_for("the first to act", lambda: self.first.metric(LEADER) == 1)
        self.second = self.replica("second").restart_when_lost()
        self.api.create("rayclusters", ray_cluster("demo", group("small", 1)))
        self.cluster = RayCluster(self.api, "demo")
        self.cluster.wait_pods(1, 1)

    def replica(self, user, through=None):
        self.plane.issue(user, f"/O=system:masters/CN={user}")
        return self.start("--leader-elect", "--lease-namespace", self.api.namespace,
                          kubeconfig=self.plane.kubeconfig(user, port=through.port if through else None))

    def writers(self):
        """Returns which replica made each write, in their order, without writes of the Lease."""
        users = [(w["auditID"], user) for user in ("first", "second") for w in self.writes(user)]
        order = {w["auditID"]: n for n, w in enumerate(self.plane.writes(self.api.namespace, user=None))}
        return [user for audit_id, user in sorted(users, key=lambda u: order[u[0]])]

    def writes(self, user):
        return [w for w in self.plane.writes(self.api.namespace, user=user) if w["objectRef"]["resource"] != "leases"]

    def close(self):
        self.start.close()
        empty(self.api)

    def taken_over(self):
        """Returns when the second replica has done what the first could no longer do."""
        self.cluster.scale(small=3)
        self.cluster.wait_pods(1, 3)
        return self


@contextlib.contextmanager
def doomed_leaders(plane, new_directory):
    """Gives by name a leader that was killed, one that stands still, and one that is cut off, each with a standby."""
    with contextlib.ExitStack() as stack:
        proxy = Proxy(plane.port)
        stack.callback(proxy.close)
        made = {}
        for words, through in {"killed": None, "stopped": None, "cut-off": proxy}.items():
            made[words] = Replicas(plane, new_directory(words), words, through)
            stack.callback(made[words].close)
        made["killed"].first.stop(signal.SIGKILL)
        made["stopped"].first.send(signal.SIGSTOP)
        proxy.swallow()
        for replicas in made.values():
            replicas.cluster.scale(small=2)
        yield made
