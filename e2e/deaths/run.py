#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings about deaths under `afterglow-sidecar exec` and holds each report against what is true. See README.md."""
import argparse
import base64
import fnmatch
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deaths
from results import Results
from truth import HONEST, NOT_RUN, RIGHT, SCORES, WRONG, WRONG_AND_CERTAIN, Outcome, judge

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = Path(os.environ.get("AFTERGLOW_BUILD", "build"))
# The kernel prints ten reports of OOM kills in five seconds, and leaves some room for other people's.
OOMS_AT_ONCE, OOM_WINDOW_S = 7, 5.5
PATIENCE_S = 120
TEXT_KEPT = 3000
# Programs by which some deaths are brought about; without them those are left out.
PROGRAMS = {"java", "node", "strace", "gcore"}


def script_of(death):
    """The shell script that causes the death, without the variables D and LOG."""
    spared = "around " in death.before
    # Where the OOM killer is to take a neighbour, it may not take the command in its place.
    inside = death.inside if not spared or death.truth.victim == "none" else "echo 0 >/proc/$$/oom_score_adj; " + death.inside
    command = ["sh", "-c", inside] if death.inside else list(death.argv)
    memory = f"--memory-max {death.memory} " if death.memory else ""
    lines = [". e2e/deaths/lib.sh", death.before]
    if death.outside:
        lines += ["(", "echo 0 >/proc/self/oom_score_adj" if spared else "", death.outside, ") >\"$D/outside\" 2>&1 &"]
    # What it names is named as in a table: $D and the like are the script's.
    words = " ".join(w if re.fullmatch(r"[$][A-Za-z]+[/a-z.]*", w) else shlex.quote(w) for w in command)
    if command:
        lines.append(f"pod {death.memory} {words}" if death.pod else f"watch {memory}{death.options} -- {words}")
    if death.outside:
        lines.append("wait")
    lines += [death.after, "sweep", ""]
    return "\n".join(line for line in lines if line)


def missing_programs(runs):
    """Returns which programs are not built: of the sidecar's, and of those that these deaths name. Without one a death would count as a wrong report."""
    words = set(re.findall(r"[\w-]+", (HERE / "lib.sh").read_text() + "".join(script_of(death) for death, _ in runs)))
    sources = sorted({path.stem for folder in (HERE, HERE.parent / "kernel") for path in folder.glob("*.c")} & words)
    names = [f"afterglow-{name}" for name in ("launch", "sidecar", "unwind", "pack", "ship")] + [f"test/{name}" for name in sources]
    return [str(BUILD / name) for name in names if not os.access(ROOT / BUILD / name, os.X_OK)]


def enter_own_mounts():
    """Starts this program again where it does not see the disks of other suites and of pods: one that fills just then would be taken for the reason of a death."""
    if "AFTERGLOW_OWN_MOUNTS" not in os.environ:
        words = ["unshare", "-m", "sh", "-c", '. "$0" && exec "$@"', str(ROOT / "e2e/kernel/check.sh"), sys.executable, str(HERE / "run.py")]
        os.execvpe(words[0], words + sys.argv[1:], dict(os.environ, AFTERGLOW_OWN_MOUNTS="1"))


def slug(death, log):
    """A short name for its directory, because the path of a socket in it must be short."""
    words = re.sub(r"[^a-z0-9]+", "-", death.name.lower()).strip("-")
    return f"{deaths.ALL.index(death):03}-{words[:40]}.{log}"


class Pace:
    """Spreads OOM kills over time, so that the kernel prints them all."""

    def __init__(self):
        self.lock = threading.Lock()
        self.recent = []

    def wait(self, ooms):
        while ooms:
            with self.lock:
                now = time.monotonic()
                self.recent = [t for t in self.recent if now - t < OOM_WINDOW_S]
                if len(self.recent) + ooms <= max(OOMS_AT_ONCE, ooms):
                    self.recent += [now] * ooms
                    return
            time.sleep(0.1)


def read_outcome(directory):
    outcome = Outcome()
    code = directory / "code"
    outcome.code = int(code.read_text()) if code.exists() else -1
    reports = [json.loads(path.read_text()) for path in directory.glob("store/**/report.json")]
    outcome.reports = sorted(reports, key=lambda r: r["endedAt"])
    for line in (directory / "facts").read_text().splitlines() if (directory / "facts").exists() else []:
        name, _, value = line.partition(" ")
        outcome.facts.setdefault(name, []).append(value)
    for name in ("script", "facts", "err", "outside"):
        if (directory / name).exists():
            outcome.text += (directory / name).read_text(errors="replace")[-TEXT_KEPT:]
    return outcome


class Here:
    """Runs deaths on this machine's kernel."""

    def __init__(self, work, jobs):
        self.work, self.jobs, self.pace = work, jobs, Pace()
        self.name = "v1" if os.path.isdir("/sys/fs/cgroup/memory") else "v2"

    def lacks(self, death):
        return death.needs & {"vm", "v2" if self.name == "v1" else "v1", *(p for p in PROGRAMS if not shutil.which(p))}

    def bring(self, death, log):
        directory = self.work / slug(death, log)
        directory.mkdir()
        (directory / "script").write_text(script_of(death))
        self.pace.wait(death.ooms)
        # A group of its own: what it leaves running is ended with it.
        environment = dict(os.environ, D=str(directory), LOG=log)
        process = subprocess.Popen(["sh", str(directory / "script")], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=(directory / "sherr").open("w"), start_new_session=True)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            print(f"{death.name}: not over after {PATIENCE_S} s", file=sys.stderr)
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.wait()
        return read_outcome(directory)

    def run(self, runs, tell):
        together = [r for r in runs if not r[0].alone]
        with ThreadPoolExecutor(self.jobs) as pool:
            for death, log, outcome in pool.map(lambda r: (*r, self.bring(*r)), together):
                tell(death, log, outcome)
        for death, log in (r for r in runs if r[0].alone):
            tell(death, log, self.bring(death, log))


class Machine:
    """Runs deaths in the virtual machine, which has cgroup v2, and the programs of root.sh."""
    name = "v2"

    def __init__(self, work, jobs):
        self.work, self.jobs = work, jobs

    def lacks(self, death):
        return death.needs & {"v1", "here", *PROGRAMS}

    def run(self, runs, tell):
        """Runs all deaths in one machine. When one of them ends the machine, the rest run in a new one."""
        while runs:
            begun = self.boot(runs, tell)
            rest = [r for r in runs if r not in begun]
            if len(rest) == len(runs):
                print("the machine did not come up", file=sys.stderr)
                for death, log in rest:
                    tell(death, log, Outcome())
                return
            runs = rest

    def boot(self, runs, tell):
        """Boots a machine, and returns the deaths that began in it. One that left no result may have ended the machine."""
        # A directory of its own, as machines may run side by side.
        place = BUILD / f"deaths.{os.getpid()}"
        scripts = ROOT / place
        scripts.mkdir(parents=True, exist_ok=True)
        by_slug, begun = {}, []
        for death, log in runs:
            name = slug(death, log)
            by_slug[name] = (death, log)
            (scripts / name).write_text(script_of(death))
            with (scripts / ("alone" if death.alone else "together")).open("a") as f:
                f.write(f"{name} {death.ooms}\n")
        root = self.work / "root"
        if not root.exists():
            subprocess.run(["e2e/deaths/root.sh", str(root)], cwd=ROOT, check=True)
        environment = dict(os.environ, AFTERGLOW_VM_ROOT=str(root), AFTERGLOW_VM_FILES=f"e2e/deaths/lib.sh e2e/deaths/all.sh {place}",
                           AFTERGLOW_VM_MEMORY=os.environ.get("AFTERGLOW_VM_MEMORY", "1024"),
                           AFTERGLOW_VM_TIMEOUT=os.environ.get("AFTERGLOW_VM_TIMEOUT", "3000"))
        command = ["e2e/kernel/vm.sh", "sh", "e2e/deaths/all.sh", str(place), str(self.jobs)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, errors="replace") as process:
            for line in process.stdout:
                word, _, rest = line.partition(" ")
                if word == "BEGIN":
                    begun.append(by_slug[rest.strip()])
                    continue
                if word != "RESULT":
                    print(line, end="", file=sys.stderr)
                    continue
                name, data = rest.split(" ", 1)
                directory = self.work / name
                directory.mkdir()
                with tarfile.open(fileobj=io.BytesIO(base64.b64decode(data))) as archive:
                    archive.extractall(directory)
                death, log = by_slug.pop(name)
                tell(death, log, read_outcome(directory))
        for death, log in by_slug.values():
            if (death, log) in begun:
                tell(death, log, Outcome())
        shutil.rmtree(scripts, ignore_errors=True)
        return begun


class Table:
    def __init__(self, kernel, verbose, results):
        self.kernel, self.verbose, self.results = kernel, verbose, results
        self.rows, self.again = [], []

    def take_over(self, runs):
        """Counts what earlier runs have settled, and returns the rest."""
        rest = []
        for death, log in runs:
            row = self.results.settled(self.kernel, log, death.name)
            if row:
                self.rows.append((row["score"], log, row["certain"]))
            else:
                rest.append((death, log))
        return rest

    def tell(self, death, log, outcome):
        if outcome.code == -1 and not outcome.reports:
            score, certain, why = NOT_RUN, False, "it left nothing behind"
        else:
            score, certain, why = judge(death, outcome)
        if score == NOT_RUN and self.again is not None:
            self.again.append((death, log))
            return
        self.rows.append((score, log, certain))
        self.results.add(self.kernel, log, death.name, score, certain, why)
        print(f"{self.kernel} log {log:4}  {score:17}  {death.name}  ({why})", flush=True)
        if self.verbose and score not in (RIGHT, HONEST):
            print("    " + outcome.text.replace("\n", "\n    "))

    def summary(self):
        for log in sorted({r[1] for r in self.rows}):
            rows = [r for r in self.rows if r[1] == log]
            counts = ", ".join(f"{sum(r[0] == s for r in rows)} {s}" for s in SCORES)
            certain = sum(r[0] == RIGHT and r[2] for r in rows)
            print(f"{self.kernel}, kernel log {log}: {len(rows)} deaths: {counts}; of the right ones {certain} certain")

    def failed(self, strict):
        bad = (WRONG_AND_CERTAIN, NOT_RUN) + ((WRONG,) if strict else ())
        return any(r[0] in bad for r in self.rows)


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only deaths with such a name; * and ? as in a shell")
    parser.add_argument("--table", action="append", choices=deaths.BY_TABLE, metavar="TABLE", help="only those of table_TABLE.py; may be repeated")
    parser.add_argument("--vm", action="store_true", help="in the virtual machine, with cgroup v2")
    parser.add_argument("--log", choices=("auto", "off", "both"), default="both", help="whether the kernel log is read")
    parser.add_argument("--results", type=Path, metavar="FILE", help="append each score to it, and leave out what is right or honest in it")
    parser.add_argument("--at-most", type=int, metavar="N", help="only the first N of them")
    parser.add_argument("--strict", action="store_true", help="exit with 1 for a wrong verdict that is not certain, too")
    parser.add_argument("-j", "--jobs", type=int, default=0, help="deaths at once (default 6, in the machine 3)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what a wrong one said")
    parser.add_argument("--keep", action="store_true", help="keep scripts and bundles, and say where")
    parser.add_argument("--list", action="store_true", help="print the names")
    return parser.parse_args()


def main():
    o = options()
    tables = [d for name in o.table or deaths.BY_TABLE for d in deaths.BY_TABLE[name]]
    chosen = [d for d in tables if not o.names or any(fnmatch.fnmatch(d.name, f"*{n}*") for n in o.names)]
    if o.list:
        print("\n".join(d.name for d in chosen))
        return 0
    if not o.vm:
        enter_own_mounts()
    work = Path(tempfile.mkdtemp(prefix="deaths."))
    place = Machine(work, o.jobs or 3) if o.vm else Here(work, o.jobs or 6)
    logs = ("auto", "off") if o.log == "both" else (o.log,)
    runs = [(d, log) for log in logs for d in chosen if not place.lacks(d)]
    missing = missing_programs(runs)
    if missing:
        sys.exit(f"run.py: these programs are missing: {' '.join(missing)}; nothing was run. This builds them: make {' '.join(missing)}")
    table = Table(place.name, o.verbose, Results(o.results))
    place.run(table.take_over(runs)[: o.at_most], table.tell)
    if table.again:
        # Once more, what went another way than it was meant to.
        again, table.again = table.again, None
        place.work = work / "again"
        place.work.mkdir()
        place.run(again, table.tell)
    table.summary()
    if o.keep:
        print(f"kept: {work}")
    else:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if table.failed(o.strict) else 0


if __name__ == "__main__":
    sys.exit(main())
