# SPDX-License-Identifier: Apache-2.0
"""The cases share these: kubectl as a function, waiting, and namespaces that are removed at the end."""

import ctypes
import fcntl
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import uuid

import pytest
import yaml

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


def pytest_configure():
    """SIGTERM ends a run as Ctrl-C does, and fixtures end with it."""
    signal.signal(signal.SIGTERM, terminated)


def terminated(_number, _frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt("SIGTERM")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def die_with_parent():
    """Sees to it that a child of the tests does not outlive them, however they end. The child calls it before it becomes a program."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def keep_modules_together(items):
    """
    Gives each module to one of pytest's workers, with the pods that it makes for all of its cases. A case that is marked `single`, with
    pods of its own, goes to whoever has time, and one with a mark xdist_group of its own goes with its group.
    """
    for item in items:
        if not item.get_closest_marker("single") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.module.__name__.rsplit(".", maxsplit=1)[-1]))


def once(factory, name, act):
    """Acts in the first of pytest's workers that comes here; the others wait for it. factory: tmp_path_factory."""
    directory = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        directory = directory.parent
    with open(directory / name, "a", encoding="utf-8") as done:
        fcntl.flock(done, fcntl.LOCK_EX)
        if os.fstat(done.fileno()).st_size == 0:
            act()
            done.write("done")


class AtTheEnd:
    """Runs a command when it is told to, or else when this process ends, however that happens: for what is no child of it."""

    def __init__(self, *command):
        # Its input ends with us, and nobody else's signal meets it.
        self.process = subprocess.Popen(["sh", "-c", 'cat >/dev/null; exec "$@"', "at-the-end", *map(str, command)],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)

    def now(self, timeout=60):
        self.process.stdin.close()
        assert self.process.wait(timeout) == 0, self.process.args


# Suites run side by side, on as few as two cores: what is only late is no failure.
PATIENCE = 2 if (os.cpu_count() or 1) >= 4 else 3


UNREACHABLE = r"TLS handshake timeout|i/o timeout|Unable to connect to the server|request timed out"


class Kubectl:
    """kubectl on the cluster under test, in one namespace."""

    def __init__(self, namespace=None):
        self.namespace = namespace

    def run(self, *args, stdin=None, check=True, timeout=120):
        command = ["kubectl"]
        if self.namespace:
            command += ["--namespace", self.namespace]
        for _ in range(3):
            result = subprocess.run(
                command + list(args), input=stdin, capture_output=True, text=True, timeout=timeout * PATIENCE, check=False
            )
            # A busy API server misses the ten seconds that kubectl gives it to begin; reading and applying can be done again.
            if result.returncode == 0 or args[0] not in ("get", "apply") or not re.search(UNREACHABLE, result.stderr):
                break
        if check and result.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(args)}: exit {result.returncode}\n{result.stderr}{result.stdout}")
        return result

    def __call__(self, *args, **kwargs):
        return self.run(*args, **kwargs).stdout

    def json(self, *args):
        return json.loads(self("get", *args, "-o", "json"))

    def items(self, *args):
        return self.json(*args)["items"]

    def apply(self, *objects):
        text = yaml.safe_dump_all(objects)
        return self("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)


def wait_for(what, condition, timeout=60, interval=None):
    """
    Calls condition until it returns something true, which is returned. An exception counts as not yet. timeout: seconds
    on a quiet machine. interval: a tenth of what it has waited so far, as each kubectl takes a tenth of a second of processor time.
    """
    timeout *= PATIENCE
    began = time.monotonic()
    deadline = began + timeout
    last = None
    while time.monotonic() < deadline:
        try:
            value = condition()
            if value:
                return value
            last = value
        except (AssertionError, KeyError, IndexError, ValueError, OSError, http.client.HTTPException,
                subprocess.TimeoutExpired) as error:
            last = error
        time.sleep(interval or min(max((time.monotonic() - began) / 10, 0.2), 1))
    raise AssertionError(f"waited {timeout} s for {what}; last: {last!r}")


MACHINE = pathlib.Path(__file__).parents[1] / "cluster/v2/node.sh"
SIDECAR_IMAGE = pathlib.Path(__file__).parents[2] / "build/images/afterglow-sidecar.tar"


@pytest.fixture(scope="session", autouse=True)
def machine():
    """The node in User Mode Linux, where it is the one under test. With AFTERGLOW_KEEP it is up already, and stays."""
    if os.environ.get("AFTERGLOW_E2E_NODE") != "afterglow-v2" or os.environ.get("AFTERGLOW_KEEP"):
        yield
        return
    end = AtTheEnd(MACHINE, "down")
    subprocess.run([MACHINE, "up", SIDECAR_IMAGE], check=True, timeout=1200)
    yield
    end.now(timeout=120)


@pytest.fixture(name="kubectl", scope="session")
def kubectl_everywhere():
    return Kubectl()


@pytest.fixture(scope="module")
def namespace(kubectl, request):
    """A namespace of the module's own."""
    name = request.module.__name__.rsplit(".", maxsplit=1)[-1].replace("_", "-") + "-" + uuid.uuid4().hex[:5]
    kubectl("create", "namespace", name)
    yield name
    if not os.environ.get("AFTERGLOW_KEEP"):
        kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def k(namespace):
    """kubectl in the module's namespace."""
    return Kubectl(namespace)
