#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failed_tests.py names what failed in every runner's output, and nothing of what passed."""
import sys
import unittest

sys.dont_write_bytecode = True
import failed_tests

PYTEST = """\
e2e/cases/kuberay/test_rayjob.py::test_a_job_is_retried FAILED           [ 30%]
e2e/cases/kuberay/test_rayjob.py::test_a_job_ends PASSED                 [ 34%]
=================================== FAILURES ===================================
____________________________ test_a_job_is_retried _____________________________
    def test_a_job_is_retried(job):
>       wait_for("a retry", lambda: False)
E       TimeoutError: a retry did not come in 180 s
E       more of it
E       and more
E       and what is too much
=========================== short test summary info ============================
FAILED e2e/cases/kuberay/test_rayjob.py::test_a_job_is_retried - TimeoutError
=================== 1 failed, 1 passed in 200.00s ====================
"""
CMOCKA = """\
[ RUN      ] a_good_one
[       OK ] a_good_one
[ RUN      ] a_bad_one
[  ERROR   ] --- 1 != 2
[   LINE   ] --- x_test.c:12: error: Failure!
[  FAILED  ] a_bad_one
[  FAILED  ] tests: 1 test(s), listed below:
"""
SCRIPT = """\
FAIL: a child's OOM kill is told (grep -q x)
17 passed, 1 failed
"""


class FailedTests(unittest.TestCase):
    def found(self, text):
        return failed_tests.failed(text.splitlines(keepends=True))

    def test_pytest_is_told_with_its_first_lines_of_why(self):
        found = self.found(PYTEST)
        self.assertIn("E       TimeoutError: a retry did not come in 180 s", found)
        self.assertNotIn("E       and what is too much", found)
        self.assertTrue(found[-1].startswith("FAILED e2e/cases"))
        self.assertFalse(any("test_a_job_ends" in line for line in found))

    def test_cmocka_names_the_test_once(self):
        self.assertEqual([line for line in self.found(CMOCKA) if "a_bad_one" in line], ["[  FAILED  ] a_bad_one"])
        self.assertFalse(any("a_good_one" in line for line in self.found(CMOCKA)))

    def test_a_script_says_which_check_failed(self):
        self.assertEqual(self.found(SCRIPT), SCRIPT.splitlines())

    def test_what_passed_is_not_repeated(self):
        self.assertEqual(self.found("17 passed, 0 failed\n[  PASSED  ] 3 test(s).\n=== 3 passed in 1.00s ===\n"), [])

    def test_each_reason_stands_once_with_the_first_test(self):
        fixture = "".join(f"ERROR e2e/cases/x/test_x.py::test_{i}[s3]@s3 - AssertionError: waited 120 s\n" for i in range(5))
        reasons = failed_tests.reasons((PYTEST + fixture + CMOCKA + SCRIPT + "FAIL: another\n").splitlines(keepends=True))
        self.assertEqual(reasons, [
            "test_rayjob.py::test_a_job_is_retried: TimeoutError",
            "test_x.py::test_0[s3]@s3 and 4 more: AssertionError: waited 120 s",
            "a_bad_one: 1 != 2 x_test.c:12: error: Failure!",
            "a child's OOM kill is told (grep -q x)", "another"])


if __name__ == "__main__":
    unittest.main()
