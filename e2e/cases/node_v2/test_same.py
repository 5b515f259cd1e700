# SPDX-License-Identifier: Apache-2.0
"""The pods that run twice, with Afterglow and without it (kuberay/same), on a node with cgroup v2 and the kubelet's group kill.
It is the last module, as it leaves the chart with its defaults."""

import pytest

import live
from kuberay.objects import wait_for_webhook
# pylint: disable=unused-import # pytest finds them here
from kuberay.same.test_pods import (
    both_sides, test_a_core_takes_a_share_of_a_small_disk_at_most, test_every_difference_that_is_meant_is_there,
    test_nothing_differs_but_what_is_meant, test_what_happens_to_the_pods_happens_without_afterglow)


@pytest.fixture(scope="module", autouse=True)
def webhook(afterglow):
    """An operator that makes the pods of RayClusters itself has none, and one that follows it waits a minute for its end."""
    del afterglow
    live.helm("uninstall", "afterglow", "--namespace", live.SYSTEM, "--wait")
    live.install()
    wait_for_webhook()
