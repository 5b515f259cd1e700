#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changelog.py [--release] VERSION: prints what CHANGELOG.md says of VERSION, for the page of a release. It is an error if that is not the version of
Makefile and chart, or if its heading has no date. --release first sets that date: today (UTC), in place of "unreleased"."""

import argparse
import datetime
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"


def check_versions(version, makefile, chart):
    for place, pattern, text in (("Makefile", r"^VERSION := (\S+)$", makefile), ("Chart.yaml: version", r"^version: (\S+)$", chart),
                                 ("Chart.yaml: appVersion", r"^appVersion: (\S+)$", chart)):
        found = re.search(pattern, text, re.M)
        if not found or found[1] != version:
            raise ValueError(f"{place} has {found[1] if found else 'no version'}, not {version}")


def section(version, text):
    parts = re.split(r"^## ", text, flags=re.M)[1:]
    found = [part for part in parts if part.split()[0] == version]
    if len(found) != 1:
        raise ValueError(f"CHANGELOG.md has {len(found)} headings of {version}")
    heading, _, body = found[0].partition("\n")
    if not re.fullmatch(re.escape(version) + r" \(\d{4}-\d{2}-\d{2}\)", heading):
        raise ValueError(f"CHANGELOG.md: the heading \"{heading}\" has no date, as in \"{version} (2026-12-01)\"")
    return body.strip() + "\n"


def set_date(version, text, date):
    old = f"## {version} (unreleased)\n"
    if text.count(old) != 1:
        raise ValueError(f"CHANGELOG.md does not have one heading \"{old.strip()}\", whose date could be set")
    return text.replace(old, f"## {version} ({date})\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="store_true")
    parser.add_argument("version")
    args = parser.parse_args()
    text = CHANGELOG.read_text()
    try:
        check_versions(args.version, (ROOT / "Makefile").read_text(), (ROOT / "charts/afterglow/Chart.yaml").read_text())
        if args.release:
            text = set_date(args.version, text, datetime.datetime.now(datetime.timezone.utc).date().isoformat())
            CHANGELOG.write_text(text)
        print(section(args.version, text), end="")
    except ValueError as wrong:
        sys.exit(f"changelog.py: {wrong}")


if __name__ == "__main__":
    main()
