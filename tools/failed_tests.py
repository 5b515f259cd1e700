#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failed_tests.py LOG...: the names of the tests that failed, with the first lines of why, from the output of pytest, cmocka
and the scripts in e2e/kernel. Short enough to stand at the end of a run whose whole output nobody keeps."""

import re
import sys

LINES_MAX = 60  # of all logs together
LINE_MAX = 300
SHORT_MAX = 100

# What names a failed test, and what says why; the reasons of pytest come before its names.
NAME = re.compile(r"^(FAILED|ERROR) \S+::|^\[  FAILED  \] (?!\S*:? ?\d+ test)|^FAIL\b|^not ok\b|^\d+ passed, [1-9]\d* failed")
COUNT = re.compile(r"^\d+ passed, ")
PYTEST_WHERE = re.compile(r"^_{3,} (ERROR at (setup|teardown) of )?(test_\S*|\S+\.test_\S*) _{3,}$")
PYTEST_WHY = re.compile(r"^E   +\S")
CMOCKA_WHY = re.compile(r"^\[   LINE   \] |^\[  ERROR   \] ")
WHY_MAX = 3  # lines of each test


def failed(lines):
    """The lines worth repeating, in their order."""
    found, why = [], 0
    for line in lines:
        line = re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip("\n"))
        if PYTEST_WHERE.match(line) or NAME.match(line):
            why = WHY_MAX
        elif why and (PYTEST_WHY.match(line) or CMOCKA_WHY.match(line)):
            why -= 1
        else:
            continue
        if line not in found:
            found.append(line[:LINE_MAX])
    return found


def names(lines):
    """The names alone, each at most SHORT_MAX characters, without folders and reasons."""
    found = (re.sub(r"^(FAILED|ERROR|FAIL:?|\[  FAILED  \]) (\S+/)?| - .*", "", line)[:SHORT_MAX] for line in failed(lines)
             if NAME.match(line) and not COUNT.match(line))
    return list(dict.fromkeys(found))


def main():
    left = LINES_MAX
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in failed(log)[:left]:
                print(line)
                left -= 1


if __name__ == "__main__":
    main()
