#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
record.py KUBERAY OUT [SAMPLES]: has KubeRay's operator, of the directory that bench/operator/kuberay/build.sh prints, act on
clusters.yaml (or on the manifests of the folder SAMPLES), on a real etcd and kube-apiserver, and writes what it made.
"""

import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "e2e/cases"))

# pylint: disable=wrong-import-position # they are where the tests are
from apiserver import kuberay  # noqa: E402
from apiserver.control_plane import ControlPlane, Daemon, free_port  # noqa: E402
from conftest import wait_for  # noqa: E402

USER = "kuberay"
QUIET_S = 2.5


def settle(plane, namespace):
    """Returns when KubeRay has written nothing for a while: on a machine with nothing else to do it is at rest then."""
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_S:
        now = len(plane.writes(namespace, user=USER))
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.25)


def play(plane, program, scene, namespace, **environment):
    plane.api().create("namespaces", {"metadata": {"name": namespace}})
    daemon = Daemon([program / "kuberay-operator", "--watch-namespace", namespace, "--enable-leader-election=false",
                     "--qps", "10000", "--burst", "10000", "--reconcile-concurrency", "8",
                     "--metrics-addr", f"127.0.0.1:{free_port()}", "--health-probe-bind-address", f"127.0.0.1:{free_port()}"],
                    plane.file(f"{namespace}.log"), {**os.environ, **environment, "KUBECONFIG": str(plane.kubeconfig(USER))})
    try:
        wait_for("KubeRay to be ready", lambda: "Starting workers" in daemon.text(), timeout=120, interval=0.1)
        return kuberay.Play(plane.api().within(namespace), lambda: settle(plane, namespace)).play(scene)
    finally:
        daemon.stop()


def record(directory, program, samples):
    plane = ControlPlane(directory)
    usual, login = kuberay.scenes(samples)
    try:
        plane.start()
        plane.issue(USER, f"/O=system:masters/CN={USER}")
        plane.kubectl("apply", "--server-side", "-f", str(program / "crd"))
        wait_for("KubeRay's kinds", lambda: plane.api().items("rayclusters") is not None, interval=0.1)
        played = play(plane, program, usual, "facts-of-it")
        if login:
            played.facts |= play(plane, program, login, "facts-by-login", ENABLE_LOGIN_SHELL="true").facts
        return played
    finally:
        plane.stop()


def main():
    program, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    samples = sys.argv[3] if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory() as directory:
        played = record(pathlib.Path(directory), program, samples)
    text = {"version": (program / "version").read_text(encoding="ascii").strip(), "clusters": kuberay.pack(played.facts),
            "refused": played.answers}
    out.write_text(json.dumps(text, indent=1, sort_keys=False, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
