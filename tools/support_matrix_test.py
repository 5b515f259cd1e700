#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page says which versions ran, and a run with others fails."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).with_name("support_matrix.py")


class SupportMatrix(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.page = self.folder / "page.md"
        self.page.write_text("above\n<!-- What the suites printed: make support-matrix writes it. -->\n<!-- The end of it. -->\nbelow\n", encoding="utf-8")

    def ran(self, suite, text):
        (self.folder / f"{suite}.log").write_text(text, encoding="utf-8")

    def run_it(self, *args):
        ended = subprocess.run([sys.executable, PROGRAM, *args, self.folder, self.page], check=False, capture_output=True, text=True)
        return ended.returncode, ended.stdout

    def test_a_version_is_one_row_with_all_suites_that_ran_it(self):
        self.ran("kuberay", "with: Ray 2.60.0\n")
        self.ran("cluster", "begin\nwith: Ray 2.60.0\nwith: Linux (here, v1) 7.2\nnot with: Ray 9\n")
        self.assertEqual(self.run_it("--write"), (0, ""))
        self.assertIn("| `Linux (here, v1)` | 7.2 | cluster |\n| `Ray` | 2.60.0 | cluster, kuberay |\n", self.page.read_text(encoding="utf-8"))
        self.assertRegex(self.page.read_text(encoding="utf-8"), "^above\n[^$]*\nbelow\n$")
        self.assertEqual(self.run_it(), (0, "1 passed, 0 failed\n"))

    def test_a_run_with_another_version_fails_and_says_which(self):
        self.ran("cluster", "with: Ray 2.60.0\n")
        self.run_it("--write")
        self.ran("cluster", "with: Ray 2.61.0\n")
        status, said = self.run_it()
        self.assertEqual((status, said.splitlines()[1:]), (1, ["+ | `Ray` | 2.61.0 | cluster |", "- | `Ray` | 2.60.0 | cluster |", "0 passed, 1 failed"]))

    def test_a_suite_that_says_no_version_any_more_is_missed(self):
        self.ran("cluster", "with: Ray 2.60.0\n")
        self.run_it("--write")
        self.ran("cluster", "")
        self.assertEqual(self.run_it()[0], 1)

    def test_a_page_without_a_place_for_it_fails(self):
        self.page.write_text("nothing\n", encoding="utf-8")
        self.assertEqual(self.run_it("--write")[0], 1)


if __name__ == "__main__":
    unittest.main()
