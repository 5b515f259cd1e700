# SPDX-License-Identifier: Apache-2.0
"""Containers die in the ways that need Kubernetes, and the report of each has the right class.

Plain commands run in place of Ray, and all pods at once. What needs no cluster (signals, limits of
processes and memory) is in e2e/kernel/exec_test.sh; OOM kills and Ray's own are in the cases beside.
"""

import json

import pytest

from cluster.conftest import WATCHED, container
from conftest import wait_for
from live import FIRST


def worker(command, **extra):
    """Returns a container with a command of its own, which the operator leaves as it is."""
    return {**container("ray-worker", "300Mi", command=["/bin/bash", "-c", "--", command]),
            "annotations": {"ray.io/overwrite-container-cmd": "true"}, **extra}


def with_volume(command, empty_dir):
    return worker(command, volumes=[{"name": "data", "emptyDir": empty_dir}],
                  volumeMounts=[{"name": "data", "mountPath": "/data"}])


# Fails once, when the command runs: of a pod with many restarts the kubelet tells of few kills (25 events, then one in 5 min).
FAILING_PROBE = {"exec": {"command": ["/bin/sh", "-c", "until [ -e /tmp/up ]; do sleep .2; done; exit 1"]},
                 "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 600}

# Process 1 has to catch SIGTERM, or the kernel drops it.
STOPS = "trap 'exit 143' TERM; while :; do sleep .2; done"

GROUPS = {
    "liveness": worker(f"touch /tmp/up; {STOPS}", livenessProbe=FAILING_PROBE),
    # Deaf to SIGTERM: SIGKILL follows when the grace has passed.
    "startup": worker("trap '' TERM; touch /tmp/up; while :; do sleep 1; done",
                      startupProbe={**FAILING_PROBE, "terminationGracePeriodSeconds": 2}),
    "deleted": worker(STOPS),
    "api-eviction": worker("exec sleep 1000"),
    # Looked at by the kubelet once a minute.
    "eviction": with_volume("sleep 2; head -c 40M /dev/zero >/data/large; exec sleep 1000", {"sizeLimit": "1Mi"}),
    "full": with_volume(f"{WATCHED}; head -c 8M /dev/zero >/data/large", {"medium": "Memory", "sizeLimit": "1Mi"}),
    "executable": worker("sleep 2; /etc/passwd"),
    "interrupted": worker("sleep 2; exit 130"),
    "terminated": worker("sleep 2; kill -TERM $BASHPID; sleep 1"),
    "image": {**worker("true"), "image": "localhost/no-such-image:1", "imagePullPolicy": "Never"},
    "pull": {**worker("true"), "image": "127.0.0.1:1/no-such-image:1", "imagePullPolicy": "Always"},
    "config": {**worker("true"), "envFrom": [{"configMapRef": {"name": "no-such-map"}}]},
    "start": {**container("ray-worker", "300Mi", command=["/no/such/command"]),
              "annotations": {"ray.io/overwrite-container-cmd": "true", "afterglow.dev/inject": "false"}},
}


@pytest.fixture(scope="module")
def classes(new_cluster, volume):
    assert volume.is_dir()
    return new_cluster("classes", json.loads(json.dumps(GROUPS)))


def pod_of(classes, group):
    """Returns the name of the group's pod."""
    def find():
        return [p["metadata"]["name"] for p in classes.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == group]
    return wait_for(f"a pod of group {group}", find)[0]


def running_pod_of(classes, group):
    """Returns the name of the pod, when the sidecar in it watches the container."""
    name = pod_of(classes, group)
    wait_for("the sidecar to watch it", lambda: '"attached"' in classes.k("logs", name, "-c", "afterglow", check=False))
    return name


def texts(failure):
    return " ".join(f"{e['source']}: {e['text']}" for e in failure["evidence"])


@pytest.mark.parametrize("group, failure_class, confidence, code, evidence", [
    ("interrupted", "Interrupted", "likely", 130, "SIGINT"),
    ("terminated", "Terminated", "certain", 143, "SIGTERM"),
    ("executable", "CommandNotExecutable", "likely", 126, "exit code 126"),
    ("full", "DiskFull", "likely", 1, "/data has 0 B left of 1.0 MiB"),
])
def test_an_instance_that_ended_has_its_class(classes, group, failure_class, confidence, code, evidence):
    # What the first has filled is full already when the next begins.
    failure = classes.wait_failure(pod=pod_of(classes, group), restartCount=FIRST, timeout=60)
    assert (failure["class"], failure["confidence"], failure["exitCode"]) == (failure_class, confidence, code), failure
    assert evidence in texts(failure)


def test_a_command_that_is_not_there_is_a_start_failure(classes):
    # The kubelet tries again within a second, and a busy one then shows nothing of the first attempt.
    failure = classes.wait_failure(pod=pod_of(classes, "start"), timeout=60)
    assert (failure["class"], failure["confidence"], failure["exitCode"]) == ("StartFailure", "certain", 128), failure
    assert "/no/such/command" in texts(failure)


@pytest.mark.parametrize("group, code", [("liveness", 143), ("startup", 137)])
def test_a_probes_kill_is_told_from_others(classes, group, code):
    failure = classes.wait_failure(pod=pod_of(classes, group), restartCount=FIRST, timeout=60)
    assert (failure["class"], failure["confidence"], failure["exitCode"]) == ("ProbeKilled", "likely", code), failure
    assert f"failed {group} probe" in texts(failure)


@pytest.mark.parametrize("group, reason", [
    ("image", "ErrImageNeverPull"), ("pull", "ImagePullBackOff"), ("config", "CreateContainerConfigError"),
])
def test_a_container_that_cannot_be_started_is_a_failure_once(classes, group, reason):
    name = pod_of(classes, group)
    failure = classes.wait_failure(pod=name, timeout=60)
    assert (failure["class"], failure["kubernetesReason"]) == ("StartFailure", reason)
    assert "exitCode" not in failure and "containerID" not in failure
    assert len([f for f in classes.failures() if f["spec"]["pod"] == name]) == 1


def test_a_deleted_pod_is_told_from_a_killed_one(classes):
    name = running_pod_of(classes, "deleted")
    classes.k("delete", "pod", name, "--wait=false")
    failure = classes.wait_failure(pod=name)
    assert (failure["class"], failure["exitCode"]) == ("PodDeleted", 143), failure


def test_an_eviction_by_the_api_is_a_deletion_that_names_it(classes):
    name = running_pod_of(classes, "api-eviction")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    classes.k("create", "--raw", f"/api/v1/namespaces/{classes.k.namespace}/pods/{name}/eviction", "-f", "-",
              stdin=json.dumps(eviction))
    failure = classes.wait_failure(pod=name)
    assert failure["class"] == "PodDeleted", failure


def test_a_pod_over_the_limit_of_its_volume_is_evicted(classes):
    name = pod_of(classes, "eviction")

    def evicted():
        pod = next((p for p in classes.pods("worker") if p["metadata"]["name"] == name), None)
        assert not pod or pod["status"].get("reason") == "Evicted", pod["status"]
        return True
    wait_for("the kubelet to evict the pod", evicted, timeout=150)
    failure = classes.wait_failure(pod=name)
    assert failure["class"] == "Evicted", json.dumps(failure)
    assert "exceeds the limit" in texts(failure)
