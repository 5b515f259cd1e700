#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""death_to_report.py: from SIGKILL of a command to its bundle in the spool with MANIFEST.json, fsynced and visible.

Beside it: writing the same files with fsync and nothing else, and the 2 s for
which the launcher waits for the sidecar.
"""
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

BUILD = pathlib.Path(__file__).parent.parent / os.environ.get("BUILD", "build")
RUNS = 20
LINGER_MS = 2000


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def until(found):
    while not (result := found()):
        time.sleep(0.0002)
    return result


def one_death(directory, number):
    # PID 1 of a PID namespace, as in a pod; needs root.
    launcher = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", BUILD / "afterglow-launch", "--socket", f"{directory}/socket", "--name", f"run{number}", "--",
                                 "sleep", "1000"], stderr=subprocess.DEVNULL)
    inner = until(lambda: children(launcher.pid))[0]
    command = until(lambda: children(inner))[0]
    time.sleep(0.3)
    begin = time.monotonic()
    os.kill(command, signal.SIGKILL)
    manifest = until(lambda: list(directory.glob(f"spool/local/run{number}/[0-9]*/MANIFEST.json")))[0]
    took = time.monotonic() - begin
    launcher.wait()
    return took * 1e3, manifest.parent


def bare_write(bundle, to):
    contents = [(f.name, f.read_bytes()) for f in bundle.iterdir()]
    begin = time.monotonic()
    to.mkdir()
    for name, data in contents:
        with open(to / name, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
    fd = os.open(to, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return (time.monotonic() - begin) * 1e3


def main():
    with tempfile.TemporaryDirectory(prefix="afterglow-bench.", dir=os.environ.get("BENCH_DIR", "/var/tmp")) as name:
        directory = pathlib.Path(name)
        sidecar = subprocess.Popen([BUILD / "afterglow-sidecar", "--socket", f"{directory}/socket", "--spool",
                                    f"{directory}/spool", "--full-bundles", "0", "--grace", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(lambda: os.path.exists(f"{directory}/socket"))
            runs = [one_death(directory, n) for n in range(RUNS)]
            bare = statistics.median(bare_write(bundle, directory / f"bare{n}") for n, (_, bundle) in enumerate(runs))
        finally:
            sidecar.terminate()
            sidecar.wait()
    median = statistics.median(took for took, _ in runs)
    worst = max(took for took, _ in runs)
    print(f"death_to_report: median {median:.1f} ms; the same files written and fsynced alone {bare:.1f} ms, ratio {median / bare:.2f}")
    print(f"death_to_report: worst of {RUNS} {worst:.1f} ms, the launcher waits {LINGER_MS} ms, ratio {worst / LINGER_MS:.3f}")


main()
