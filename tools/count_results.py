#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_results.py LOG: sums what the test runners in LOG say and prints the total as
"N passed, N failed" on its last line. Understands cmocka, pytest and that line itself.
Exits 1 when a test failed, when one was skipped without a reason, or when none ran."""

import re
import sys

CMOCKA_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test\(s\)\.")
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] \S*:? ?(\d+) test\(s\), listed below")
CMOCKA_SKIPPED = re.compile(r"^\[  SKIPPED \] \S*:? ?(\d+) test\(s\), listed below")
PYTEST = re.compile(r"^=+ (.*\d+ (?:passed|failed|error).*) in [\d.]+s.*=+$")
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
PYTEST_PART = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")
SKIP_REASON = re.compile(r"^SKIPPED \[\d+\] \S+: \S")


def count(lines):
    passed = failed = skipped = reasons = 0
    for line in lines:
        line = re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip("\n"))
        if match := CMOCKA_PASSED.match(line):
            passed += int(match[1])
        elif match := CMOCKA_FAILED.match(line):
            failed += int(match[1])
        elif match := CMOCKA_SKIPPED.match(line):
            skipped += int(match[1])
        elif match := PLAIN.match(line):
            passed += int(match[1])
            failed += int(match[2])
            skipped += int(match[3] or 0)
        elif match := PYTEST.match(line):
            for number, what in PYTEST_PART.findall(match[1]):
                if what == "passed":
                    passed += int(number)
                elif what == "skipped":
                    skipped += int(number)
                else:
                    failed += int(number)
        elif SKIP_REASON.match(line):
            reasons += 1
    return passed, failed, skipped, reasons


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        passed, failed, skipped, reasons = count(log)
    unexplained = max(skipped - reasons, 0)
    if unexplained:
        print(f"{unexplained} skipped without a reason: counted as failed")
    failed += unexplained
    if passed == 0:
        print("no test ran")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
