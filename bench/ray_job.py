#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ray_job.py VENV: the same job of real Ray plain and below `afterglow run`, in turn: its seconds, its processor time, and the memory of
Afterglow beside that of the job. VENV has Ray and the wheel. BENCH_COUNT rounds (default: 5)."""

import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
TRIES = 4
JOB = """
import time
import ray
ray.init("local", num_cpus=2, object_store_memory=200 << 20, include_dashboard=False, logging_level="error")
@ray.remote
def square(x):
    return x * x
ray.get([square.remote(i) for i in range(10)])
began = time.monotonic()
assert sum(ray.get([square.remote(i) for i in range(3000)])) == sum(i * i for i in range(3000))
print(time.monotonic() - began)
"""


def tree_of(root):
    """The PIDs of a process and of all below it."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    tree = {root}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return tree


def pss_kib(pid):
    """The memory of a process, what it shares divided among those who share it; its name."""
    try:
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0, ""
    return next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0), name


def cpu_seconds(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reap_orphans():
    """Some processes of Ray end seconds after their driver, and their processor time counts as well."""
    try:
        while os.waitpid(-1, 0):
            pass
    except ChildProcessError:
        pass


def run(command, folder):
    """Seconds of the job, of the 3,000 tasks, of processors, the most memory of the job and of Afterglow in KiB, processor seconds of Afterglow."""
    began, before, most, ours, own_cpu = time.monotonic(), os.times(), 0, 0, {}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "HOME": folder})  # fmt: skip
    while process.poll() is None:
        job = afterglow = 0
        for pid in tree_of(process.pid):
            kib, name = pss_kib(pid)
            if name.startswith("afterglow"):
                afterglow += kib
                own_cpu[pid] = cpu_seconds(pid)
            else:
                job += kib
        most, ours = max(most, job), max(ours, afterglow)
        time.sleep(0.5)
    ended = time.monotonic()
    out, err = process.communicate()
    reap_orphans()
    after = os.times()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{err}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return ended - began, float(out), cpu, most, ours, sum(own_cpu.values())


def run_again(command, folder):
    """On a busy machine Ray itself gives up at times while it starts: such a run says nothing."""
    for left in reversed(range(TRIES)):
        try:
            return run(command, folder)
        except RuntimeError as error:
            if not left:
                sys.exit(f"ray_job: {error}")


def main():
    venv, count = pathlib.Path(sys.argv[1]), int(os.environ.get("BENCH_COUNT", "5"))
    plain, watched = [], []
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder, "job.py")
        job.write_text(JOB)
        command = [str(venv / "bin/python"), str(job)]
        for _ in range(count):
            plain.append(run_again(command, folder))
            watched.append(run_again([str(venv / "bin/python"), str(venv / "bin/afterglow"), "run", "--", *command], folder))
    for at, what in enumerate(("the job", "3,000 tasks of it", "processor time")):
        least = [min(runs[at] for runs in side) for side in (plain, watched)]
        middle = [statistics.median(runs[at] for runs in side) for side in (plain, watched)]
        print(f"ray_job: {what}: plain {middle[0]:.2f} s, with afterglow run {middle[1]:.2f} s, ratio {middle[1] / middle[0]:.3f}; "
              f"the least {least[0]:.2f} and {least[1]:.2f} s, ratio {least[1] / least[0]:.3f}")  # fmt: skip
    own, whole = (statistics.median(runs[at] for runs in watched) for at in (5, 2))
    print(f"ray_job: processor time of Afterglow itself: {own:.2f} s beside {whole - own:.2f} s, ratio {whole / (whole - own):.3f}")
    memory, ours = max(runs[3] for runs in watched) / 1024, max(runs[4] for runs in watched) / 1024
    print(f"ray_job: memory: the job {memory:.0f} MiB, Afterglow {ours:.1f} MiB, ratio {(memory + ours) / memory:.3f}")


if __name__ == "__main__":
    main()
