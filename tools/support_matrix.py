#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""support_matrix.py [--write] LOGS PAGE: which versions of other people's programs the tests ran, as the suites printed them.

Each suite prints lines "with: PROGRAM VERSION" (e2e/versions.sh), and its log is LOGS/SUITE.log. The table of these stands in PAGE
between two lines, BEGIN and END. Without --write the page is compared with the logs: it says "1 passed, 0 failed", or what differs
and "0 passed, 1 failed", and exits 1. With --write the page gets the table of the logs."""

import collections
import pathlib
import re
import sys

BEGIN = "<!-- What the suites printed: make support-matrix writes it. -->"
END = "<!-- The end of it. -->"
WITH = re.compile(r"^with: (.+) (\S+)$", re.M)


def table(logs):
    """Returns the table of these logs, which are {suite: text}."""
    suites = collections.defaultdict(set)
    for suite, text in logs.items():
        for program_version in WITH.findall(text):
            suites[program_version].add(suite)
    rows = [f"| `{program}` | {version} | {', '.join(sorted(names))} |" for (program, version), names in sorted(suites.items())]
    return "\n".join(["| program | version | suites |", "| --- | --- | --- |", *rows])


def main():
    write = "--write" in sys.argv[1:]
    folder, page = (pathlib.Path(arg) for arg in sys.argv[1:] if arg != "--write")
    logs = {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in folder.glob("*.log") if not path.stem.endswith(".again")}
    ran = table(logs)
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    says, end, after = rest.partition(END)
    if not begin or not end:
        print(f"{page}: the lines {BEGIN!r} and {END!r} are not there")
    elif write:
        page.write_text(f"{before}{begin}\n\n{ran}\n\n{end}{after}", encoding="utf-8")
        return 0
    elif says.strip() == ran:
        print("1 passed, 0 failed")
        return 0
    else:
        rows = [set(lines.strip().splitlines()) for lines in (says, ran)]
        print(f"{page} does not say what ran; make support-matrix writes it:")
        print("\n".join(sorted([f"- {row}" for row in rows[0] - rows[1]] + [f"+ {row}" for row in rows[1] - rows[0]])))
    print("0 passed, 1 failed")
    return 1


if __name__ == "__main__":
    sys.exit(main())
