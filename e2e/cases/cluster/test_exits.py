# SPDX-License-Identifier: Apache-2.0
"""Containers that end in other ways are not taken for OOM kills."""

import shlex
import subprocess

import pytest

from cluster.conftest import ROOT, WATCHED, Kubectl, check_bundle, container
from conftest import wait_for
from live import FIRST


def worker(command):
    """Returns a container with a command of its own, which the operator leaves as it is."""
    return {**container("ray-worker", "300Mi", command=["/bin/bash", "-c", "--", command]),
            "annotations": {"ray.io/overwrite-container-cmd": "true"}}


HELD = {"ray.io/overwrite-container-cmd": "true", "afterglow.dev/hold-on-failure": "600"}


@pytest.fixture(scope="module")
def deaths(new_cluster, volume):
    assert volume.is_dir()
    return new_cluster("deaths", {
        "killed": worker("sleep 3; exec python3 -c 'import os; os.kill(os.getpid(), 9)'"),
        "segfault": worker(f"{WATCHED}; exec python3 -c 'import ctypes; ctypes.string_at(0)'"),
        "error": worker("sleep 3; exit 3"),
        "missing": worker("sleep 3; no-such-command"),
        "held": {**worker("sleep 3; exit 5"), "annotations": HELD},
    })


def pod_of(deaths, group):
    """Returns the name of the group's pod."""
    def find():
        return [p["metadata"]["name"] for p in deaths.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == group]
    return wait_for(f"a pod of group {group}", find)[0]


@pytest.mark.parametrize("group, code, signal, failure_class", [
    ("killed", 137, "SIGKILL", "Killed"),
    ("segfault", 139, "SIGSEGV", "Segfault"),
    ("error", 3, None, "ApplicationError"),
    ("missing", 127, None, "CommandNotFound"),
])
def test_the_exit_code_and_the_class_tell_how_it_ended(deaths, volume, group, code, signal, failure_class):
    failure = deaths.wait_failure(pod=pod_of(deaths, group), restartCount=FIRST, timeout=90)
    assert (failure["exitCode"], failure.get("signal"), failure["class"]) == (code, signal, failure_class)
    # 127 is the shell's word for a command of its own.
    assert failure["confidence"] == ("likely" if group == "missing" else "certain")
    report = check_bundle(volume / failure["bundle"].partition("/")[2])
    assert report["class"] == failure_class


def test_the_plugin_brings_a_bundle_from_the_claim_and_leaves_no_pod(deaths, volume, k, tmp_path):
    bundle = deaths.wait_failure(pod=pod_of(deaths, "error"), restartCount=FIRST, timeout=90)["bundle"]
    (name,) = [f["metadata"]["name"] for f in k.items("rayfailures") if f["spec"].get("bundle") == bundle]
    result = subprocess.run([ROOT / "build/kubectl-afterglow", "bundle", name, tmp_path / "out", "-n", k.namespace],
                            capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, result.stderr
    assert check_bundle(tmp_path / "out")["class"] == "ApplicationError"
    there = volume / bundle.partition("/")[2]
    visible = {p.relative_to(there): p.read_bytes() for p in there.rglob("*") if p.is_file() and not p.name.startswith(".")}
    assert {p.relative_to(tmp_path / "out"): p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()} == visible
    wait_for("the reader to go", lambda: not k.items("pods", "-l", "app.kubernetes.io/name=afterglow-reader"))


def test_a_crash_in_native_code_leaves_its_backtrace_and_its_core(deaths, volume):
    failure = deaths.wait_failure(pod=pod_of(deaths, "segfault"), restartCount=FIRST, timeout=90)
    assert "crashed with SIGSEGV in " in failure["verdict"]
    bundle = volume / failure["bundle"].partition("/")[2]
    crash = check_bundle(bundle)["crash"]
    assert (crash["signal"], crash["process"]) == ("SIGSEGV", "python3")
    assert crash["frame"]["module"] and crash["faultAddress"] == "0x0"
    backtrace = (bundle / "backtrace.txt").read_text()
    assert backtrace.startswith("SIGSEGV at address 0x0") and "ctypes" in backtrace
    # It follows the report, and the manifest follows it.
    wait_for("the core", lambda: "core.python3." in (bundle / "MANIFEST.json").read_text(), timeout=60)
    core, = bundle.glob("core.python3.*.zst")
    whole = subprocess.run(["zstd", "-qdc", core], capture_output=True, check=True).stdout
    assert whole[:4] == b"\x7fELF" and whole[16:18] == b"\x04\0"
    assert check_bundle(bundle)["class"] == "Segfault"


def test_a_crash_loop_gives_one_rayfailure_for_each_death(deaths):
    # Restarted by the kubelet, dead again: another container instance, another record.
    name = pod_of(deaths, "error")
    deaths.wait_failure(pod=name, restartCount=FIRST, timeout=60)
    deaths.wait_failure(pod=name, restartCount=1, timeout=60)
    records = [f["spec"]["containerID"] for f in deaths.failures() if f["spec"]["pod"] == name and "containerID" in f["spec"]]
    assert len(records) == len(set(records))


def test_a_hold_is_an_event_of_the_pod_that_says_how_to_end_it(deaths):
    name = pod_of(deaths, "held")
    note = wait_for("the event", lambda: deaths.k("get", "events", "-o", "jsonpath={.items[*].message}", "--field-selector",
                                                  f"involvedObject.name={name},reason=Held"), timeout=90)
    assert "Container ray-worker has failed. It is held until" in note
    assert not [f for f in deaths.failures() if f["spec"]["pod"] == name], "it has not ended"
    program, *command = shlex.split(note.partition("Release it with: ")[2])
    assert program == "kubectl"
    Kubectl().run(*command)
    assert deaths.wait_failure(pod=name, exitCode=5, timeout=60)["class"] == "ApplicationError"
