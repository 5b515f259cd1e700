# SPDX-License-Identifier: Apache-2.0
"""CRDs that leave an API server within seconds."""

import time

from conftest import wait_for
from apiserver.api import ApiError

CRDS = "customresourcedefinitions"


def delete_crds(api, names):
    """
    Deletes these CRDs, and returns when they are gone. The API server's controller that finalizes CRDs gives up without a retry
    when its write of the status conflicts with another one, and looks again when its informer resyncs: after five
    minutes. Every change of the CRD makes it look at once, so each CRD that is still there gets an annotation.
    """
    for name in names:
        api.delete(CRDS, name)
    for name in names:
        wait_for(f"the CRD {name} to go", lambda name=name: is_gone(api, name), timeout=120, interval=1)


def is_gone(api, name):
    try:
        api.patch(CRDS, name, {"metadata": {"annotations": {"test/looked-at": str(time.monotonic_ns())}}})
    except ApiError as error:
        return error.status == 404
    return False
