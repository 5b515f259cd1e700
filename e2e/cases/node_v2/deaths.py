# SPDX-License-Identifier: Apache-2.0
"""Lets containers die repeatedly on the node, and checks what is reported of them."""

import json

from conftest import wait_for
from live import check_bundle, container, container_status


# In place of those that a head gets by itself: nothing here serves Ray's health, and on a slow machine the kubelet would end the
# container for that before its test has come.
NO_PROBE = {"exec": {"command": ["true"]}, "initialDelaySeconds": 24 * 3600}


def head(script, memory="100Mi", **extra):
    """Returns the head's container with a command of its own, which the operator does not change. It is a head, because workers
    would wait for one."""
    pod = {"automountServiceAccountToken": False, **extra.pop("pod", {})}
    return {**container("ray-head", memory, command=["/bin/bash", "-c", script]), "pod": pod,
            "livenessProbe": NO_PROBE, "readinessProbe": NO_PROBE,
            "annotations": {"ray.io/overwrite-container-cmd": "true"}, **extra}


class Deaths:
    """Clusters of only a head; the head's container dies repeatedly."""

    def __init__(self, clusters, go):
        self.clusters = clusters
        self.go = go

    def pod(self, name):
        return self.clusters[name].pod("head")

    def ray(self, name):
        return container_status(self.pod(name), "ray-head")

    def sidecar(self, name):
        status = self.pod(name)["status"]
        (found,) = [s for s in status["containerStatuses"] + status.get("initContainerStatuses", []) if s["name"] == "afterglow"]
        return found

    def wait_watched(self, name, instance=0):
        """Waits until the sidecar watches that instance of the container."""
        def watched():
            status = self.ray(name)
            assert status["restartCount"] == instance and "running" in status["state"], status
            started = status["state"]["running"]["startedAt"]
            cluster = self.clusters[name]
            log = cluster.k("logs", cluster.pod_name("head"), "-c", "afterglow", "--timestamps")
            attached = [line for line in log.splitlines() if '"attached"' in line]
            assert attached and attached[-1].partition(".")[0] >= started.rstrip("Z"), attached
            return status
        return wait_for(f"the sidecar of {name} to watch instance {instance}", watched, timeout=120, interval=1)

    def failure(self, name, instance=0):
        return self.clusters[name].wait_failure(container="ray-head", restartCount=instance, timeout=120)

    def die(self, name, instance=0):
        """Waits until an instance is watched, lets it do its deed, and returns its RayFailure."""
        self.wait_watched(name, instance)
        self.go.start(name, instance)
        return self.failure(name, instance)


def brief(failure):
    return failure["class"], failure["confidence"], failure["exitCode"], failure.get("signal")


def says(failure):
    return json.dumps(failure, indent=1)


def check_crash(failure, volume, function):
    """
    Checks the report of a segmentation fault in a Python function, and its backtrace. A report waits only a few seconds
    for the backtrace; on a slow node it comes later, and the report says so.
    """
    assert brief(failure) == ("Segfault", "certain", 139, "SIGSEGV"), says(failure)
    bundle = volume / failure["bundle"].partition("/")[2]
    late = any(m["what"] == "backtrace" for m in failure.get("missing", []))
    wait_for("the backtrace", lambda: '"backtrace.txt"' in (bundle / "MANIFEST.json").read_text())
    crash = check_bundle(bundle)["crash"]
    assert (crash["signal"], crash["process"]) == ("SIGSEGV", "python3")
    assert late or crash["faultAddress"] == "0x0" and "crashed with SIGSEGV in " in failure["verdict"], says(failure)
    assert f" in {function}\n" in (bundle / "backtrace.txt").read_text()
