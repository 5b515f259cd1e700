# SPDX-License-Identifier: Apache-2.0
"""Programs of the Go modules in e2e/chart judge the chart."""

import subprocess

from apiserver.conftest import ROOT


def judge(name):
    """Returns what `e2e/chart/build.sh NAME` prints, line by line. e2e/run.sh has called it before, so that nothing is built beside a test."""
    result = subprocess.run([ROOT / "e2e/chart/build.sh", name], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.splitlines()
