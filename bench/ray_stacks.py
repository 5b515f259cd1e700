#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ray_stacks.py PACKAGES: what it costs a busy Ray head that stacks are taken of it, and whether it is left as it was. PACKAGES has Ray
(dist-packages of e2e/kernel/ray_root.sh). Needs root.

The launcher and Ray are in one CPU cgroup and the sidecar is in another, with the weights of a container that requests two processors and of
BENCH_WEIGHT (default: 1024, which is one). An answer of `afterglow-sidecar stack` about all processes and as long a time in which nobody looks,
but QUIET seconds at most, take turns, until STACKS (BENCH_COUNT, default: 20000) stacks of threads were taken or BENCH_SECONDS (default: 400) are over. Every third time,
what takes them is killed with kill -9 in the middle: the program that asks or the one that reads. At the end the launcher is, while it
traces. Prints the tasks per second of both, the processor time of a stack, and if a process was left stopped or traced, or has ended: Ray ends
idle workers itself and starts others, so what counts is how many deaths the sidecar has recorded."""
import collections
import contextlib
import json
import os
import pathlib
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = (pathlib.Path(__file__).parent.parent / os.environ.get("AFTERGLOW_BUILD", "build")).resolve()
STACKS = int(os.environ.get("BENCH_COUNT", 20000))
SECONDS = int(os.environ.get("BENCH_SECONDS", 400))
WEIGHT = int(os.environ.get("BENCH_WEIGHT", 1024))
BEGAN = time.monotonic()
SHORTEST = 3
QUIET = 15
PATIENCE = 60  # for an answer
WORKERS = 8
JOB = """
import sys, time
import ray
ray.init(address="127.0.0.1:6379", logging_level="error", log_to_driver=False)
@ray.remote
def task(x):
    return x
while True:
    ray.get([task.remote(i) for i in range(50)])
    print(time.monotonic(), flush=True)
"""
HEAD = f"""
ray="{sys.executable} -c 'from ray.scripts.scripts import main; main()'"
eval "$ray start --head --no-monitor --dashboard-agent-grpc-port=7001 --dashboard-agent-listen-port=7002 --runtime-env-agent-port=7003 \
	--metrics-export-port=7004 --port=6379 --node-ip-address=127.0.0.1 --num-cpus={WORKERS} --object-store-memory=200000000 --include-dashboard=false \
	--disable-usage-stats --temp-dir=$HOME/ray" || exit
exec {sys.executable} $HOME/job.py >$HOME/done
"""


def cgroup(name, weight):
    """Makes a cgroup. Returns its folder, and the words before a command that runs in it."""
    v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    path = pathlib.Path("/sys/fs/cgroup", *([] if v2 else ["cpu"]), f"ray_stacks_{os.getpid()}_{name}")
    path.mkdir()
    if v2:
        (path / "cpu.weight").write_text(str(max(1, round(weight * 100 / 1024))))
    else:
        (path / "cpu.shares").write_text(str(weight))
    return path, ["sh", "-c", f'echo $$ >{path}/cgroup.procs && exec "$@"', "sh"]


def processes(group):
    return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]


def text_of(pid, file):
    """Returns the text of a file of /proc, or "" if the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/{file}").read_text()
    except OSError:
        return ""


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def states(pids):
    """Yields of each thread of these processes the PID of its process, its state and the PID of its tracer."""
    for pid in pids:
        for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
            try:
                lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            except OSError:
                continue
            yield pid, lines["State"].split()[0], int(lines["TracerPid"])


def left(pids):
    """The processes that are stopped or traced, a second after the last look."""
    time.sleep(1)
    return sorted({(pid, state, tracer) for pid, state, tracer in states(pids) if state in "tT" or tracer})


def wait_for(what):
    for _ in range(2400):
        if what():
            return
        time.sleep(0.1)
    sys.exit("ray_stacks: Ray does not start")


class Taker:
    """Asks for stacks, and counts them."""

    def __init__(self, side):
        self.run_in, self.group = side[1], side[0]
        self.stacks = self.stops = self.kills = self.asked = self.late = 0
        self.failed = collections.Counter()  # why a process has no stacks
        self.longest = []
        self.asking = None

    def begin(self):
        self.asking = subprocess.Popen([*self.run_in, BUILD / "afterglow-sidecar", "stack", "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.asked += 1

    def kill_in_the_middle(self):
        time.sleep(random.uniform(0, 1))
        readers = [pid for pid in processes(self.group) if text_of(pid, "comm").startswith("afterglow-unwin")]
        kill(random.choice([self.asking.pid, *readers]))
        self.kills += 1

    def end(self):
        try:
            text = self.asking.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            self.asking.kill()
            self.asking.communicate()
            self.late += 1
            return
        if self.asking.returncode:
            return
        answer = json.loads(text)
        self.stacks += sum(group["count"] for group in answer["groups"])
        self.stops += answer["processes"]
        self.failed.update(note.split("no stacks: ")[1] for note in answer["notes"] if "no stacks: " in note)
        self.longest.append(answer["longestStopMilliseconds"])


def main():
    ray, side = cgroup("ray", 2048), cgroup("sidecar", WEIGHT)
    with tempfile.TemporaryDirectory(prefix="ray_stacks.") as home:
        env = {"HOME": home, "PATH": "/usr/bin:/bin", "PYTHONPATH": sys.argv[1], "RAY_AUTH_MODE": "disabled", "TMPDIR": home,
               "PYTHONDONTWRITEBYTECODE": "1", "RAY_gcs_server_port_wait_time_s": "600", "RAY_agent_register_timeout_ms": "600000",
               "RAY_worker_register_timeout_seconds": "600", "RAY_gcs_rpc_server_connect_timeout_s": "600"}
        os.mkdir(f"{home}/store")
        pathlib.Path(home, "job.py").write_text(JOB, encoding="ascii")
        started = [subprocess.Popen([*side[1], BUILD / "afterglow-sidecar", "--socket", f"{home}/s", "--store", f"{home}/store", "--spool", f"{home}/spool",
                                     "--grace", "1", "--kernel-log", "off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        try:
            wait_for(lambda: os.path.exists(f"{home}/s"))
            started.append(subprocess.Popen([*ray[1], BUILD / "afterglow-launch", "--socket", f"{home}/s", "--", "bash", "-c", HEAD], env=env,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            measure(Taker(side), ray[0], pathlib.Path(home, "done"), *started)
        finally:
            for group in (ray[0], side[0]):
                while pids := processes(group):
                    for pid in pids:
                        kill(pid)
                    time.sleep(0.1)
            for process in started:
                process.wait()
            ray[0].rmdir()
            side[0].rmdir()


def seconds_of(sidecar, launcher):
    """Processor time: of the sidecar with its children that have ended, of the launcher alone, whose children are Ray, and of who asked."""
    own, children = (sum(float(f) for f in pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[a:b])
                     for pid, a, b in ((sidecar.pid, 11, 15), (launcher.pid, 11, 13)))
    asked = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (own + children) / os.sysconf("SC_CLK_TCK") + asked.ru_utime + asked.ru_stime


def kill_while_it_traces(taker, pids, launcher):
    for _ in range(10):
        taker.begin()
        while taker.asking.poll() is None:
            if any(f"TracerPid:\t{launcher.pid}\n" in text_of(pid, "status") for pid in pids):
                launcher.kill()
                taker.asking.kill()
                taker.asking.communicate()
                return True
        taker.asking.communicate()
    return False


def measure(taker, group, done, sidecar, launcher):
    wait_for(lambda: done.exists() and len(done.read_text().splitlines()) > 20)
    time.sleep(5)
    pids = processes(group)
    titles = {pid: text_of(pid, "cmdline").replace("\0", " ").strip()[:60] for pid in pids}
    windows = []
    used = seconds_of(sidecar, launcher)
    while taker.stacks < STACKS and time.monotonic() - BEGAN < SECONDS:
        a = time.monotonic()
        taker.begin()
        if taker.asked % 3 == 0:
            taker.kill_in_the_middle()
        taker.end()
        b = time.monotonic()
        time.sleep(min(max(b - a, SHORTEST), QUIET))
        windows.append((a, b, time.monotonic()))
        print(f"ray_stacks: {taker.stacks} stacks so far; an answer took {b - a:.1f} s", file=sys.stderr, flush=True)
    used = seconds_of(sidecar, launcher) - used
    at = [float(line) for line in done.read_text().splitlines()]
    rate = lambda start, stop: sum(start <= t < stop for t in at) / (stop - start)
    taking, quiet = sum(b - a for a, b, _ in windows), sum(c - b for _, b, c in windows)
    during = sum(rate(a, b) * (b - a) for a, b, _ in windows) / taking
    before = sum(rate(b, c) * (c - b) for _, b, c in windows) / quiet
    print(f"ray_stacks: {taker.stacks} stacks in {taker.stops} stops of a process within {taking:.0f} s, {taker.failed.total()} processes without ({dict(taker.failed)}), {taker.late} of {taker.asked} answers not within {PATIENCE} s; the longest stop "
          f"{max(taker.longest, default=0):.1f} ms, median of the longest of each answer {statistics.median(taker.longest or [0]):.1f} ms")
    print(f"ray_stacks: {50 * before:.0f} tasks a second while nobody looked, {50 * during:.0f} while stacks were taken, ratio {during / before:.3f}; of the "
          f"whole time {(during * taking + before * quiet) / (taking + quiet) / before:.3f}, aim 0.98")
    print(f"ray_stacks: {1000 * used / max(taker.stacks, 1):.1f} ms of a processor for a stack, {used / max(len(windows), 1):.1f} s for an answer")
    deaths = len(list((done.parent / "store").glob("*/*/*/report.json")))
    print(f"ray_stacks: kill -9 in the middle {taker.kills} times; left stopped or traced: {left(pids) or 'nobody'}; "
          f"ended: {[titles[pid] for pid in pids if not os.path.exists(f'/proc/{pid}')] or 'nobody'}; "
          f"deaths that the sidecar recorded: {deaths or 'none'}")
    print(f"ray_stacks: the launcher was {'killed while it traced' if kill_while_it_traces(taker, pids, launcher) else 'never seen to trace'}; "
          f"left stopped or traced: {left(pids) or 'nobody'}")


if len(sys.argv) < 3:  # in a network namespace of its own: Ray's ports are fixed
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv, "inside"])
main()
