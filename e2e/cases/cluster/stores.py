# SPDX-License-Identifier: Apache-2.0
"""Sets up each kind of store as a user would, and each is real: a claim, an S3 server, HDFS."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import typing
import urllib.request

from conftest import AtTheEnd

ROOT = pathlib.Path(__file__).parents[3]
RUN = pathlib.Path(os.environ.get("AFTERGLOW_RUN", "/var/lib/afterglow-cluster"))
CLAIM = "ray-failures"
SECRET = "store-credentials"
SIDECAR_UID = 65532


@dataclasses.dataclass
class Store:
    """A store that is ready. block is a RayPolicy's block store."""
    kind: str
    block: dict
    read: typing.Callable[[str], bytes]  # of a file, by the name that a RayFailure gives its bundle, "/" and the file's name

    def fetch(self, bundle, directory):
        """Downloads a bundle as its manifest lists it."""
        manifest = self.read(f"{bundle}/MANIFEST.json")
        (directory / "MANIFEST.json").write_bytes(manifest)
        for entry in json.loads(manifest)["files"]:
            target = directory / entry["name"]
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(self.read(f"{bundle}/{entry['name']}"))


@contextlib.contextmanager
def claimed_directory(k, namespace):
    """Returns the directory behind the claim of a namespace."""
    directory = RUN / "e2e-volumes" / namespace
    directory.mkdir(parents=True)
    os.chown(directory, SIDECAR_UID, SIDECAR_UID)
    directory.chmod(0o770)
    k.apply({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": namespace},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "",
                 "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": str(directory)},
                 "claimRef": {"namespace": namespace, "name": CLAIM}},
    }, {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM, "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": namespace,
                 "resources": {"requests": {"storage": "1Gi"}}},
    })
    yield directory
    k("delete", "persistentvolume", namespace, "--wait=false", check=False)
    shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def claim(k, namespace):
    with claimed_directory(k, namespace) as directory:
        yield Store("claim", {"type": "claim", "claim": CLAIM},
                    lambda name: (directory / name.removeprefix(f"pvc:{CLAIM}/")).read_bytes())


@contextlib.contextmanager
def server(script):
    """Runs a server of e2e/stores that listens where pods reach it, and gives what it says of itself."""
    with tempfile.TemporaryDirectory(prefix="afterglow-store-") as directory:
        command = [str(ROOT / "e2e/stores" / script)]
        end = AtTheEnd(*command, "stop", directory)
        try:
            with open(f"{directory}.log", "w", encoding="utf-8") as log:
                subprocess.run([*command, "start", directory], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                               check=True, timeout=400)
            text = pathlib.Path(directory, "env").read_text()
            yield dict(part.split("=", 1) for part in shlex.split(text))
        finally:
            end.now()
            pathlib.Path(f"{directory}.log").unlink(missing_ok=True)


@contextlib.contextmanager
def s3(k, namespace):
    with server("s3.sh") as env:
        k("create", "secret", "generic", SECRET, f"--from-literal=access-key-id={env['S3_ACCESS_KEY_ID']}",
          f"--from-literal=secret-access-key={env['S3_SECRET_ACCESS_KEY']}")

        def read(name):
            path = name.removeprefix("s3://")
            config = f"user = \"{env['S3_ACCESS_KEY_ID']}:{env['S3_SECRET_ACCESS_KEY']}\"\n"
            result = subprocess.run(
                ["curl", "-sSf", "-K", "-", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",  # curl 7.88 sends none by itself
                 "--aws-sigv4", f"aws:amz:{env['S3_REGION']}:s3", f"{env['S3_ENDPOINT']}/{path}"],
                input=config.encode(), capture_output=True, check=False, timeout=180)
            assert result.returncode == 0, f"{path}: {result.stderr.decode()}"
            return result.stdout

        yield Store("s3", {"type": "s3", "credentialsSecret": SECRET, "s3": {
            "bucket": env["S3_BUCKET"], "prefix": namespace, "endpoint": env["S3_ENDPOINT"], "region": env["S3_REGION"],
            "pathStyle": True}}, read)


@contextlib.contextmanager
def webhdfs(_k, _namespace):
    with server("hdfs.sh") as env:
        def read(name):
            path = name.removeprefix(f"webhdfs://{env['WEBHDFS']}")
            url = f"http://{env['WEBHDFS']}/webhdfs/v1{path}?op=OPEN&user.name={env['HDFS_USER']}"
            with urllib.request.urlopen(url, timeout=180) as answer:  # the DataNode's by redirect
                return answer.read()

        yield Store("webhdfs", {"type": "webhdfs", "webhdfs": {
            "url": f"webhdfs://{env['WEBHDFS']}/failures", "user": env["HDFS_USER"]}}, read)


STORES = {"claim": claim, "s3": s3, "webhdfs": webhdfs}
