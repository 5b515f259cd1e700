#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failed_tests.py LOG...: the names of the tests that failed, with the first lines of why, from the output of pytest, cmocka
and the scripts in e2e/kernel. Short enough to stand at the end of a run whose whole output nobody keeps."""

import re
import sys

LINES_MAX = 60  # of all logs together
LINE_MAX = 700
SHORT_MAX = 100
REASON_MAX = 400

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


def reasons(lines):
    """
    Each reason once, with the first test that failed so and how many more did, without folders. Of pytest the reason stands behind the
    name, of the others in the lines before; a name's and a reason's length have bounds.
    """
    tests, before = {}, []
    for line in failed(lines):
        if not NAME.match(line):
            before.append(re.sub(r"^(E|\[  ERROR   \]|\[   LINE   \]) [\s-]*", "", line))
        elif not COUNT.match(line):
            name, _, reason = re.sub(r"^(FAILED|ERROR|FAIL:?|\[  FAILED  \]) (\S+/)?", "", line).partition(" - ")
            named = tests.setdefault((reason or " ".join(before) or name)[:REASON_MAX], [])
            if name not in named:
                named.append(name[:SHORT_MAX])
            before.clear()
    return [named[0] + (f" and {len(named) - 1} more" if named[1:] else "") + ("" if named[0].startswith(reason[:SHORT_MAX]) else f": {reason}")
            for reason, named in tests.items()]


def main():
    left = LINES_MAX
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in failed(log)[:left]:
                print(line)
                left -= 1


if __name__ == "__main__":
    main()
