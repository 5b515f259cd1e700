# SPDX-License-Identifier: Apache-2.0
"""Afterglow as its chart installs it to make RayClusters by itself, and Ray clusters to look after."""

import pytest
import yaml

import live
from cluster.stores import CLAIM
from conftest import Kubectl
from live import (RAY_IMAGE, ROOT, SIDECAR_SOCKET, SYSTEM, VERSION, WATCHED, RayCluster, check_bundle, claimed_volume,
                  cluster_maker, container, container_status, ray_cluster)


def install(**values):
    """Installs or upgrades the chart; values are Helm's, with __ for the dots."""
    live.install(**{"manageRayClusters": "true", "store__claim": CLAIM, **values})


@pytest.fixture(scope="session", autouse=True)
def afterglow(kubectl):
    install()
    live.restart_operators(kubectl)
    yield
    live.keep_log(kubectl)


__all__ = ["RAY_IMAGE", "ROOT", "SIDECAR_SOCKET", "SYSTEM", "VERSION", "WATCHED", "Kubectl", "RayCluster", "check_bundle",
           "claimed_volume", "cluster_maker", "container", "container_status", "install", "ray_cluster", "yaml"]
