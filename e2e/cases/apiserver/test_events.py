# SPDX-License-Identifier: Apache-2.0
"""Events as kubectl shows them: what happens again is counted, not told again."""

from conftest import wait_for
from apiserver.conftest import group, settle


def test_what_happens_again_is_a_series(make, operator, api, kubelet):
    cluster = make("demo", group("same"), group("same"))

    def events():
        return [e for e in api.items("events") if e["regarding"]["name"] == "demo" and e["reason"] == "InvalidRayClusterSpec"]
    wait_for("the event", events)
    assert "series" not in events()[0]
    for count in 2, 3:
        cluster.patch({"workerGroupSpecs": [group("same")]})
        cluster.wait_condition("afterglow.dev/SpecValid", "True")
        cluster.patch({"workerGroupSpecs": [group("same"), group("same")]})
        cluster.wait_condition("afterglow.dev/SpecValid", "False")
        wait_for("the count", lambda count=count: events()[0].get("series", {}).get("count") == count)
    settle(operator, api, kubelet)
    (event,) = events()
    assert event["series"]["lastObservedTime"] > event["eventTime"]
