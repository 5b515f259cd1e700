# SPDX-License-Identifier: Apache-2.0
"""Makes bundles, runs afterglow-ship, and shows the tests what the stores have; azure.py has the fourth store."""

import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.parse
import urllib.request

from conftest import wait_for

ROOT = pathlib.Path(__file__).parents[3]
SHIP = ROOT / "build" / "afterglow-ship"
# The other one is static, and nothing can take its clock.
SHARED_SHIP = ROOT / "build" / "shared" / "afterglow-ship"
LAUNCHERS = ROOT / "e2e" / "stores"
MIB = 1 << 20
CLOSE_WAIT = "08"


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Bundle:
    """A finished bundle, as the sidecar leaves it."""

    def __init__(self, path, core=0, seed=0):
        self.path = path
        self.files = {}
        path.mkdir(parents=True)
        self.random = random.Random(seed)
        self.write("report.txt", b"Container ray-worker was killed.\n")
        self.write("report.json", b'{"class": "Segfault"}\n')
        self.write("report.html", b"<!doctype html><p>killed</p>\n")
        self.write("empty", b"")
        self.write("logs/raylet.out", b"said\n" * 1000)
        if core:
            self.write("core.python.7.zst", self.random.randbytes(core))
        self.commit()

    def write(self, name, data):
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        self.files[name] = data

    def commit(self):
        """Writes the manifest, as the sidecar does: whole, or the old one stays."""
        files = [
            {"name": name, "sizeBytes": len(data), "sha256": digest(data)}
            for name, data in self.files.items()
            if name != "MANIFEST.json"
        ]
        text = json.dumps({"kind": "Manifest", "files": files}).encode()
        new = self.path / ".MANIFEST.new"
        new.write_bytes(text)
        new.rename(self.path / "MANIFEST.json")
        self.files["MANIFEST.json"] = text


class Outcome:
    """The result of a run of afterglow-ship."""

    def __init__(self, code, stdout, stderr):
        self.code = code
        self.stderr = stderr
        self.lines = [json.loads(line) for line in stdout.splitlines() if line]
        self.result = self.lines[-1] if self.lines else {}

    def __repr__(self):
        return f"exit {self.code}: {self.result} {self.stderr[-500:]}"


def command(store, bundle, *args, program=SHIP):
    return [str(program), *store.args, *args, str(bundle.path)]


def ship(store, bundle, *args, env=None, timeout=300, prefix=()):
    program = SHARED_SHIP if "LD_PRELOAD" in (env or {}) else SHIP
    done = subprocess.run(
        [*prefix, *command(store, bundle, *args, program=program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **(env or {})},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def shipped(store, bundle, *args, **kwargs):
    outcome = ship(store, bundle, *args, **kwargs)
    assert outcome.code == 0, outcome
    assert outcome.result["result"] == "shipped"
    return outcome


def failed(store, bundle, *args, **kwargs):
    outcome = ship(store, bundle, *args, **kwargs)
    assert outcome.result["result"] == "failed", outcome
    assert outcome.code == (1 if outcome.result["retry"] else 3), outcome
    return outcome


def kill_when(store, bundle, rate, what, condition):
    """Ships no faster than rate bytes a second, and kills it as soon as the condition holds."""
    process = subprocess.Popen(
        [*command(store, bundle), "--limit-rate", rate], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(what, condition, interval=0.01)
    finally:
        process.kill()
        process.wait()


def read_back(store):
    """Runs afterglow-ship --read. Returns its result, and what the archive has, by name."""
    # A path of its own bundle is no argument then.
    done = subprocess.run([str(SHIP), "--read", *store.args], capture_output=True, timeout=300, check=False)
    if done.returncode != 0:
        return done, {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        return done, {member.name: archive.extractfile(member).read() for member in archive}


def write_credentials(path, **values):
    """Writes a directory of credentials as a mounted Secret has them."""
    path.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        file = path / name.replace("_", "-")
        file.write_text(value + "\n")
        file.chmod(0o400)
    return path


def read_env(directory):
    lines = (directory / "env").read_text().split()
    return dict(line.split("=", 1) for line in lines)


class Store:
    """The options by which afterglow-ship reaches a store."""

    def __init__(self, *args):
        self.args = list(args)

    def set(self, option, value):
        self.args[self.args.index(option) + 1] = value
        return self


class DirectoryStore(Store):
    """A directory; under is a path that no other test uses."""

    kind = "directory"

    def __init__(self, root, under):
        super().__init__("--store", f"file://{root}", "--as", under)
        self.root = root
        self.under = under

    def read(self, _bundle):
        """Returns what is visible of the bundle: names and contents."""
        top = self.root / self.under
        return {
            str(file.relative_to(top)): file.read_bytes()
            for file in top.rglob("*")
            if file.is_file() and not file.name.startswith(".")
        }

    def clear(self):
        """Takes the bundle away again; what else is hidden there is a leftover of a writer that died."""
        top = self.root / self.under
        assert not list(top.rglob(".*"))
        shutil.rmtree(top)


def unanswered(port):
    """Returns the connections that their client has left, and whose last request the server may yet carry out."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row for row in rows if int(row[1].partition(":")[2], 16) == port and row[3] == CLOSE_WAIT]


class S3Store(Store):
    """A prefix of the bucket. What the server has it keeps as files, which are read here."""

    kind = "s3"

    def __init__(self, directory, credentials, under, endpoint=None):
        env = read_env(directory)
        self.data = directory / "data" / env["S3_BUCKET"]
        self.under = under
        self.endpoint = endpoint or env["S3_ENDPOINT"]
        url = urllib.parse.urlsplit(self.endpoint)
        self.target = (url.hostname, url.port)
        super().__init__("--store", f"s3://{env['S3_BUCKET']}/pre fix", "--s3-endpoint", self.endpoint, "--s3-region", env["S3_REGION"],
                         "--credentials", str(credentials), "--as", under, "--s3-part-size", "5Mi")

    def through(self, proxy):
        """Returns the same store with a proxy before it."""
        return self.set("--s3-endpoint", f"http://{proxy.address}")

    def read(self, _bundle):
        top = self.data / "pre fix" / self.under
        return {str(f.relative_to(top)): f.read_bytes() for f in top.rglob("*") if f.is_file()}

    def clear(self):
        shutil.rmtree(self.data / "pre fix" / self.under)

    def wait_answered(self):
        """Waits until the server has finished the requests of the processes that were killed."""
        wait_for("the server to answer the dead", lambda: not unanswered(self.target[1]), interval=0.005)

    def uploads(self):
        """Returns the multipart uploads of the core that were begun and neither completed nor aborted."""
        key = f"pre fix/{self.under}/core.python.7.zst"
        hidden = self.data / ".sgwtmp" / "multipart" / digest(key.encode())
        return [path for path in hidden.iterdir() if path.is_dir()] if hidden.exists() else []

    def parts(self):
        """Returns the parts of at least 5 MiB that the server has, without those that it is writing."""
        return [part for upload in self.uploads() for part in upload.iterdir() if part.name.isdigit() and part.stat().st_size]


class HdfsStore(Store):
    """A directory of HDFS."""

    kind = "hdfs"

    def __init__(self, directory, under, address=None, scheme="webhdfs"):
        env = read_env(directory)
        self.web = f"http://{env['WEBHDFS']}/webhdfs/v1"
        self.user = env["HDFS_USER"]
        self.superuser = env["HDFS_SUPERUSER"]
        self.under = under
        super().__init__("--store", f"{scheme}://{address or env['WEBHDFS']}/failures/pre%20fix", "--webhdfs-user", self.user, "--as", under)

    def call(self, method, path, op, user=None):
        url = f"{self.web}{urllib.request.quote(path)}?op={op}&user.name={user or self.superuser}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=180) as answer:
            return answer.read()

    def walk(self, path):
        for status in json.loads(self.call("GET", path, "LISTSTATUS"))["FileStatuses"]["FileStatus"]:
            child = f"{path}/{status['pathSuffix']}"
            if status["type"] == "DIRECTORY":
                yield from self.walk(child)
            else:
                yield child

    def clear(self):
        top = f"/failures/pre fix/{self.under}"
        assert not [name for name in self.walk(top) if name.rsplit("/", 1)[1].startswith(".")]
        self.call("DELETE", top, "DELETE&recursive=true")

    def read(self, _bundle):
        top = f"/failures/pre fix/{self.under}"
        try:
            names = list(self.walk(top))
        except urllib.error.HTTPError as error:
            assert error.code == 404
            return {}
        visible = [name for name in names if not name.rsplit("/", 1)[1].startswith(".")]
        return {name[len(top) + 1 :]: self.call("GET", name, "OPEN") for name in visible}


def check_whole(store, bundle):
    """Checks that the store has all files with the right content, and nothing else."""
    there = store.read(bundle)
    assert sorted(there) == sorted(bundle.files)
    for name, data in bundle.files.items():
        assert digest(there[name]) == digest(data), name


def check_no_halves(store, bundle):
    """Checks that each visible file is whole, and that all files are there if the manifest is."""
    there = store.read(bundle)
    for name, data in there.items():
        assert digest(data) == digest(bundle.files[name]), f"{name} is {len(data)} bytes of {len(bundle.files[name])}"
    if "MANIFEST.json" in there:
        assert sorted(there) == sorted(bundle.files)
    return there
