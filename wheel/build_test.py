#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether wheel/build.py refuses what would not run on people's machines, and writes what pip takes."""

import ast
import base64
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import build

NO_LIBC = ["-nostdlib", "-static", "-Wl,-e,main", "-x", "c", "-"]


def compiled(*flags):
    with tempfile.NamedTemporaryFile(delete=False) as out:
        out.close()
        subprocess.run(["cc", "-o", out.name, *flags], input=b"int main(void) { return 0; }", check=True)
        data = pathlib.Path(out.name).read_bytes()
        pathlib.Path(out.name).unlink()
    return data


class Programs(unittest.TestCase):
    def test_a_static_program_is_taken(self):
        build.check_program("it", compiled(*NO_LIBC), 62)
        build.check_program("it", compiled("-static-pie", "-x", "c", "-"), 62)

    def test_a_program_that_needs_the_machines_libraries_is_refused(self):
        with self.assertRaisesRegex(build.Wrong, "it needs the loader /lib64/ld-linux"):
            build.check_program("it", compiled("-x", "c", "-"), 62)
        with self.assertRaisesRegex(build.Wrong, "it needs a shared library"):
            build.check_program("it", compiled("-shared", "-fPIC", "-Wl,--no-as-needed", "-lc", "-x", "c", "-"), 62)

    def test_a_program_of_another_machine_is_refused(self):
        with self.assertRaisesRegex(build.Wrong, "it is for another machine"):
            build.check_program("it", compiled(*NO_LIBC), 183)

    def test_a_script_is_no_program(self):
        with self.assertRaisesRegex(build.Wrong, "it is no program"):
            build.check_program("it", b"#!/bin/sh\n", 62)


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in build.PROGRAMS:
            (self.folder / name).write_bytes(compiled(*NO_LIBC))

    def written(self, name):
        path = self.folder / name
        build.write_wheel(path, build.wheel_files(self.folder, "amd64", "1.2.3"))
        return path

    def test_the_same_programs_give_the_same_bytes(self):
        self.assertEqual(self.written("a.whl").read_bytes(), self.written("b.whl").read_bytes())

    def test_the_pip_of_rhel_8_and_debian_10_knows_one_of_its_tags(self):
        files = {name: data for name, data, _ in build.wheel_files(self.folder, "amd64", "1.2.3")}
        self.assertIn(b"Tag: py3-none-manylinux1_x86_64\n", files["afterglow_ray-1.2.3.dist-info/WHEEL"])
        self.assertIn("manylinux1_x86_64", build.platforms("x86_64"))
        self.assertNotIn("manylinux1_aarch64", build.platforms("aarch64"))  # a package index refuses a name that does not exist

    def test_its_code_is_python_of_3_6(self):
        for source in sorted((build.HERE / "afterglow_ray").glob("*.py")):
            ast.parse(source.read_text(), feature_version=(3, 6))

    def test_without_pip_the_same_files_are_a_command(self):
        files = build.wheel_files(self.folder, "amd64", "1.2.3")
        for name in ("a.tar.gz", "b.tar.gz"):
            build.write_archive(self.folder / name, files, "1.2.3")
        self.assertEqual((self.folder / "a.tar.gz").read_bytes(), (self.folder / "b.tar.gz").read_bytes())
        subprocess.run(["tar", "-xf", self.folder / "a.tar.gz", "-C", self.folder], check=True)
        unpacked = self.folder / "afterglow-ray-1.2.3"
        (self.folder / "link").symlink_to(unpacked / "afterglow")
        version = subprocess.run([self.folder / "link", "--version"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(version, "afterglow 1.2.3\n")
        self.assertTrue((unpacked / "afterglow_ray/bin/afterglow-sidecar").stat().st_mode & 0o100)

    def test_the_record_names_each_file_with_its_digest(self):
        with zipfile.ZipFile(self.written("a.whl")) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
            modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
        record = files.pop("afterglow_ray-1.2.3.dist-info/RECORD").decode().splitlines()
        self.assertEqual(record.pop(), "afterglow_ray-1.2.3.dist-info/RECORD,,")
        for line in record:
            name, digest, size = line.rsplit(",", 2)
            data = files.pop(name)
            self.assertEqual(digest, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="))
            self.assertEqual(int(size), len(data))
        self.assertFalse(files)
        self.assertEqual(modes["afterglow_ray/bin/afterglow-launch"], 0o755)


if __name__ == "__main__":
    unittest.main()
