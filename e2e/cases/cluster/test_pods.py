# SPDX-License-Identifier: Apache-2.0
"""Whatever is special about pods as people write them, their end is explained.

Plain commands run in place of Ray, and all pods at once.
"""

import json

import pytest

from cluster.conftest import RAY_IMAGE, SIDECAR_SOCKET, VERSION, WATCHED, check_bundle, container, container_status
from conftest import wait_for

# Fills its memory in steps that show in the samples.
HOG = "import time\nk=[]\nwhile True:\n    k.append(bytearray(4 << 20)); time.sleep(.02)\n"
SHELL = f"sleep 2; exec python3 -c '{HOG}'"
# Whoever is to be named has to be seen.
WATCHED_HOG = f"import os, time\nwhile not os.path.exists('{SIDECAR_SOCKET}'):\n    time.sleep(.5)\ntime.sleep(3)\n{HOG}"
WATCHED_SHELL = f"{WATCHED}; exec python3 -c '{HOG}'"
OWN_COMMAND = {"ray.io/overwrite-container-cmd": "true", "afterglow.dev/oom-group": "true"}


def worker(command=None, memory="100Mi", **extra):
    """Returns a container with a command of its own, which the operator leaves as it is."""
    return {**container("ray-worker", memory, command=command or ["/bin/bash", "-c", WATCHED_SHELL]),
            "annotations": dict(OWN_COMMAND), **extra}


def neighbour(name, command, memory="100Mi"):
    return {"name": name, "image": RAY_IMAGE, "imagePullPolicy": "IfNotPresent", "command": command,
            "resources": {"limits": {"memory": memory}}}


BALLAST = ["python3", "-c", "k = bytearray(60 << 20)\nimport time\ntime.sleep(1000)"]

GROUPS = {
    "exec-form": worker(["python3", "-c", WATCHED_HOG]),
    "own-log": worker(terminationMessagePath="/tmp/last words", terminationMessagePolicy="FallbackToLogsOnError"),
    "read-only": worker(securityContext={
        "readOnlyRootFilesystem": True, "runAsUser": 4711, "runAsGroup": 4711, "runAsNonRoot": True,
        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}),
    "shared-pid": worker(pod={"shareProcessNamespace": True}, neighbours=[neighbour("ballast", BALLAST)]),
    "host-pid": worker(pod={"hostPID": True}),
    "host-net": worker(pod={"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}),
    "sub-path": worker(volumes=[{"name": "tmp", "emptyDir": {}}],
                       volumeMounts=[{"name": "tmp", "mountPath": "/tmp/ray", "subPath": "a"}]),
    "hooks": worker(lifecycle={"postStart": {"exec": {"command": ["/bin/sh", "-c", "sleep 1"]}},
                               "preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 1"]}}}),
    "slow": {**worker(), "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "100Mi", "cpu": "50m"}}},
    "small": worker(memory="12Mi"),
    "twins": worker(neighbours=[neighbour("twin", ["/bin/sh", "-c", SHELL])]),
    # No shell in the image, and a command that needs none.
    "shell-less": {**worker(["/usr/libexec/afterglow/afterglow-sidecar", "--help"]),
                   "image": f"localhost/afterglow-sidecar:{VERSION}"},
    "deadline": worker(["sleep", "1000"], pod={"activeDeadlineSeconds": 15}),
    "bad-hook": worker(["sleep", "1000"], lifecycle={"postStart": {"exec": {"command": ["false"]}}}),
    "disk": {**worker(["/bin/bash", "-c", "sleep 2; head -c 60M /dev/zero >/tmp/large; exec sleep 1000"]),
             "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "100Mi", "ephemeral-storage": "20Mi"}}},
    "init": worker(["sleep", "1000"], pod={"initContainers": [neighbour("prepare", ["/bin/sh", "-c", SHELL])]}),
}


@pytest.fixture(scope="module")
def pods(new_cluster, volume):
    assert volume.is_dir()
    return new_cluster("pods", json.loads(json.dumps(GROUPS)))


def pod_of(pods, group):
    """Returns the name of the group's pod."""
    def find():
        return [p["metadata"]["name"] for p in pods.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == group]
    return wait_for(f"a pod of group {group}", find)[0]


def oom_of(pods, volume, group):
    failure = pods.wait_failure(pod=pod_of(pods, group), container="ray-worker", exitCode=137, timeout=90)
    # No kernel log names the victim. It is certain only where the sidecar ended the container, before the command's end was heard of.
    assert failure["class"] == "KernelOOMContainer" and failure["confidence"] in {"certain", "likely"}, failure
    assert check_bundle(volume / failure["bundle"].partition("/")[2])["class"] == "KernelOOMContainer"
    return failure


@pytest.mark.parametrize("group", [
    "exec-form", "own-log", "read-only", "shared-pid", "host-pid", "host-net", "sub-path", "hooks", "slow", "twins"])
def test_an_oom_is_explained_whatever_the_pod(pods, volume, group):
    failure = oom_of(pods, volume, group)
    assert "the kernel killed python3" in failure["verdict"]
    # Nobody else's processes: not the neighbour's, not the node's.
    names = [process["name"] for process in failure["processes"]]
    assert names[0] == "python3" and set(names[1:]) <= {"afterglow-launch"}, names


def test_where_a_program_does_not_even_fit_at_its_start_the_limit_is_named(pods, volume):
    """Python takes 12 MiB within a few milliseconds, so nobody may have seen which process it was."""
    assert "its memory limit of 12.0 MiB" in oom_of(pods, volume, "small")["verdict"]


def test_the_report_is_the_last_word_where_the_container_wants_its_last_words(pods):
    name = pod_of(pods, "own-log")

    def last_words():
        status = container_status(pods.k.json("pod", name), "ray-worker")
        return (status["lastState"].get("terminated") or status["state"]["terminated"])["message"]
    assert wait_for("the end", last_words).startswith("Container ray-worker was ended by the kernel's OOM killer")


@pytest.mark.parametrize("group, container_name, failure_class, words", [
    ("twins", "twin", "KernelOOMContainer", "Container twin of "),
    ("init", "prepare", "KernelOOMContainer", "Container prepare of "),
    ("shell-less", "ray-worker", "StartFailure", 'exec: "/bin/sh": stat /bin/sh: no such file or directory'),
    ("bad-hook", "ray-worker", "StartFailure", "its postStart hook failed"),
    ("deadline", "ray-worker", "Evicted", "its pod ran longer than its activeDeadlineSeconds"),
    ("disk", "ray-worker", "Evicted", "ephemeral local storage usage exceeds the total limit of containers 20Mi"),
])
def test_what_the_pods_status_and_events_tell_is_in_the_verdict(pods, group, container_name, failure_class, words):
    failure = pods.wait_failure(container=container_name, group=group, failure_class=failure_class, timeout=120)
    assert words in failure["verdict"], failure
    if container_name != "ray-worker":
        assert "this is another" in failure["missing"][0]["what"]
