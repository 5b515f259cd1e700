#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""release_check.py accepts a small release that is right, and names what is wrong with one that is not."""
import contextlib
import gzip
import io
import json
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
import unittest.mock

sys.dont_write_bytecode = True
import release_check
from release_check import INDEX, MANIFEST, sha256

WHEEL = pathlib.Path(__file__).resolve().parent.parent / "wheel"
VERSION = "1.2.3"
PLATFORMS = [("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64")]
ANNOTATION = "org.opencontainers.image.ref.name"


MODES = {f"usr/bin/afterglow-{name}": 0o111 for name in ("sidecar", "ship", "pack", "unwind")}


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = MODES.get(name, 0o755)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def elf(machine):
    return b"\x7fELF" + bytes(14) + struct.pack("<H", machine)


def program_for(system, arch):
    if system == "linux":
        return elf(release_check.ARCHITECTURES[arch])
    return b"\xcf\xfa\xed\xfe" + struct.pack("<I", release_check.DARWIN[arch]) + bytes(12)


class Image:
    """An OCI layout of both architectures that a test may spoil before it is written."""

    def __init__(self, name):
        self.name, self.blobs = name, {}
        self.manifests = [self.manifest(arch) for arch in release_check.ARCHITECTURES]

    def add(self, data, media_type):
        digest = sha256(data)
        self.blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def manifest(self, arch, machine=None, platform=None):
        files = {f"usr/bin/afterglow-{self.name}": elf(machine or release_check.ARCHITECTURES[arch]), "etc/passwd": b"x"}
        if self.name == "operator":
            files |= {f"usr/libexec/afterglow/launchers/{m}": elf(n) for m, n in release_check.LAUNCHERS.items()}
        layer = tar_of(files)
        config = {"os": "linux", "architecture": arch, "config": {"Entrypoint": [f"/usr/bin/afterglow-{self.name}"]},
                  "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]}}  # fmt: skip
        manifest = {"config": self.add(json.dumps(config).encode(), "application/vnd.oci.image.config.v1+json"),
                    "layers": [self.add(gzip.compress(layer), "application/vnd.oci.image.layer.v1.tar+gzip")]}  # fmt: skip
        descriptor = self.add(json.dumps(manifest).encode(), MANIFEST)
        return {**descriptor, "platform": {"os": "linux", "architecture": platform or arch}}

    def write(self, folder):
        """Returns the digest."""
        index = self.add(json.dumps({"manifests": self.manifests}).encode(), INDEX)
        top = {"manifests": [{**index, "annotations": {ANNOTATION: VERSION}}]}
        files = {"oci-layout": b"{}", "index.json": json.dumps(top).encode(), **self.blobs}
        (folder / f"afterglow-{self.name}-{VERSION}.oci.tar").write_bytes(tar_of(files))
        return index["digest"]


class ReleaseCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.images = {name: Image(name) for name in release_check.AIMS}
        self.chart = {"afterglow": b"", "afterglow/Chart.yaml": f"name: x\nversion: {VERSION}\nappVersion: {VERSION}\n".encode(),
                      "afterglow/values.yaml": b"", "afterglow/templates/deployment.yaml": b""}  # fmt: skip
        self.platforms = PLATFORMS
        self.wheels = {"x86_64": 62, "aarch64": 183}

    def write(self):
        digests = {name: image.write(self.folder) for name, image in self.images.items()}
        (self.folder / "digests.txt").write_text("".join(f"afterglow-{n}@{d}\n" for n, d in digests.items()))
        for name, digest in digests.items():
            reference = f"pkg:oci/afterglow-{name}@{digest.replace(':', '%3A')}"
            packages = [{"externalRefs": [{"referenceLocator": reference}]}, {}]
            for arch in release_check.ARCHITECTURES:
                path = self.folder / f"afterglow-{name}-{VERSION}-{arch}.spdx.json"
                path.write_text(json.dumps({"spdxVersion": "SPDX-2.3", "packages": packages}))
        krew = f'  version: "v{VERSION}"\n'
        for system, arch in self.platforms:
            name = f"kubectl-afterglow-{system}-{arch}.tar.gz"
            data = gzip.compress(tar_of({"kubectl-afterglow": program_for(system, arch)}))
            (self.folder / name).write_bytes(data)
            krew += f'      uri: "https://example.com/{name}"\n      sha256: "{sha256(data)}"\n'
        (self.folder / "afterglow.yaml").write_text(krew)
        for machine, number in self.wheels.items():
            with zipfile.ZipFile(self.folder / f"afterglow_ray-{VERSION}-py3-none-musllinux_1_1_{machine}.whl", "w") as wheel:
                wheel.writestr("afterglow_ray/bin/afterglow-launch", elf(number))
            (self.folder / f"afterglow-ray-{VERSION}-linux-{machine}.tar.gz").write_bytes(machine.encode())
        recipe = [str(WHEEL / "recipe.sh"), str(self.folder), VERSION, "https://example.com"]
        (self.folder / "recipe.yaml").write_text(subprocess.run(recipe, check=True, capture_output=True, text=True).stdout)
        (self.folder / f"afterglow-{VERSION}.tgz").write_bytes(gzip.compress(tar_of(self.chart)))
        return self.sum_up()

    def sum_up(self):
        files = sorted(path for path in self.folder.iterdir() if path.name != "SHA256SUMS")
        (self.folder / "SHA256SUMS").write_text("".join(f"{sha256(f.read_bytes())}  {f.name}\n" for f in files))
        return self

    def check(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            release_check.check(self.folder, VERSION)
        return out.getvalue()

    def refused(self, words):
        with self.assertRaisesRegex(release_check.Wrong, words):
            self.check()

    def edit(self, name, old, new):
        path = self.folder / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))
        self.sum_up()

    def test_a_release_that_is_right_is_accepted_and_sizes_stand_beside_the_aims(self):
        said = self.write().check()
        self.assertIn("afterglow-operator arm64: 0.0 MiB (aim 15 MiB)\n", said)
        self.assertIn("afterglow-node amd64: 0.0 MiB\n", said)

    def test_each_file_has_its_checksum(self):
        self.write()
        (self.folder / "more").write_text("")
        self.refused("other files than the release: more")
        self.sum_up()
        (self.folder / "more").write_text("changed")
        self.refused("more is not what SHA256SUMS says")

    def test_an_image_needs_both_architectures_and_programs_for_them(self):
        sidecar = self.images["sidecar"]
        right = sidecar.manifests
        sidecar.manifests = right[:1]
        self.write().refused("is for ")
        for manifest, words in [(sidecar.manifest("arm64", machine=62), "afterglow-sidecar is for another machine"),
                                (sidecar.manifest("amd64", platform="arm64"), "configuration is for another machine")]:  # fmt: skip
            sidecar.manifests = [right[0], manifest]
            self.write().refused(words)

    def test_nobody_reads_the_programs_of_the_sidecar(self):
        with unittest.mock.patch.dict(MODES, {"usr/bin/afterglow-sidecar": 0o755}):
            self.images["sidecar"] = Image("sidecar")
        self.write().refused("everybody may read /usr/bin/afterglow-sidecar")

    def test_digests_and_sizes_are_those_of_the_blobs(self):
        node = self.images["node"]
        node.manifests[1]["size"] += 1
        self.write().refused("bytes, its descriptor says")
        node.manifests[1]["size"] -= 1
        path = f"blobs/{node.manifests[0]['digest'].replace(':', '/')}"
        data = node.blobs[path]
        node.blobs[path] = data.replace(b"config", b"konfig")
        self.write().refused("has another digest")
        del node.blobs[path]
        self.write().refused("lacks the blob")
        node.blobs[path] = data
        node.blobs["blobs/sha256/00"] = b""
        self.write().refused("has files that no manifest names")

    def test_what_names_an_image_names_its_digest(self):
        digest = dict(line.split("@") for line in (self.write().folder / "digests.txt").read_text().splitlines())["afterglow-node"]
        self.edit("digests.txt", digest, f"sha256:{'0' * 64}")
        self.refused("digests.txt has another digest")
        self.write().edit(f"afterglow-node-{VERSION}-arm64.spdx.json", "%3A", "%3Aa")
        self.refused("arm64.spdx.json is of another image")

    def test_krews_manifest_has_the_checksums_of_the_archives_and_these_programs_for_their_machines(self):
        text = self.write().folder.joinpath("afterglow.yaml").read_text()
        first = text.split('sha256: "')[1][:64]
        self.edit("afterglow.yaml", first, "0" * 64)
        self.refused("another checksum of kubectl-afterglow-linux-amd64.tar.gz")
        self.platforms = PLATFORMS[:3]
        self.write().refused("afterglow.yaml has ")
        self.platforms = PLATFORMS
        right, release_check.DARWIN["arm64"] = release_check.DARWIN["arm64"], 7
        self.addCleanup(release_check.DARWIN.update, arm64=right)
        self.write()
        release_check.DARWIN["arm64"] = right
        self.refused("darwin-arm64.tar.gz has a program for another machine")

    def test_there_is_a_wheel_for_each_machine_with_its_programs(self):
        self.wheels["aarch64"] = 62
        self.write().refused("aarch64.whl has a program for another machine")
        del self.wheels["aarch64"]
        (self.folder / f"afterglow_ray-{VERSION}-py3-none-musllinux_1_1_aarch64.whl").unlink()
        self.write().refused("there are wheels for amd64")

    def test_the_recipe_for_conda_forge_has_the_checksums_of_the_archives(self):
        self.write()
        (self.folder / f"afterglow-ray-{VERSION}-linux-aarch64.tar.gz").write_bytes(b"another")
        self.sum_up().refused(f"recipe.yaml does not fit afterglow-ray-{VERSION}-linux-aarch64.tar.gz")

    def test_a_chart_for_a_registry_names_the_images_of_the_release(self):
        self.write()
        digest = dict(line.split("@") for line in (self.folder / "digests.txt").read_text().splitlines())["afterglow-operator"]
        name = "image:\n  repository: example.com/x/afterglow-operator\n  digest: "
        self.chart["afterglow/values.yaml"] = f"{name}{digest}\n".encode()
        self.write().check()
        self.chart["afterglow/values.yaml"] = f"{name}sha256:{'0' * 64}\n".encode()
        self.write().refused("names another afterglow-operator than the release")

    def test_the_chart_is_whole_and_of_this_version(self):
        self.chart["afterglow/Chart.yaml"] = f"name: x\nversion: {VERSION}\nappVersion: 9\n".encode()
        self.write().refused("another appVersion than 1.2.3")
        self.chart["afterglow/Chart.yaml"] = f"name: x\nversion: {VERSION}\nappVersion: {VERSION}\n".encode()
        del self.chart["afterglow/values.yaml"]
        self.write().refused("is no whole chart")
        self.chart["afterglow2/values.yaml"] = b""
        self.write().refused("has files outside of the chart")


if __name__ == "__main__":
    unittest.main()
