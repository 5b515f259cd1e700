#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py IMAGE.tar BUILD ARCH DIGEST [SYSROOT]: prints what an image is made of, as SPDX 2.3 in JSON.

IMAGE.tar is the docker archive of images/build.sh, BUILD the folder with its programs, ARCH amd64 or arm64, DIGEST that of the
index that is published. Each file of the image is accounted for: a library or a list of authorities is of a Debian package, a
program is made of what the linker read (PROGRAM.inputs). A file of which nothing is known is an error. The packages are Debian's
source packages, since that is what Debian names in its security announcements."""

import datetime
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import uuid

# These archives are built from Debian's source, of the version that ARCHIVE.source names (tools/static-library.sh), for the headers of this package.
BUILT_ARCHIVES = {"libcjson.a": "libcjson-dev", "libcurl.a": "libcurl4-openssl-dev", "libkrb5.a": "libkrb5-dev"}
OWN_FILES = {"etc/passwd", "etc/group"}
LAUNCHERS = {"x86_64": "build/afterglow-launch", "aarch64": "build/arm64/afterglow-launch"}


class HostPackages:
    """What dpkg knows of this machine."""

    @functools.lru_cache(maxsize=None)
    def owner_of(self, path):
        real = os.path.realpath(path)
        for name in dict.fromkeys([path, real, real.removeprefix("/usr")]):
            done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return done.stdout.split(":")[0].split(",")[0]
        return "ca-certificates" if path == "/etc/ssl/certs/ca-certificates.crt" else None

    def source_of(self, package):
        form = "${source:Package} ${source:Version}\n"
        text = subprocess.run(["dpkg-query", "-W", "-f", form, package], capture_output=True, text=True, check=True).stdout
        return tuple(text.splitlines()[0].split())


class SysrootPackages:
    """What tools/sysroot.sh unpacked; the compiler's own parts are the machine's."""

    def __init__(self, root):
        self.root = os.path.realpath(root)
        lines = (pathlib.Path(root) / "packages").read_text().splitlines()
        self.sources = {line.split()[0]: tuple(line.split()[2:4]) for line in lines}
        self.files = {}
        for line in (pathlib.Path(root) / "files").read_text().splitlines():
            package, _, path = line.partition(" ")
            self.files[path] = package
        self.host = HostPackages()

    def owner_of(self, path):
        inside = os.path.realpath(self.root + path.removeprefix(self.root)).removeprefix(self.root)
        return self.files.get(inside) or self.files.get(path.removeprefix(self.root)) or self.host.owner_of(path)

    def source_of(self, package):
        return self.sources.get(package) or self.host.source_of(package)


def inputs_of(program):
    """What the linker read, but for our own objects and sources."""
    text = pathlib.Path(f"{program}.inputs").read_text()
    names = text.replace("\\\n", " ").split(":", 1)[1].split()
    return [name for name in dict.fromkeys(names) if not name.endswith(":") and not is_ours(name)]


def is_ours(path):
    """The compiler's temporary objects are ours as well, in whatever folder $TMPDIR says."""
    name = os.path.basename(path)
    is_own = not path.startswith("/") and name not in BUILT_ARCHIVES
    return is_own or re.fullmatch(r"cc\w+\.o", name) is not None


def source_of_built(path, headers):
    """What an archive was built from, which a release may name if it is not older than the package of its headers."""
    name, version = pathlib.Path(f"{path}.source").read_text().split()
    if subprocess.run(["dpkg", "--compare-versions", version, "lt", headers[1]], check=False).returncode == 0:
        raise SystemExit(f"sbom.py: {path} was built from {name} {version}, which is older than {headers[1]}: that is for no release")
    return name, version


def packages_of_program(program, packages):
    found = set()
    for path in inputs_of(program):
        built = BUILT_ARCHIVES.get(os.path.basename(path)) if not path.startswith("/usr/") else None
        owner = built or packages.owner_of(os.path.normpath(path))
        if not owner:
            raise SystemExit(f"sbom.py: {program} was linked with {path}, which is of no package")
        source = packages.source_of(owner)
        found.add(source_of_built(path, source) if built else source)
    return found


def files_of(archive):
    """The regular files of a docker archive with one layer."""
    with tarfile.open(archive) as outer:
        (layer,) = json.load(outer.extractfile("manifest.json"))[0]["Layers"]
        with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
            return [member.name.removeprefix("./") for member in inner if member.isfile()]


def parts_of(files, build, packages, of_launcher):
    """(name, version) of each source package in an image of these files. An image has launchers of both architectures:
    of_launcher gives the packages that the one for a machine was linked with."""
    found = set()
    for name in files:
        if name in OWN_FILES:
            continue
        if name.startswith("usr/bin/"):
            found |= packages_of_program(f"{build}/{os.path.basename(name)}", packages)
        elif name.startswith("usr/libexec/afterglow/launchers/"):
            machine = os.path.basename(name)
            found |= packages_of_program(LAUNCHERS[machine], of_launcher(machine))
        else:
            owner = packages.owner_of(f"/{name}")
            if not owner:
                raise SystemExit(f"sbom.py: /{name} is of no package")
            found.add(packages.source_of(owner))
    return sorted(found)


def package(spdx_id, name, version, purl, **more):
    return {
        "SPDXID": spdx_id, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
        **more,
    }  # fmt: skip


def escape(version):
    return version.replace("+", "%2B").replace(":", "%3A")


def document(image, version, arch, digest, parts, seconds):
    """The SPDX document of an image; parts: (name, version) of source packages."""
    root = package(
        "SPDXRef-Image", image, version, f"pkg:oci/{image}@{digest.replace(':', '%3A')}?arch={arch}",
        licenseDeclared="Apache-2.0", primaryPackagePurpose="CONTAINER",
    )  # fmt: skip
    debian = [
        package(
            "SPDXRef-Debian-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), name, at,
            f"pkg:deb/debian/{name}@{escape(at)}?arch=source&distro=debian-12", supplier="Organization: Debian",
        )
        for name, at in parts
    ]  # fmt: skip
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image")]
    relations += [("SPDXRef-Image", "CONTAINS", part["SPDXID"]) for part in debian]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{image}-{version}-{arch}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{image} {arch} {digest}')}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: afterglow-sbom.py"],
        },
        "packages": [root, *debian],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations
        ],
    }  # fmt: skip


def launcher_packages(machine):
    """Of what built LAUNCHERS, on amd64."""
    return HostPackages() if machine == "x86_64" else SysrootPackages("build/arm64/sysroot")


def main(archive, build, arch, digest, sysroot=None):
    packages = SysrootPackages(sysroot) if sysroot else HostPackages()
    name = pathlib.Path(archive).stem
    version = subprocess.run(["make", "-s", "version"], capture_output=True, text=True, check=True).stdout.strip()
    parts = parts_of(files_of(archive), build, packages, launcher_packages)
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    json.dump(document(name, version, arch, digest, parts, seconds), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
