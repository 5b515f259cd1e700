# SPDX-License-Identifier: Apache-2.0
"""Afterglow as its chart installs it to make RayClusters by itself, and Ray clusters to look after."""

import pytest
import yaml

import live
from cluster.stores import CLAIM
from conftest import Kubectl, keep_modules_together, once
from live import (RAY_IMAGE, ROOT, SIDECAR_SOCKET, SYSTEM, VERSION, WATCHED, RayCluster, check_bundle, claimed_volume,
                  cluster_maker, container, container_status, govern, ray_cluster)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    keep_modules_together(items)


def install(**values):
    """Installs or upgrades the chart; values are Helm's, with __ for the dots."""
    live.install(**{"manageRayClusters": "true", "store__claim": CLAIM, **values})


@pytest.fixture(scope="session", autouse=True)
def afterglow(kubectl, tmp_path_factory):
    def begin():
        install()
        live.restart_operators(kubectl)
    once(tmp_path_factory, "installed", begin)
    yield
    live.keep_log(kubectl)


__all__ = ["RAY_IMAGE", "ROOT", "SIDECAR_SOCKET", "SYSTEM", "VERSION", "WATCHED", "Kubectl", "RayCluster", "check_bundle",
           "claimed_volume", "cluster_maker", "container", "container_status", "govern", "install", "ray_cluster", "yaml"]
