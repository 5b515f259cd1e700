#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The failed tests of a suite are found in its output and run again alone, and a run with too many of them fails."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import second_try

TOOLS = pathlib.Path(__file__).resolve().parent
MAKEFILE = """
.PHONY: suite run-steady run-flaky run-broken run-late
suite: $(RUNS)
run-steady:
\t@echo '[  PASSED  ] 3 test(s).'
run-flaky run-late:
\t@if [ -e $@.ran ]; then echo '2 passed, 0 failed'; else touch $@.ran; echo '1 passed, 1 failed'; exit 1; fi
run-broken:
\t@echo '0 passed, 1 failed'; exit 1
run-crash:
\t@kill -SEGV $$$$
"""


class Names(unittest.TestCase):
    def test_targets_of_make_are_found_below_the_targets_that_call_them(self):
        self.assertEqual(list(second_try.tests("make -j2 unit-tests", [
            "make[2]: *** [Makefile:238: run-build/test/lib/err_test] Error 1\n",
            "make[2]: *** [Makefile:238: run-build/test/lib/io_test] Segmentation fault\n",
            "make[1]: *** [Makefile:230: unit-tests] Error 2\n",
            "make[2]: *** [Makefile:238: run-build/test/lib/err_test] Error 1\n",
        ])), ["run-build/test/lib/err_test", "run-build/test/lib/io_test"])

    def test_tests_of_pytest_keep_their_parameters(self):
        self.assertEqual(list(second_try.tests("e2e/run.sh stores", [
            "FAILED e2e/cases/stores/test_s3.py::test_part[a - b] - AssertionError: x - y\n",
            "ERROR e2e/cases/stores/test_hdfs.py::Test::test_two\n",
            "FAILED e2e/cases/cluster/test_kills.py::test_end[137-a]@test_kills - assert 1\n",
            "FAILED e2e/cases/apiserver/test_leader.py::test_lead@doomed leaders - assert 1\n",
            "FAILED (errors=1)\n",
        ])), ["e2e/cases/stores/test_s3.py::test_part[a - b]", "e2e/cases/stores/test_hdfs.py::Test::test_two",
            "e2e/cases/cluster/test_kills.py::test_end[137-a]", "e2e/cases/apiserver/test_leader.py::test_lead"])

    def test_a_fixture_that_failed_is_one_failure_with_all_its_tests(self):
        found = second_try.tests("e2e/run.sh cluster", [
            "ERROR e2e/cases/cluster/test_x.py::test_one[s3]@s3 - AssertionError: waited\n",
            "ERROR e2e/cases/cluster/test_x.py::test_two[s3]@s3 - AssertionError: waited\n",
            "FAILED e2e/cases/cluster/test_y.py::test_one - AssertionError: waited\n",
            "FAILED e2e/cases/cluster/test_y.py::test_two - AssertionError: waited\n",
        ])
        self.assertEqual((len(found), len(set(found.values()))), (4, 3))

    def test_the_command_of_a_second_try_is_the_suites_for_these_tests(self):
        self.assertEqual(second_try.command("make --no-print-directory -j2 SANITIZE=address,undefined unit-tests", ["run-a", "run-b"]),
                         ({}, "make --no-print-directory SANITIZE=address,undefined --keep-going run-a run-b"))
        self.assertEqual(second_try.command("e2e/run.sh stores", ["a::b", "c::d"]),
                         ({"AFTERGLOW_TESTS": "a::b\nc::d"}, "e2e/run.sh stores"))


class Runs(unittest.TestCase):
    def run_suites(self, *suites):
        with tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "Makefile").write_text(MAKEFILE, encoding="utf-8")
            stages = "\n".join(f"s{i} 0.1 - make --keep-going RUNS='{runs}' suite" for i, runs in enumerate(suites))
            done = subprocess.run([sys.executable, TOOLS / "side_by_side.py", stages], cwd=directory, capture_output=True, text=True,
                                  check=False)
            log = pathlib.Path(directory, "log")
            log.write_text(done.stdout, encoding="utf-8")
            count = subprocess.run([sys.executable, TOOLS / "count_results.py", log], capture_output=True, text=True, check=False)
        return done, count.stdout.split("\n")[-2]

    def test_a_run_without_failures_has_no_second_try(self):
        done, count = self.run_suites("run-steady")
        self.assertEqual((done.returncode, count), (0, "3 passed, 0 failed"))
        self.assertNotIn("again", done.stdout)

    def test_a_test_that_passes_alone_is_named_flaky_and_fails_nothing(self):
        done, count = self.run_suites("run-steady run-flaky", "run-steady")
        self.assertEqual((done.returncode, count), (0, "8 passed, 0 failed"))
        self.assertIn("\nflaky: s0: run-flaky\n1 flaky\n", done.stdout)

    def test_a_test_that_fails_again_fails_the_run(self):
        done, count = self.run_suites("run-steady run-broken")
        self.assertEqual((done.returncode, count), (1, "3 passed, 1 failed"))

    def test_three_flaky_tests_fail_the_run(self):
        done, count = self.run_suites("run-flaky run-late run-crash")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(count, "failed$")
        self.assertNotIn("flaky:", done.stdout)

    def test_a_program_that_crashes_twice_fails_the_run(self):
        done, count = self.run_suites("run-steady run-crash")
        self.assertEqual((done.returncode, count), (1, "3 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
