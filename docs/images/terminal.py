#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py COMMAND <OUTPUT >SVG: a picture of a terminal in which `afterglow run` said OUTPUT about a task of Ray. It has Ray's own error
and the report; lines of the report that the picture leaves out are "..."."""

import html
import re
import sys

SHOWN = ("class", "evidence", "memory", "top", "diagnosis", "try")
# So many lines of each part at most.
MOST = {"evidence": 5, "memory": 2, "top": 3}
# Browsers would draw several spaces as one.
NO_BREAK = "\u00a0"
COLUMNS, WIDTH, HEIGHT, MARGIN = 101, 7.83, 17, 16


def ray_error(lines):
    line = next(line for line in lines if line.startswith("ray.exceptions."))
    return line if len(line) <= COLUMNS else line[: COLUMNS - 4].rsplit(" ", 1)[0] + " ..."


def report(lines):
    """The verdict and the parts that are shown. A line of a part has its name, or is indented as its first line is."""
    first = next(at for at, line in enumerate(lines) if re.match(r"(The kernel|Ray worker|\S+ (was|ended))", line))
    part, count = None, 0
    for line in lines[first:]:
        if line.startswith("afterglow: "):
            return
        if name := re.match(r"  (\w[\w ]*?)  ", line):
            part, count = name[1], 0
        count += 1
        if part is None or (part in SHOWN and count <= MOST.get(part, 6)):
            yield line
        elif part in SHOWN and count == MOST.get(part, 6) + 1:
            yield " " * 13 + "..."


def main():
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip("\n")) for line in sys.stdin]
    shown = [f"$ {sys.argv[1]}", ray_error(lines), *report(lines)]
    width, height = COLUMNS * WIDTH + 2 * MARGIN, len(shown) * HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">')
    print(f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1b1f24"/>')
    print('<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13" fill="#d7dce2">')
    for at, line in enumerate(shown):
        color = ' fill="#ffffff" font-weight="bold"' if at == 0 else ' fill="#f0a090"' if at == 1 else ""
        print(f'<text x="{MARGIN}" y="{MARGIN + HEIGHT * at + 13}"{color}>{html.escape(line, quote=False).replace(" ", NO_BREAK)}</text>')
    print("</g>\n</svg>")


if __name__ == "__main__":
    main()
