#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""static-library.sh where the mirror has no source packages: programs of this machine take shared libraries, and a release is refused."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[1]


class NoSource(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        apt = self.folder / "bin/apt-get"
        apt.parent.mkdir()
        apt.write_text("#!/bin/sh\necho 'E: Unable to find a source package' >&2\nexit 100\n")
        apt.chmod(0o755)
        self.archive = self.folder / "static/libcjson.a"
        self.env = {**os.environ, "PATH": f"{apt.parent}:{os.environ['PATH']}", "AFTERGLOW_CACHE": str(self.folder / "cache")}

    def run_script(self, *words):
        return subprocess.run([ROOT / "tools/static-library.sh", *words, "cjson", self.archive], env=self.env, capture_output=True,
                              text=True, check=False)  # fmt: skip

    def test_a_missing_source_package_leaves_an_empty_archive_and_says_what_it_costs(self):
        done = self.run_script("--or-shared")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(b"!<arch>\n", self.archive.read_bytes())
        for words in ("Unable to find a source package", "shared library", "memory", "no release"):
            self.assertIn(words, done.stderr)

    def test_a_missing_source_package_ends_a_build_for_another_machine(self):
        done = self.run_script()
        self.assertEqual(1, done.returncode)
        self.assertIn("Unable to find a source package", done.stderr)
        self.assertFalse(self.archive.exists())

    def test_a_program_whose_library_has_no_source_takes_the_shared_one(self):
        words = [f"BUILD={self.folder}", "--dry-run", f"{self.folder}/kubectl-afterglow"]
        self.run_script("--or-shared")
        makes = subprocess.run(["make", "-C", ROOT, "--old-file", self.archive, *words], env=self.env, stdout=subprocess.PIPE, text=True, check=True)
        (link,) = [line for line in makes.stdout.splitlines() if f"-o {self.folder}/kubectl-afterglow" in line and " -c " not in line]
        self.assertNotIn("-static-pie", link)
        self.archive.write_bytes(b"!<arch>\n" + bytes(100))
        makes = subprocess.run(["make", "-C", ROOT, "--old-file", self.archive, *words], env=self.env, stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("-static-pie", makes.stdout)


if __name__ == "__main__":
    unittest.main()
