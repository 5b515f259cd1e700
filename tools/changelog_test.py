#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changelog.py prints the part of one version, sets its date, and refuses a release that is not named everywhere."""
import sys
import unittest

sys.dont_write_bytecode = True
import changelog

TEXT = "# Changelog\n\n## 1.1.0 (unreleased)\n\nNew.\n\n## 1.0.0 (2026-12-01)\n\n### Added\n\nOld.\n"
CHART = "name: x\nversion: 1.0.0\nappVersion: 1.0.0\n"


class Changelog(unittest.TestCase):
    def test_the_part_of_a_version_ends_at_the_next_one(self):
        self.assertEqual("### Added\n\nOld.\n", changelog.section("1.0.0", TEXT))

    def test_a_version_without_a_date_or_without_a_heading_is_refused(self):
        for version in ("1.1.0", "1.0", "2.0.0"):
            with self.assertRaises(ValueError, msg=version):
                changelog.section(version, TEXT)

    def test_the_date_is_set_in_the_heading_of_that_version_alone(self):
        dated = changelog.set_date("1.1.0", TEXT, "2026-12-24")
        self.assertEqual(TEXT.replace("unreleased", "2026-12-24"), dated)
        self.assertEqual("New.\n", changelog.section("1.1.0", dated))

    def test_a_date_that_stands_there_is_not_replaced(self):
        for version in ("1.0.0", "1.1", "2.0.0"):
            with self.assertRaises(ValueError, msg=version):
                changelog.set_date(version, TEXT, "2026-12-24")

    def test_makefile_and_chart_must_have_the_version(self):
        changelog.check_versions("1.0.0", "VERSION := 1.0.0\n", CHART)
        for makefile, chart in (("VERSION := 1.0.1\n", CHART), ("", CHART), ("VERSION := 1.0.0\n", CHART.replace("version: 1.0.0", "version: 1.0")),
                                ("VERSION := 1.0.0\n", CHART.replace("appVersion: 1.0.0", "appVersion: 2"))):
            with self.assertRaises(ValueError):
                changelog.check_versions("1.0.0", makefile, chart)


if __name__ == "__main__":
    unittest.main()
