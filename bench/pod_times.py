#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pod_times.py [PAIRS]: how long a pod with real Ray takes until its command runs, until Ray's port answers, until it is ready, and from its
deletion until it is gone: with Afterglow, without it, and with another second container that only sleeps, in turn. KUBECONFIG names a
cluster with Afterglow's webhook, such as `e2e/run.sh same` leaves; e2e/venv.sh has the Python. Prints the medians and their ratios."""

import pathlib
import re
import statistics
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e/cases"))
# pylint: disable=wrong-import-position # they are found by the line above
from conftest import Kubectl
from kuberay.same.table import ENDS, Row, pod
from kuberay.same.test_pods import Side, wait_for_launcher

START = """date +%s.%N
(until { exec 3<>/dev/tcp/127.0.0.1/6379; } 2>/dev/null; do sleep 0.02; done; date +%s.%N) &
ray start --head --num-cpus=1 --object-store-memory=100000000 --include-dashboard=false --block"""
READY = {"exec": {"command": ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/6379"]}, "periodSeconds": 1}
WHAT = ("until its command runs", "until Ray's port answers", "until it is ready", "until it is gone")


def ray_pod(sleeper):
    made = pod("ray", Row(ENDS, ["/bin/bash", "-c", "--"], [START]), {})
    ray = made["spec"]["containers"][-1]
    ray["resources"]["limits"]["memory"] = "2Gi"
    ray["resources"]["requests"] = {"memory": "1Gi"}
    ray["readinessProbe"] = READY
    made["spec"]["terminationGracePeriodSeconds"] = 30
    if sleeper:
        made["spec"]["containers"].append({"name": "sleeper", "image": ray["image"], "imagePullPolicy": "IfNotPresent",
                                           "command": ["bash", "-c", "trap exit TERM; sleep infinity & wait"],
                                           "resources": {"requests": {"memory": "16Mi"}, "limits": {"memory": "64Mi"}}})
    return made


def times(side, sleeper):
    begin = time.time()
    side.k.apply(ray_pod(sleeper))
    side.k("wait", "--for=condition=Ready", "pod/ray", "--timeout=180s", timeout=200)
    ready = time.time()
    runs, answers = map(float, re.findall(r"^[0-9]{10}[.][0-9]+$", side.k("logs", "ray", "-c", "ray-worker"), re.MULTILINE))
    time.sleep(3)
    stop = time.time()
    side.k("delete", "pod", "ray", timeout=120)
    return runs - begin, answers - begin, ready - begin, time.time() - stop


def main(pairs):
    name = "pod-times-" + uuid.uuid4().hex[:5]
    sides = [Side(name, {}), Side(name + "-without", {"afterglow.dev/inject": "disabled"})]
    for side in sides:
        side.make()
    wait_for_launcher(sides[0])
    ways = [(sides[0], False), (sides[1], False), (sides[1], True)]
    measured = [[times(*way) for way in ways] for _ in range(pairs)]
    for index, what in enumerate(WHAT):
        having, without, sleeper = (statistics.median(taken[way][index] for taken in measured) for way in range(len(ways)))
        print(f"{what}: {having:.2f} s with, {without:.2f} s without, ratio {having / without:.3f}; "
              f"with a container that sleeps {sleeper:.2f} s, ratio {sleeper / without:.3f}")
    for side in sides:
        Kubectl()("delete", "namespace", side.name, "--wait=false")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
