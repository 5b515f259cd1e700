# SPDX-License-Identifier: Apache-2.0
"""Each pod of the table runs twice, with launcher and sidecar and with neither. What a user can observe is the same, but for
the differences that are meant; and those are there."""

import collections
import datetime
import json
import os
import re
import uuid

import pytest
import yaml

from conftest import Kubectl, wait_for
from kuberay.same import table
from kuberay.same.table import MEANT, RESTARTS, ROWS, STOPPED, meant_of
from live import ROOT

RAY = "ray-worker"
CODE = ROOT / "e2e/cases/kuberay/same/probe.py"
# The ratio is one that the sidecar's own requests would break.
LIMITS = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "ratio"},
          "spec": {"limits": [{"type": "Container", "maxLimitRequestRatio": {"memory": "8"}}]}}
# Whether these are there depends on when one looks.
PASSING = {"BackOff", "FailedMount"}
INIT = "#!/bin/sh\nexec python3 /same/code/probe.py init exit\n"


class Side:
    """A namespace in which rows run, some at a time."""

    def __init__(self, name, labels):
        self.name, self.labels = name, labels
        self.rows, self.all_rows = [], []
        self.k = Kubectl(name)

    def make(self):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name, "labels": self.labels}}
        Kubectl().apply(namespace)
        self.k.apply(LIMITS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {
            "probe.py": CODE.read_text(), "init": INIT, "env.sh": "echo 'this shell read a file that the environment names'\n"}})

    def start(self, rows):
        self.rows = rows
        self.all_rows += rows
        pods = [table.pod(name, ROWS[name], {"same": ROWS[name].happens.split()[0]}) for name in rows]
        self.k("create", "-f", "-", stdin=yaml.safe_dump_all(pods))

    def pods(self):
        return {p["metadata"]["name"]: p for p in self.k.items("pods", "-l", "same")}

    def words(self, happens=None):
        """Returns what the probes in Ray's containers said, in order, and whether anything else was printed, by row."""
        log = self.k("logs", "-l", f"same={happens.split()[0]}" if happens else "same", "-c", RAY, "--prefix", "--tail=-1",
                     "--ignore-errors", "--max-log-requests=100")
        said, other = collections.defaultdict(list), collections.defaultdict(list)
        for name, line in re.findall(r"^\[pod/([^/]+)/[^]]+\] (.*)$", log, re.MULTILINE):
            if line.startswith("@same "):
                said[name].append(json.loads(line.removeprefix("@same ")))
            elif line.strip():
                other[name].append(line.strip())
        return said, other

    def are_ready(self):
        """Returns whether each pod that is to be stopped has said that it works."""
        said, _ = self.words(STOPPED)
        waits_for = self.stopped() - {n for n, s in said.items() if {"ready": True} in s}
        assert not waits_for, waits_for
        return True

    def stopped(self):
        return {name for name in self.rows if ROWS[name].happens == STOPPED}

    def stop(self):
        """Has the kubelet stop them, as for a deletion, but for that their logs and status stay."""
        if self.stopped():
            self.k("patch", "pod", *sorted(self.stopped()), "-p", '{"spec": {"activeDeadlineSeconds": 1}}')

    def are_over(self):
        not_over = {name: pod["status"]["phase"] for name, pod in self.pods().items()
                    if (ray_status(pod).get("restartCount", 0) < 1 if ROWS[name].happens == RESTARTS
                        else pod["status"]["phase"] not in ("Succeeded", "Failed"))}
        assert not not_over, not_over
        return True

    def last_words(self):
        """Returns the words when each container that starts again and again has just said some; its log begins anew each time."""
        said, other = self.words()
        assert all(said[name] for name in self.all_rows if ROWS[name].happens == RESTARTS)
        return said, other

    def observe(self):
        said, other = wait_for("what restarted containers say", self.last_words, interval=0.2)
        events = collections.defaultdict(set)
        for event in self.k.items("events.v1.", "--field-selector", "type=Warning"):
            if event["reason"] not in PASSING:
                events[event["involvedObject"]["name"]].add(event["reason"])
        return {name: observed(pod, said[name], other[name], sorted(events[name])) for name, pod in self.pods().items()}


def ray_status(pod):
    return next((s for s in pod["status"].get("containerStatuses", []) if s["name"] == RAY), {})


def outlived(pod, end):
    """Returns how long the pod went on after Ray's container had ended for good."""
    ends = [s["state"]["terminated"]["finishedAt"] for s in pod["status"].get("containerStatuses", []) if "terminated" in s["state"]]
    late = max(map(time_of, ends), default=0) - time_of(end["finishedAt"]) if end.get("finishedAt") else 0
    return "a minute or more" if late > 60 else "a moment"


def time_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def amount(worked):
    """Returns how long a pod worked after it was asked to stop. No row has a pod that ends in between."""
    return "the whole grace period" if worked > table.MOMENT else "a moment"


def observed(pod, said, other, warnings):
    """Returns all that a user can observe, as a tree."""
    status = ray_status(pod)
    end = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated") or {}
    # That a child was OOM-killed is known before or after its parent ended, by chance.
    reason = "Completed" if end.get("exitCode") == 0 else end.get("reason")
    merged = {key: value for words in said for key, value in words.items() if key not in ("worked", "signal")}
    # Who ends at once says nothing.
    worked = [words["worked"] for words in said if "worked" in words] or [0]
    return {
        **merged, "worked": amount(worked[-1]), "signals": [words["signal"] for words in said if "signal" in words],
        "pod_ends": outlived(pod, end), "message": [line for line in end.get("message", "").splitlines() if line == "mine"],
        "prints": [line for line in other if line in ("over", "this shell read a file that the environment names")],
        "phase": pod["status"]["phase"], "reason": pod["status"].get("reason"), "qos": pod["status"].get("qosClass"),
        "exit": [end.get("exitCode"), reason], "restarts": min(status.get("restartCount", 0), 1),
        "containers": {c["name"]: c["image"] for c in pod["spec"]["containers"]},
        "requests": [c["resources"].get("requests") for c in pod["spec"]["containers"]], "warnings": warnings,
    }


def flattened(tree, path=""):
    """Returns the leaves of a tree by their paths. A list is a leaf."""
    if not isinstance(tree, dict):
        return {path: tree}
    return {p: leaf for key, value in tree.items() for p, leaf in flattened(value, f"{path}.{key}" if path else key).items()}


def differences(one, other):
    """Returns path to both values, where they differ."""
    one, other = flattened(one), flattened(other)
    return {path: (one.get(path, "absent"), other.get(path, "absent")) for path in sorted({*one, *other})
            if one.get(path, "absent") != other.get(path, "absent")}


def wait_for_launcher(side):
    """The operator brings the launcher to a namespace with its first Ray pod; KubeRay's clusters are there before their pods."""
    first = table.pod("first", ROWS["fails"], {})
    first["spec"]["schedulerName"] = "nobody"
    side.k.apply(first)
    wait_for("the launcher", lambda: side.k.json("configmap", "afterglow-launch").get("binaryData"))
    side.k("delete", "pod", "first")


@pytest.fixture(name="both", scope="module")
def both_sides(request):
    """Returns what was observed of each row that -k selects, with Afterglow and without it."""
    name = "same-" + uuid.uuid4().hex[:5]
    rows = sorted({i.callspec.params["row"] for i in request.session.items if i.module is request.module and hasattr(i, "callspec")} or ROWS)
    sides = [Side(name, {}), Side(name + "-without", {"afterglow.dev/inject": "disabled"})]
    for side in sides:
        side.make()
    wait_for_launcher(sides[0])
    for i in range(0, len(rows), table.TOGETHER):
        for side in sides:
            side.start(rows[i:i + table.TOGETHER])
        for side in sides:
            wait_for("all pods to work", side.are_ready, timeout=200, interval=2)
        for side in sides:
            side.stop()
        for side in sides:
            wait_for("all pods to end", side.are_over, timeout=200, interval=2)
    yield [side.observe() for side in sides]
    for side in sides if not os.environ.get("AFTERGLOW_KEEP") else []:
        Kubectl()("delete", "namespace", side.name, "--wait=false")


@pytest.mark.parametrize("row", ROWS)
def test_nothing_differs_but_what_is_meant(both, row):
    unexpected = {what: values for what, values in differences(both[0][row], both[1][row]).items() if not meant_of(row, what)}
    assert not unexpected, json.dumps(unexpected, indent=1)


def test_every_difference_that_is_meant_is_there(both):
    absent = [(row, pattern) for meant in MEANT for row in sorted(meant.rows & set(both[0])) for pattern in meant.what
              if not any(table.fnmatch.fnmatchcase(what, pattern) for what in differences(both[0][row], both[1][row]))]
    assert not absent


def test_a_core_takes_a_share_of_a_small_disk_at_most(both):
    for name in table.CORES & set(both[0]):
        assert both[0][name]["core"] == ("large" if name == "child-crashes" else "some"), name


def test_what_happens_to_the_pods_happens_without_afterglow(both):
    """A row that does not do what its name says would compare nothing."""
    without = both[1]
    for name in without:
        if ROWS[name].happens == STOPPED:
            assert without[name]["ready"] and without[name]["reason"] == "DeadlineExceeded", name
    whole = {name for name in without if without[name]["worked"] == "the whole grace period"}
    assert {"bash-above", "dash-above", "default", "other-user", "ignores", "background"} & set(without) <= whole
    assert not {"handler", "bash-trap", "tini-like", "dumb-init-like", "shared-pid"} & whole
    assert {without[name]["child"] for name in without if name.startswith("child-crashes")} <= {-11}
