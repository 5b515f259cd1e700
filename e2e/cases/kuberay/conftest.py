# SPDX-License-Identifier: Apache-2.0
"""Installs Afterglow with the chart's defaults beside KubeRay's operator, which e2e/kuberay/install.sh has installed."""

import os

import pytest

import live
from conftest import keep_modules_together, once
from kuberay.objects import KubeRay, wait_for_webhook
from live import claimed_volume


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    keep_modules_together(items)


@pytest.fixture(name="afterglow", scope="session", autouse=True)
def installed_chart(kubectl, tmp_path_factory):
    def begin():
        # The chart's defaults, and the ends by deletion, which one module looks at.
        live.install(recording__deletions="true")
        live.restart_operators(kubectl)
        wait_for_webhook()
    once(tmp_path_factory, "installed", begin)
    yield
    live.keep_log(kubectl)


@pytest.fixture(name="kuberay", scope="module")
def kuberay_objects(k, namespace, volume):
    """Makes RayClusters, RayJobs and RayServices, and deletes them at the end of the module."""
    made = KubeRay(k, namespace, volume)
    yield made
    if not os.environ.get("AFTERGLOW_KEEP"):
        made.remove()


__all__ = ["claimed_volume"]
