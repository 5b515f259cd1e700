# SPDX-License-Identifier: Apache-2.0
"""Runs a pod's real sidecar and launcher as processes here, on an address of the loopback network that is the pod's own."""

import json
import os
import pathlib
import random
import shutil
import signal
import urllib.request

from conftest import wait_for
from apiserver.conftest import BUILD, ROOT
from apiserver.control_plane import Daemon

PORT = 9095
RAYLET_LOG = ROOT / "sidecar/ray/testdata/raylet.out"


def own_address():
    """Returns an address that, in all likelihood, nobody else on this machine uses."""
    return f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"


class PodSidecar:
    """afterglow-sidecar of a pod, and its Ray container: a raylet that only writes logs."""

    def __init__(self, pod, directory, *args, address=None, port=PORT, inside=()):
        """inside: what runs a command in the pod's network namespace, if it has one."""
        self.pod, self.directory, self.args, self.inside = pod, directory, args, inside
        self.address, self.port = address or own_address(), port
        self.daemon = self.launcher = None
        self.starts = 0
        for name in ("logs", "spool", "store"):
            (directory / name).mkdir()
        shutil.copy("/bin/bash", directory / "raylet")
        self.log = directory / "logs/raylet.out"
        self.log.write_text("")
        self.start()

    def start(self):
        self.starts += 1
        meta = self.pod["metadata"]
        env = {**os.environ, "POD_NAMESPACE": meta["namespace"], "POD_NAME": meta["name"], "POD_UID": meta["uid"],
               "AFTERGLOW_CLUSTER": meta["labels"]["ray.io/cluster"], "AFTERGLOW_STORE_NAME": "pvc:ray-failures",
               "AFTERGLOW_REPORT_KEY": meta.get("annotations", {}).get("afterglow.dev/report-key", "")}
        self.daemon = Daemon([*self.inside, BUILD / "afterglow-sidecar", "--socket", self.directory / "socket", "--spool",
                              self.directory / "spool", "--store", self.directory / "store", "--http",
                              f"{self.address}:{self.port}", *self.args], self.directory / f"sidecar-{self.starts}.log", env)
        wait_for("the sidecar", lambda: self.failures() is not None, interval=0.05)
        return self

    def launch(self, *command):
        self.launcher = Daemon([BUILD / "afterglow-launch", "--name", "ray-worker", "--socket", self.directory / "socket",
                                "--", *command], self.directory / "launcher.log")
        wait_for("the launcher", lambda: '"attached"' in self.daemon.text(), interval=0.05)

    def run_raylet(self):
        # However the launcher ends, it does not outlive it.
        self.launch("setpriv", "--pdeathsig", "KILL", self.directory / "raylet", "-c", "while :; do read -t 100 <> <(:); done",
                    f"--log_dir={self.directory / 'logs'}")
        # What stands in the log at the first look is no news.
        wait_for("the raylet to be seen", self.logs_open)
        return self

    def logs_open(self):
        # A child of the sidecar may be who follows Ray's files.
        pid = self.daemon.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return any(os.path.realpath(f"/proc/{p}/fd/{fd}") == str(self.log) for p in [pid, *children] for fd in os.listdir(f"/proc/{p}/fd"))

    def memory_kill(self, task, pid):
        """Writes the log line with which Ray's own memory monitor ends that task."""
        text = RAYLET_LOG.read_text()
        begin, end = text.index("[2026-11-21 04:55:34,745"), text.index("[2026-11-21 04:55:35,056")
        with self.log.open("a") as log:
            log.write(text[begin:end].replace("leak", task).replace("706", str(pid)))
        wait_for(f"the sidecar to tell of {task}", lambda: [f for f in self.failures() if task in f["sentence"]])

    def answer(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}:{self.port}/failures", timeout=60) as response:
                return json.load(response)
        except OSError as error:
            raise AssertionError(error) from error

    def failures(self):
        return self.answer()["failures"]

    def close(self):
        # The launcher forwards it, and ends a hold by it.
        if self.launcher:
            self.launcher.stop(signal.SIGTERM)
        self.daemon.stop(signal.SIGKILL)
        for name in sorted(self.directory.glob("sidecar-*.log")):
            assert "Sanitizer" not in name.read_text(errors="replace")
