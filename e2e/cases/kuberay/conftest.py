# SPDX-License-Identifier: Apache-2.0
"""Afterglow as its chart installs it by default, beside KubeRay's operator (e2e/kuberay/install.sh has installed that)."""

import os

import pytest

import live
from live import claimed_volume
from kuberay.objects import KubeRay

CODE = "code"


@pytest.fixture(name="afterglow", scope="session", autouse=True)
def installed_chart(kubectl):
    live.install()
    live.restart_operators(kubectl)
    yield
    live.keep_log(kubectl)


@pytest.fixture(name="kuberay", scope="module")
def kuberay_objects(k, namespace, volume):
    """Makes RayClusters, RayJobs and RayServices that are gone when the module is done."""
    made = KubeRay(k, namespace, volume)
    yield made
    if not os.environ.get("AFTERGLOW_KEEP"):
        made.remove()


__all__ = ["claimed_volume"]
