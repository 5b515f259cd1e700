#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stack_stop.py [PY_SPY]: for how long a process with 40 threads stands still while its stacks are taken, by `afterglow-sidecar stack` and by
py-spy (from PyPI, needs root) in turn: the longest gap that a thread of it sees which does nothing but look at the clock. And the same while
nobody looks. Prints median and most of ROUNDS."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(__file__).parent.parent / os.environ.get("AFTERGLOW_BUILD", "build")
ROUNDS = 10
THREADS = 40
TARGET = """
import sys, threading, time
for _ in range(int(sys.argv[1])): threading.Thread(target=time.sleep, args=(10000,), daemon=True).start()
sys.setswitchinterval(100)
gaps = open(sys.argv[2], "w", buffering=1)
last = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
while True:
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    if now - last > 100_000: gaps.write(f"{now} {now - last}\\n")
    last = now
"""


def longest_gap(gaps, work):
    """In milliseconds, while work runs."""
    began = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    work()
    time.sleep(0.05)
    lines = [line.split() for line in gaps.read_text().splitlines()]
    return max((int(gap) for at, gap in lines if int(at) > began), default=0) / 1e6


def main():
    py_spy = sys.argv[1] if sys.argv[1:] else None
    with tempfile.TemporaryDirectory() as directory:
        gaps = pathlib.Path(directory, "gaps")
        run = subprocess.Popen([BUILD / "afterglow-sidecar", "exec", "--store", directory, "--", sys.executable, "-c", TARGET, str(THREADS), gaps],
                               stderr=subprocess.DEVNULL)
        try:
            time.sleep(3)
            pid = subprocess.run(["pgrep", "-f", f"^{sys.executable}.*{gaps}$"], capture_output=True, text=True, check=True).stdout.split()[0]
            quiet = {"stdout": subprocess.DEVNULL, "check": True}
            ways = {"nobody looks": lambda: time.sleep(0.2),
                    "afterglow": lambda: subprocess.run([BUILD / "afterglow-sidecar", "stack", pid], **quiet)}
            if py_spy:
                ways["py-spy"] = lambda: subprocess.run([py_spy, "dump", "--pid", pid], **quiet)
                ways["py-spy --native"] = lambda: subprocess.run([py_spy, "dump", "--native", "--pid", pid], **quiet)
            taken = {way: [] for way in ways}
            for _ in range(ROUNDS):
                for way, work in ways.items():
                    taken[way].append(longest_gap(gaps, work))
        finally:
            run.terminate()
            run.wait()
    for way, values in taken.items():
        print(f"{way:16} median {statistics.median(values):6.1f} ms, at the most {max(values):6.1f} ms")


main()
