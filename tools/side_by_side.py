#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""side_by_side.py STAGES...: runs test suites side by side, as many as the machine has cores for.

Each line of STAGES is one suite: NAME CORES ALONE COMMAND. CORES is how many it keeps busy on average: its processor time
divided by its seconds, as the table of an earlier run has them, say 0.25 for one that mostly waits. ALONE names what it cannot
share, divided by commas: of two suites with the same word one waits for the other ("-": nothing). They begin in the order of
the lines. A suite's output goes to build/logs/NAME.log, and is printed whole when it ends; in the meantime a line now and then
tells what runs. At the end stand the tests that failed, each line indented so that it is not counted twice, a table of
seconds, and once more why, with how many failed so: short, for who keeps no more than the last lines of a run. SIGINT and SIGTERM end the suites, each by its process group.

When all have ended, the tests that failed run once more, alone (tools/second_try.py says which and how); their output goes to
build/logs/NAME.again.log. A test that passes then is flaky: it is named at the end and does not fail the run, unless more than two are.
A fixture that failed counts as one, with all tests that share it. What a suite with failures says is printed with a bar before each line, so that only its result after the second try is counted.

Exits 1 when a suite failed, or ended otherwise than with results; then that is counted as a failure of its own.
AFTERGLOW_CORES: in place of the machine's number of cores."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import count_results
import failed_tests
import second_try

LOGS = pathlib.Path("build/logs")
TELL_AFTER = 30  # seconds without a word
LIMIT = 3000  # seconds that a suite may take: what hangs is ended
PATIENCE = 90  # seconds that a suite has to end its servers and mounts
FLAKY_MAX = 2  # tests, or fixtures with all their tests, that may fail at first and pass alone, in all suites together


class Stage:
    """A suite, before, while and after it runs."""

    def __init__(self, line):
        self.name, cores, alone, self.command = line.split(maxsplit=3)
        self.cores = float(cores)
        self.alone = set() if alone == "-" else set(alone.split(","))
        self.log = LOGS / f"{self.name}.log"
        self.cgroup = own_memory_cgroup() / f"suite-{self.name}"
        self.began = self.ended = self.cpu = self.pid = self.status = None
        self.passed = self.failed = 0
        self.again = []  # the tests that ran a second time
        self.flaky = []  # those of them that passed then
        self.told_to_end = 0  # when

    def start(self):
        with open(self.log, "wb") as log:
            # A session of its own: what ends it is sent by us, once.
            process = subprocess.Popen(["bash", "-c", enter(self.cgroup) + self.command], stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True, env=environment())
        self.pid, self.began = process.pid, time.monotonic()
        # Waited for below, with what it used.
        process.returncode = 0

    def poll(self):
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid:
            self.status = os.waitstatus_to_exitcode(status)
            self.ended = time.monotonic()
            self.cpu = usage.ru_utime + usage.ru_stime
            with contextlib.suppress(OSError):  # a cluster lives on in its own
                self.cgroup.rmdir()
            self.count()
        return bool(pid)

    def count(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            self.passed, self.failed, skipped, reasons = count_results.count(log)
        self.failed += max(skipped - reasons, 0)

    def running(self):
        return self.began is not None and self.ended is None

    def send(self, number):
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def end(self):
        """It ends its servers and mounts itself, if it can. To be called until it has ended."""
        now = time.monotonic()
        if not self.told_to_end:
            self.told_to_end = now
            self.send(signal.SIGTERM)
        elif now - self.told_to_end > PATIENCE:
            self.send(signal.SIGKILL)

    def failures(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return failed_tests.failed(log)[:failed_tests.LINES_MAX // 2]

    def reasons(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return failed_tests.reasons(log)

    def may_run_again(self):
        """Returns the tests that failed, with what failed, if their failures are all that there is against this suite."""
        if self.verdict() in ("passed", "no test ran") or self.status < 0:
            return {}
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return second_try.tests(self.command, log)

    def try_again(self, tests):
        """Runs these tests alone. Each has to pass."""
        path = LOGS / f"{self.name}.again.log"
        variables, command = second_try.command(self.command, tests)
        with open(path, "wb") as log:
            process = subprocess.Popen(["bash", "-c", enter(self.cgroup) + command], stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True, env=environment() | variables)
        self.again = tests
        return process, path

    def take_second_result(self, status, path):
        with open(path, encoding="utf-8", errors="replace") as log:
            passed, failed, _, _ = count_results.count(log)
        if status or failed or not passed:
            return
        self.flaky = self.again
        self.passed += max(self.failed, 1)
        self.failed = self.status = 0

    def verdict(self):
        if self.failed:
            return "failed"
        if self.status:
            return f"exit {self.status} without a failed test"
        return "passed" if self.passed else "no test ran"

    def seconds(self):
        return (self.ended or time.monotonic()) - self.began

    def last_line(self):
        with open(self.log, "rb") as log:
            log.seek(max(self.log.stat().st_size - 400, 0))
            lines = log.read().decode(errors="replace").split("\n")
        return next((line.strip()[-90:] for line in reversed(lines) if line.strip()), "")


def own_memory_cgroup():
    """Of cgroup v1. With v2, a cgroup that has processes can limit none below it, so the suites stay where they are."""
    with open("/proc/self/cgroup", encoding="utf-8") as groups:
        paths = [line.rstrip("\n").split(":", 2)[2] for line in groups if line.split(":")[1] == "memory"]
    return pathlib.Path("/sys/fs/cgroup/memory" + paths[0] if paths else "/nonexistent")


def enter(cgroup):
    """
    The beginning of a suite's command. A sidecar counts OOM kills below the cgroup of its container, and in most tests that is the cgroup
    of the test: without one for each suite, it would count those that another suite brings about.
    """
    try:
        cgroup.mkdir(exist_ok=True)
    except OSError:  # not root, or no cgroup v1
        return ""
    return f"echo $$ >{cgroup}/cgroup.procs; "


def environment():
    """Without the jobserver of the make that called us, which no suite can reach."""
    env = dict(os.environ)
    if flags := env.get("MAKEFLAGS"):
        env["MAKEFLAGS"] = re.sub(r"(^| )(-j\S*|--jobserver-\S+)", "", flags)
    return env


def say(text):
    print(f"== {text}", flush=True)


class Runner:
    """Begins what fits, tells what ends."""

    def __init__(self, stages, cores):
        self.stages = stages
        # One more than there are: a suite keeps busy more at times and less at others.
        self.cores = cores
        self.capacity = cores + 1
        self.signal = None
        self.told = self.began = time.monotonic()

    def interrupt(self, number, _frame):
        self.signal = self.signal or number

    def running(self):
        return [s for s in self.stages if s.running()]

    def fits(self, stage):
        running = self.running()
        if any(stage.alone & s.alone for s in running):
            return False
        # What is larger than the machine runs by itself.
        return not running or sum(s.cores for s in running) + stage.cores <= self.capacity

    def begin(self):
        for stage in self.stages:
            if stage.began is None and self.fits(stage):
                stage.start()
                self.tell(f"{stage.name}: {stage.command}")

    def tell(self, text):
        say(text)
        self.told = time.monotonic()

    def finish(self, stage):
        print(f"\n{'=' * 20} {stage.name} {'=' * 20}", flush=True)
        with open(stage.log, "rb") as log:
            if stage.verdict() == "passed":
                shutil.copyfileobj(log, sys.stdout.buffer)
            else:
                sys.stdout.buffer.writelines(b"| " + line for line in log)
        sys.stdout.buffer.flush()
        print()
        self.tell(f"{stage.name}: {stage.verdict()}, after {stage.seconds():.0f} s")

    def progress(self):
        if time.monotonic() - self.told >= TELL_AFTER:
            at = time.monotonic() - self.began
            self.tell(f"{at:.0f} s: " + "; ".join(f"{s.name} ({s.last_line()})" for s in self.running()))

    def run(self):
        while not self.signal:
            self.begin()
            if not self.running():
                return
            time.sleep(0.2)
            self.reap()
            self.progress()
        self.end_all()

    def reap(self):
        for stage in self.running():
            if stage.seconds() > LIMIT:
                stage.end()
            if stage.poll():
                self.finish(stage)

    def end_all(self):
        say(f"{signal.Signals(self.signal).name}: ending {', '.join(s.name for s in self.running()) or 'nothing'}")
        while self.running():
            for stage in self.running():
                stage.end()
            time.sleep(0.1)
            self.reap()

    def second_tries(self):
        """Only if so few failed that bad luck may have been it."""
        tests = {s.name: s.may_run_again() for s in self.stages if s.ended}
        hopeless = any(s.verdict() != "passed" and not tests.get(s.name) for s in self.stages)
        if hopeless or not 0 < sum(len(set(causes.values())) for causes in tests.values()) <= FLAKY_MAX:
            return
        for stage in self.stages:
            if tests[stage.name] and not self.signal:
                self.tell(f"{stage.name}: again, alone: {', '.join(tests[stage.name])}")
                self.try_again(stage, list(tests[stage.name]))

    def try_again(self, stage, tests):
        process, path = stage.try_again(tests)
        began = time.monotonic()
        while process.poll() is None:
            if self.signal or time.monotonic() - began > LIMIT:
                os.killpg(process.pid, signal.SIGTERM)
            time.sleep(0.2)
        with open(path, "rb") as log:
            sys.stdout.buffer.writelines(b"| " + line for line in log)
        sys.stdout.buffer.flush()
        stage.take_second_result(process.returncode, path)

    def results(self):
        """Of the suites whose output was printed with a bar before each line."""
        for s in self.stages:
            if s.ended and (s.verdict() != "passed" or s.flaky):
                print(f"== {s.name}{', after a second try' if s.again else ''}:")
                print(f"{s.passed} passed, {max(s.failed, 0 if s.verdict() == 'passed' else 1)} failed", flush=True)
        flaky = [f"{s.name}: {test}" for s in self.stages for test in s.flaky]
        for name in flaky:
            print(f"flaky: {name}")
        if flaky:
            print(f"{len(flaky)} flaky", flush=True)

    def failures(self):
        for s in self.stages:
            for line in s.failures() if s.ended and s.verdict() != "passed" else []:
                print(f"  {s.name}: {line}")

    def reasons(self):
        for s in self.stages:
            for reason in s.reasons() if s.ended and s.verdict() != "passed" else []:
                print(f"  {s.name}: {reason}")

    def table(self):
        """CPU: that of descendants whose parents waited for them; daemons have theirs apart."""
        rows = [("suite", "from", "seconds", "CPU", "passed", "failed")]
        for s in self.stages:
            if s.began is None:
                rows.append((s.name, "-", "-", "-", "-", "not begun"))
            else:
                rows.append((s.name, f"{s.began - self.began:.0f}", f"{s.seconds():.0f}", f"{s.cpu:.0f}", str(s.passed),
                             str(s.failed) if s.verdict() in ("passed", "failed") else s.verdict()))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        print()
        for row in rows:
            print(f"  {row[0]:{widths[0]}}", *(f"{row[i]:>{widths[i]}}" for i in range(1, 5)), row[5], sep="  ")
        say(f"{time.monotonic() - self.began:.0f} s for all of them, on {self.cores} cores")


def main():
    stages = [Stage(line) for text in sys.argv[1:] for line in text.splitlines() if line.strip()]
    LOGS.mkdir(parents=True, exist_ok=True)
    runner = Runner(stages, int(os.environ.get("AFTERGLOW_CORES") or len(os.sched_getaffinity(0))))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, runner.interrupt)
    runner.run()
    runner.second_tries()
    runner.results()
    runner.failures()
    runner.table()
    runner.reasons()
    if runner.signal:
        return 128 + runner.signal
    return 0 if all(s.verdict() == "passed" for s in stages) else 1


if __name__ == "__main__":
    sys.exit(main())
