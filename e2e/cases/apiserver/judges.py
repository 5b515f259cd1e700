# SPDX-License-Identifier: Apache-2.0
"""What judges the chart, from the Go modules in e2e/chart."""

import subprocess

import pytest

from apiserver.conftest import ROOT


def judge(name):
    """What `e2e/chart/build.sh NAME` prints, line by line. Where it cannot be had, as without a network, the test is skipped."""
    result = subprocess.run([ROOT / "e2e/chart/build.sh", name], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.skip(f"e2e/chart/build.sh {name}: {result.stderr[-2000:]}")
    return result.stdout.splitlines()
