#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""images/push.sh brings the images of build/release, and the chart, to a registry on loopback, where they are found by their digests. cosign
accepts what was signed there, and nothing else. `make test-push` runs it; without a release, with images of one line of text."""

import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).parents[1]
RELEASE = ROOT / "build/release"
ACCEPT = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json"


def program_of(script):
    return subprocess.run([ROOT / script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def write_archive(out, files):
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


class SmallImage:
    """An index of two machines, as images/release.sh writes it. `blobs` has what it is made of, by path, `digest` is that of the index."""

    def __init__(self, name):
        self.blobs = {}
        images = [self.image(name, machine) for machine in ("amd64", "arm64")]
        self.index = self.add_json("index.v1+json", {"manifests": images})
        self.digest = self.index["digest"]

    def add(self, kind, data):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, kind, members):
        return self.add(kind, json.dumps({"schemaVersion": 2, "mediaType": f"application/vnd.oci.image.{kind}", **members}).encode())

    def image(self, name, machine):
        archive = io.BytesIO()
        write_archive(archive, {"etc/name": f"{name} {machine}\n".encode()})
        layer = self.add("layer.v1.tar", archive.getvalue())
        platform = {"architecture": machine, "os": "linux"}
        config = self.add("config.v1+json", json.dumps({**platform, "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}).encode())
        return {**self.add_json("manifest.v1+json", {"config": config, "layers": [layer]}), "platform": platform}

    def write(self, path, version):
        named = {**self.index, "annotations": {"org.opencontainers.image.ref.name": version}}
        layout = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps({"schemaVersion": 2, "manifests": [named]}).encode()}
        with path.open("wb") as out:
            write_archive(out, {**layout, **self.blobs})


def write_small_release():
    version = subprocess.run(["make", "-s", "version"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    images = {name: SmallImage(name) for name in ("afterglow-operator", "afterglow-sidecar", "afterglow-node")}
    for name, image in images.items():
        image.write(RELEASE / f"{name}-{version}.oci.tar", version)
    (RELEASE / "digests.txt").write_text("".join(f"{name}@{image.digest}\n" for name, image in images.items()))
    subprocess.run([ROOT / "tools/chart_archive.sh", RELEASE / f"afterglow-{version}.tgz"], check=True)


def digests():
    return dict(line.split("@") for line in (RELEASE / "digests.txt").read_text().splitlines())


class Push(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        server = subprocess.Popen([program_of("e2e/registry/build.sh"), "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stdout.close)
        self.host = server.stdout.readline().strip()
        self.registry = f"{self.host}/afterglow"

    def run_push(self, **env):
        clean = {name: value for name, value in os.environ.items() if name != "COSIGN_KEY"}
        return subprocess.run([ROOT / "images/push.sh", self.registry], env={**clean, "PUSH_INSECURE": "1", "RELEASE_DIR": str(RELEASE), **env},
                              capture_output=True, text=True, check=False)  # fmt: skip

    def get(self, image, kind, digest):
        request = urllib.request.Request(f"http://{self.host}/v2/afterglow/{image}/{kind}/{digest}", headers={"Accept": ACCEPT})
        with urllib.request.urlopen(request, timeout=60) as answer:
            data = answer.read()
        self.assertEqual(digest, f"sha256:{hashlib.sha256(data).hexdigest()}")
        return data

    def push(self, **env):
        done = self.run_push(**env)
        self.assertEqual(0, done.returncode, done.stderr)
        return done

    def test_each_image_is_there_for_both_machines_by_its_digest(self):
        done = self.push()
        for image, digest in digests().items():
            self.assertIn(f"{self.registry}/{image}@{digest}\n", done.stdout)
            index = json.loads(self.get(image, "manifests", digest))
            self.assertEqual(["amd64", "arm64"], sorted(m["platform"]["architecture"] for m in index["manifests"]))
            for entry in index["manifests"]:
                manifest = json.loads(self.get(image, "manifests", entry["digest"]))
                for blob in [manifest["config"], *manifest["layers"]]:
                    self.assertEqual(blob["size"], len(self.get(image, "blobs", blob["digest"])))

    def test_the_chart_is_there_and_names_the_images_by_their_digests(self):
        (line,) = [line for line in self.push().stdout.splitlines() if "/charts/afterglow@" in line]
        manifest = json.loads(self.get("charts/afterglow", "manifests", line.partition("@")[2]))
        self.assertEqual("application/vnd.cncf.helm.config.v1+json", manifest["config"]["mediaType"])
        self.assertEqual("afterglow", json.loads(self.get("charts/afterglow", "blobs", manifest["config"]["digest"]))["name"])
        (layer,) = manifest["layers"]
        with tarfile.open(fileobj=io.BytesIO(self.get("charts/afterglow", "blobs", layer["digest"]))) as chart:
            values = chart.extractfile("afterglow/values.yaml").read().decode()
        for image, digest in digests().items():
            self.assertRegex(values, rf"repository: {self.registry}/{image}\n(.*\n){{1,5}} *digest: {digest}\n")

    def test_an_archive_that_is_not_the_one_of_the_release_is_refused(self):
        wrong = self.folder / "release"
        wrong.mkdir()
        for archive in RELEASE.glob("*.oci.tar"):
            (wrong / archive.name).symlink_to(archive)
        (wrong / "digests.txt").write_text(f"afterglow-operator@sha256:{'0' * 64}\n")
        done = self.run_push(RELEASE_DIR=str(wrong))
        self.assertEqual(1, done.returncode)
        self.assertIn(f"not sha256:{'0' * 64}", done.stderr)

    # --- Signing ---------------------------------------------------------------------------------------------

    def cosign(self, *words, code=0):
        env = {**os.environ, "COSIGN_PASSWORD": "of the test"}
        done = subprocess.run([program_of("tools/cosign.sh"), *words], cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        if code is not None:
            self.assertEqual(code, done.returncode, done.stderr)
        return done

    def verify(self, key, reference):
        words = ["verify", "--key", key, "--insecure-ignore-tlog", "--allow-http-registry", reference]
        return self.cosign(*words, code=None).returncode == 0

    def test_a_signed_image_is_accepted_by_its_key_and_by_no_other(self):
        self.cosign("generate-key-pair", "--output-key-prefix", "release")
        self.cosign("generate-key-pair", "--output-key-prefix", "other")
        references = [line.split()[0] for line in self.push().stdout.splitlines()]
        self.assertEqual(len(digests()) + 1, len(references), "the images and the chart")
        for reference in references:
            self.assertFalse(self.verify("release.pub", reference), "an image that nobody signed")
        self.push(COSIGN_KEY=str(self.folder / "release.key"), COSIGN_PASSWORD="of the test")
        for reference in references:
            self.assertTrue(self.verify("release.pub", reference))
            self.assertFalse(self.verify("other.pub", reference))
        # A runtime may have resolved the index already.
        image, digest = next(iter(digests().items()))
        for entry in json.loads(self.get(image, "manifests", digest))["manifests"]:
            self.assertTrue(self.verify("release.pub", f"{self.registry}/{image}@{entry['digest']}"))

    def test_without_the_program_nothing_is_pushed(self):
        done = self.run_push(COSIGN="/nonexistent/cosign", COSIGN_KEY="key")
        self.assertEqual(1, done.returncode)
        self.assertIn("there is no /nonexistent/cosign", done.stderr)
        self.assertEqual("", done.stdout)


if __name__ == "__main__":
    if (RELEASE / "digests.txt").exists():
        unittest.main()
    print("push_test.py: there is no release in build/release, so the images are small ones of this test", flush=True)
    with tempfile.TemporaryDirectory() as small:
        RELEASE = pathlib.Path(small)
        write_small_release()
        unittest.main()
