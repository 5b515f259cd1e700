#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""release_check.py DIR VERSION: whether a release is what docs/releasing.md says, read as those who get it read it.

Every file has a checksum; each image is an index of linux/amd64 and linux/arm64, its manifests, sizes and digests are right, and its
programs are for that machine; krew's manifest, the SBOMs, the wheels, the recipe for conda-forge and the chart fit the other files. Prints the size of each image as a node
pulls it. Exits 1 and names the first thing that is wrong."""

import gzip
import hashlib
import io
import json
import pathlib
import re
import struct
import sys
import tarfile
import zipfile

# What a node pulls, in MiB at most; a larger image is printed as such. The node agent's has no aim of its own.
AIMS = {"operator": 15, "sidecar": 6, "node": None}
ARCHITECTURES = {"amd64": 62, "arm64": 183}  # EM_X86_64, EM_AARCH64
CLOSED = [f"usr/bin/afterglow-{name}" for name in ("sidecar", "ship", "pack", "unwind")]
LAUNCHERS = {"x86_64": 62, "aarch64": 183}
DARWIN = {"amd64": 0x01000007, "arm64": 0x0100000C}  # CPU_TYPE_X86_64, CPU_TYPE_ARM64
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
MIB = 1 << 20


class Wrong(Exception):
    """What is wrong with a release, as a sentence."""


def expect(condition, sentence):
    if not condition:
        raise Wrong(sentence)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def elf_machine(data):
    return struct.unpack_from("<H", data, 18)[0] if data[:4] == b"\x7fELF" else None


def check_checksums(folder):
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    files = {path.name for path in folder.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig"}
    expect(set(sums) == files, f"SHA256SUMS has other files than the release: {', '.join(sorted(set(sums) ^ files))}")
    for name, digest in sums.items():
        expect(sha256((folder / name).read_bytes()) == digest, f"{name} is not what SHA256SUMS says")


class Layout:
    """An OCI layout in an archive. Each blob is held against its digest, and against the size in each descriptor of it."""

    def __init__(self, path):
        self.name = path.name
        with tarfile.open(path) as archive:
            members = [member for member in archive if member.isfile()]
            self.files = {member.name.removeprefix("./"): archive.extractfile(member).read() for member in members}
        expect(len({member.mtime for member in members}) == 1, f"{self.name}: its files have more than one time")
        expect(self.files.get("oci-layout"), f"{self.name} is no OCI layout")
        self.used = set()

    def blob(self, descriptor):
        digest = descriptor["digest"]
        data = self.files.get(f"blobs/{digest.replace(':', '/')}")
        expect(data is not None, f"{self.name} lacks the blob {digest}")
        expect(f"sha256:{sha256(data)}" == digest, f"{self.name}: blob {digest} has another digest")
        expect(len(data) == descriptor["size"], f"{self.name}: {digest} has {len(data)} bytes, its descriptor says {descriptor['size']}")
        self.used.add(f"blobs/{digest.replace(':', '/')}")
        return data

    def json(self, descriptor, media_type):
        expect(descriptor["mediaType"] == media_type, f"{self.name}: {descriptor['digest']} is {descriptor['mediaType']}")
        return json.loads(self.blob(descriptor))

    def check_nothing_else(self):
        rest = set(self.files) - self.used - {"oci-layout", "index.json"}
        expect(not rest, f"{self.name} has files that no manifest names: {', '.join(sorted(rest))}")


def check_programs(where, layer, arch):
    """layer: a tar. The operator's image has the launchers of all machines."""
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        for member in archive:
            machine = elf_machine(archive.extractfile(member).read(20)) if member.isfile() else None
            parent, _, base = member.name.rpartition("/")
            wanted = LAUNCHERS[base] if parent.endswith("afterglow/launchers") else ARCHITECTURES[arch]
            expect(machine in (None, wanted), f"{where}: /{member.name} is for another machine")
            expect(member.uid == member.gid == 0, f"{where}: /{member.name} does not belong to root")
            # What a user cannot read runs as a process that nobody else of that user may look into (lib/undumpable.h).
            expect(member.name.lstrip("./") not in CLOSED or not member.mode & 0o444, f"{where}: everybody may read /{member.name}")


def check_manifest(layout, descriptor, image):
    """Returns the bytes that a node pulls."""
    arch = descriptor["platform"]["architecture"]
    where = f"{layout.name} for {arch}"
    manifest = layout.json(descriptor, MANIFEST)
    config = json.loads(layout.blob(manifest["config"]))
    expect((config["os"], config["architecture"]) == ("linux", arch), f"{where}: its configuration is for another machine")
    expect(config["config"]["Entrypoint"] == [f"/usr/bin/afterglow-{image}"], f"{where} starts {config['config']['Entrypoint']}")
    expect(len(manifest["layers"]) == len(config["rootfs"]["diff_ids"]) == 1, f"{where} has not one layer")
    layer = layout.blob(manifest["layers"][0])
    data = gzip.decompress(layer) if layer[:2] == b"\x1f\x8b" else layer
    expect(config["rootfs"]["diff_ids"] == [f"sha256:{sha256(data)}"], f"{where}: its layer has another digest")
    check_programs(where, data, arch)
    return descriptor["size"] + manifest["config"]["size"] + len(layer)


def check_image(folder, version, image, digests):
    layout = Layout(folder / f"afterglow-{image}-{version}.oci.tar")
    entries = json.loads(layout.files["index.json"])["manifests"]
    expect(len(entries) == 1, f"{layout.name} has {len(entries)} images")
    name = entries[0].get("annotations", {}).get("org.opencontainers.image.ref.name")
    expect(name == version, f"{layout.name} has the tag {name}")
    expect(digests.get(f"afterglow-{image}") == entries[0]["digest"], f"digests.txt has another digest than {layout.name}")
    manifests = layout.json(entries[0], INDEX)["manifests"]
    platforms = [(m["platform"]["os"], m["platform"]["architecture"]) for m in manifests]
    expect(sorted(platforms) == [("linux", arch) for arch in ARCHITECTURES], f"{layout.name} is for {platforms}")
    for descriptor in manifests:
        arch = descriptor["platform"]["architecture"]
        size = check_manifest(layout, descriptor, image)
        check_sbom(folder / f"afterglow-{image}-{version}-{arch}.spdx.json", entries[0]["digest"])
        aim = f" (aim {AIMS[image]} MiB{', missed' if size > AIMS[image] * MIB else ''})" if AIMS[image] else ""
        print(f"afterglow-{image} {arch}: {size / MIB:.1f} MiB{aim}")
    layout.check_nothing_else()


def check_sbom(path, digest):
    document = json.loads(path.read_text())
    image, *parts = document["packages"]
    reference = image["externalRefs"][0]["referenceLocator"]
    expect(document["spdxVersion"] == "SPDX-2.3" and parts, f"{path.name} names no parts")
    expect(digest.replace(":", "%3A") in reference, f"{path.name} is of another image")


def check_plugins(folder, version):
    text = (folder / "afterglow.yaml").read_text()
    expect(f'version: "v{version}"' in text, "afterglow.yaml has another version")
    entries = re.findall(r'uri: "(https://[^"]+)/([^"/]+)"\n +sha256: "([0-9a-f]{64})"', text)
    names = [name for _, name, _ in entries]
    expect(names == [f"kubectl-afterglow-{s}-{a}.tar.gz" for s in ("linux", "darwin") for a in ARCHITECTURES],
           f"afterglow.yaml has {', '.join(names)}")  # fmt: skip
    for _, name, digest in entries:
        path = folder / name
        expect(sha256(path.read_bytes()) == digest, f"afterglow.yaml has another checksum of {name}")
        with tarfile.open(path) as archive:
            program = archive.extractfile("kubectl-afterglow").read(20)
        system, arch = re.fullmatch(r"kubectl-afterglow-(\w+)-(\w+)\.tar\.gz", name).groups()
        is_mach = program[:4] == b"\xcf\xfa\xed\xfe"
        right = is_mach and struct.unpack_from("<I", program, 4)[0] == DARWIN[arch] if system == "darwin" \
            else elf_machine(program) == ARCHITECTURES[arch]  # fmt: skip
        expect(right, f"{name} has a program for another machine")


def check_chart(path, version, digests):
    with tarfile.open(path) as archive:
        names = archive.getnames()
        values = archive.extractfile("afterglow/values.yaml").read().decode() if "afterglow/values.yaml" in names else ""
        chart = archive.extractfile("afterglow/Chart.yaml").read().decode()
    for field in ("version", "appVersion"):
        expect(f"\n{field}: {version}\n" in chart, f"{path.name}: Chart.yaml has another {field} than {version}")
    expect(all(f"{name}/".startswith("afterglow/") for name in names), f"{path.name} has files outside of the chart")
    expect({"afterglow/values.yaml", "afterglow/templates/deployment.yaml"} <= set(names), f"{path.name} is no whole chart")
    # Without a registry it has the names that the images have on the machine that built them.
    for name, digest in digests.items():
        if re.search(rf"^ *repository: (?!localhost/)\S+/{name}$", values, re.M):
            expect(f"digest: {digest}\n" in values, f"{path.name} names another {name} than the release")


def check_wheels(folder, version):
    found = []
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            expect(archive.testzip() is None, f"{path.name} is damaged")
            programs = [archive.read(name) for name in archive.namelist() if "/bin/" in name]
        arch = "arm64" if path.stem.endswith("aarch64") else "amd64"
        expect(path.name.startswith(f"afterglow_ray-{version}-py3-none-"), f"{path.name} has another version")
        expect(programs and {elf_machine(program) for program in programs} == {ARCHITECTURES[arch]}, f"{path.name} has a program for another machine")
        found.append(arch)
    expect(sorted(found) == sorted(ARCHITECTURES), f"there are wheels for {', '.join(found) or 'nothing'}")
    recipe = (folder / "recipe.yaml").read_text()
    for machine in ("x86_64", "aarch64"):
        archive = f"afterglow-ray-{version}-linux-{machine}.tar.gz"
        digest = hashlib.sha256((folder / archive).read_bytes()).hexdigest()
        expect(f"/{archive}\n      sha256: {digest}\n" in recipe, f"recipe.yaml does not fit {archive}")


def check(folder, version):
    check_checksums(folder)
    digests = dict(line.split("@") for line in (folder / "digests.txt").read_text().splitlines())
    expect(set(digests) == {f"afterglow-{image}" for image in AIMS}, f"digests.txt has {', '.join(digests)}")
    for image in AIMS:
        check_image(folder, version, image, digests)
    check_plugins(folder, version)
    check_wheels(folder, version)
    check_chart(folder / f"afterglow-{version}.tgz", version, digests)


def main():
    folder, version = sys.argv[1:]
    try:
        check(pathlib.Path(folder), version)
    except (Wrong, OSError, LookupError, ValueError, tarfile.TarError) as wrong:
        sys.exit(f"release_check.py: {wrong if isinstance(wrong, Wrong) else repr(wrong)}")


if __name__ == "__main__":
    main()
