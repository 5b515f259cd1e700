#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py BUILD ARCH VERSION DIR: writes the wheel of afterglow-ray for amd64 or arm64 from the programs in BUILD, and prints its path;
beside it an archive of the same files for those without pip, and a recipe by which conda-forge packs the wheels of both in one DIR.

The wheel is for manylinux and musllinux, because its programs need no library of the machine: one that does is an error. The same
programs give the same bytes; SOURCE_DATE_EPOCH is the time of all files."""

import base64
import gzip
import hashlib
import io
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["afterglow-launch", "afterglow-sidecar", "afterglow-unwind", "afterglow-pack", "afterglow-ship", "kubectl-afterglow"]
# The name of the machine in a tag, its number in ELF, and what strips its programs.
MACHINES = {"amd64": ("x86_64", 62, "strip"), "arm64": ("aarch64", 183, "aarch64-linux-gnu-strip")}
PLATFORMS = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
# The oldest name is the only one that pip knows before 19.0: that of RHEL 8 is 9.0.3, that of Debian 10 is 18.1. It exists for x86_64 alone.
OLD_PLATFORMS = {"x86_64": ["manylinux1"], "aarch64": []}
PT_INTERP, PT_DYNAMIC, DT_NEEDED = 3, 2, 1


class Wrong(Exception):
    """What is wrong with a program, as a sentence."""


def check_program(name, data, machine):
    """A program for a wheel is for its machine, needs no loader and no library, and so no version of glibc."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Wrong(f"{name} is no program of 64 bits")
    if struct.unpack_from("<H", data, 18)[0] != machine:
        raise Wrong(f"{name} is for another machine")
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(table, table + size * count, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        if kind == PT_INTERP:
            raise Wrong(f"{name} needs the loader {data[offset : offset + length].rstrip(bytes(1)).decode()}")
        if kind == PT_DYNAMIC and DT_NEEDED in (tag for tag, _ in struct.iter_unpack("<QQ", data[offset : offset + length])):
            raise Wrong(f"{name} needs a shared library")


def platforms(machine):
    return [f"{platform}_{machine}" for platform in PLATFORMS + OLD_PLATFORMS[machine]]


def stripped(path, strip):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([strip, "-o", out.name, path], check=True)
        return pathlib.Path(out.name).read_bytes()


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def wheel_files(build, arch, version):
    """(name, content, mode) of each file, RECORD last, as the wheel format wants it."""
    tag, machine, strip = MACHINES[arch]
    info = f"afterglow_ray-{version}.dist-info"
    files = []
    for source in sorted((HERE / "afterglow_ray").glob("*.py")):
        files.append((f"afterglow_ray/{source.name}", source.read_text().replace("@VERSION@", version).encode(), 0o644))
    for name in PROGRAMS:
        data = stripped(build / name, strip)
        check_program(name, data, machine)
        files.append((f"afterglow_ray/bin/{name}", data, 0o755))
    metadata = (HERE / "METADATA").read_text().replace("@VERSION@", version) + (HERE / "README.md").read_text()
    wheel = "Wheel-Version: 1.0\nGenerator: wheel/build.py\nRoot-Is-Purelib: false\n"
    wheel += "".join(f"Tag: py3-none-{platform}\n" for platform in platforms(tag))
    texts = {"METADATA": metadata, "WHEEL": wheel, "entry_points.txt": "[console_scripts]\nafterglow = afterglow_ray:main\n",
             "licenses/LICENSE": (HERE.parent / "LICENSE").read_text()}  # fmt: skip
    files += [(f"{info}/{name}", text.encode(), 0o644) for name, text in texts.items()]
    record = "".join(record_line(name, data) for name, data, _ in files) + f"{info}/RECORD,,\n"
    return [*files, (f"{info}/RECORD", record.encode(), 0o644)]


def write_wheel(path, files):
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]  # a zip begins in 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in files:
            member = zipfile.ZipInfo(name, moment)
            member.create_system, member.compress_type, member.external_attr = 3, zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(member, data)


STARTER = """#!/usr/bin/env python3
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from afterglow_ray import main

main()
"""


def write_archive(path, files, version):
    """The same for a machine without pip: unpacked anywhere, afterglow-ray-VERSION/afterglow is the command."""
    license = (HERE.parent / "LICENSE").read_bytes()
    package = [file for file in files if file[0].startswith("afterglow_ray/")]
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, mode in [("LICENSE", license, 0o644), ("afterglow", STARTER.encode(), 0o755), *package]:
            member = tarfile.TarInfo(f"afterglow-ray-{version}/{name}")
            member.size, member.mode, member.mtime = len(data), mode, int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
            archive.addfile(member, io.BytesIO(data))
    path.write_bytes(gzip.compress(text.getvalue(), 9, mtime=0))


def main():
    build, arch, version, out = sys.argv[1:]
    path = pathlib.Path(out) / f"afterglow_ray-{version}-py3-none-{'.'.join(platforms(MACHINES[arch][0]))}.whl"
    try:
        files = wheel_files(pathlib.Path(build), arch, version)
    except Wrong as wrong:
        sys.exit(f"wheel/build.py: {wrong}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_wheel(path, files)
    write_archive(path.parent / f"afterglow-ray-{version}-linux-{MACHINES[arch][0]}.tar.gz", files, version)
    print(path)


if __name__ == "__main__":
    main()
