# SPDX-License-Identifier: Apache-2.0
"""Tasks run out of memory, the advice of their reports is followed to the letter, and the same tasks end well."""

import re

import pytest

from conftest import wait_for
from kuberay.objects import cluster_spec, container, group, template

LIMIT = "1000Mi"
# What each kind of advice is about: what runs on a worker of the kind, how many at a time, and what Ray is told there.
KINDS = {
    # One task that needs more than there is.
    "large": ("kept = [fill(8 << 20) for _ in range(95)]", 1, {"num-cpus": "1"}),
    # More copies of a task than fit.
    "many": ("kept = [fill(8 << 20) for _ in range(20)]; time.sleep(5)", 6, {"num-cpus": "6"}),
    # An object store that takes all of the memory.
    "objects": ("kept = [ray.put(fill(40 << 20)) for _ in range(22)]", 1, {"num-cpus": "1", "object-store-memory": "1000000000"}),
}
FILL = """
def fill(size):
    time.sleep(0.03)
    return bytes(bytearray(size))
"""
TASKS = """
@ray.remote(max_retries=0, resources={{"{kind}": 0.01}}{options})
def {kind}():
    {work}
    return "done"
"""
# The head has no CPUs. Each kind has a worker of its own, by a resource of its name.
RUN = """
started += [({kind!r}, {kind}.remote()) for _ in range({copies})]
"""
REPORT = """
for kind, task in started:
    try:
        print("@", kind, ray.get(task), flush=True)
    except Exception as error:
        print("@", kind, type(error).__name__, flush=True)
"""


def script_of(options):
    tasks = [TASKS.format(kind=kind, work=work, options=options.get(kind, "")) for kind, (work, _, _) in KINDS.items()]
    runs = [RUN.format(kind=kind, copies=copies) for kind, (_, copies, _) in KINDS.items()]
    return FILL + "".join(tasks) + "started = []\n" + "".join(runs) + REPORT


def worker_group(kind, params, limit):
    return group(kind, template(container("ray-worker", limit)),
                 rayStartParams={"resources": f'"{{\\"{kind}\\": 1}}"', **KINDS[kind][2], **params})


def outcomes(owner, script):
    """Runs the script when all workers are there. Returns the outcomes of each kind of task."""
    owner.wait_ready("head", timeout=180)
    for kind in KINDS:
        owner.wait_ready(group_name=kind, timeout=180)
    found = {kind: set() for kind in KINDS}
    for line in owner.run(script, timeout=300).splitlines():
        if line.startswith("@ "):
            _, kind, outcome = line.split()
            found[kind].add(outcome)
    return found


def followed(advice):
    """Returns what the first of the alternatives of an advice says: rayStartParams, arguments of @ray.remote, and a limit."""
    advice = re.sub(r"[;,] or .*?(?=; (?!or )|$)", "", advice)
    params = dict(re.findall(r'([a-z-]+): "(\d+)" in rayStartParams', advice))
    options = "".join(f", {found}" for found in re.findall(r"@ray\.remote\(([^)]*)\)", advice))
    limit = re.search(r"a limit of ([\d.]+) ([MG]i)B or more", advice)
    return params, options, f"{float(limit[1]) * (1024 if limit[2] == 'Gi' else 1):.0f}Mi" if limit else LIMIT


@pytest.fixture(name="advice", scope="module")
def advice_of_deaths(kuberay):
    """The advice of the death of each kind's worker."""
    kuberay.give(before=script_of({}))
    owner = kuberay.create("RayCluster", "before", cluster_spec(*(worker_group(kind, {}, LIMIT) for kind in KINDS)))
    found = outcomes(owner, "before")
    assert all("done" not in found[kind] for kind in KINDS if kind != "many"), found

    def advice(kind):
        (failure,) = [f for f in owner.failures() if f["spec"]["class"] == "KernelOOMContainer" and f"-{kind}-worker-" in f["spec"]["pod"]]
        return failure["spec"]["advice"]
    said = {kind: wait_for(f"the advice for {kind}", lambda kind=kind: advice(kind), timeout=60) for kind in KINDS}
    kuberay.k("delete", "raycluster", "before", "--wait=false")
    return said


@pytest.mark.long
def test_tasks_that_ran_out_of_memory_end_well_once_the_advice_is_followed_to_the_letter(kuberay, advice):
    steps = {kind: followed(advice[kind]) for kind in KINDS}
    assert "memory" in steps["large"][0] and steps["large"][1] and steps["large"][2] != LIMIT, advice
    assert steps["many"][1], advice
    assert "object-store-memory" in steps["objects"][0], advice
    kuberay.give(after=script_of({kind: options for kind, (_, options, _) in steps.items()}))
    owner = kuberay.create("RayCluster", "after", cluster_spec(*(worker_group(kind, steps[kind][0], steps[kind][2]) for kind in KINDS)))
    assert outcomes(owner, "after") == {kind: {"done"} for kind in KINDS}, advice
    assert not owner.failures()
